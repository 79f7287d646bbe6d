"""Ends this process when its parent process ends, for whatever reason.

On Linux the kernel does this: it kills a process when the thread that started it ends, so that thread must stay alive
(the test kit keeps one for it). Elsewhere a thread of this process waits for the parent's end.

Source: prctl(2), PR_SET_PDEATHSIG; pidfd_open(2); kqueue(2), EVFILT_PROC.
"""

import ctypes
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1
_LOOK_EVERY_S = 0.1

# Loaded here, because code between fork and exec must not import.
_libc = ctypes.CDLL(None)


def die_with_parent(parent_pid: int) -> None:
    """Make this process end at once when its parent does; in a `preexec_fn` this works on Linux only.

    Args:
        parent_pid: The parent's process id, from the parent itself or from an early `os.getppid()`. If the parent has
            ended already, this process ends here.
    """
    if not _is_killed_by_kernel():
        threading.Thread(target=_end_after, args=(parent_pid,), name="parent-watch", daemon=True).start()
    if os.getppid() != parent_pid:
        os.kill(os.getpid(), signal.SIGKILL)


def child_command(module: str, options: Sequence[str]) -> list[str]:
    """Return the command line of a module of this package that dies with this process."""
    # -P: modules in the working directory must not shadow the library's.
    command = [sys.executable, "-P", "-m", module, *options]
    return [*command, "--die-with-parent", "--parent-pid", str(os.getpid())]


def _is_killed_by_kernel() -> bool:
    if sys.platform != "linux":
        return False
    return bool(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) == 0)


def _end_after(parent_pid: int) -> None:
    try:
        _wait_for_end(parent_pid)
    except OSError:
        # The parent has ended, or the system cannot wait for it.
        while os.getppid() == parent_pid:
            time.sleep(_LOOK_EVERY_S)
    os.kill(os.getpid(), signal.SIGKILL)


def _wait_for_end(pid: int) -> None:
    if sys.platform == "darwin":
        event = select.kevent(pid, select.KQ_FILTER_PROC, select.KQ_EV_ADD, select.KQ_NOTE_EXIT)
        select.kqueue().control([event], 1)
    elif hasattr(os, "pidfd_open"):
        # Not `select`, which does not support descriptors above 1023.
        poll = select.poll()
        poll.register(os.pidfd_open(pid), select.POLLIN)
        poll.poll()
    else:
        raise OSError("this system cannot wait for a process that is not a child")
