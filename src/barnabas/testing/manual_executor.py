"""An executor that runs work only on a test's request."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class ManualExecutor:
    """Keeps work until `run_next` or `run_all`; nothing runs by itself."""

    def __init__(self) -> None:
        self._waiting: list[Callable[[], object]] = []

    @property
    def waiting_count(self) -> int:
        """Return the number of waiting work items."""
        return len(self._waiting)

    def run(
        self,
        work: Callable[[], T],
        then: Callable[[T], object],
        failed: Callable[[BaseException], object],
    ) -> None:
        """Queue work; see `core.executor.Executor`."""

        def do() -> None:
            try:
                result = work()
            except Exception as error:
                failed(error)
            else:
                then(result)

        self._waiting.append(do)

    def run_next(self) -> None:
        """Run the oldest work item and its callback."""
        self._waiting.pop(0)()

    def run_all(self) -> None:
        """Run all work, including work added meanwhile."""
        while self._waiting:
            self.run_next()
