"""A process dies with its parent: by the kernel, by a thread that waits, and when the parent was gone before."""

import os
import subprocess
import sys

import pytest

PREPARE = {
    "kernel": "",
    "thread": "parent._is_killed_by_kernel = lambda: False;",
    "looking": "parent._is_killed_by_kernel = lambda: False; del parent.os.pidfd_open;",
}
CHILD = "import os, sys, time; from barnabas.core import parent; {} parent.die_with_parent(int(sys.argv[1]));"
CHILD += "print('alive', flush=True); time.sleep(600)"
PARENT = "import os, subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1], str(os.getpid())]).wait()"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="takes away what Linux has")


@pytest.mark.parametrize("way", PREPARE)
def test_a_process_dies_with_its_killed_parent(way):
    command = [sys.executable, "-c", PARENT, CHILD.format(PREPARE[way])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "alive\n"
        process.kill()
        # The pipe ends when the last process that has it open is gone.
        assert process.stdout.read() == ""


@pytest.mark.parametrize("way", PREPARE)
def test_a_process_whose_parent_is_gone_already_ends(way):
    gone = subprocess.Popen(["true"])
    gone.wait()
    command = [sys.executable, "-c", CHILD.format(PREPARE[way]), str(gone.pid)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == -9
    assert ended.stdout == ""
    assert os.getpid() != gone.pid
