"""Child processes of the demo: their output, how they end, and that they die with their parent."""

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from barnabas.pipeline.demo.children import Child, ChildFailedError
from tests.patience import PATIENCE_S


def started(tmp_path: Path, program: str) -> Child:
    child = Child("it", tmp_path)
    child.start([sys.executable, "-c", f"import os, sys\n{program}"])
    return child


def run(tmp_path: Path, program: str) -> tuple[list[str], str]:
    child = started(tmp_path, program)
    return list(child.lines(lambda: None)), child.end()


def test_lines_are_given_as_they_come_and_a_long_one_whole(tmp_path: Path):
    program = "print('x' * 1_000_000, flush=True)\nprint('a', file=sys.stderr)\nprint('end')"
    assert run(tmp_path, program) == (["x" * 1_000_000, "end"], "")
    # A second process gets the same files.
    assert run(tmp_path, "print('again')\nprint('b', file=sys.stderr)") == (["again"], "")
    assert (tmp_path / "it.log").read_text() == "a\nb\n"


def test_a_killed_child_can_be_started_again(tmp_path: Path):
    assert run(tmp_path, "os.kill(os.getpid(), 9)") == ([], "was killed (signal 9)")


def test_a_child_that_fails_again_and_again_is_given_up_with_its_log(tmp_path: Path):
    child = Child("it", tmp_path)

    def end() -> str:
        child.start([sys.executable, "-c", "import sys; print('no', 'luck', sep='\\n', file=sys.stderr); sys.exit(1)"])
        return child.end()

    assert [end(), end()] == ["ended with code 1"] * 2
    with pytest.raises(ChildFailedError) as caught:
        end()
    assert str(caught.value) == f"it failed: luck (log: {tmp_path / 'it.log'})"
    assert caught.value.last_lines == ["no", "luck"]


def test_a_child_that_refuses_its_options_is_given_up_at_once(tmp_path: Path):
    with pytest.raises(ChildFailedError, match="it failed: no java"):
        run(tmp_path, "print('no java', file=sys.stderr)\nsys.exit(2)")


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS])
def test_a_child_whose_disk_is_full_is_given_up_with_what_to_do(tmp_path: Path, error: int):
    text = os.strerror(error)
    # As Spark does: the cause, then a long stack trace.
    program = f"sys.stderr.write('x.IOException: {text}\\n' + '\\tat x\\n' * 60)\nsys.exit(1)"
    with pytest.raises(ChildFailedError) as caught:
        run(tmp_path, program)
    assert str(caught.value).startswith(f"it failed: x.IOException: {text}; ")
    assert caught.value.last_lines[-1] == "\tat x"


@pytest.mark.parametrize("is_stopped", [True, False])
def test_what_a_child_has_started_ends_with_it(tmp_path: Path, is_stopped: bool):
    program = "import subprocess; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    child = started(tmp_path, program + f"print(p.pid, flush=True)\n{'p.wait()' if is_stopped else ''}")
    lines = child.lines(lambda: None)
    pid = int(next(lines))
    if is_stopped:
        child.stop()
    else:
        assert list(lines) == []
    assert_ends(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel kills children with their parent on Linux only")
def test_child_dies_with_its_killed_parent():
    orphan = "import os,sys,time;from barnabas.core.parent import die_with_parent;die_with_parent(int(sys.argv[1]));"
    orphan += "print(os.getpid(), flush=True);time.sleep(600)"
    parent = f"import os,subprocess,sys;subprocess.Popen([sys.executable,'-c',{orphan!r},str(os.getpid())]).wait()"
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.kill()
        # The pipe ends when the last process that has it open is gone.
        assert process.stdout.read() == ""
    assert_ends(pid)


def assert_ends(pid: int) -> None:
    """Wait until a killed process is gone, or a zombie that its new parent has not taken away yet."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return
        except (ProcessLookupError, FileNotFoundError):
            return
        assert time.monotonic() < deadline
