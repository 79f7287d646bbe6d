"""Producer state on disk: `<offset>.snapshot` contains the state after all batches below that offset.

All big-endian:

    int16   version 1
    uint32  CRC-32C of everything from position 6 on
    int32   number of producers, then for each, 46 bytes:
        int64 producer id | int16 epoch | int32 last sequence | int64 last offset | int32 offset delta of the last batch
        int64 timestamp | int32 coordinator epoch | int64 first offset of the open transaction (-1 none)

Last sequence and offset are -1, and the delta is 0, if the producer has only markers.

Source: KIP-98; log-format facts, producer snapshot.
"""

from collections.abc import Callable
from pathlib import Path
from struct import Struct

from barnabas.broker.log.disk.files import FileSystem
from barnabas.broker.log.file_names import SNAPSHOT_SUFFIX, file_name
from barnabas.broker.log.producers.producer_state import ProducerBatch, ProducerEntry, ProducerState
from barnabas.core.types import NO_OFFSET, NO_SEQUENCE
from barnabas.wire.records.crc import crc32c

_VERSION = 1
_HEAD = Struct(">hI")
_COUNT = Struct(">i")
_ENTRY = Struct(">qhiqiqiq")
_SEQUENCE_MASK = 0x7FFFFFFF


class CorruptSnapshotError(Exception):
    """A snapshot file is corrupt; an older one, or the log itself, is used instead."""


def encode_snapshot(state: ProducerState) -> bytes:
    """Return the file's bytes."""
    body = bytearray(_COUNT.pack(len(state)))
    for producer_id, entry in state.items():
        last_offset, offset_delta = NO_OFFSET, 0
        if entry.batches:
            last_offset, offset_delta = entry.batches[-1].last_offset, entry.batches[-1].offset_delta
        body += _ENTRY.pack(
            producer_id,
            entry.epoch,
            entry.last_sequence,
            last_offset,
            offset_delta,
            entry.last_timestamp_ms,
            entry.coordinator_epoch,
            entry.transaction_first_offset,
        )
    return _HEAD.pack(_VERSION, crc32c(body)) + body


def decode_snapshot(data: bytes) -> ProducerState:
    """Return the state in a file's bytes.

    Raises:
        CorruptSnapshotError: Version, CRC or length is wrong.
    """
    if len(data) < _HEAD.size + _COUNT.size:
        raise CorruptSnapshotError(f"{len(data)} bytes")
    version, crc = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise CorruptSnapshotError(f"version {version}")
    if crc32c(memoryview(data)[_HEAD.size :]) != crc:
        raise CorruptSnapshotError("wrong CRC")
    entries = memoryview(data)[_HEAD.size + _COUNT.size :]
    (count,) = _COUNT.unpack_from(data, _HEAD.size)
    if count * _ENTRY.size != len(entries):
        raise CorruptSnapshotError(f"{count} producers in {len(entries)} bytes")
    producers: dict[int, ProducerEntry] = {}
    for (
        producer_id,
        epoch,
        last_sequence,
        last_offset,
        delta,
        timestamp_ms,
        coordinator_epoch,
        first_offset,
    ) in _ENTRY.iter_unpack(entries):
        batches: list[ProducerBatch] = []
        if last_offset != NO_OFFSET and last_sequence != NO_SEQUENCE:
            first_sequence = (last_sequence - delta) & _SEQUENCE_MASK
            batches.append(ProducerBatch(first_sequence, last_sequence, last_offset, delta, timestamp_ms))
        producers[producer_id] = ProducerEntry(
            epoch, batches, timestamp_ms, coordinator_epoch, first_offset, last_offset
        )
    state = ProducerState()
    state.put_all(producers)
    return state


class ProducerSnapshots:
    """The snapshot files of one log."""

    __slots__ = ("_directory", "_files", "_offsets")

    def __init__(self, files: FileSystem, directory: Path, offsets: list[int]) -> None:
        """Args:
        files: The disk.
        directory: The log's directory.
        offsets: The offsets of the existing files.
        """
        self._files = files
        self._directory = directory
        self._offsets = sorted(offsets)

    @property
    def offsets(self) -> tuple[int, ...]:
        """The offsets of all files, ascending."""
        return tuple(self._offsets)

    def path(self, offset: int) -> Path:
        """Return the file for `offset`."""
        return self._directory / file_name(offset, SNAPSHOT_SUFFIX)

    def take(self, offset: int, state: ProducerState) -> None:
        """Write the state as of `offset`."""
        self.plan(offset, state)()

    def plan(self, offset: int, state: ProducerState) -> Callable[[], None]:
        """Return a function that writes the current state as of `offset`, for the log's disk work.

        The file counts as existing at once.
        """
        path, data = self.path(offset), encode_snapshot(state)
        if offset not in self._offsets:
            self._offsets.append(offset)
            self._offsets.sort()
        return lambda: self._files.write(path, data)

    def load_latest(self) -> tuple[int, ProducerState] | None:
        """Return the newest valid snapshot, and remove newer, corrupt ones."""
        while self._offsets:
            offset = self._offsets[-1]
            try:
                return offset, decode_snapshot(self._files.read(self.path(offset)) or b"")
            except CorruptSnapshotError:
                self._remove([offset])
        return None

    def load_at(self, offset: int) -> tuple[int, ProducerState] | None:
        """Return the newest valid snapshot at or below `offset`; corrupt files are kept."""
        for known in reversed(self._offsets):
            if known <= offset:
                try:
                    return known, decode_snapshot(self._files.read(self.path(known)) or b"")
                except CorruptSnapshotError:
                    continue
        return None

    def forget_below(self, offset: int) -> Callable[[], None] | None:
        """Forget the files below `offset`; return a function that removes them, or None if there are none."""
        paths = [self.path(known) for known in self._offsets if known < offset]
        self._offsets = [known for known in self._offsets if known >= offset]

        def remove() -> None:
            for path in paths:
                self._files.remove(path)

        return remove if paths else None

    def remove_outside(self, start_offset: int, end_offset: int) -> None:
        """Remove the files at or below `start_offset` or above `end_offset`: they do not describe the log."""
        self._remove([known for known in self._offsets if known <= start_offset or known > end_offset])

    def _remove(self, offsets: list[int]) -> None:
        for offset in offsets:
            self._files.remove(self.path(offset))
            self._offsets.remove(offset)
