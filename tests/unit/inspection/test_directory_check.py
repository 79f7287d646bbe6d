"""A data directory: whose it is, its checkpoints, its logs, and who has it open."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.broker.log.disk.files import LocalFileSystem
from barnabas.core.errors import StorageError
from barnabas.inspection.directory_check import DirectoryCheck, running_broker
from barnabas.inspection.findings import Kind
from tests.unit.inspection.conftest import LogFiles, batch


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A directory with two logs, closed cleanly."""
    for name in ("a-0", "b-1"):
        files = LogFiles(tmp_path / name)
        files.segment(0, batch(0))
        files.epochs()
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=3\ncluster.id=xyz\n")
    (tmp_path / ".kafka_cleanshutdown").touch()
    (tmp_path / ".lock").touch()
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n2\na 0 2\nb 1 2\n")
    return tmp_path


def findings(path: Path) -> list[str]:
    report = DirectoryCheck(path).run()
    return [f"{each.kind.value} {each.path.name}: {each.text}" for each in report.findings]


def test_a_directory_that_is_in_order(data_dir: Path) -> None:
    report = DirectoryCheck(data_dir).run()
    assert (report.running_pid, report.was_clean, report.damage_count, report.findings) == (None, True, 0, [])
    assert [log.path.name for log in report.logs] == ["a-0", "b-1"]
    assert [log.findings for log in report.logs] == [[], []]


def test_some_logs_only(data_dir: Path) -> None:
    report = DirectoryCheck(data_dir).run(lambda each: each.topic == "b")
    assert [log.path.name for log in report.logs] == ["b-1"]


def test_checkpoints_reach_the_logs(data_dir: Path) -> None:
    (data_dir / "replication-offset-checkpoint").write_text("0\n1\na 0 40\n")
    report = DirectoryCheck(data_dir).run()
    assert [each.text for each in report.logs[0].findings] == ["the high watermark 40 is above the log end offset 2"]
    assert report.damage_count == 1


@pytest.mark.parametrize("name", ["a-0", "c-0", "__consumer_offsets-0"])
def test_offsets_may_be_missing_between_segments_of_a_compacted_topic(data_dir: Path, name: str) -> None:
    (data_dir / ".kafka_cleanshutdown").unlink()
    (data_dir / "cleaner-offset-checkpoint").write_text("0\n1\nc 0 2\n")
    (data_dir / "a-0").rename(data_dir / name)
    LogFiles(data_dir / "d-0").segment(9, batch(9))
    for path in (data_dir / "d-0").iterdir():
        path.rename(data_dir / name / path.name)
    report = DirectoryCheck(data_dir).run(lambda each: str(each) == name)
    assert report.damage_count == (name == "a-0")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("meta.properties", "version=1\nbroker.id=3\n", "damage meta.properties: has version 1"),
        ("meta.properties", "version=0\nbroker.id=3\n", "note meta.properties: has no cluster.id"),
        ("recovery-point-offset-checkpoint", "0\n1\n", "a broker would take the directory offline"),
        ("recovery-point-offset-checkpoint", "0\n1\nc 0 5\n", "names logs that do not exist: c-0"),
        (
            "cleaner-offset-checkpoint",
            "0\n4\nc 0 5\nc 1 5\nc 2 5\nc 3 5\n",
            "names logs that do not exist: c-0, c-1, c-2 and 1 more",
        ),
    ],
)
def test_small_files_that_are_wrong(data_dir: Path, name: str, text: str, expected: str) -> None:
    (data_dir / name).write_text(text)
    assert any(expected in finding for finding in findings(data_dir))


def test_directories_that_are_no_logs(data_dir: Path) -> None:
    (data_dir / f"a-1.{'0' * 32}-delete").mkdir()
    (data_dir / f"a-2.{'0' * 32}-future").mkdir()
    (data_dir / "lost+found").mkdir()
    (data_dir / "views-before-delete").mkdir()
    found = findings(data_dir)
    assert sum(finding.startswith("recovery") for finding in found) == 2
    assert {"note lost+found: is not a log", "note views-before-delete: is not a log"} <= set(found)


def test_a_missing_identity(data_dir: Path) -> None:
    (data_dir / "meta.properties").unlink()
    assert any(finding.startswith(f"{Kind.DAMAGE.value} meta.properties: is missing") for finding in findings(data_dir))


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="No such file"):
        DirectoryCheck(tmp_path / "nowhere")


def test_who_has_it_open(data_dir: Path) -> None:
    program = "import sys; from pathlib import Path; from barnabas.broker.log.disk.files import LocalFileSystem\n"
    program += "lock = LocalFileSystem().lock(Path(sys.argv[1])); print(lock is not None, flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", program, str(data_dir / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        assert running_broker(data_dir) == holder.pid
        report = DirectoryCheck(data_dir).run()
        assert (report.running_pid, report.damage_count) == (holder.pid, 0)
        assert holder.stdin is not None
        holder.stdin.close()
    assert running_broker(data_dir) is None


def test_looking_takes_no_lock(data_dir: Path) -> None:
    before = os.stat(data_dir / ".lock").st_mtime_ns
    assert running_broker(data_dir) is None
    lock = LocalFileSystem().lock(data_dir / ".lock")
    assert lock is not None
    lock.release()
    assert os.stat(data_dir / ".lock").st_mtime_ns == before
