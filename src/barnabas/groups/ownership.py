"""Which partitions of `__consumer_offsets` this broker coordinates, and which of them are still being read.

A partition is loaded in three steps: its log is read in the executor, its groups are taken over on the event loop a
few at a time, then it is owned. It answers COORDINATOR_LOAD_IN_PROGRESS until then.

Invariants: a partition is never loading and owned at once; a load that was overtaken by a resignation changes
nothing any more.

Source: semantics, group coordinator (coordinator moves).
"""

import logging
from collections.abc import Callable, Iterator
from functools import partial

from barnabas.core.errors import StorageError
from barnabas.core.executor import Executor
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC
from barnabas.core.timers import Timers
from barnabas.core.types import TopicPartition
from barnabas.groups.group import Group, GroupSettings
from barnabas.groups.interfaces import Replicas
from barnabas.groups.loading import LoadedPartition, read_groups
from barnabas.records.errors import CorruptRecordsError

log = logging.getLogger(__name__)

_GROUPS_PER_TURN = 200
_RETRY_MS = 5_000


class _Load:
    __slots__ = ("is_stopped",)

    def __init__(self) -> None:
        self.is_stopped = False


class OwnedPartitions:
    """The partitions that this broker coordinates; belongs to the event loop's thread."""

    def __init__(
        self,
        replicas: Replicas,
        executor: Executor,
        timers: Timers,
        settings: GroupSettings,
        take_over: Callable[[Group, int], object],
    ) -> None:
        """Args:
        take_over: Called with each group that was read, and its partition.
        """
        self._replicas = replicas
        self._executor = executor
        self._timers = timers
        self._settings = settings
        self._take_over = take_over
        self._owned: set[int] = set()
        self._loading: dict[int, _Load] = {}

    @property
    def is_loading(self) -> bool:
        """Whether any partition is being read."""
        return bool(self._loading)

    def owns(self, partition: int) -> bool:
        """Whether the partition is led and loaded."""
        return partition in self._owned

    def loads(self, partition: int) -> bool:
        """Whether the partition is led, and being read."""
        return partition in self._loading

    def begin(self, partition: int) -> None:
        """Read a partition that this broker leads now; nothing happens when that was done or is being done."""
        if partition in self._owned or partition in self._loading:
            return
        load = self._loading[partition] = _Load()
        self._read(partition, load)

    def drop(self, partition: int) -> None:
        """Give a partition up."""
        self._owned.discard(partition)
        load = self._loading.pop(partition, None)
        if load is not None:
            load.is_stopped = True

    def close(self) -> None:
        """Give all up."""
        for partition in [*self._owned, *self._loading]:
            self.drop(partition)

    def _read(self, partition: int, load: _Load) -> None:
        if load.is_stopped:
            return
        hosted = self._replicas.partition(TopicPartition(GROUP_OFFSETS_TOPIC, partition))
        if hosted is None:
            self.drop(partition)
            return
        start_offset, end_offset = hosted.log.log_start_offset, hosted.log.log_end_offset
        if start_offset == end_offset:
            self._finish(partition, load)
            return
        try:
            batches = hosted.log.batches(start_offset, end_offset)
        except (StorageError, CorruptRecordsError) as error:
            self._on_failure(partition, load, error)
            return
        self._executor.run(
            partial(read_groups, batches, self._settings, lambda: load.is_stopped),
            partial(self._on_read, partition, load),
            partial(self._on_failure, partition, load),
        )

    def _on_read(self, partition: int, load: _Load, loaded: LoadedPartition) -> None:
        if load.is_stopped:
            return
        log.info(
            "read %d groups from %d records of %s-%d",
            len(loaded.groups),
            loaded.record_count,
            GROUP_OFFSETS_TOPIC,
            partition,
        )
        self._take_some(partition, load, iter(loaded.groups))

    def _take_some(self, partition: int, load: _Load, groups: Iterator[Group]) -> None:
        """Take over as many groups as one turn of the event loop may, then let others have theirs."""
        if load.is_stopped:
            return
        for _ in range(_GROUPS_PER_TURN):
            group = next(groups, None)
            if group is None:
                self._finish(partition, load)
                return
            self._take_over(group, partition)
        self._timers.call_later(0, self._take_some, partition, load, groups)

    def _finish(self, partition: int, load: _Load) -> None:
        if self._loading.get(partition) is load:
            del self._loading[partition]
            self._owned.add(partition)

    def _on_failure(self, partition: int, load: _Load, error: BaseException) -> None:
        if load.is_stopped:
            return
        # differs from Kafka (offsets-partition-not-loaded): it is tried again; Kafka serves the partition as if it were
        # empty.
        log.error("cannot read %s-%d, trying again: %s", GROUP_OFFSETS_TOPIC, partition, error)
        self._timers.call_later(_RETRY_MS, self._read, partition, load)
