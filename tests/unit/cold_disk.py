"""A page cache for tests: everything is cold until it was read through an executor."""

from pathlib import Path

from barnabas.broker.log.disk.cold_reads import PART_BYTES, ColdReads
from barnabas.broker.log.disk.files import RecordFile
from barnabas.testing.manual_executor import ManualExecutor


class ColdDisk:
    """The page cache of a machine that has just started.

    Attributes:
        cold_reads: For the logs and handlers under test.
        executor: Does the reading when the test says so.
        is_forgetful: What was read is gone again at once.
        asked: How often it was asked.
    """

    def __init__(self) -> None:
        self.executor = ManualExecutor()
        self.cold_reads = ColdReads(self.executor, self)
        self.is_forgetful = False
        self.asked = 0
        self._parts: set[tuple[Path, int]] = set()

    def holds(self, file: RecordFile, position: int, length: int) -> bool:
        self.asked += 1
        wanted = range(position // PART_BYTES, (position + length - 1) // PART_BYTES + 1)
        return all((file.path, index) in self._parts for index in wanted)

    def take(self, file: RecordFile, position: int, length: int) -> bytes | bytearray | None:
        return file.read(position, length) if self.holds(file, position, length) else None

    def check_read(self, file: RecordFile, position: int, length: int) -> None:
        if not self.is_forgetful:
            self._parts.add((file.path, position // PART_BYTES))

    def drop(self) -> None:
        """Forget everything."""
        self._parts.clear()
