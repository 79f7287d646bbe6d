"""Metrics of a host: processor, memory, disks and network, every few seconds.

| metric | instance | meaning |
| --- | --- | --- |
| cpu_percent | | all processors together, since the previous poll; waiting for a disk counts as idle |
| memory_percent | | memory not available to a new process |
| disk_percent | mount point | used part of the space available to users |
| disk_read_bytes_per_s, disk_write_bytes_per_s | | all disks together, since the previous poll |
| network_bytes_per_s, network_received_bytes_per_s, network_sent_bytes_per_s | interface | since the previous poll |

The first poll has no metrics "since the previous poll". psutil ensures that no counter decreases.

Source: psutil's documentation: cpu_percent, virtual_memory, disk_usage, net_io_counters (nowrap).
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import psutil  # type: ignore[import-untyped]  # it has no types of its own

from barnabas.pipeline.events.types import HOST_METRIC
from barnabas.pipeline.sources.log_lines import Measurement

# File systems that are not the host's own disks, or always full.
_UNREAL_FILE_SYSTEMS = frozenset(("squashfs", "overlay", "tmpfs", "devtmpfs", "iso9660", "fuse.snapfuse"))


@dataclass(frozen=True, slots=True)
class Counters:
    """One poll of a host: counters since its start, and levels in percent (of the processors since the previous poll).

    `elapsed_s` is a monotonic time; `network` has (bytes received, bytes sent) by interface.
    """

    elapsed_s: float
    cpu_percent: float
    memory_percent: float
    disk_percents: Mapping[str, float]
    disk_read_bytes: int
    disk_write_bytes: int
    network: Mapping[str, tuple[int, int]]


def look_at_this_host() -> Counters:
    """Read all counters with psutil."""
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
    """Returns a host's metrics on each call; rates are since the previous call."""

    def __init__(self, name: str, look: Callable[[], Counters] = look_at_this_host) -> None:
        """Report metrics of the host `name`, computed from the counters that `look` returns."""
        self._name = name
        self._look = look
        self._before: Counters | None = None

    def __call__(self) -> list[Measurement]:
        """Collect the metrics once."""
        found = self._look()
        told: list[Measurement] = []
        for metric, instance, value in figures(self._before, found):
            fields = {"host": self._name, "metric": metric, "value": value, "instance": instance}
            told.append((HOST_METRIC, f"{metric}:{instance}" if instance else metric, fields))
        self._before = found
        return told


def figures(before: Counters | None, now: Counters) -> list[tuple[str, str | None, float]]:
    """Return (metric, instance, value) for each metric of a poll; without `before`, only memory and disk levels."""
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
            # No permission, or just unmounted.
            continue
    return found
