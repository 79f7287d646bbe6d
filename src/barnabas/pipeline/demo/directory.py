"""The demo's directory.

| entry | content |
| --- | --- |
| run.json | state of the run (`running`, `complete` or `clearing`), the log, and its digest |
| sample-access.log | the made-up log |
| broker/, tables/, checkpoint/ | the broker's data directory; the jobs' tables (Delta) and checkpoints |
| views.csv, report.html | views by minute and page; the report |
| scratch/, logs/ | Spark's temporary files; output of the child processes |
| demo.lock | locked while a demo runs |

Invariants: `run.json` changes atomically. Its state is `clearing` until the directory is empty, so that a partly
deleted run is never resumed after a kill. Only entries of this table are ever deleted.
"""

import fcntl
import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

RUNNING = "running"
COMPLETE = "complete"
CLEARING = "clearing"

_CLEARED = ("broker", "tables", "views.csv", "report.html", "checkpoint", "scratch", "logs")


class DemoDirectoryError(Exception):
    """The directory or the log can't be used; one line with the reason and what to do."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run: its state, the path of its log as given, and the log's SHA-256."""

    state: str
    access_log: str
    digest: str


class DemoDirectory:
    """A demo's directory and the paths in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sample = root / "sample-access.log"
        self.broker, self.tables, self.summary, self.report, self.checkpoint, self.scratch, self.logs = (
            root / name for name in _CLEARED
        )
        self._run_file = root / "run.json"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Create the directory if it does not exist, and lock it; raise DemoDirectoryError if it is locked."""
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / "demo.lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DemoDirectoryError(f"another demo runs in {self.root}; give another --directory") from None
            yield

    def load(self) -> Run | None:
        """Return the directory's run, None without `run.json`; raise DemoDirectoryError if that file is invalid."""
        try:
            return Run(**json.loads(self._run_file.read_text()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):
            raise DemoDirectoryError(f"{self._run_file} is not the demo's; give another --directory") from None

    def save(self, run: Run) -> None:
        """Write `run.json`."""
        partial = self._run_file.with_name("run.json.partial")
        partial.write_text(json.dumps(asdict(run), indent=1) + "\n")
        partial.replace(self._run_file)

    def begin(self, run: Run) -> None:
        """Delete an earlier run's files and begin a new run; raise DemoDirectoryError if no run made the files."""
        found = [name for name in _CLEARED if (self.root / name).exists()]
        if self.load() is None and found:
            raise DemoDirectoryError(
                f"{self.root} contains {found[0]} but no run of the demo; give another --directory"
            )
        self.save(replace(run, state=CLEARING))
        for path in (self.root / name for name in _CLEARED):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        for path in (self.tables, self.logs, self.scratch):
            path.mkdir()
        self.save(run)


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
