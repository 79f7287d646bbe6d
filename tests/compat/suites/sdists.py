"""Suites that are in a source distribution on PyPI: fetched by pip, unpacked, and run with pytest in our `.venv`.

The version and the SHA-256 of the archive are the suite's; pip refuses any other. The suite's own package is imported
from the archive, so that no version is run by the tests of another.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.compat.suites.suite import CACHE, FAILED, PASSED, SKIPPED, Place, SuiteError, tail


@dataclass(frozen=True, slots=True)
class SourceDistribution:
    """An archive on PyPI.

    Attributes:
        project: Its name there.
        version: Which.
        sha256: Of the archive.
        additions: Files of ours that the tests want and the archive lacks: path within it, and text.
    """

    project: str
    version: str
    sha256: str
    additions: Mapping[str, str]

    def unpacked(self) -> Path:
        """Return the directory of its files, fetched first where it is missing.

        Raises:
            SuiteError: pip could not fetch it, or its checksum is another.
        """
        target = CACHE / self.project / self.version
        target.parent.mkdir(parents=True, exist_ok=True)
        with (target.parent / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.exists():
                staging = Path(tempfile.mkdtemp(dir=target.parent, prefix="incomplete-"))
                try:
                    self._fetch(staging).rename(target)
                finally:
                    shutil.rmtree(staging, ignore_errors=True)
            # They are ours, and may have changed since the archive was unpacked.
            for path, text in self.additions.items():
                if not (target / path).exists() or (target / path).read_text() != text:
                    (target / path).write_text(text)
        return target

    def _fetch(self, staging: Path) -> Path:
        wanted = staging / "wanted.txt"
        wanted.write_text(f"{self.project}=={self.version} --hash=sha256:{self.sha256}\n")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation"]
        command += ["--no-binary", ":all:", "--require-hashes", "--requirement", str(wanted), "--dest", str(staging)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        archives = list(staging.glob("*.tar.gz"))
        if result.returncode or len(archives) != 1:
            raise SuiteError(f"pip could not fetch {self.project} {self.version}: {result.stderr[-2000:]}")
        with tarfile.open(archives[0]) as archive:
            archive.extractall(staging / "files", filter="data")
        (root,) = (staging / "files").iterdir()
        return root


def run(root: Path, tests: str, place: Place, environment: Mapping[str, str], options: Sequence[str]) -> dict[str, str]:
    """Run tests of an unpacked archive with pytest, and give the result of each by its pytest name.

    Args:
        root: The archive's directory; its packages are imported from there.
        tests: What to run, a path below `root`.
        place: Where to write what it prints.
        environment: Variables beside ours.
        options: Of pytest.

    Raises:
        SuiteError: pytest did not come to its end.
    """
    with tempfile.TemporaryDirectory(prefix="suite-") as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", tests, f"--junitxml={report}", "-o", "junit_family=xunit1"]
        # The order of the file, as its authors run it.
        command += ["-p", "no:randomly", "-p", "no:cacheprovider", *options]
        with place.output.open("ab") as output:
            subprocess.run(
                command,
                cwd=root,
                env={**os.environ, "PYTHONPATH": str(root), **environment},
                stdout=output,
                stderr=output,
                check=False,
            )
        if not report.exists():
            raise SuiteError(f"pytest ended early:\n{tail(place.output)}")
        return _results(ElementTree.parse(report).getroot())


def _results(report: ElementTree.Element) -> dict[str, str]:
    results: dict[str, str] = {}
    for case in report.iter("testcase"):
        test = f"{case.get('classname', '').rpartition('test.')[2]}::{case.get('name')}"
        words = {child.tag for child in case}
        result = FAILED if words & {"failure", "error"} else SKIPPED if "skipped" in words else PASSED
        # A test whose teardown fails is there twice.
        results[test] = FAILED if FAILED in (result, results.get(test)) else result
    return results
