"""A copy of the tree in which one fault at a time is tried.

What a test says counts only where the same test passes without the fault (`Copy.failing`): one that fails by itself is
left out.
"""

import contextlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutations.faults import PACKAGE, Fault
from tests.mutations.nearest import Nearest

_ROOT = Path(__file__).resolve().parents[2]
QUICK = ("tests/unit", "tests/property", "tests/golden")
_QUICK_TEST_TIMEOUT_S = 90
_FILES_OF_A_RUN = 8
_NO_TESTS = 5
_USAGE = 4


@dataclass(slots=True)
class Verdict:
    """What a trial showed.

    Attributes:
        fault: Its full name.
        test: The first test that failed; empty where none did.
        step: The step in which it did, or how far the tests came.
        is_whole: Whether all tests that may find it have run, or one has found it.
        seconds: How long it took.
        is_sure: The test is known to pass without the fault.
        passed: The test files that did not find it, where a later run may go on.
    """

    fault: str
    test: str
    step: str
    is_whole: bool
    seconds: float
    is_sure: bool = False
    passed: list[str] = field(default_factory=list)


class Copy:
    """A copy of the tracked and new files of the tree, in a temporary directory."""

    def __init__(self, root: Path, failing: set[str]) -> None:
        """Args:
        root: The copy.
        failing: Tests that fail without any fault; grows.
        """
        self.root = root
        self._failing = failing
        self._nearest = Nearest(root)
        self._writes = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = False

    def try_fault(self, fault: Fault, bound_s: float, first: Collection[str], passed: Collection[str]) -> Verdict:
        """Put the fault in, run the tests from the nearest on until one fails, and take it out.

        Args:
            fault: What to try.
            bound_s: After so long no further test is begun.
            first: Tests to begin with, where they are there: those that found it before.
            passed: Test files that are known not to find it.

        Raises:
            FaultError: It does not fit the code.
        """
        start_s = time.monotonic()
        verdict = Verdict(fault.full_name, "", "", False, 0.0, passed=list(passed))
        known = [test for test in first if (self.root / test.split("::")[0]).exists()]
        for step, tests in [
            *([("first", known)] if known else []),
            *_in_runs(self._nearest.steps(fault), {*passed, *known}),
        ]:
            verdict.seconds = time.monotonic() - start_s
            left_s = bound_s - verdict.seconds
            if left_s <= 0 or self._is_stopped:
                return verdict
            verdict.step = step
            with self.mutated(fault):
                status, failed = self._run(tests, left_s)
            verdict.seconds = time.monotonic() - start_s
            if status < 0 or self._is_stopped:
                return verdict
            if status in (0, _NO_TESTS):
                verdict.passed += [test for test in tests if "::" not in test and test not in verdict.passed]
            elif step != "first" or status != _USAGE:
                verdict.test, verdict.is_whole, verdict.passed = failed[0] if failed else tests[0], True, []
                verdict.step = step if failed else f"{step} (the tests do not start)"
                return verdict
        verdict.is_whole = True
        return verdict

    @contextlib.contextmanager
    def mutated(self, fault: Fault) -> Iterator[None]:
        """Have the fault in, and take it out at the end.

        Raises:
            FaultError: It does not fit the code.
        """
        path = self.root / PACKAGE / fault.file
        mutated, original = fault.mutated(self.root), path.read_text()
        self._write(path, mutated)
        try:
            yield
        finally:
            self._write(path, original)

    def stop(self) -> None:
        """End what runs, and begin nothing more; for another thread. `try_fault` returns soon then."""
        self._is_stopped = True
        if self._process is not None:
            _end(self._process)

    def failing(self, tests: Collection[str]) -> set[str]:
        """Return which of some tests fail without any fault."""
        if not tests or self._run(sorted(tests), math.inf, stops_at_first=False)[0] == 0:
            return set()
        # Together they may disturb each other, or one be gone: each by itself is to say it.
        return {test for test in tests if self._run([test], math.inf)[0] != 0}

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text)
        # Compiled files are known by size and second: two writes in one second must not look alike.
        self._writes += 1
        os.utime(path, (time.time(), 1_000_000_000 + self._writes))

    def _run(self, tests: list[str], bound_s: float, *, stops_at_first: bool = True) -> tuple[int, list[str]]:
        """Run pytest; its status (negative where it was ended for its length) and the tests that failed."""
        last_failed = self.root / ".pytest_cache" / "v" / "cache" / "lastfailed"
        last_failed.unlink(missing_ok=True)
        deselected = [word for test in sorted(self._failing) for word in ("--deselect", test)]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "--tb=short"]
        command += ["-x"] if stops_at_first else []
        if all(test.startswith(QUICK) for test in tests):
            # A fault may make a test hang; what starts JVMs has its usual time.
            command += [f"--timeout={_QUICK_TEST_TIMEOUT_S}"]
        command += [*deselected, *tests]
        environ = {**os.environ, "PYTHONPATH": str(self.root / "src")}
        process = self._process = subprocess.Popen(
            command,
            cwd=self.root,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=(self.root / "pytest.out").open("w"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = process.wait(None if bound_s == math.inf else bound_s)
        except subprocess.TimeoutExpired:
            status = -1
        finally:
            _end(process)
        return status, list(json.loads(last_failed.read_text())) if last_failed.exists() else []


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process with all that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _in_runs(steps: Iterable[tuple[str, list[str]]], passed: set[str]) -> Iterator[tuple[str, list[str]]]:
    """Give the steps in runs of a few files, so that what was begun is soon known, without the files that passed."""
    for step, tests in steps:
        left = [test for test in tests if test not in passed]
        for first in range(0, len(left), _FILES_OF_A_RUN):
            yield step, left[first : first + _FILES_OF_A_RUN]


@contextlib.contextmanager
def copied_tree(failing: set[str]) -> Iterator[Copy]:
    """Give a copy of the tree, and remove it at the end."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=_ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    with tempfile.TemporaryDirectory(prefix="barnabas-mutations-") as directory:
        root = Path(directory, "tree")
        for name in filter(None, listed.stdout.split("\0")):
            if (_ROOT / name).is_file():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(_ROOT / name, root / name)
        for name in (".venv", ".cache"):
            if (_ROOT / name).exists():
                (root / name).symlink_to((_ROOT / name).resolve())
        yield Copy(root, failing)
