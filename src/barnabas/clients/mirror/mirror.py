"""Mirrors one source into the target in this process: several partitions in parallel, until stopped or complete."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from barnabas.clients.mirror.partition import Link, Mirrored, PartitionMirror
from barnabas.clients.mirror.plan import MirrorPlan
from barnabas.clients.mirror.progress import MirrorProgress, ends_of
from barnabas.clients.positions import Extents, Offsets, clamped, is_before, is_reached, still_there
from barnabas.core.error_code import RETRIABLE, ErrorCode
from barnabas.core.errors import KafkaError, ProtocolError
from barnabas.core.types import TopicPartition

_SIDE_BY_SIDE: Final = 4
# The maximum number of offsets before a partition yields to others, or a stop takes effect.
_SLICE_OFFSETS: Final = 100_000
_IDLE_S: Final = 0.5
_LOOK_S: Final = 10.0
_FIRST_RETRY_S: Final = 0.5
_LONGEST_RETRY_S: Final = 10.0
# Errors that a restart may resolve: another writer, a transaction of unknown outcome, a new log start.
_PASSING: Final = RETRIABLE | {
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.OFFSET_OUT_OF_RANGE,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.UNKNOWN_PRODUCER_ID,
}
# Errors that concern one partition of the source or the target, so that others can be mirrored meanwhile.
_OF_ONE_PARTITION: Final = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.LISTENER_NOT_FOUND,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    }
)


@dataclass(slots=True)
class MirrorFigures:
    """Progress figures of a mirror.

    Attributes:
        run: The mirror's name.
        record_count, payload_bytes: Records mirrored to the target, and the bytes of their batches.
        skipped_count: Records that were skipped, because they came from the target.
        lag: Offsets still to be mirrored, by the last known log ends; without partitions that have no leader.
        restart_count: Number of restarts after a failure.
    """

    run: str
    record_count: int = 0
    payload_bytes: int = 0
    skipped_count: int = 0
    lag: int = 0
    restart_count: int = 0
    positions: Offsets = field(default_factory=dict)


@dataclass(slots=True)
class _Failure:
    """A partition's failure: when it began, when the partition is tried again, and the pause after that."""

    since_s: float
    next_retry_s: float
    retry_s: float = _FIRST_RETRY_S


class Mirror:
    """The mirror of one source.

    Attributes:
        figures: Progress figures.
    """

    def __init__(
        self,
        plan: MirrorPlan,
        report: Callable[[MirrorFigures], None],
        warn: Callable[[str], None],
        give_up_s: float = 120.0,
    ) -> None:
        """Create a mirror; no request is sent yet.

        Args:
            plan: What to mirror.
            report: Called with the figures when something was mirrored.
            warn: Called with warnings for the operator, one line each.
            give_up_s: Maximum time without progress, of all partitions or one, before an error is raised.

        Raises:
            BarnabasError: An option or an address is invalid.
        """
        self.figures = MirrorFigures(plan.run)
        self._plan = plan
        self._report = report
        self._warn = warn
        self._give_up_s = give_up_s
        self._link = Link(plan)
        self._progress = MirrorProgress(self._link, warn)
        self._partitions: dict[TopicPartition, PartitionMirror] = {}
        self._failures: dict[TopicPartition, _Failure] = {}
        # The ends to be reached; None: no end, or not known yet.
        self._targets: Offsets | None = None
        self._last_success_s = 0.0
        self._retry_s = _FIRST_RETRY_S

    async def run(self, stopped: asyncio.Event, *, is_once: bool) -> None:
        """Mirror until `stopped` is set or, with `is_once`, until everything present at the start is mirrored.

        Partitions that are deleted meanwhile are not waited for.

        Raises:
            RecordsLostError: records were deleted before they were mirrored, and the plan's reaction is to stop.
            MirrorFencedError: another process mirrors the source under the same name.
            UnmirrorableError: the target cannot store a source record.
            PlanError: the plan is impossible.
            KafkaError: a cluster or a partition was unavailable for too long.
        """
        self._last_success_s = asyncio.get_running_loop().time()
        try:
            while not stopped.is_set():
                try:
                    await self._begin()
                    await self._go_on(stopped, is_once=is_once)
                    return
                except Exception as error:
                    await self._pass(_cause(error), stopped)
        finally:
            self._drop()
            await self._link.close()

    async def _begin(self) -> None:
        self._drop()
        self.figures.positions = await self._progress.begin()
        self._note_offline()

    async def _go_on(self, stopped: asyncio.Event, *, is_once: bool) -> None:
        loop = asyncio.get_running_loop()
        next_look_s = loop.time() + _LOOK_S
        slots = asyncio.Semaphore(_SIDE_BY_SIDE)
        while not stopped.is_set():
            if is_once and self._targets is None and not self._progress.offline:
                self._targets = ends_of(self._progress.extents)
            ends = clamped(ends_of(self._progress.extents), self._targets)
            self._measure_lag()
            behind = self._behind(ends)
            async with asyncio.TaskGroup() as tasks:
                for each in behind:
                    tasks.create_task(self._mirror(slots, each, ends[each.topic][each.partition], stopped))
            if self._is_complete(ends):
                return
            if not self.figures.lag:
                self._note_success()
            if not self.figures.lag or not behind:
                with suppress(TimeoutError):
                    await asyncio.wait_for(stopped.wait(), _IDLE_S)
            if loop.time() < next_look_s:
                await self._progress.measure()
                continue
            next_look_s = loop.time() + _LOOK_S
            await self._progress.check()
            before = _partitions(self._progress.extents)
            await self._progress.look()
            self._note_offline()
            if before != _partitions(self._progress.extents):
                self._warn(f"{self._plan.run}: there are other topics or partitions than before")
                await self._begin()
            elif is_before(ends_of(self._progress.extents), self.figures.positions):
                # A topic was deleted and created again, or a log was truncated: `begin` reports the loss.
                await self._begin()

    def _behind(self, ends: Offsets) -> list[TopicPartition]:
        """Return the partitions with records to mirror, except failed ones that are tried again later."""
        now_s = asyncio.get_running_loop().time()
        found = []
        for topic, partitions in ends.items():
            for number, end_offset in partitions.items():
                each = TopicPartition(topic, number)
                failure = self._failures.get(each)
                if self._position(each) < end_offset and (failure is None or now_s >= failure.next_retry_s):
                    found.append(each)
        return found

    def _is_complete(self, ends: Offsets) -> bool:
        """Return whether all targets are reached. Partitions without a leader are waited for, unlike deleted ones."""
        if self._targets is None or self._progress.offline:
            return False
        return is_reached(self.figures.positions, still_there(self._targets, ends))

    async def _mirror(
        self, slots: asyncio.Semaphore, partition: TopicPartition, end_offset: int, stopped: asyncio.Event
    ) -> None:
        async with slots:
            if stopped.is_set():
                return
            mirror = self._partitions.get(partition)
            if mirror is None:
                mirror = self._partitions[partition] = PartitionMirror(self._link, partition)
            done = Mirrored(self._position(partition))
            end_offset = min(end_offset, done.position + _SLICE_OFFSETS)
            forgotten = self._progress.forgotten(*partition)
            failure: KafkaError | None = None
            try:
                await mirror.mirror(done, end_offset, forgotten, stopped.is_set)
            except KafkaError as error:
                if error.code not in _OF_ONE_PARTITION:
                    raise
                failure = error
            finally:
                if done.position > self._position(partition):
                    self._take(partition, done)
            if failure is not None:
                self._note_failure(partition, failure)

    def _take(self, partition: TopicPartition, done: Mirrored) -> None:
        self.figures.lag = max(0, self.figures.lag - (done.position - self._position(partition)))
        self.figures.positions[partition.topic][partition.partition] = done.position
        self.figures.record_count += done.record_count
        self.figures.payload_bytes += done.payload_bytes
        self.figures.skipped_count += done.skipped_count
        self._failures.pop(partition, None)
        self._note_success()
        self._report(self.figures)

    def _measure_lag(self) -> None:
        self.figures.lag = sum(
            max(0, end_offset - self._position(TopicPartition(topic, number)))
            for topic, partitions in ends_of(self._progress.extents).items()
            for number, end_offset in partitions.items()
        )

    def _position(self, partition: TopicPartition) -> int:
        return self.figures.positions[partition.topic][partition.partition]

    def _note_success(self) -> None:
        self._last_success_s = asyncio.get_running_loop().time()
        self._retry_s = _FIRST_RETRY_S

    def _note_offline(self) -> None:
        """Note the partitions without a leader; forget failures of partitions with nothing to mirror."""
        for each in self._failures.keys() - self._progress.offline:
            extent = self._progress.extents.get(each.topic, {}).get(each.partition)
            position = self.figures.positions.get(each.topic, {}).get(each.partition, 0)
            if extent is None or position >= extent.end_offset:
                del self._failures[each]
        for each in sorted(self._progress.offline):
            self._note_failure(each, KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"partition {each} has no leader"))

    def _note_failure(self, partition: TopicPartition, error: KafkaError) -> None:
        """Have a partition tried again later; raise an error that has lasted too long."""
        now_s = asyncio.get_running_loop().time()
        failure = self._failures.get(partition)
        if failure is None:
            text = f"partition {partition} failed ({error}); it is tried again, and the other partitions continue"
            self._warn(f"{self._plan.run}: {text}")
            failure = self._failures[partition] = _Failure(now_s, now_s)
        elif now_s - failure.since_s > self._give_up_s:
            raise error
        failure.next_retry_s = now_s + failure.retry_s
        failure.retry_s = min(2 * failure.retry_s, _LONGEST_RETRY_S)

    async def _pass(self, error: Exception, stopped: asyncio.Event) -> None:
        """Wait before a restart; raise an error that is permanent or has lasted too long."""
        self._drop()
        since_s = min([self._last_success_s, *(each.since_s for each in self._failures.values())])
        if not is_passing(error) or asyncio.get_running_loop().time() - since_s > self._give_up_s:
            raise error
        self._warn(f"{self._plan.run} stopped ({error}); starting it again in {self._retry_s:.1f} s")
        self.figures.restart_count += 1
        with suppress(TimeoutError):
            await asyncio.wait_for(stopped.wait(), self._retry_s)
        self._retry_s = min(2 * self._retry_s, _LONGEST_RETRY_S)

    def _drop(self) -> None:
        for each in self._partitions.values():
            each.close()
        self._partitions.clear()


def is_passing(error: Exception) -> bool:
    """Return whether a restart may succeed after this error."""
    return isinstance(error, ProtocolError) or (isinstance(error, KafkaError) and error.code in _PASSING)


def _partitions(extents: Extents) -> dict[str, set[int]]:
    return {topic: set(found) for topic, found in extents.items()}


def _cause(error: Exception) -> Exception:
    """Return the cause of failed partitions; permanent errors come first."""
    if not isinstance(error, ExceptionGroup):
        return error
    causes = [_cause(each) for each in error.exceptions]
    return next((each for each in causes if not isinstance(each, KafkaError)), causes[0])
