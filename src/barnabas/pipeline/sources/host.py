"""A host's figures: processor, memory, disks and network, every few seconds.

| metric | instance | is |
| --- | --- | --- |
| cpu_percent | | of all processors together, since the last time; waiting for a disk is idle |
| memory_percent | | what is not available to a new process |
| disk_percent | mount point | of the space that is there for users |
| disk_read_bytes_per_s, disk_write_bytes_per_s | | of all disks together, since the last time |
| network_bytes_per_s, network_received_bytes_per_s, network_sent_bytes_per_s | interface | since the last time |

What is a difference is missing the first time. psutil sees to it that no counter goes back.

Source: psutil's documentation: cpu_percent, virtual_memory, disk_usage, net_io_counters (nowrap).
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import psutil  # type: ignore[import-untyped]  # it has no types of its own

from barnabas.pipeline.events.types import HOST_METRIC
from barnabas.pipeline.sources.log_lines import Measurement

# Not of this host's own, or always full.
_UNREAL_FILE_SYSTEMS = frozenset(("squashfs", "overlay", "tmpfs", "devtmpfs", "iso9660", "fuse.snapfuse"))


@dataclass(frozen=True, slots=True)
class Counters:
    """One look at a host: counters since it started, and levels in percent, that of the processors since the last look.

    `elapsed_s` is of a clock that never goes back; `network` holds (bytes received, bytes sent) by interface.
    """

    elapsed_s: float
    cpu_percent: float
    memory_percent: float
    disk_percents: Mapping[str, float]
    disk_read_bytes: int
    disk_write_bytes: int
    network: Mapping[str, tuple[int, int]]


def look_at_this_host() -> Counters:
    """Read all counters, through psutil."""
    disks = psutil.disk_io_counters()
    return Counters(
        time.monotonic(),
        psutil.cpu_percent(),
        psutil.virtual_memory().percent,
        _disk_percents(),
        disks.read_bytes if disks else 0,
        disks.write_bytes if disks else 0,
        {name: (each.bytes_recv, each.bytes_sent) for name, each in psutil.net_io_counters(pernic=True).items()},
    )


class HostLook:
    """Tells a host's figures, each time it is called; what is a difference is one to the time before."""

    def __init__(self, name: str, look: Callable[[], Counters] = look_at_this_host) -> None:
        """Tell figures of the host `name`, from the counters that `look` returns."""
        self._name = name
        self._look = look
        self._before: Counters | None = None

    def __call__(self) -> list[Measurement]:
        """Look once."""
        found = self._look()
        told: list[Measurement] = []
        for metric, instance, value in figures(self._before, found):
            fields = {"host": self._name, "metric": metric, "value": value, "instance": instance}
            told.append((HOST_METRIC, f"{metric}:{instance}" if instance else metric, fields))
        self._before = found
        return told


def figures(before: Counters | None, now: Counters) -> list[tuple[str, str | None, float]]:
    """Return (metric, instance, value) of a look, and of what has changed since the one before."""
    found: list[tuple[str, str | None, float]] = [("memory_percent", None, now.memory_percent)]
    found += [("disk_percent", mount, percent) for mount, percent in sorted(now.disk_percents.items())]
    if before is None:
        return found
    seconds = now.elapsed_s - before.elapsed_s
    found.append(("cpu_percent", None, now.cpu_percent))
    found.append(("disk_read_bytes_per_s", None, (now.disk_read_bytes - before.disk_read_bytes) / seconds))
    found.append(("disk_write_bytes_per_s", None, (now.disk_write_bytes - before.disk_write_bytes) / seconds))
    for name in sorted(now.network.keys() & before.network.keys()):
        received, sent = (new - old for new, old in zip(now.network[name], before.network[name], strict=True))
        found.append(("network_bytes_per_s", name, (received + sent) / seconds))
        found.append(("network_received_bytes_per_s", name, received / seconds))
        found.append(("network_sent_bytes_per_s", name, sent / seconds))
    return found


def _disk_percents() -> dict[str, float]:
    found: dict[str, float] = {}
    for partition in psutil.disk_partitions():
        if partition.fstype in _UNREAL_FILE_SYSTEMS:
            continue
        try:
            found[partition.mountpoint] = psutil.disk_usage(partition.mountpoint).percent
        except OSError:
            # Not ours to look at, or just unmounted.
            continue
    return found
