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
    """An epoch and the first offset that it wrote."""

    epoch: int
    start_offset: int


class LeaderEpochs:
    """The epochs of one log; every change is written soon, and synced with the log's next flush.

    A log whose message format has no leader epochs keeps none, and has no file.

    Attributes:
        latest_epoch: The newest; -1 when there is none.
        path: The file.
        changed: Called when the file is to be written; writes it on the spot until somebody knows better.
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
        """Set whether the log keeps epochs; if not, the known ones are dropped."""
        if is_kept == self._is_kept:
            return
        self._is_kept = is_kept
        self._set([])

    def load_after_clean_stop(self) -> bool:
        """Read the file, creating it if it is missing.

        A start that lost power may have torn it before it took the mark of the clean stop away: then there are no
        epochs.

        Returns:
            Whether the file was whole.

        Raises:
            StorageError: It can't be read.
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
            StorageError: It is malformed.
        """
        self._take(self._files.read(self.path))

    def _take(self, data: bytes | None) -> None:
        if data is None:
            self._set([])
        else:
            self._entries = [EpochEntry(int(epoch), int(start)) for epoch, start in parse_lines(data, 2, self.path)]
            self.latest_epoch = self._entries[-1].epoch if self._entries else NO_EPOCH

    def load_after_crash(self) -> bool:
        """Read the file that a crash may have torn: then, or when it is missing, there are no epochs.

        Returns:
            Whether the file was whole.
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
        """Note that `epoch` writes from `start_offset` on."""
        if not self._is_kept:
            return
        if self._entries and epoch == self.latest_epoch and start_offset >= self._entries[-1].start_offset:
            return
        kept = [entry for entry in self._entries if entry.epoch < epoch and entry.start_offset < start_offset]
        self._set([*kept, EpochEntry(epoch, start_offset)])

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget the epochs that start at or above `end_offset`."""
        if self._entries and self._entries[-1].start_offset >= end_offset:
            self._set([entry for entry in self._entries if entry.start_offset < end_offset])

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget the epochs that end at or below `start_offset`; the one that holds it starts there."""
        index = bisect_right(self._entries, start_offset, key=lambda entry: entry.start_offset)
        if index and self._entries[0].start_offset != start_offset:
            held = EpochEntry(self._entries[index - 1].epoch, start_offset)
            self._set([held, *self._entries[index:]])

    def clear(self) -> None:
        """Forget all epochs."""
        if self._entries:
            self._set([])

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """Find the end of an epoch.

        Returns:
            The largest known epoch at or below `epoch` and the offset after its last record; (-1, -1) when the epoch
            is not known to have been.
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
        """Return the epoch that wrote `offset`; -1 when none is known."""
        index = bisect_right(self._entries, offset, key=lambda entry: entry.start_offset)
        return self._entries[index - 1].epoch if index else NO_EPOCH

    def _set(self, entries: list[EpochEntry]) -> None:
        self._entries = entries
        self.latest_epoch = entries[-1].epoch if entries else NO_EPOCH
        self.changed()

    def write(self) -> None:
        """Write the current epochs to the file; for any thread, one at a time.

        Raises:
            StorageError: The disk failed.
        """
        if self._is_kept:
            self._files.replace(self.path, format_lines(self._entries), is_synced=False)
        else:
            self._files.remove(self.path)
