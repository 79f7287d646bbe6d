"""CPU and memory of a process, from the kernel.

CPU is counted in instructions if the machine has counters for them, like `perf stat -e instructions:u -p PID`: they
repeat within 0.5 %, regardless of other load. Otherwise it is in seconds, which vary by half on a shared machine:
measure in alternation, and check the spread. The texts below name the machine's unit in titles.

Source: perf_event_open(2), clock_getcpuclockid(3) and proc(5).
"""

import contextlib
import ctypes
import os
import struct
import time
from functools import cache
from pathlib import Path

_SCHEDULED_TIME = 2
"""The clock that counts the scheduled time of all threads of a process, including ended ones, in nanoseconds."""

_SYSCALL, _CLOSE_ON_EXEC = 298, 8  # perf_event_open on x86-64
_HARDWARE, _INSTRUCTIONS = 0, 1
_INHERIT, _NOT_USER, _NOT_KERNEL, _NOT_HYPERVISOR = 1 << 1, 1 << 4, 1 << 5, 1 << 6
_ATTRIBUTES = struct.Struct("=IIQQQQQ")
_ATTRIBUTES_BYTES = 120
_COUNT = struct.Struct("=Q")


def _open(thread_id: int, flags: int) -> int:
    """Return a descriptor that counts the instructions of a thread and of threads that it will start, or -1."""
    packed = _ATTRIBUTES.pack(_HARDWARE, _ATTRIBUTES_BYTES, _INSTRUCTIONS, 0, 0, 0, _INHERIT | _NOT_HYPERVISOR | flags)
    attributes = ctypes.create_string_buffer(packed, _ATTRIBUTES_BYTES)
    return int(ctypes.CDLL(None).syscall(_SYSCALL, attributes, thread_id, -1, -1, _CLOSE_ON_EXEC))


@cache
def counts_instructions() -> bool:
    """Return whether this machine can count a process's user instructions."""
    descriptor = _open(os.getpid(), _NOT_KERNEL)
    if descriptor >= 0:
        os.close(descriptor)
    return descriptor >= 0


IS_COUNTED = counts_instructions()
CPU = "G instructions" if IS_COUNTED else "CPU s"
CPU_MILLI = "M instructions" if IS_COUNTED else "CPU ms"
CPU_MICRO = "k instructions" if IS_COUNTED else "CPU µs"
"""The units of `cpu`, and of its 10^-3 and 10^-6."""


@cache
def _counters(pid: int, flags: int) -> list[int]:
    """Open a counter for each current thread of a process; a later thread counts with the thread that starts it."""
    opened = (_open(int(task.name), flags) for task in Path(f"/proc/{pid}/task").iterdir())
    return [descriptor for descriptor in opened if descriptor >= 0]


def _instructions(pid: int, flags: int) -> float:
    counts = (int(_COUNT.unpack(os.read(each, _COUNT.size))[0]) for each in _counters(pid, flags))
    return sum(counts) / 1e9


def cpu(pid: int) -> float:
    """Return a process's CPU: 10^9 user instructions since the first call for it, or seconds since its start."""
    return _instructions(pid, _NOT_KERNEL) if IS_COUNTED else cpu_s(pid)


def kernel_cpu(pid: int) -> float:
    """Return the CPU of the kernel's work for the process: 10^9 instructions, or seconds in steps of 10 ms."""
    if IS_COUNTED:
        return _instructions(pid, _NOT_USER)
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[12]) / os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int) -> float:
    """Return the seconds of user and system time that a process has used; /proc counts the same in ticks of 10 ms."""
    return time.clock_gettime(~pid << 3 | _SCHEDULED_TIME)


def threads_cpu_s(pid: int, name: str | None = None) -> float:
    """Return the CPU seconds of a process's threads with this name; without a name, of all but its first thread."""
    used_ns = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        # A thread may end meanwhile.
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
