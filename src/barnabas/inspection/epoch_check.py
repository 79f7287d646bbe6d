"""Checks a log's `leader-epoch-checkpoint` against the leader epochs in its batches.

Source: KIP-101, KIP-279; log-format facts, leader epochs.
"""

from bisect import bisect_right
from pathlib import Path

from barnabas.broker.log.directories.checkpoint import parse_lines
from barnabas.broker.log.leader_epochs import EpochEntry
from barnabas.core.errors import StorageError
from barnabas.inspection.findings import Kind, LogReport
from barnabas.inspection.index_files import read_bytes
from barnabas.inspection.stored_batch import StoredBatch


class EpochCheck:
    """Checks the epochs of one log's batches."""

    __slots__ = ("_entries", "_first_offset", "_is_reported", "_path", "_report", "_seen_epoch", "_wrong")

    def __init__(self, path: Path, report: LogReport, *, was_clean: bool) -> None:
        """Args:
        was_clean: The last stop closed the log.
        """
        self._first_offset = 0
        self._path = path
        self._report = report
        self._seen_epoch = -1
        self._entries: list[EpochEntry] | None = None
        self._is_reported = False
        # Text about the first batch whose epoch is wrong.
        self._wrong: str | None = None
        if not path.exists():
            return
        try:
            lines = parse_lines(read_bytes(path), 2, path)
        except StorageError as error:
            report.add(Kind.DAMAGE, path, str(error).removeprefix(f"{path}: "))
            self._is_reported = True
            return
        self._entries = [EpochEntry(int(epoch), int(start_offset)) for epoch, start_offset in lines]
        if self._entries and not was_clean:
            # DeleteRecords changes this file at once, but the checkpointed log start offset only later.
            self._first_offset = self._entries[0].start_offset
        for before, after in zip(self._entries, self._entries[1:], strict=False):
            if after.epoch <= before.epoch or after.start_offset <= before.start_offset:
                self._tell(f"epoch {after.epoch} from offset {after.start_offset} on follows {tuple(before)}")

    def note(self, batch: StoredBatch) -> None:
        """Check a batch's epoch."""
        if batch.header is None:
            # A lower message.format.version, which has no epochs, removed those of earlier batches from the file.
            self._wrong = None
            return
        if batch.header.leader_epoch < 0 or self._wrong is not None:
            return
        epoch = batch.header.leader_epoch
        if epoch < self._seen_epoch:
            self._wrong = f"offset {batch.base_offset} has epoch {epoch}, but an earlier batch has {self._seen_epoch}"
        elif self._entries is None:
            self._wrong = f"the file is missing; offset {batch.base_offset} has epoch {epoch}"
        elif batch.last_offset >= (start_offset := max(self._report.start_offset, self._first_offset)):
            # The file has no epochs of offsets below the log start offset, which DeleteRecords moves into a batch.
            offset = max(batch.base_offset, start_offset)
            known = self._epoch_at(offset)
            if known != epoch:
                self._wrong = f"offset {offset} has epoch {epoch}, the file says {known}"
        self._seen_epoch = max(self._seen_epoch, epoch)

    def finish(self, end_offset: int) -> None:
        """Report the first epoch that does not match, and epochs that begin after the log end."""
        if self._wrong is not None and not self._is_reported:
            self._tell(self._wrong)
        later = [entry for entry in self._entries or () if entry.start_offset > end_offset]
        if later:
            self._report.add(
                Kind.RECOVERY,
                self._path,
                f"the next start would drop {len(later)} epochs that begin after {end_offset}",
            )

    def _epoch_at(self, offset: int) -> int:
        entries = self._entries or []
        index = bisect_right(entries, offset, key=lambda entry: entry.start_offset)
        return entries[index - 1].epoch if index else -1

    def _tell(self, text: str) -> None:
        # After one wrong epoch, all later ones look wrong.
        self._is_reported = True
        self._report.add(Kind.DAMAGE, self._path, text)
