"""ISR changes written by the leader: the partition's state, and a notification for the controller.

    /brokers/topics/<topic>/partitions/<p>/state   the new state, if the znode still has the leader's known version
    /isr_change_notification/isr_change_<seq>      the changed partitions; the controller sends them to all brokers

Invariants:

- A state with another version but the intended contents was written by this leader: the response was lost.
- The controller is notified of every written change, even if the change was withdrawn meanwhile. Notifications are
  batched: checked every 2.5 s, written when the last change is over 5 s old, or the last notification over 60 s.

Source: zookeeper.md, partition state, ISR change notifications; semantics, replication; Kafka 2.7.2, ZkIsrManager.
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import Final

from barnabas.broker.replicas.isr_changes import Committed, IsrOutcome, Refused
from barnabas.core.clock import Clock
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Spawner
from barnabas.core.timers import Timers
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import (
    BadVersionError,
    ConnectionLostError,
    NoNodeError,
    Registry,
    RegistryClosedError,
    RegistryError,
)
from barnabas.wire.registry.znodes.notifications import encode_isr_notification
from barnabas.wire.registry.znodes.payload import MalformedError
from barnabas.wire.registry.znodes.topics import PartitionStateNode, decode_partition_state, encode_partition_state

CHECK_INTERVAL_MS: Final = 2_500
QUIET_MS: Final = 5_000
MOST_SILENCE_MS: Final = 60_000
RETRY_BACKOFF_MS: Final = 1_000
MOST_WRITES_AT_ONCE: Final = 100
# Keeps a notification below ZooKeeper's limit of 1 MB, even with the longest topic names.
MOST_PARTITIONS_IN_A_NOTE: Final = 3_000

_logger = logging.getLogger(__name__)


class _Change:
    """A state to be written."""

    __slots__ = ("key", "state", "then", "zk_version")

    def __init__(
        self, key: TopicPartition, state: PartitionStateNode, zk_version: int, then: Callable[[IsrOutcome], object]
    ) -> None:
        self.key = key
        self.state = state
        self.zk_version = zk_version
        self.then = then


class RegistryIsrChanges:
    """Writes partition states by version, and notifies the controller some seconds later. Owned by the event loop."""

    def __init__(self, registry: Registry, clock: Clock, timers: Timers, spawner: Spawner) -> None:
        self.failed_count = 0
        self._registry = registry
        self._clock = clock
        self._timers = timers
        self._spawner = spawner
        self._changes: dict[TopicPartition, _Change] = {}
        self._queue: deque[_Change] = deque()
        self._write_count = 0
        # Changes that the controller was not notified of yet.
        self._changed: dict[TopicPartition, None] = {}
        self._changed_ms = self._noted_ms = clock.monotonic_ms()
        self._is_closed = False
        self._timer = timers.call_later(CHECK_INTERVAL_MS, self._check)

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
        state = PartitionStateNode(leader, leader_epoch, isr, controller_epoch)
        change = self._changes[key] = _Change(key, state, zk_version, then)
        self._enqueue(change)

    def withdraw(self, key: TopicPartition) -> None:
        """See `IsrChanges.withdraw`."""
        self._changes.pop(key, None)

    def close(self) -> None:
        """See `IsrChanges.close`."""
        self._is_closed = True
        self._changes.clear()
        self._queue.clear()
        self._changed.clear()
        self._timer.cancel()

    def _enqueue(self, change: _Change) -> None:
        self._queue.append(change)
        self._write_next()

    def _write_next(self) -> None:
        while self._queue and self._write_count < MOST_WRITES_AT_ONCE:
            change = self._queue.popleft()
            if self._changes.get(change.key) is change:
                self._write_count += 1
                self._spawner.spawn(self._write(change)).then(self._written, self._written)

    def _written(self, _: object) -> None:
        self._write_count -= 1
        self._write_next()

    async def _write(self, change: _Change) -> None:
        """Write a state, and call back with the outcome."""
        key = change.key
        outcome: IsrOutcome
        try:
            outcome = Committed(change.state.isr, await self._set(change))
        except RegistryClosedError:
            return
        except NoNodeError:
            outcome = Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        except (BadVersionError, MalformedError):
            outcome = Refused(ErrorCode.INVALID_UPDATE_VERSION)
        except RegistryError as error:
            if not isinstance(error, ConnectionLostError):
                self.failed_count += 1
            _logger.warning("cannot write the ISR of %s, retrying: %s", key, error)
            self._timers.call_later(RETRY_BACKOFF_MS, self._enqueue, change)
            return
        if isinstance(outcome, Committed) and not self._is_closed:
            self._changed[key] = None
            self._changed_ms = self._clock.monotonic_ms()
        if self._changes.get(key) is not change:
            return
        del self._changes[key]
        if isinstance(outcome, Refused):
            self.failed_count += 1
            _logger.warning("ISR of %s not written: the partition's state has changed", key)
        change.then(outcome)

    async def _set(self, change: _Change) -> int:
        """Write a state, and return the version of its znode."""
        path = paths.partition_state(*change.key)
        try:
            return (await self._registry.set(path, encode_partition_state(change.state), change.zk_version)).version
        except BadVersionError:
            data, stat = await self._registry.get(path)
            if decode_partition_state(data) != change.state:
                raise
            return stat.version

    def _check(self) -> None:
        self._timer = self._timers.call_later(CHECK_INTERVAL_MS, self._check)
        now_ms = self._clock.monotonic_ms()
        is_quiet = now_ms - self._changed_ms > QUIET_MS
        if self._changed and (is_quiet or now_ms - self._noted_ms > MOST_SILENCE_MS):
            self._noted_ms = now_ms
            keys = list(self._changed)
            self._changed.clear()
            for start in range(0, len(keys), MOST_PARTITIONS_IN_A_NOTE):
                self._spawner.spawn(self._note(keys[start : start + MOST_PARTITIONS_IN_A_NOTE]))

    async def _note(self, keys: list[TopicPartition]) -> None:
        try:
            await self._registry.create(paths.ISR_CHANGE_PREFIX, encode_isr_notification(keys), sequence=True)
        except RegistryClosedError:
            return
        except RegistryError as error:
            _logger.warning("cannot notify the controller of %s ISR changes: %s", len(keys), error)
            if not self._is_closed:
                # Retried by a later check.
                self._changed.update(dict.fromkeys(keys))
