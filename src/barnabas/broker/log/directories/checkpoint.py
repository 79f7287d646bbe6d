"""Checkpoint files: short text files that are replaced as a whole.

    line 1      version, `0`
    line 2      number of entries
    then        an entry a line, fields separated by spaces: `topic partition offset` in a log directory's checkpoints

Invariant: a wrong version, a wrong count or a malformed line is a `StorageError` (the directory goes offline); an empty
file has no entries.

Source: log-format facts, checkpoint text format.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from barnabas.broker.log.disk.files import FileSystem
from barnabas.core.errors import StorageError
from barnabas.core.types import TopicPartition

_VERSION = "0"


def format_lines(entries: Sequence[Iterable[object]]) -> bytes:
    """Return the file's bytes."""
    lines = [_VERSION, str(len(entries)), *(" ".join(map(str, entry)) for entry in entries)]
    return ("\n".join(lines) + "\n").encode()


def parse_lines(data: bytes, field_count: int, path: Path) -> list[list[str]]:
    """Return the fields of each entry; the last two fields must be numbers.

    Raises:
        StorageError: The file is malformed.
    """
    try:
        lines = data.decode("ascii").splitlines()
    except UnicodeDecodeError:
        raise StorageError(f"{path}: not a checkpoint file", path) from None
    if not lines:
        return []
    if lines[0] != _VERSION:
        raise StorageError(f"{path}: version {lines[0]!r} of the checkpoint file is not known", path)
    entries = [line.split() for line in lines[2:]]
    if len(lines) < 2 or lines[1] != str(len(entries)):
        raise StorageError(f"{path}: {len(entries)} entries where the second line says otherwise", path)
    for entry in entries:
        if len(entry) != field_count or not all(_is_number(field) for field in entry[-2:]):
            raise StorageError(f"{path}: malformed line {' '.join(entry)!r}", path)
    return entries


def _is_number(field: str) -> bool:
    return field.removeprefix("-").isdecimal()


class OffsetCheckpoint:
    """A checkpoint file of a log directory: an offset for each partition.

    Attributes:
        path: The file.
    """

    __slots__ = ("_files", "path")

    def __init__(self, files: FileSystem, path: Path) -> None:
        self._files = files
        self.path = path

    def read(self) -> dict[TopicPartition, int]:
        """Return all entries; an empty dict if the file is missing.

        Raises:
            StorageError: The file is malformed.
        """
        lines = parse_lines(self._files.read(self.path) or b"", 3, self.path)
        return {TopicPartition(topic, int(partition)): int(offset) for topic, partition, offset in lines}

    def write(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Replace the file; blocks until it is on disk."""
        entries = [(topic, partition, offset) for (topic, partition), offset in offsets.items()]
        self._files.replace(self.path, format_lines(entries))
