"""Sends transaction markers to the leaders of a transaction's partitions (WriteTxnMarkers).

    SendMarkers ─► by leader ─► one request in flight to each broker, the next one has all waiting markers ─► errors by
    partition ─► done, retried, or given up

Invariants: markers of a transaction are sent until every partition has its marker. Sending ends early for a partition
that is deleted or cannot store markers, and for all if a partition reports a newer coordinator. A marker may be written
twice; this does not affect readers. A request to a broker that has left the cluster fails at once.

Source: KIP-98; semantics, WriteTxnMarkers.
"""

import logging
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from barnabas.broker.cluster.image import ClusterView, ImageChange
from barnabas.broker.interbroker.channels import MARKER_LANE
from barnabas.broker.transactions.events import SendMarkers
from barnabas.core.error_code import ErrorCode
from barnabas.core.internal_topics import TRANSACTION_STATE_TOPIC
from barnabas.core.pending import Pending
from barnabas.core.timers import Timers
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

log = logging.getLogger(__name__)

_VERSION = 0
RETRY_MS = 100
# Keeps a request far below the maximum request size of brokers.
_PARTITIONS_PER_REQUEST = 10_000

# The partition's message format does not support markers, so it has no transactional readers.
_CANNOT_HOLD_IT = frozenset((ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION))
# A newer producer epoch or coordinator exists.
_OVERTAKEN = frozenset((ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED))


class Channels(Protocol):
    """The channels to the brokers, such as `interbroker.BrokerChannels`."""

    def send(
        self,
        broker_id: int,
        request: WriteTxnMarkersRequest,
        version: int,
        answer: type[WriteTxnMarkersResponse],
        lane: str,
        /,
    ) -> Pending[WriteTxnMarkersResponse]: ...

    def drop(self, broker_id: int, lane: str, /) -> None: ...


class _Outcome:
    """The outcome of one transaction, and the partitions whose markers are still missing."""

    __slots__ = ("coordinator_epoch", "is_given_up", "left", "markers", "written")

    def __init__(self, markers: SendMarkers, coordinator_epoch: int, written: Callable[[], object]) -> None:
        self.markers = markers
        self.coordinator_epoch = coordinator_epoch
        self.left = set(markers.partitions)
        self.written = written
        self.is_given_up = False


class _Part(NamedTuple):
    """The markers of a transaction for one broker."""

    outcome: _Outcome
    partitions: list[TopicPartition]


class MarkerSender:
    """Sends transaction markers. Owned by the event loop."""

    def __init__(self, channels: Channels, cluster: ClusterView, timers: Timers) -> None:
        """Args:
        channels: The channels to the brokers.
        cluster: The metadata with the leaders of partitions.
        """
        self._channels = channels
        self._cluster = cluster
        self._timers = timers
        self._waiting: dict[int, list[_Part]] = {}
        self._busy: set[int] = set()
        # Outcomes that wait for `open`; afterwards None.
        self._early: list[_Outcome] | None = []
        self._is_closed = False
        cluster.on_change(self._on_image)

    def send(self, markers: SendMarkers, coordinator_epoch: int, written: Callable[[], object]) -> Callable[[], object]:
        """Send the markers of a transaction to all its partitions.

        Args:
            markers: The transaction's outcome and partitions.
            coordinator_epoch: The leader epoch of the id's partition of `__transaction_state`.
            written: Called once when all partitions have their markers; never within this call.

        Returns:
            A function that stops sending, for example because another broker has become coordinator.
        """
        outcome = _Outcome(markers, coordinator_epoch, written)
        if self._early is not None:
            self._early.append(outcome)
        else:
            self._begin(outcome)

        def give_up() -> None:
            outcome.is_given_up = True

        return give_up

    def open(self) -> None:
        """Begin to send; call this when this broker's listener is open, because it may be a receiver itself."""
        early, self._early = self._early or [], None
        for outcome in early:
            self._begin(outcome)

    def close(self) -> None:
        """Send no more markers."""
        self._is_closed = True
        self._waiting.clear()

    def _begin(self, outcome: _Outcome) -> None:
        if outcome.left:
            self._route(outcome, outcome.left)
        else:
            self._timers.call_later(0, self._finish_if_done, outcome)

    def _route(self, outcome: _Outcome, partitions: Iterable[TopicPartition]) -> None:
        """Queue partitions for the brokers that lead them now."""
        if outcome.is_given_up or self._is_closed:
            return
        image = self._cluster.image
        if TRANSACTION_STATE_TOPIC not in image.topics:
            # This broker has no complete metadata yet: a topic missing in it is not deleted.
            self._timers.call_later(RETRY_MS, self._route, outcome, list(partitions))
            return
        by_leader: dict[int, list[TopicPartition]] = {}
        retried, is_shorter = [], False
        for partition in sorted(partitions):
            state = image.partition(*partition)
            if state is None:
                # The topic was deleted.
                outcome.left.discard(partition)
                is_shorter = True
            elif state.leader < 0:
                retried.append(partition)
            else:
                by_leader.setdefault(state.leader, []).append(partition)
        if retried:
            self._timers.call_later(RETRY_MS, self._route, outcome, retried)
        for leader, led in by_leader.items():
            self._waiting.setdefault(leader, []).append(_Part(outcome, led))
            self._go_on(leader)
        if is_shorter:
            self._timers.call_later(0, self._finish_if_done, outcome)

    def _on_image(self, change: ImageChange) -> None:
        # A broker that hangs or lost its network answers nothing until request.timeout.ms; its partitions have new
        # leaders long before.
        for broker_id in self._busy - change.image.brokers.keys():
            self._channels.drop(broker_id, MARKER_LANE)

    def _go_on(self, broker_id: int) -> None:
        """Send the waiting markers for a broker, unless a request to it is in progress."""
        waiting = self._waiting.get(broker_id)
        if not waiting or broker_id in self._busy or self._is_closed:
            return
        parts, count = [], 0
        while waiting and count < _PARTITIONS_PER_REQUEST:
            part = waiting.pop(0)
            if not part.outcome.is_given_up:
                parts.append(part)
                count += len(part.partitions)
        if not parts:
            return
        self._busy.add(broker_id)
        request = WriteTxnMarkersRequest([_marker(part) for part in parts])
        self._channels.send(broker_id, request, _VERSION, WriteTxnMarkersResponse, MARKER_LANE).then(
            lambda response: self._answered(broker_id, parts, response),
            lambda error: self._failed(broker_id, parts, error),
        )

    def _failed(self, broker_id: int, parts: list[_Part], error: BaseException) -> None:
        """Send a failed request's markers again, to the current leaders; the request may have arrived or not."""
        self._busy.discard(broker_id)
        if self._is_closed:
            return
        log.warning("cannot write markers of %d transactions on broker %d: %s", len(parts), broker_id, error)
        for part in parts:
            self._timers.call_later(RETRY_MS, self._route, *part)
        self._go_on(broker_id)

    def _answered(self, broker_id: int, parts: list[_Part], response: WriteTxnMarkersResponse) -> None:
        errors = {
            (marker.producer_id, topic.name, partition.partition_index): partition.error_code
            for marker in response.markers
            for topic in marker.topics
            for partition in topic.partitions
        }
        # Before the callbacks, because they may send markers again.
        self._busy.discard(broker_id)
        for part in parts:
            self._take(part, errors)
        self._go_on(broker_id)

    def _take(self, part: _Part, errors: dict[tuple[int, str, int], int]) -> None:
        """Process a broker's answer about one transaction's markers."""
        outcome = part.outcome
        producer_id = outcome.markers.producer_id
        retried = []
        for partition in part.partitions:
            code = errors.get((producer_id, *partition), ErrorCode.UNKNOWN_SERVER_ERROR)
            if code == ErrorCode.NONE or code in _CANNOT_HOLD_IT:
                outcome.left.discard(partition)
            elif code in _OVERTAKEN:
                log.warning(
                    "giving up the markers of producer %d's transaction: %s returned %s",
                    producer_id,
                    partition,
                    ErrorCode(code).name,
                )
                outcome.is_given_up = True
            else:
                retried.append(partition)
        if retried:
            log.info("sending the markers of producer %d to %d partitions again", producer_id, len(retried))
            self._timers.call_later(RETRY_MS, self._route, outcome, retried)
        self._finish_if_done(outcome)

    def _finish_if_done(self, outcome: _Outcome) -> None:
        if not outcome.left and not outcome.is_given_up and not self._is_closed:
            outcome.is_given_up = True
            outcome.written()


def _marker(part: _Part) -> WritableTxnMarker:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in part.partitions:
        by_topic.setdefault(topic, []).append(partition)
    markers = part.outcome.markers
    return WritableTxnMarker(
        markers.producer_id,
        markers.producer_epoch,
        markers.is_commit,
        [WritableTxnMarkerTopic(topic, partitions) for topic, partitions in by_topic.items()],
        part.outcome.coordinator_epoch,
    )
