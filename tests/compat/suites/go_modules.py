"""Suites that are Go packages: fetched from the Go module proxy, built once into a test binary, and run.

The version and the checksums are those of the suite's `go.mod` and `go.sum` under `go/`. Go itself is the machine's, or
Debian's `golang-go`; a newer Go that a module asks for comes from the module proxy, as Go does it.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.compat.suites.suite import CACHE, FAILED, PASSED, SKIPPED, Place, SuiteError, ToolMissingError, tail

_MODULES = Path(__file__).with_name("go")
_ACTIONS = {"pass": PASSED, "fail": FAILED, "skip": SKIPPED}


@dataclass(frozen=True, slots=True)
class GoPackage:
    """A package whose tests are run.

    Attributes:
        module: Which directory under `go/` pins its version.
        path: Its import path.
        tags: Build tags.
        changed: Files of its source that are compiled differently: what makes of the old text the new one. `path` is
            then that of the module.
    """

    module: str
    path: str
    tags: str = ""
    changed: Mapping[str, Callable[[str], str]] = field(default_factory=dict)

    def built(self) -> Path:
        """Return its test binary, built first where it is missing.

        Raises:
            SuiteError: Go is missing, or could not fetch or build it.
        """
        if not self.changed:
            return _built(_MODULES / self.module, self.module, self.path, ("test", "-c", f"-tags={self.tags}"))
        texts = {name: change((self.source() / name).read_text()) for name, change in self.changed.items()}
        with tempfile.TemporaryDirectory(prefix="module-") as folder:
            # Go replaces no file of its module cache (-overlay), but a module by a directory.
            shutil.copytree(_MODULES / self.module, folder, dirs_exist_ok=True)
            changed = Path(folder) / "changed"
            shutil.copytree(self.source(), changed)
            for name, text in texts.items():
                (changed / name).chmod(0o644)
                (changed / name).write_text(text)
            _go("mod", "edit", f"-replace={self.path}=./changed", folder=Path(folder))
            command = ("test", "-c", f"-tags={self.tags}")
            return _built(Path(folder), self.module, self.path, command, variant="".join(texts.values()))

    def source(self) -> Path:
        """Return the directory of its source, in which its tests run."""
        return Path(_go("list", "-mod=readonly", "-f", "{{.Dir}}", self.path, folder=_MODULES / self.module).strip())


@dataclass(frozen=True, slots=True)
class GoProgram:
    """A program that a suite needs.

    Attributes:
        module: Which directory under `go/` pins its version.
        path: Its import path.
    """

    module: str
    path: str

    def built(self) -> Path:
        """Return its binary, built first where it is missing.

        Raises:
            SuiteError: Go is missing, or could not fetch or build it.
        """
        return _built(_MODULES / self.module, self.module, self.path, ("build",))


def _built(pins: Path, module: str, path: str, command: Sequence[str], variant: str = "") -> Path:
    """Return what `go <command>` makes of a package, made first where it is missing.

    Args:
        pins: The directory of go.mod.
        module: Of the pins; names the directory of what is built.
        path: The package.
        command: `build` or `test -c`, and options.
        variant: What else decides about the result.
    """
    digest = hashlib.sha256((pins / "go.mod").read_bytes() + f"{path} {command} {variant}".encode()).hexdigest()
    binary = CACHE / module / f"{path.rpartition('/')[2]}-{digest[:12]}"
    if binary.exists():
        return binary
    binary.parent.mkdir(parents=True, exist_ok=True)
    with (binary.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not binary.exists():
            _go(*command, "-mod=readonly", "-o", f"{binary}.new", path, folder=pins)
            Path(f"{binary}.new").rename(binary)
    return binary


def go() -> str:
    """Return the path of Go.

    Raises:
        ToolMissingError: There is none.
    """
    # Where Go's own installer and Debian put it, which is not always in the PATH.
    found = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin:/usr/lib/go/bin")
    if found is None:
        raise ToolMissingError("Go is missing; install it: sudo apt-get install golang-go")
    return found


def _go(*arguments: str, folder: Path) -> str:
    result = subprocess.run([go(), *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SuiteError(f"go {arguments[0]} failed: {result.stderr[-2000:]}")
    return result.stdout


def run(
    package: GoPackage, place: Place, environment: Mapping[str, str], limit_s: int, arguments: Sequence[str] = ()
) -> dict[str, str]:
    """Run a package's tests, and give the result of each, subtests by their path.

    Args:
        package: It must have been built.
        place: Where to write what it prints.
        environment: Variables beside ours.
        limit_s: After so many seconds Go ends the run.
        arguments: Further ones of the test binary, `-test.run=...`.

    Raises:
        SuiteError: The run did not come to its end: a test panicked, or the time was up.
    """
    command = [go(), "tool", "test2json", str(package.built()), "-test.v=test2json", f"-test.timeout={limit_s}s"]
    with (
        place.output.open("ab") as output,
        subprocess.Popen(
            [*command, *arguments],
            cwd=package.source(),
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
            errors="replace",
        ) as process,
    ):
        results: dict[str, str] = {}
        unfinished: set[str] = set()
        assert process.stdout is not None
        for line in process.stdout:
            event = json.loads(line)
            output.write(event.get("Output", "").encode())
            if (test := event.get("Test")) is None:
                continue
            if event["Action"] == "run":
                unfinished.add(test)
            elif event["Action"] in _ACTIONS:
                unfinished.discard(test)
                results[test] = _ACTIONS[event["Action"]]
    if unfinished or not results:
        raise SuiteError(f"ended within {sorted(unfinished) or 'its start'}:\n{tail(place.output)}")
    return results
