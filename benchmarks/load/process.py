"""What the kernel says about a process.

Source: clock_getcpuclockid(3) and proc(5).
"""

import time
from pathlib import Path

_SCHEDULED_TIME = 2
"""The clock of a process that counts what the scheduler gave to all its threads, ended ones too, in nanoseconds."""


def cpu_s(pid: int) -> float:
    """Return the user and system time that a process has used; /proc counts the same in ticks of 10 ms."""
    return time.clock_gettime(~pid << 3 | _SCHEDULED_TIME)


def resident_mb(pid: int) -> float:
    """Return a process's resident memory in megabytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise ProcessLookupError(f"process {pid} is gone")
