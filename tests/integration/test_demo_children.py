"""Child processes: they come back when killed, are given up when they can't work, and die with their parent."""

import asyncio
import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.pipeline.demo.children import HOPELESS, Child, ChildFailedError, Event
from tests.patience import PATIENCE_S

SAY = 'import json,os;print(json.dumps({"pid": os.getpid()}), flush=True);'


class Told:
    """What a child printed and what was noticed about it."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.notices: list[str] = []


def child(
    tmp_path: Path, *programs: str, on_event: Callable[[Event], None] | None = None, log: Path | None = None
) -> tuple[Child, Told]:
    """Give a child that runs one program after the other, the last one again and again."""
    told = Told()
    left = list(programs)

    def command() -> list[str]:
        return [sys.executable, "-c", left.pop(0) if len(left) > 1 else left[0]]

    def take(event: Event) -> None:
        told.events.append(event)
        if on_event is not None:
            on_event(event)

    return Child("it", command, log or tmp_path / "it.log", take, told.notices.append), told


def failure(made: Child) -> ChildFailedError:
    with pytest.raises(ChildFailedError) as caught:
        asyncio.run(made.run())
    return caught.value


def test_child_that_is_done_is_done(tmp_path: Path):
    made, told = child(tmp_path, SAY)
    asyncio.run(made.run())
    assert len(told.events) == 1
    assert told.notices == []


def test_killed_child_comes_back(tmp_path: Path):
    made, told = child(tmp_path, SAY + "os.kill(os.getpid(), 9)", SAY)
    asyncio.run(made.run())
    assert len(told.events) == 2
    assert told.notices == ["it was killed (signal 9): starting it again"]


def test_hopeless_child_is_given_up_with_its_last_words(tmp_path: Path):
    made, _ = child(tmp_path, f"import sys;print('no java', file=sys.stderr);sys.exit({HOPELESS})")
    with pytest.raises(ChildFailedError, match="it failed: no java"):
        asyncio.run(made.run())
    assert made.restart_count == 0


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS])
def test_child_whose_disk_is_full_is_given_up_with_what_to_do(tmp_path: Path, error: int):
    text = os.strerror(error)
    # As Spark does it: the cause, then a long stack trace, and all that after it has worked for a while.
    program = SAY + f"import sys;sys.stderr.write('x.IOException: {text}\\n' + '\\tat x\\n' * 60);sys.exit(1)"
    made, told = child(tmp_path, program)
    failed = failure(made)
    assert str(failed).startswith(f"it failed: x.IOException: {text}; ")
    assert "run the same command again" in str(failed) or "--directory" in str(failed)
    assert failed.last_lines[-1] == "\tat x"
    assert made.restart_count == 0
    assert told.notices == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file that is always full")
def test_last_words_are_told_where_the_log_cannot_be_written(tmp_path: Path):
    program = f"import sys;print('one', 'two', sep='\\n', file=sys.stderr);sys.exit({HOPELESS})"
    failed = failure(child(tmp_path, program, log=Path("/dev/full"))[0])
    assert str(failed) == "it failed: two (log: /dev/full)"
    assert failed.last_lines == ["one", "two"]


def test_a_long_line_of_a_child_does_not_end_it(tmp_path: Path):
    made, told = child(tmp_path, "import sys;print('x' * 5_000_000);print('y' * 5_000_000, file=sys.stderr);" + SAY)
    asyncio.run(made.run())
    assert len(told.events) == 1
    assert (tmp_path / "it.log").stat().st_size == 10_000_002


def test_what_is_no_json_goes_to_the_log(tmp_path: Path):
    made, told = child(tmp_path, "print('hello');print('[1]')")
    asyncio.run(made.run())
    assert told.events == []
    assert (tmp_path / "it.log").read_text() == "hello\n[1]\n"


def test_stopped_child_takes_its_own_processes_with_it(tmp_path: Path):
    grandchild = "import subprocess,sys;p=subprocess.Popen([sys.executable,'-c','import time;time.sleep(600)']);"
    program = "import json;" + grandchild + "print(json.dumps({'pid': p.pid}), flush=True);p.wait()"

    async def stop_when_it_runs() -> int:
        has_told = asyncio.Event()
        made, told = child(tmp_path, program, on_event=lambda _: has_told.set())
        task = asyncio.create_task(made.run())
        await has_told.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return int(str(told.events[0]["pid"]))

    assert_ends(asyncio.run(stop_when_it_runs()))


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
