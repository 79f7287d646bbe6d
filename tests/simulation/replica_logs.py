"""Reads what a broker's disks hold of a partition, as they are, without the broker."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from barnabas.core.types import TopicPartition
from barnabas.testing.simulation.disk import MemoryDisk
from barnabas.wire.records.batch import CONTROL_BIT
from barnabas.wire.records.formats import batches_of_any_magic, iterate_any_records, read_any_header
from tests.simulation.checker import Entry

# Behind it is what makes a record's size another one.
PADDING = b"."


class Named(Protocol):
    """What is listed."""

    @property
    def name(self) -> str: ...


class Disk(Protocol):
    """What can be listed and read, be it simulated or not."""

    def list(self, path: Path) -> Sequence[Named]: ...

    def read(self, path: Path) -> bytes | None: ...


class RealDisk:
    """The machine's own."""

    def list(self, path: Path) -> Sequence[Path]:
        return list(path.iterdir())

    def read(self, path: Path) -> bytes | None:
        return path.read_bytes()


def entries_of(disk: Disk, directory: Path, start_offset: int) -> list[Entry]:
    """Return the records of a log from an offset on, in the order of its files.

    Raises:
        CorruptRecordsError: There is something else in the files.
    """
    entries: list[Entry] = []
    names = sorted(each.name for each in disk.list(directory) if each.name.endswith(".log"))
    for name in names:
        for batch in batches_of_any_magic(disk.read(directory / name) or b""):
            header = read_any_header(batch)
            is_control = bool(header.attributes & CONTROL_BIT) and header.magic == 2
            epoch = getattr(header, "leader_epoch", -1)
            for record in iterate_any_records(batch):
                value = None if is_control else text_of(record.value)
                entries.append(Entry(record.offset, epoch, value))
    return [entry for entry in entries if entry.offset >= start_offset]


def directory_of(disk: MemoryDisk, log_dirs: list[Path], partition: TopicPartition) -> Path | None:
    """Where a partition's log is; None: nowhere."""
    for log_dir in log_dirs:
        directory = log_dir / f"{partition.topic}-{partition.partition}"
        if disk.exists(directory):
            return directory
    return None


def text_of(value: bytes | memoryview | None) -> str:
    """What a producer wrote, without the padding."""
    return bytes(value or b"").rstrip(PADDING).decode()
