"""ISR changes proposed to the controller, which writes them (AlterIsr).

Invariants:

- One request is in flight at a time, with all gathered proposals. Later proposals are sent in the next request.
- A proposal is pending until a response contains its outcome. It is sent again unchanged if the response omits it, has
  a retriable error, or is lost. The controller answers a repeated proposal with the resulting state, so this is safe.
- A response applies only to the proposals in its request. If a proposal was withdrawn and repeated in another leader
  epoch meanwhile, the repeated proposal waits for its own response (KAFKA-12686).

Source: protocol guide, AlterIsr; KIP-497; semantics, replication.
"""

import logging
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Final

from barnabas.broker.replicas.isr_changes import Committed, IsrOutcome, Refused
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.core.timers import Timer, Timers
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.alter_isr import (
    AlterIsrRequest,
    AlterIsrRequestPartitionData,
    AlterIsrRequestTopicData,
    AlterIsrResponse,
    AlterIsrResponsePartitionData,
)

GATHER_MS: Final = 50
RETRY_BACKOFF_MS: Final = 100
# Limits the time that encoding and decoding block the event loop.
MOST_PARTITIONS: Final = 1_000

# The partition's state differs from the leader's: a retry would fail again.
_FINAL: Final = frozenset(
    (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.INVALID_UPDATE_VERSION)
)

_logger = logging.getLogger(__name__)


class _Change:
    """A proposed change without an outcome."""

    __slots__ = ("isr", "leader_epoch", "then", "zk_version")

    def __init__(
        self, leader_epoch: int, isr: tuple[int, ...], zk_version: int, then: Callable[[IsrOutcome], object]
    ) -> None:
        self.leader_epoch = leader_epoch
        self.isr = isr
        self.zk_version = zk_version
        self.then = then


_Changes = dict[TopicPartition, _Change]


class AlterIsrManager:
    """Proposes ISR changes to the controller by AlterIsr. Owned by the event loop."""

    def __init__(
        self,
        broker_id: int,
        broker_epoch: Callable[[], int],
        send: Callable[[AlterIsrRequest], Pending[AlterIsrResponse]],
        timers: Timers,
    ) -> None:
        """Args:
        broker_epoch: Returns the epoch of this broker's registration; called for each request.
        send: Sends a request to the current controller. It fails if no controller is known, the connection is lost,
            or no response arrives within controller.socket.timeout.ms. An abandoned request is cancelled.
        """
        self.failed_count = 0
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._send = send
        self._timers = timers
        self._changes: _Changes = {}
        self._answer: Pending[AlterIsrResponse] | None = None
        self._timer: Timer | None = None
        # The last error, so that repetitions are logged once.
        self._trouble = ""

    def propose(
        self,
        key: TopicPartition,
        leader: int,
        leader_epoch: int,
        isr: tuple[int, ...],
        zk_version: int,
        controller_epoch: int,
        then: Callable[[IsrOutcome], object],
    ) -> None:
        """See `IsrChanges.propose`."""
        self._changes[key] = _Change(leader_epoch, isr, zk_version, then)
        self._send_after(GATHER_MS)

    def controller_changed(self) -> None:
        """Send all proposals again at once, because the controller or the broker epoch has changed.

        The previous controller may never answer: Kafka's controller drops waiting requests when its session ends.
        Changes that it did write are valid, and a repeated proposal does not apply them twice.
        """
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.cancel()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._send_after(0)

    def withdraw(self, key: TopicPartition) -> None:
        """See `IsrChanges.withdraw`."""
        self._changes.pop(key, None)

    def close(self) -> None:
        """See `IsrChanges.close`."""
        self._changes.clear()
        self.controller_changed()

    def _send_after(self, delay_ms: int) -> None:
        if self._changes and self._timer is None and self._answer is None:
            self._timer = self._timers.call_later(delay_ms, self._send_next)

    def _send_next(self) -> None:
        self._timer = None
        sent = dict(islice(self._changes.items(), MOST_PARTITIONS))
        if not sent:
            return
        topics: dict[str, list[AlterIsrRequestPartitionData]] = {}
        for (topic, partition), change in sent.items():
            topics.setdefault(topic, []).append(
                AlterIsrRequestPartitionData(partition, change.leader_epoch, list(change.isr), change.zk_version)
            )
        request = AlterIsrRequest(
            self._broker_id, self._broker_epoch(), [AlterIsrRequestTopicData(*each) for each in topics.items()]
        )
        self._answer = self._send(request)
        self._answer.then(partial(self._answered, sent), self._lost)

    def _lost(self, error: BaseException) -> None:
        self._answer = None
        self._note_trouble(str(error) or type(error).__name__)
        self._send_after(RETRY_BACKOFF_MS)

    def _answered(self, sent: _Changes, response: AlterIsrResponse) -> None:
        self._answer = None
        outcomes: dict[TopicPartition, IsrOutcome] = {}
        trouble = ErrorCode(response.error_code)
        if not trouble:
            for topic in response.topics:
                for answer in topic.partitions:
                    key = TopicPartition(topic.name, answer.partition_index)
                    change = sent.get(key)
                    if change is None or self._changes.get(key) is not change or key in outcomes:
                        continue
                    outcome = _outcome_of(change, answer)
                    if outcome is not None:
                        outcomes[key] = outcome
                    else:
                        trouble = ErrorCode(answer.error_code)
                    if not isinstance(outcome, Committed) and answer.error_code != ErrorCode.NOT_CONTROLLER:
                        self.failed_count += 1
        self._note_trouble(trouble.name if trouble else "")
        done = [(self._changes.pop(key).then, outcome) for key, outcome in outcomes.items()]
        for key, change in sent.items():
            if self._changes.get(key) is change:
                # Move it to the end: other proposals go first if one request cannot contain all.
                self._changes[key] = self._changes.pop(key)
                trouble = trouble or ErrorCode.UNKNOWN_SERVER_ERROR
        self._send_after(RETRY_BACKOFF_MS if trouble else GATHER_MS)
        for then, outcome in done:
            try:
                then(outcome)
            except Exception:
                # An error of one partition must not affect the others in this response.
                _logger.exception("cannot apply the result of an ISR change")

    def _note_trouble(self, what: str) -> None:
        if what and what != self._trouble:
            _logger.warning("AlterIsr failed, retrying: %s", what)
        self._trouble = what


def _outcome_of(change: _Change, answer: AlterIsrResponsePartitionData) -> IsrOutcome | None:
    """Return the outcome of a change; None: propose it again."""
    # differs from Kafka (alter-isr-again): Kafka gives up on all errors, on most of them by accident.
    if answer.error_code in _FINAL:
        return Refused(ErrorCode(answer.error_code))
    if answer.error_code:
        return None
    # The state has another leader epoch, or is older than this broker's: the controller will send the current one.
    if answer.leader_epoch != change.leader_epoch:
        return Refused(ErrorCode.FENCED_LEADER_EPOCH)
    if answer.current_isr_version < change.zk_version:
        return Refused(ErrorCode.INVALID_UPDATE_VERSION)
    return Committed(tuple(answer.isr), answer.current_isr_version)
