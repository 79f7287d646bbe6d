"""The partitions of an internal topic that this broker coordinates or is still loading.

A partition is loaded in three steps: an executor reads its log, the event loop takes over the items a few at a time,
then the broker owns the partition. Until then clients get COORDINATOR_LOAD_IN_PROGRESS.

Invariants: a partition is never loading and owned at once; a load that finishes after the resignation changes nothing.

Source: semantics, group coordinator (coordinator moves).
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, Protocol, TypeVar

from barnabas.broker.coordination.interfaces import Replicas
from barnabas.core.executor import Executor
from barnabas.core.timers import Timers
from barnabas.core.types import TopicPartition

log = logging.getLogger(__name__)

_ITEMS_PER_TURN = 200
_RETRY_MS = 5_000

T = TypeVar("T")


@dataclass(slots=True)
class LoadedPartition(Generic[T]):
    """The contents of a partition.

    Attributes:
        items: The items to take over (groups, transactional ids), each once.
        record_count: Records that were read.
        skipped_count: Batches or records that could not be decoded.
    """

    items: list[T] = field(default_factory=list)
    record_count: int = 0
    skipped_count: int = 0


class Reader(Protocol[T]):
    """Reads a whole partition; runs off the event loop."""

    def __call__(self, batches: Iterable[memoryview], is_stopped: Callable[[], bool], /) -> LoadedPartition[T]:
        """Args:
        batches: Its record batches, oldest first.
        is_stopped: Called before each batch; if it returns True, the result is incomplete and must not be used.
        """
        ...


class _Load:
    __slots__ = ("is_stopped",)

    def __init__(self) -> None:
        self.is_stopped = False


class OwnedPartitions(Generic[T]):
    """The partitions that this broker coordinates. Owned by the event loop."""

    def __init__(
        self,
        topic: str,
        replicas: Replicas,
        executor: Executor,
        timers: Timers,
        read: Reader[T],
        take_over: Callable[[T, int], object],
        loaded: Callable[[int], object] = lambda partition: None,
    ) -> None:
        """Args:
        topic: The internal topic.
        replicas: The replica manager.
        executor: Runs `read`.
        timers: Timers for retries and further turns.
        read: Reads a partition, in the executor.
        take_over: Called with each item that was read, and its partition.
        loaded: Called with each partition that has become owned.
        """
        self._topic = topic
        self._replicas = replicas
        self._executor = executor
        self._timers = timers
        self._read_items = read
        self._take_over = take_over
        self._loaded = loaded
        self._owned: set[int] = set()
        self._loading: dict[int, _Load] = {}

    @property
    def is_loading(self) -> bool:
        """Return whether any partition is being loaded."""
        return bool(self._loading)

    def owns(self, partition: int) -> bool:
        """Return whether the partition is led and loaded."""
        return partition in self._owned

    def loads(self, partition: int) -> bool:
        """Return whether the partition is led, but still being loaded."""
        return partition in self._loading

    def begin(self, partition: int) -> None:
        """Load a partition of which this broker has become leader; does nothing if it is owned or being loaded."""
        if partition in self._owned or partition in self._loading:
            return
        load = self._loading[partition] = _Load()
        self._read(partition, load)

    def drop(self, partition: int) -> None:
        """Stop owning or loading a partition."""
        self._owned.discard(partition)
        load = self._loading.pop(partition, None)
        if load is not None:
            load.is_stopped = True

    def close(self) -> None:
        """Stop owning or loading all partitions."""
        for partition in [*self._owned, *self._loading]:
            self.drop(partition)

    def _read(self, partition: int, load: _Load) -> None:
        if load.is_stopped:
            return
        hosted = self._replicas.partition(TopicPartition(self._topic, partition))
        if hosted is None:
            self.drop(partition)
            return
        start_offset, end_offset = hosted.log.log_start_offset, hosted.log.log_end_offset
        if start_offset == end_offset:
            self._finish(partition, load)
            return
        try:
            batches = hosted.log.batches(start_offset, end_offset)
        except Exception as error:
            self._on_failure(partition, load, error)
            return
        self._executor.run(
            partial(self._read_items, batches, lambda: load.is_stopped),
            partial(self._on_read, partition, load),
            partial(self._on_failure, partition, load),
        )

    def _on_read(self, partition: int, load: _Load, loaded: LoadedPartition[T]) -> None:
        if load.is_stopped:
            return
        log.info(
            "loaded %d entries from %d records of %s-%d", len(loaded.items), loaded.record_count, self._topic, partition
        )
        self._take_some(partition, load, iter(loaded.items))

    def _take_some(self, partition: int, load: _Load, items: Iterator[T]) -> None:
        """Take over as many items as fit into one turn of the event loop, then let other work run."""
        if load.is_stopped:
            return
        for _ in range(_ITEMS_PER_TURN):
            item = next(items, None)
            if item is None:
                self._finish(partition, load)
                return
            try:
                self._take_over(item, partition)
            except Exception as error:
                self._on_failure(partition, load, error)
                return
        self._timers.call_later(0, self._take_some, partition, load, items)

    def _finish(self, partition: int, load: _Load) -> None:
        if self._loading.get(partition) is load:
            del self._loading[partition]
            self._owned.add(partition)
            self._loaded(partition)

    def _on_failure(self, partition: int, load: _Load, error: BaseException) -> None:
        if load.is_stopped:
            return
        # differs from Kafka (offsets-partition-not-loaded): loading is retried; Kafka serves the partition as empty.
        log.error("cannot read %s-%d, retrying: %s", self._topic, partition, error)
        self._timers.call_later(_RETRY_MS, self._read, partition, load)
