"""The demo's directory: what is in it, whose run it is, and how it is cleared.

| entry | what |
| --- | --- |
| run.json | which log is replayed, with which settings, and how far: `running`, `complete` or `clearing` |
| sample-access.log | the made-up log, when no other is given |
| broker/ | the broker's data directory |
| tables/ | the jobs' tables: Delta |
| views.csv | views per minute and page, as one file |
| report.html | what the jobs have found, for a browser |
| checkpoint/ | what the jobs keep beside their tables |
| scratch/ | what Spark needs while it runs |
| logs/ | what the three processes said |
| demo.lock | held while a demo runs |

Invariants: `run.json` changes in one rename. A directory that is being cleared says so until it is empty, so that a
kill in the middle never leaves half a run to go on from. Nothing but the entries above is ever removed.
"""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

RUNNING = "running"
COMPLETE = "complete"
CLEARING = "clearing"

_CLEARED = ("broker", "tables", "views.csv", "views.csv.partial", "report.html", "checkpoint", "scratch", "logs")


class DemoDirectoryError(Exception):
    """The directory can't be used: one line that says why and what to do."""


@dataclass(frozen=True, slots=True)
class Run:
    """The run that a directory holds.

    `access_log` is the log's path as given; `digest` (SHA-256) tells two logs apart.
    """

    state: str
    access_log: str
    digest: str


class DemoDirectory:
    """A demo's directory and the paths in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.run_file = root / "run.json"
        self.sample = root / "sample-access.log"
        self.broker = root / "broker"
        self.tables = root / "tables"
        self.summary = root / "views.csv"
        self.report = root / "report.html"
        self.checkpoint = root / "checkpoint"
        self.scratch = root / "scratch"
        self.logs = root / "logs"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Make the directory where it is not there, and keep other demos out of it.

        Raises:
            DemoDirectoryError: another demo runs in it.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.root / "demo.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise DemoDirectoryError(f"another demo runs in {self.root}; give another --directory") from None
        try:
            yield
        finally:
            os.close(descriptor)

    def load(self) -> Run | None:
        """Return the run that is in the directory; None when there is none.

        Raises:
            DemoDirectoryError: `run.json` is no run of ours.
        """
        try:
            return Run(**json.loads(self.run_file.read_text()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):
            raise DemoDirectoryError(f"{self.run_file} is not the demo's; give another --directory") from None

    def save(self, run: Run) -> None:
        """Note the run."""
        partial = self.run_file.with_name("run.json.partial")
        partial.write_text(json.dumps(asdict(run), indent=1) + "\n")
        partial.replace(self.run_file)

    def begin(self, run: Run) -> None:
        """Clear what an earlier run left, and note the new one."""
        earlier = self.load()
        if earlier is None:
            for name in _CLEARED:
                if (self.root / name).exists():
                    raise DemoDirectoryError(
                        f"{self.root} holds {name} but no run of the demo; give another --directory"
                    )
        self.save(replace(run, state=CLEARING))
        for name in _CLEARED:
            _remove(self.root / name)
        for path in (self.tables, self.logs, self.scratch):
            path.mkdir()
        self.save(run)


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
