"""The resources of this process: its receive memory, its file descriptors, and its standard Prometheus metrics.

Memory: Kafka's default is no limit, so a few hundred clients with large requests can end the process. The limit here is
a quarter of the least of these: the machine's memory, the control group's limit (a container's), and the room that the
process's own limits (`ulimit -v`, `ulimit -d`) leave.

File descriptors: each segment and each connection needs one. Without free descriptors no log can roll, and a broker
that cannot write ends. So limits on connections and new partitions leave enough of them: clients' requests are refused
first.

Source: queued.max.request.bytes in the broker configs; operations, open files; Prometheus, standard process metrics;
cgroups(7), memory.max and memory.limit_in_bytes; getrlimit(2), RLIMIT_AS, RLIMIT_DATA and RLIMIT_NOFILE; proc(5).
"""

import os
import resource
from collections.abc import Iterator, Mapping
from pathlib import Path

# The memory is divided by this: the page cache and other programs need the rest.
_PART_OF_MEMORY = 4
# With less than this hardly any request would be accepted.
_LEAST_BYTES = 1024 * 1024
_STAT, _SYSTEM_STAT, _DESCRIPTORS = "/proc/self/stat", "/proc/stat", "/proc/self/fd"
# Indexes of the fields after the command's name.
_USER, _SYSTEM, _START, _RESIDENT = 11, 12, 19, 21


def receive_memory_bytes(configured_bytes: int, root: Path = Path("/")) -> int:
    """Return the bound of the receive memory.

    Args:
        configured_bytes: `queued.max.request.bytes`; 0 or less: use this process's own limit.
        root: The directory of /proc and /sys.
    """
    if configured_bytes > 0:
        return configured_bytes
    # differs from Kafka (receive-memory): in Kafka -1 means no limit.
    most = min((_physical_bytes(), *_control_group_bytes(root), *_room_bytes(root)))
    return max(most // _PART_OF_MEMORY, _LEAST_BYTES)


def _physical_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _control_group_bytes(root: Path) -> Iterator[int]:
    """Return the memory limits of this process's control group and its parents, of both versions."""
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if not controllers:
            mount, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            mount, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        # In a container the path may be the host's and not exist: then the mount itself is the group.
        group = mount / path.lstrip("/")
        for directory in (group, *group.parents):
            if not directory.is_relative_to(mount):
                break
            for text in _lines(directory / name):
                if text.isdecimal():
                    yield int(text)


def _room_bytes(root: Path) -> Iterator[int]:
    """Return how many bytes this process may still allocate under RLIMIT_AS and RLIMIT_DATA."""
    for line in _lines(root / "proc/self/statm"):
        pages = [int(text) for text in line.split()]
        for limit, taken in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
            soft, _ = resource.getrlimit(limit)
            if soft != resource.RLIM_INFINITY:
                yield soft - taken * os.sysconf("SC_PAGE_SIZE")


def _lines(path: Path) -> list[str]:
    """Return the lines of a file; empty if it does not exist (macOS, an old kernel, another mount)."""
    try:
        return path.read_text(encoding="ascii").splitlines()
    except OSError:
        return []


def raise_open_file_limit() -> None:
    """Raise the soft limit on open files to the hard one, as a JVM does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):
            # macOS reports a hard limit that it does not grant.
            return


def highest_connection_descriptor() -> int:
    """Return the highest file descriptor for connections: a quarter of all is reserved for files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    # differs from Kafka (connections-open-files): Kafka accepts connections up to the last descriptor.
    return -1 if soft == resource.RLIM_INFINITY else soft - soft // 4


def most_partitions() -> int:
    """Return how many partitions this broker accepts before it refuses new ones; each may grow to several segments."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 31 if soft == resource.RLIM_INFINITY else soft // 2


def process_figures() -> Mapping[str, float]:
    """Return metrics by name, empty if the system lacks them; reads files, so not on the event loop."""
    try:
        with open(_STAT, encoding="ascii", errors="replace") as file:
            # The command's name may contain anything, even brackets and blanks.
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
