"""Spark's JVM: it is gone when its Python side is, however that ended, and the lock of the checkpoint is free."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.pipeline.spark import session
from barnabas.pipeline.spark.class_archive import ClassArchive
from barnabas.pipeline.spark.session import CheckpointInUseError, checkpoint_lock

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the kernel kills children with their parent on Linux only"
)

# Says "started" when the JVM was started, "listening" when the session is up; the JVM has the output open as well.
PROGRAM = """
import signal, subprocess, sys
from pathlib import Path
from barnabas.pipeline.spark import session

class Popen(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        if "spark-submit" in str(arguments[0][0]):
            print("started", flush=True)

subprocess.Popen = Popen
signal.signal(signal.SIGTERM, signal.default_int_handler)
directory = Path(sys.argv[1])
with session.checkpoint_lock(directory / "lock", 0, lambda: None) as lock:
    with session.spark_session("test", scratch=directory / "scratch", locks=[lock]) as spark:
        print("listening", flush=True)
        sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (signal.SIGKILL, "started"),
        (signal.SIGTERM, "listening"),
        pytest.param(signal.SIGKILL, "listening", marks=pytest.mark.whole),
        pytest.param(signal.SIGTERM, "started", marks=pytest.mark.whole),
    ],
)
def test_jvm_ends_with_its_python_side(tmp_path: Path, word: str, number: signal.Signals):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert any(line.strip() == word for line in process.stdout)
        process.send_signal(number)
        # The output ends when the last process that has it open is gone.
        process.stdout.read()
    # A process that ends closes its descriptors one by one: the output first, the lock a moment later.
    with checkpoint_lock(tmp_path / "lock", 10, lambda: None):
        pass


def test_second_run_is_kept_off_a_checkpoint(tmp_path: Path):
    waits: list[int] = []
    with checkpoint_lock(tmp_path / "lock", 0, lambda: None):
        second = checkpoint_lock(tmp_path / "lock", 0, lambda: waits.append(1))
        with pytest.raises(CheckpointInUseError, match="another run has locked"), second:
            pass
    with checkpoint_lock(tmp_path / "lock", 0, lambda: None):
        pass


def test_runs_that_share_a_scratch_directory_connect_to_their_own_jvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    addresses: list[str] = []

    def started(command: list[str], *, env: dict[str, str], **_: object) -> None:
        addresses.append(env["_PYSPARK_DRIVER_CONN_INFO_PATH"])
        raise FileNotFoundError

    monkeypatch.setattr(session, "find_java_home", lambda: tmp_path)
    monkeypatch.setattr(ClassArchive, "of", lambda *_, **__: ClassArchive(None))
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(subprocess, "Popen", started)
    for _ in range(2):
        with pytest.raises(FileNotFoundError), session.spark_session("test", scratch=tmp_path):
            pass
    assert len(set(addresses)) == 2


CLASSES = """
import os, sys
from pathlib import Path
from barnabas.pipeline.spark import session

os.environ.pop("SPARK_SUBMIT_OPTS", None)
sys.prefix = sys.argv[1]
with session.spark_session("test", scratch=Path(sys.argv[1], "scratch"), on_archive=print) as spark:
    assert spark.range(3).count() == 3
    if sys.argv[2] == "fails":
        raise ValueError("as asked")
"""


@pytest.mark.whole
def test_classes_are_written_by_a_run_that_ends_well_and_used_by_the_next(tmp_path: Path):
    (tmp_path / "lib").mkdir()

    def run(how: str) -> tuple[str, list[Path]]:
        command = [sys.executable, "-c", CLASSES, str(tmp_path), how]
        result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=how == "well")
        return result.stdout, list(tmp_path.glob("lib/*/*.jsa"))

    said, found = run("fails")
    assert "Writing" not in said
    assert found == []
    said, (archive,) = run("well")
    assert "Writing Spark's classes" in said
    assert archive.stat().st_size > 10_000_000
    said, found = run("well")
    assert "Writing" not in said
    assert found == [archive]
