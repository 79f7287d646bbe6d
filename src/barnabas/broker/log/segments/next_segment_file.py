"""The prepared `.log` file of a log's next segment, so that a roll only renames and opens an empty file.

Until its use, its name is `next.log.deleted`. Kafka and this broker remove such a file when they open a log, so a file
that a crash leaves is never taken for a segment.

Source: log-format facts, load and recovery, 1.
"""

import logging
from collections.abc import Callable
from pathlib import Path

from barnabas.broker.log.disk.disk_work import DiskWork
from barnabas.broker.log.disk.files import FileSystem, RecordFile
from barnabas.broker.log.file_names import NEXT_FILE

_logger = logging.getLogger(__name__)


class NextSegmentFile:
    """The prepared file of a log's next segment; it stays closed until its use. Owned by the event loop.

    Attributes:
        is_wanted: Whether the file neither exists nor is being created, and its creation did not fail since the last
            roll.
    """

    __slots__ = ("_files", "_is_being_made", "_is_there", "_path", "_waiting", "_work", "is_wanted")

    def __init__(self, files: FileSystem, directory: Path, work: DiskWork) -> None:
        self._files = files
        self._path = directory / NEXT_FILE
        self._work = work
        self._is_being_made = self._is_there = False
        self._waiting: list[Callable[[], object]] = []
        self.is_wanted = True

    def prepare(self, reserved_bytes: int, then: Callable[[], object] = lambda: None) -> None:
        """Create the file, unless it exists or is being created.

        Args:
            reserved_bytes: Disk space to reserve for it; 0 for none.
            then: Called when the file exists, or could not be created.
        """
        if self._is_being_made:
            self._waiting.append(then)
            return
        if self._is_there:
            then()
            return
        self._waiting.append(then)
        self.is_wanted, self._is_being_made = False, True

        def make() -> None:
            file = self._files.open_records(self._path, is_new=True)
            if reserved_bytes:
                file.reserve(reserved_bytes)

        def made(_: None) -> None:
            self._is_there = True
            self._end()

        def failed(error: BaseException) -> None:
            # The next roll creates the file itself, and reports the error if that fails, too.
            _logger.warning("cannot preallocate the next segment: %s", error)
            self._end()

        self._work.beside(make, made, failed)

    def _end(self) -> None:
        self._is_being_made = False
        waiting, self._waiting = self._waiting, []
        for then in waiting:
            then()

    def take(self, path: Path) -> RecordFile | None:
        """Rename the file for a segment and return it open; None if it does not exist.

        Raises:
            StorageError: The file could not be renamed or opened.
        """
        # A file that is still being created is for the segment after this one.
        is_there, self._is_there = self._is_there, False
        self.is_wanted = not self._is_being_made
        if not is_there:
            return None
        self._files.rename(self._path, path)
        return self._files.open_records(path)

    def remove(self) -> None:
        """Remove the file of a closed log; any thread may call this while no work is in progress.

        Raises:
            StorageError: The disk failed.
        """
        if self._is_there:
            self._files.remove(self._path)
