"""A log's long operation, whose disk work runs in an executor, and the operations that wait for its end.

    operation in progress   leader's append   follower's append, truncation   read
    none                    yes               yes                             yes
    append as leader        its own only      waits                           yes
    append as follower      refused           waits                           yes
    truncation              refused           waits                           finds nothing

Transitions: from none to one of the others (`begin_append`, `begin_truncation`) and back (`end_append`,
`end_truncation`). While a requested truncation waits, a leader's append is refused, too.

Two conditions do not depend on the operation, and are permanent:

    closed   the operation in progress ends, and waiting operations do nothing; a log is also closed if it is deleted
             (`log_table.py`) or its directory is offline (`manager.py`)
    failed   its disk work failed: waiting operations fail, and a truncation in progress never ends

A log that is being opened or recovered (`startup/`) is not in use yet.

Source: design page, log.
"""

from collections import deque
from collections.abc import Callable
from enum import Enum
from functools import partial

from barnabas.broker.log.disk.disk_work import DiskWork
from barnabas.broker.log.disk.files import RecordFile
from barnabas.core.pending import Pending, completed
from barnabas.wire.records.batch import Buffer

Step = Callable[[], Pending[None] | None]
"""Begins an operation; returns None if the operation has already ended."""


class Operation(Enum):
    """A long operation; see the table above."""

    NONE = "no operation"
    APPEND_AS_LEADER = "an append as leader"
    APPEND_AS_FOLLOWER = "an append as follower"
    TRUNCATION = "a truncation"


class LogOperations:
    """The operations of one log. Owned by the event loop.

    Attributes:
        current: The operation in progress; read-only.
        truncation_count: Number of requested truncations that have not ended; read-only.
    """

    __slots__ = ("_file", "_waiting", "_work", "current", "truncation_count")

    def __init__(self, work: DiskWork) -> None:
        """Args:
        work: The log's disk work.
        """
        self._work = work
        self._file: RecordFile | None = None
        self._waiting: deque[tuple[Step, Pending[None]]] = deque()
        self.current = Operation.NONE
        self.truncation_count = 0

    @property
    def is_idle(self) -> bool:
        """Return whether no operation is in progress, and no truncation requested."""
        return self.current is Operation.NONE and not self.truncation_count

    def begin_append(
        self,
        operation: Operation,
        file: RecordFile,
        data: Buffer,
        then: Callable[[None], object],
        failed: Callable[[BaseException], object],
    ) -> None:
        """Write a large append beyond the end of a file; call `end_append` when `then` or `failed` is called."""
        self._begin(operation)
        self._file = file
        # Does not wait for the log's other disk work, because an fsync may take long.
        self._work.beside(partial(file.write_ahead, data), then, failed)

    def end_append(self, operation: Operation) -> None:
        """End an append, and remove its bytes from the file if they were not appended.

        Raises:
            StorageError: The disk failed.
        """
        self._check(self.current is operation, "end", operation)
        self.current = Operation.NONE
        file, self._file = self._file, None
        if file is not None:
            file.drop_ahead()

    def request_truncation(self, begin: Step) -> Pending[None]:
        """Begin a truncation, after the operation in progress and the waiting ones."""
        is_idle = self.is_idle
        self.truncation_count += 1
        if not is_idle:
            return self.wait(begin)
        return begin() or completed(None)

    def begin_truncation(self) -> None:
        """Begin the disk work of a requested truncation."""
        self._check(self.truncation_count > 0, "begin", Operation.TRUNCATION)
        self._begin(Operation.TRUNCATION)

    def end_truncation(self) -> None:
        """End the truncation in progress, or a requested one that needs no disk work."""
        is_possible = self.current is Operation.NONE or self.current is Operation.TRUNCATION
        self._check(is_possible and self.truncation_count > 0, "end", Operation.TRUNCATION)
        self.current = Operation.NONE
        self.truncation_count -= 1

    def wait(self, step: Step) -> Pending[None]:
        """Run `step` after the operation in progress and the waiting ones; fail if the log's disk work has failed."""
        pending: Pending[None] = Pending()
        if self._work.error is not None:
            pending.fail(self._work.error)
        else:
            self._waiting.append((step, pending))
        return pending

    def run_waiting(self) -> None:
        """Run waiting steps until one is in progress; call this after the end of an operation."""
        while self._waiting and self.current is Operation.NONE:
            step, pending = self._waiting.popleft()
            try:
                following = step()
            except Exception as error:
                pending.fail(error)
                continue
            if following is None:
                pending.complete(None)
            else:
                following.then(pending.complete, pending.fail)

    def fail_waiting(self, error: BaseException) -> None:
        """Fail all waiting operations."""
        while self._waiting:
            self._waiting.popleft()[1].fail(error)

    def _begin(self, operation: Operation) -> None:
        self._check(self.current is Operation.NONE, "begin", operation)
        self.current = operation

    def _check(self, is_legal: bool, verb: str, operation: Operation) -> None:
        if not is_legal:
            raise RuntimeError(f"cannot {verb} {operation.value}: {self.current.value} is in progress")
