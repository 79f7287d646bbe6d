"""The memory limit for partially received requests: from the setting, or from this machine's memory.

Kafka's default is no limit, so a few hundred clients with large requests can end the process. The limit here is a part
of this process's memory: of the machine's memory, its control group's (a container's limit), and the room that its own
limits (`ulimit -v`, `ulimit -d`) leave.

Source: queued.max.request.bytes in the broker configs; cgroups(7), memory.max and memory.limit_in_bytes; getrlimit(2),
RLIMIT_AS and RLIMIT_DATA; proc(5), statm.
"""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

# Of what the machine has: the page cache and other programs want the rest.
_PART_OF_MEMORY = 4
# With less than this hardly a request would get through.
_LEAST_BYTES = 1024 * 1024


def receive_memory_bytes(configured_bytes: int, root: Path = Path("/")) -> int:
    """Return the bound of the receive memory.

    Args:
        configured_bytes: `queued.max.request.bytes`; 0 or less stands for ours.
        root: Where /proc and /sys are.
    """
    if configured_bytes > 0:
        return configured_bytes
    # differs from Kafka (receive-memory): -1 is no bound there.
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
        # In a container the path may be the host's, which is not there: then the mount itself is the group.
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
