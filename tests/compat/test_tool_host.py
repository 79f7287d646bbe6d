"""Tools that share one JVM are run as if each had a process of its own."""

import subprocess
from pathlib import Path

import pytest

from tools.kafka.jars import KAFKA
from tools.kafka.java import compiled, tool_host

_SOURCE = Path(__file__).with_name("java") / "OddTool.java"


def run(*deeds: str, stdin: str = "", timeout_s: float = 240) -> subprocess.CompletedProcess[str]:
    return tool_host().run(str(compiled(_SOURCE, KAFKA)), "OddTool", deeds, stdin, timeout_s)


def test_a_tool_reads_its_input_and_its_words_come_back() -> None:
    done = run("echo", "what", stdin="größer\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "größer\ncaught what\n", "")


@pytest.mark.parametrize(("deed", "status"), [("exit", 3), ("exit-elsewhere", 4)])
def test_nothing_of_a_tool_goes_on_after_its_exit_but_its_hooks(deed: str, status: int) -> None:
    done = run("hook", deed, "count")
    assert (done.returncode, done.stdout, done.stderr) == (status, "hook\n", "")
    # They were those of that run.
    assert run("count").stdout == "1\n"


def test_a_tool_that_fails_is_told_as_java_does() -> None:
    done = run("fail")
    assert done.returncode == 1
    assert done.stderr.startswith('Exception in thread "main" java.lang.Error: as told\n\tat ')


def test_a_tool_has_ended_when_its_threads_have() -> None:
    assert run("linger").stdout == "lingered\n"


def test_what_a_tool_sets_is_gone_with_it() -> None:
    assert run("set", "get").stdout == "yes\n"
    assert run("get").stdout == "null\n"


def test_a_tool_that_hangs_is_given_up_and_the_next_one_runs() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run("hang", timeout_s=0.5)
    assert run("count").stdout == "1\n"
