"""The leader epoch cache: the start offset of each leader epoch, stored in `leader-epoch-checkpoint`.

Text: a line `0` (version), a line with the number of entries, then `epoch start_offset` per line, ascending.

Invariant: epochs and start offsets both strictly increase; a new entry removes those with an epoch or a start offset
at or above its own.

Source: design page, replication; KIP-101, KIP-279; log-format facts, leader epochs.
"""

from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from barnabas.broker.log.directories.checkpoint import format_lines, parse_lines
from barnabas.broker.log.disk.files import FileSystem
from barnabas.broker.log.file_names import EPOCHS_FILE
from barnabas.core.errors import StorageError
from barnabas.core.types import NO_EPOCH, NO_OFFSET


class EpochEntry(NamedTuple):
    """An epoch and its first offset."""

    epoch: int
    start_offset: int


class LeaderEpochs:
    """The epochs of one log; every change is written soon, and synced with the log's next flush.

    A log whose message format has no leader epochs has no entries and no file.

    Attributes:
        latest_epoch: The newest epoch; -1 if none is known.
        path: The file.
        changed: Called when the file must be written; calls `write` directly until the log replaces it.
    """

    __slots__ = ("_entries", "_files", "_is_kept", "changed", "latest_epoch", "path")

    def __init__(self, files: FileSystem, directory: Path) -> None:
        self._files = files
        self.path = directory / EPOCHS_FILE
        self._entries: list[EpochEntry] = []
        self._is_kept = True
        self.latest_epoch = NO_EPOCH
        self.changed: Callable[[], object] = self.write

    def keep(self, is_kept: bool) -> None:
        """Set whether the log stores epochs; a change removes the known epochs."""
        if is_kept == self._is_kept:
            return
        self._is_kept = is_kept
        self._set([])

    def load_after_clean_stop(self) -> bool:
        """Read the file, creating it if it is missing.

        A power failure during an earlier start may have torn the file before the clean shutdown marker was removed. The
        log then has no epochs.

        Returns:
            Whether the file was valid.

        Raises:
            StorageError: The file can't be read.
        """
        data = self._files.read(self.path)
        try:
            self._take(data)
        except StorageError:
            self._set([])
            return False
        return True

    def load(self) -> None:
        """Read the file, creating it if it is missing.

        Raises:
            StorageError: The file can't be read, or is malformed.
        """
        self._take(self._files.read(self.path))

    def _take(self, data: bytes | None) -> None:
        if data is None:
            self._set([])
        else:
            self._entries = [EpochEntry(int(epoch), int(start)) for epoch, start in parse_lines(data, 2, self.path)]
            self.latest_epoch = self._entries[-1].epoch if self._entries else NO_EPOCH

    def load_after_crash(self) -> bool:
        """Read the file after a crash; if it is torn or missing, the log has no epochs.

        Returns:
            Whether the file was valid and has entries.
        """
        try:
            self.load()
        except StorageError:
            self._set([])
            return False
        return bool(self._entries)

    @property
    def entries(self) -> tuple[EpochEntry, ...]:
        return tuple(self._entries)

    def assign(self, epoch: int, start_offset: int) -> None:
        """Note that `epoch` starts at `start_offset`."""
        if not self._is_kept:
            return
        if self._entries and epoch == self.latest_epoch and start_offset >= self._entries[-1].start_offset:
            return
        kept = [entry for entry in self._entries if entry.epoch < epoch and entry.start_offset < start_offset]
        self._set([*kept, EpochEntry(epoch, start_offset)])

    def truncate_from_end(self, end_offset: int) -> None:
        """Remove the epochs that start at or above `end_offset`."""
        if self._entries and self._entries[-1].start_offset >= end_offset:
            self._set([entry for entry in self._entries if entry.start_offset < end_offset])

    def truncate_from_start(self, start_offset: int) -> None:
        """Remove the epochs that end at or below `start_offset`; the epoch that contains it then starts there."""
        index = bisect_right(self._entries, start_offset, key=lambda entry: entry.start_offset)
        if index and self._entries[0].start_offset != start_offset:
            held = EpochEntry(self._entries[index - 1].epoch, start_offset)
            self._set([held, *self._entries[index:]])

    def clear(self) -> None:
        """Remove all epochs."""
        if self._entries:
            self._set([])

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """Find the end of an epoch.

        Returns:
            The largest known epoch at or below `epoch` and the offset after its last record. For an epoch below all
            known ones: `epoch` and the first known start offset. (-1, -1) if `epoch` is above all known ones, or none
            are known.
        """
        if not self._entries or epoch == NO_EPOCH or epoch > self.latest_epoch:
            return NO_EPOCH, NO_OFFSET
        if epoch == self.latest_epoch:
            return epoch, log_end_offset
        index = bisect_right(self._entries, epoch, key=lambda entry: entry.epoch)
        if index == 0:
            return epoch, self._entries[0].start_offset
        return self._entries[index - 1].epoch, self._entries[index].start_offset

    def epoch_at(self, offset: int) -> int:
        """Return the epoch that wrote `offset`; -1 if it is unknown."""
        index = bisect_right(self._entries, offset, key=lambda entry: entry.start_offset)
        return self._entries[index - 1].epoch if index else NO_EPOCH

    def _set(self, entries: list[EpochEntry]) -> None:
        self._entries = entries
        self.latest_epoch = entries[-1].epoch if entries else NO_EPOCH
        self.changed()

    def write(self) -> None:
        """Write the current epochs to the file; any thread may call this, one at a time.

        Raises:
            StorageError: The disk failed.
        """
        if self._is_kept:
            self._files.replace(self.path, format_lines(self._entries), is_synced=False)
        else:
            self._files.remove(self.path)
