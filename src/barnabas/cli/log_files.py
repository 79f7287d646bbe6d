"""Code shared by the commands of `barnabas log`: directories, topics, and progress by bytes."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

from barnabas.broker.log.file_names import LOG_SUFFIX
from barnabas.cli.options import Option, flag
from barnabas.cli.output import Bar, progress
from barnabas.core.config.broker import SINGLE_BROKER_PROPERTIES
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition
from barnabas.inspection.log_listing import is_data_directory, is_log, list_directory

# The log directory of a broker without a configuration file.
DEFAULT_DIRECTORY = Path(SINGLE_BROKER_PROPERTIES["log.dirs"])

_SHOW_EVERY_BYTES = 1024 * 1024

Directories = Annotated[
    list[Path] | None,
    Option(metavar="DIRECTORY...", help="Data directories, or directories of single logs (default: barnabas-data)."),
]
Topic = Annotated[
    str | None, Option("--topic", metavar="NAME", help="Only topics that match this name or regular expression.")
]
HeadersOnly = Annotated[bool, flag("--headers-only", "Read only batch headers, without unpacking records; faster.")]


class ByteBar:
    """A progress bar that counts processed bytes."""

    def __init__(self, bar: Bar | None) -> None:
        self._bar = bar
        self._done_bytes = 0
        self._shown_bytes = 0
        self._note = ""

    def note(self, text: str) -> None:
        """Show the name of the current log."""
        self._note = text
        self._show()

    def advance(self, byte_count: int) -> None:
        """Add processed bytes."""
        self._done_bytes += byte_count
        if self._done_bytes - self._shown_bytes >= _SHOW_EVERY_BYTES:
            self._show()

    def _show(self) -> None:
        self._shown_bytes = self._done_bytes
        if self._bar is not None:
            self._bar.set(self._done_bytes, self._note)


@contextmanager
def quiet_unless(is_wanted: bool, description: str, total: int) -> Iterator[ByteBar]:
    """Show a bar on stderr, if that is a terminal and a bar is wanted."""
    with progress(description, total) if is_wanted else nullcontext() as bar:
        yield ByteBar(bar)


def total_bytes(paths: Iterable[Path]) -> int:
    """Return the total size of some files."""
    return sum(path.stat().st_size for path in paths)


def log_bytes(path: Path) -> int:
    """Return the total size of all `.log` files below a directory."""
    total = 0
    for file in path.rglob(f"*{LOG_SUFFIX}"):
        try:
            total += file.stat().st_size
        except FileNotFoundError:
            # A running broker removed it meanwhile.
            continue
    return total


def directories_or_default(given: list[Path] | None) -> list[Path]:
    """Return the given directories, each checked to be a data directory or a log directory.

    Raises:
        BarnabasError: A directory does not exist or is neither of these.
    """
    paths = given or [DEFAULT_DIRECTORY]
    for path in paths:
        if not path.is_dir():
            hint = "" if given else "; name a directory of the broker's log.dirs"
            raise BarnabasError(f"{path}: the directory does not exist{hint}")
        refuse_others(path)
    return paths


def refuse_others(path: Path) -> None:
    """Check that a path is a data directory or the directory of one log.

    Raises:
        BarnabasError: The path is neither.
    """
    if not is_log(path) and not is_data_directory(path):
        raise BarnabasError(f"{path} is not a log directory: it contains neither a meta.properties nor a log")


def logs_in(path: Path) -> dict[TopicPartition, Path]:
    """Return the logs of a data directory, or the log whose directory this is.

    Raises:
        BarnabasError: It contains no logs.
    """
    if is_log(path):
        topic, _, partition = path.resolve().name.rpartition("-")
        is_named = bool(topic) and partition.isascii() and partition.isdecimal()
        return {TopicPartition(topic, int(partition)) if is_named else TopicPartition(path.name, 0): path}
    found = list_directory(path).logs
    if not found:
        raise BarnabasError(f"{path} contains no logs")
    return found
