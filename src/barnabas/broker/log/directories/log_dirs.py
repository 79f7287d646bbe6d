"""The directories of `log.dirs`, online and failed.

Invariant: a directory that failed stays offline until the broker starts again.

Source: log-format facts, load and recovery; KIP-112.
"""

import logging
from collections.abc import Iterator
from pathlib import Path

from barnabas.broker.log.directories.directory import LogDirectory
from barnabas.core.errors import StorageError

_logger = logging.getLogger(__name__)


class LogDirs:
    """All directories of a broker.

    Attributes:
        online: The usable directories, in the order of the setting.
    """

    __slots__ = ("_needed", "_offline", "online")

    def __init__(self, directories: list[LogDirectory], needed: Path | None = None) -> None:
        """Args:
        directories: The directories, in the order of the setting.
        needed: The path of a directory without which the broker cannot continue; None: there is none.
        """
        self.online = directories
        self._needed = needed
        self._offline: list[LogDirectory] = []

    def __iter__(self) -> Iterator[LogDirectory]:
        """Iterate over the online directories; directories may fail during the iteration."""
        return iter(tuple(self.online))

    @property
    def all(self) -> "tuple[LogDirectory, ...]":
        """The online directories, then the failed ones."""
        return (*self.online, *self._offline)

    @property
    def has_offline(self) -> bool:
        """Return whether a directory failed; a log that is not found may be in it."""
        return bool(self._offline)

    def holding(self, error: BaseException) -> LogDirectory | None:
        """Return the online directory in which an error occurred; None if the error's path is not in one."""
        path = error.path if isinstance(error, StorageError) else None
        return None if path is None else next((each for each in self.online if _is_within(path, each)), None)

    def of(self, log_directory: Path) -> LogDirectory:
        """Return the directory that contains a log, online or not."""
        return next(each for each in self.all if each.path == log_directory.parent)

    def is_offline(self, error: BaseException) -> bool:
        """Return whether an error occurred in a directory that is already offline."""
        path = error.path if isinstance(error, StorageError) else None
        return path is not None and any(_is_within(path, each) for each in self._offline)

    def take_offline(self, directory: LogDirectory, error: BaseException) -> None:
        """Stop using a directory.

        Raises:
            BaseException: `error` itself, if the broker cannot continue: this is the last online directory, or the
                needed one.
        """
        # differs from Kafka (failed-directory-old-protocol): with an inter-broker protocol before 1.0, Kafka stops at
        # the first directory that fails.
        if len(self.online) == 1 or directory.path == self._needed:
            raise error
        self.online.remove(directory)
        self._offline.append(directory)
        left = ", ".join(str(each.path) for each in self.online)
        _logger.error("log directory %s is offline, the broker continues with %s: %s", directory.path, left, error)

    def unlock(self) -> None:
        """Release the locks of all directories."""
        for directory in self.all:
            directory.unlock()


def _is_within(path: Path, directory: LogDirectory) -> bool:
    return path.is_relative_to(directory.path)
