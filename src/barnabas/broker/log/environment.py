"""The environment that all logs of a broker share: the disk, time, and the executors for blocking work.

Source: design page, section 2.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

from barnabas.broker.log.disk.files import FileSystem, LocalFileSystem
from barnabas.broker.log.segments.loaded_segments import LoadedSegments
from barnabas.core.clock import Clock
from barnabas.core.executor import Executor
from barnabas.core.histogram import Durations
from barnabas.core.pending import Pending, completed
from barnabas.core.timers import Timers
from barnabas.core.types import TopicPartition


class Going(NamedTuple):
    """A segment that is being removed.

    Attributes:
        rule: The reason: a setting, or a log start offset above it.
    """

    rule: str
    base_offset: int
    size_bytes: int


OnRemoved: TypeAlias = Callable[[TopicPartition, Sequence[Going]], object]
"""Called with a partition and the old segments that retention removed from its log."""


def _no_jitter(limit_ms: int) -> int:
    return 0


def _nothing(text: str) -> None:
    return


def _ignore(topic_partition: TopicPartition) -> None:
    return


def _nobody(topic_partition: TopicPartition, going: Sequence[Going]) -> None:
    return


def _no_damage(topic_partition: TopicPartition, directory: Path, error: BaseException) -> None:
    return


def _no_checkpoints(directory: Path) -> Pending[None]:
    return completed(None)


def _raise(error: BaseException) -> None:
    raise error


@dataclass(slots=True)
class LogEnvironment:
    """The environment of each log.

    Attributes:
        clock: Time for append times, retention and rolling.
        timers: Timers, such as for file.delete.delay.ms.
        executor: Runs blocking work, such as fsync and file removal.
        files: The disk.
        choose_jitter: Returns a random number from 0 to its argument - 1, for segment.jitter.ms.
        on_failure: Called on the event loop with the error of failed work on a log's files.
        producer_expiration_ms: transactional.id.expiration.ms.
        has_zstd: Whether zstd may be written (inter.broker.protocol.version=2.1 or newer).
        validates_records: Whether to check all records of each batch (barnabas.record.validation=full).
        on_loop: Called with the name of work on the event loop that should have been done earlier in an executor.
        loaded: The older segments of all logs whose indexes are in memory.
        flushes: Durations of flushes.
        on_flushed: Called with each log after its flush.
        on_removed: Called with the segments that retention removed.
        write_checkpoints: Writes the checkpoints of the directory that contains the given log; completes when they are
            on disk, or could not be written.
        on_damaged: Called on the event loop with a log's partition and directory and the error, if damaged data makes
            the log unusable.
    """

    clock: Clock
    timers: Timers
    executor: Executor
    files: FileSystem = field(default_factory=LocalFileSystem)
    choose_jitter: Callable[[int], int] = _no_jitter
    on_failure: Callable[[BaseException], object] = _raise
    producer_expiration_ms: int = 604_800_000
    validates_records: bool = False
    has_zstd: bool = True
    on_loop: Callable[[str], object] = _nothing
    loaded: LoadedSegments = field(default_factory=LoadedSegments)
    flushes: Durations = field(default_factory=Durations)
    on_flushed: Callable[[TopicPartition], object] = _ignore
    on_removed: OnRemoved = _nobody
    write_checkpoints: Callable[[Path], Pending[None]] = _no_checkpoints
    on_damaged: Callable[[TopicPartition, Path, BaseException], object] = _no_damage
