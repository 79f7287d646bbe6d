"""What the kernel says about a process.

Source: clock_getcpuclockid(3) and proc(5).
"""

import contextlib
import time
from pathlib import Path

_SCHEDULED_TIME = 2
"""The clock of a process that counts what the scheduler gave to all its threads, ended ones too, in nanoseconds."""


def cpu_s(pid: int) -> float:
    """Return the user and system time that a process has used; /proc counts the same in ticks of 10 ms."""
    return time.clock_gettime(~pid << 3 | _SCHEDULED_TIME)


def threads_cpu_s(pid: int, name: str | None = None) -> float:
    """Return the CPU time that the threads of a process have used, those of that name or all but its first one."""
    used_ns = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        # A thread may end while it is looked at.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            is_meant = task.name != str(pid) if name is None else (task / "comm").read_text() == f"{name}\n"
            if is_meant:
                used_ns += int((task / "schedstat").read_text().split()[0])
    return used_ns / 1e9


def resident_mb(pid: int) -> float:
    """Return a process's resident memory in megabytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise ProcessLookupError(f"process {pid} is gone")
