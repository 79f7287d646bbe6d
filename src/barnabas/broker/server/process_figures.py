"""Standard Prometheus metrics of this process; empty where the system does not provide them.

Source: proc(5), `/proc/self/stat`, `/proc/stat`; Prometheus, standard process metrics.
"""

import os
import resource
from collections.abc import Mapping

_STAT, _SYSTEM_STAT, _DESCRIPTORS = "/proc/self/stat", "/proc/stat", "/proc/self/fd"
# Of the fields behind the command's name.
_USER, _SYSTEM, _START, _RESIDENT = 11, 12, 19, 21


def process_figures() -> Mapping[str, float]:
    """Return figures by metric name; reads files, so not on the event loop."""
    try:
        with open(_STAT, encoding="ascii", errors="replace") as file:
            # The name may hold anything, also brackets and blanks.
            fields = file.read().rpartition(")")[2].split()
        with open(_SYSTEM_STAT, encoding="ascii") as file:
            boot_s = next(int(line.split()[1]) for line in file if line.startswith("btime "))
        open_count = len(os.listdir(_DESCRIPTORS))
    except (OSError, StopIteration):
        return {}
    per_second = os.sysconf("SC_CLK_TCK")
    return {
        "process_cpu_seconds_total": (int(fields[_USER]) + int(fields[_SYSTEM])) / per_second,
        "process_resident_memory_bytes": int(fields[_RESIDENT]) * resource.getpagesize(),
        "process_open_fds": open_count,
        "process_max_fds": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "process_start_time_seconds": boot_s + int(fields[_START]) / per_second,
    }
