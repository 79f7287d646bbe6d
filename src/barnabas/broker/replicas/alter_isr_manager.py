"""ISR changes by AlterIsr: the controller writes them.

Invariants:

- One request is in flight at a time, with all gathered proposals; later proposals go with the next one.
- A proposal stays until the answer names it: if an answer omits it, refuses it for now, or is lost, it is sent again
  unchanged. The controller answers a repeated proposal with the resulting state, so repetition is safe.
- An answer counts only for the proposal that was sent. One that was withdrawn meanwhile, and proposed again in another
  leader epoch, waits for its own answer (KAFKA-12686).

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
# So that encoding and decoding hold nobody up.
MOST_PARTITIONS: Final = 1_000

# The partition is in another state than its leader believes: asking again changes nothing.
_FINAL: Final = frozenset(
    (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.INVALID_UPDATE_VERSION)
)

_logger = logging.getLogger(__name__)


class _Change:
    """A change that waits for its answer."""

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
        broker_epoch: Of this broker's registration, asked for each request.
        send: Sends a request to the controller that is known at that moment; it fails where none is known, the
            connection is lost, or no answer comes within controller.socket.timeout.ms. What is given up is
            cancelled.
        """
        self.failed_count = 0
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._send = send
        self._timers = timers
        self._changes: _Changes = {}
        self._answer: Pending[AlterIsrResponse] | None = None
        self._timer: Timer | None = None
        # What went wrong last: said once.
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
        """Send the proposals again at once: there is another controller, or a new epoch.

        The one before may never answer: Kafka's drops what waits when its session ends. What it did count for all that,
        and is not done twice.
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
                # Behind the others: they are to have their turn where there are more than go into one request.
                self._changes[key] = self._changes.pop(key)
                trouble = trouble or ErrorCode.UNKNOWN_SERVER_ERROR
        self._send_after(RETRY_BACKOFF_MS if trouble else GATHER_MS)
        for then, outcome in done:
            try:
                then(outcome)
            except Exception:
                # One partition's trouble is not that of the others in this answer.
                _logger.exception("cannot apply the result of an ISR change")

    def _note_trouble(self, what: str) -> None:
        if what and what != self._trouble:
            _logger.warning("AlterIsr failed, retrying: %s", what)
        self._trouble = what


def _outcome_of(change: _Change, answer: AlterIsrResponsePartitionData) -> IsrOutcome | None:
    """Return the outcome of a change; None: propose it again."""
    # differs from Kafka (alter-isr-again): it gives up on all errors, most of them by accident.
    if answer.error_code in _FINAL:
        return Refused(ErrorCode(answer.error_code))
    if answer.error_code:
        return None
    # The state of another leader epoch, or an older one than this broker has: it will be told.
    if answer.leader_epoch != change.leader_epoch:
        return Refused(ErrorCode.FENCED_LEADER_EPOCH)
    if answer.current_isr_version < change.zk_version:
        return Refused(ErrorCode.INVALID_UPDATE_VERSION)
    return Committed(tuple(answer.isr), answer.current_isr_version)
