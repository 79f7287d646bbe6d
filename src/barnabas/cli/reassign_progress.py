"""Progress, rate and remaining time of moving replicas.

Brokers report the sizes of their logs. Two reports, one second apart, give the growth of the new replicas; the logs
that they are copied from give the final size.

Source: KIP-113, DescribeLogDirs.
"""

import asyncio
from collections.abc import Iterable, Mapping
from math import ceil
from typing import Final, NamedTuple

from barnabas.clients.admin_replicas import Reassignment, ReplicaAdmin, ReplicaLog
from barnabas.core.types import TopicPartition

_BETWEEN_LOOKS_S: Final = 1.0
_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB")


class Progress(NamedTuple):
    """The progress of copying.

    Attributes:
        copied_bytes, total_bytes: Sums over all new replicas.
        bytes_per_s: Rate over the last second.
    """

    copied_bytes: int
    total_bytes: int
    bytes_per_s: float

    @property
    def left_s(self) -> int | None:
        """Return the remaining time at this rate; None if nothing was copied."""
        left_bytes = max(0, self.total_bytes - self.copied_bytes)
        return ceil(left_bytes / self.bytes_per_s) if self.bytes_per_s > 0 else None

    def __str__(self) -> str:
        copied = f"{size_text(self.copied_bytes)} of {size_text(self.total_bytes)}"
        if self.left_s is None:
            return f"{copied}, nothing in the last second"
        return f"{copied}, {size_text(self.bytes_per_s)}/s, {duration_text(self.left_s)} left"


class Measured(NamedTuple):
    """The progress of moving partitions, and of moving replicas by broker and partition."""

    between_brokers: dict[TopicPartition, Progress]
    between_log_dirs: dict[tuple[int, TopicPartition], Progress]


# The logs of brokers, current and future.
_Logs = dict[tuple[int, TopicPartition, bool], ReplicaLog]


async def measure_progress(
    admin: ReplicaAdmin,
    moving: Mapping[TopicPartition, Reassignment],
    log_dirs: Mapping[int, Iterable[TopicPartition]],
) -> Measured:
    """Measure the progress by two reports; by one if nothing moves.

    Args:
        moving: Partitions that are being reassigned.
        log_dirs: By broker, partitions that may be moving between its log directories.
    """
    brokers = {broker for move in moving.values() for broker in move.replicas} | log_dirs.keys()
    if not brokers:
        return Measured({}, {})
    loop = asyncio.get_running_loop()
    began, before = loop.time(), await _look(admin, brokers)
    if not moving and not any(is_future for _, _, is_future in before):
        return Measured({}, {})
    await asyncio.sleep(_BETWEEN_LOOKS_S)
    after = await _look(admin, brokers)
    taken_s = loop.time() - began
    between_brokers = {}
    for partition, move in moving.items():
        sources = [each for each in move.replicas if each not in move.adding]
        sizes = [_size(after, broker, partition) for broker in sources if (broker, partition, False) in after]
        if not sizes:
            # No live broker has this replica.
            continue
        copied, copied_before = (
            sum(_size(logs, broker, partition) for broker in move.adding) for logs in (after, before)
        )
        total_bytes = max(sizes) * len(move.adding)
        between_brokers[partition] = Progress(copied, total_bytes, (copied - copied_before) / taken_s)
    between_log_dirs = {}
    for broker, partitions in log_dirs.items():
        for partition in partitions:
            copied, copied_before = (_size(logs, broker, partition, is_future=True) for logs in (after, before))
            total_bytes = _size(after, broker, partition)
            between_log_dirs[broker, partition] = Progress(copied, total_bytes, (copied - copied_before) / taken_s)
    return Measured(between_brokers, between_log_dirs)


async def _look(admin: ReplicaAdmin, brokers: Iterable[int]) -> _Logs:
    alive = (await admin.retry(lambda: admin.pool.metadata([]))).brokers.keys()
    return {
        (broker, log.partition, log.is_future): log
        for broker, directories in (await admin.log_dirs(sorted(alive & set(brokers)))).items()
        for directory in directories
        for log in directory.logs
    }


def _size(logs: _Logs, broker: int, partition: TopicPartition, *, is_future: bool = False) -> int:
    log = logs.get((broker, partition, is_future))
    return 0 if log is None else log.size_bytes


def size_text(size_bytes: float) -> str:
    """Return a number of bytes with three digits, in a suitable unit."""
    for unit in _UNITS:
        if size_bytes < 999.5 or unit == _UNITS[-1]:
            break
        size_bytes /= 1_000
    return f"{size_bytes:.0f} {unit}" if unit == _UNITS[0] or size_bytes >= 99.95 else f"{size_bytes:.3g} {unit}"


def duration_text(seconds: int) -> str:
    """Return a time with its two largest units."""
    for size, unit, lesser, lesser_unit in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if seconds >= size:
            return f"{seconds // size} {unit} {seconds % size // lesser} {lesser_unit}"
    return f"{seconds} s"
