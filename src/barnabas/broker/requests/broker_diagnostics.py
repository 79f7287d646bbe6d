"""The subject `broker` of Facts: this broker's rates per minute, disks, limits, and the memory of its events."""

import json
from itertools import islice
from typing import Final

from barnabas.broker.diagnostics import Row
from barnabas.broker.requests.diagnostic_query import DiagnosticQuery, Found
from barnabas.broker.requests.slices import MORE, Step
from barnabas.core.executor import submit

_MOST_BAD_LOGS: Final = 100


def broker(query: DiagnosticQuery) -> Found:
    """Yield the one row."""
    diagnostics, services = query.diagnostics, query.ctx.services
    log_bytes: dict[str, int] = {}
    for path, replica in services.log_dirs.replicas():
        log_bytes[path] = log_bytes.get(path, 0) + replica.size_bytes
        yield MORE
    disks = submit(services.executor, services.log_dirs.spaces(log_bytes))
    yield Step(disks)
    minutes = [json.loads(line) for line in diagnostics.minutes.lines()]
    row: Row = {
        "partition_count": services.replicas.partition_count,
        "leader_count": sum(partition.is_leader for partition in services.replicas.partitions),
        "offline_count": services.replicas.offline_count,
        "minutes": [each for each in minutes if each["at_ms"] >= query.since_ms],
        "disks": [
            {
                "directory": each.path,
                "state": "online" if each.is_online else "offline",
                "total": each.total_bytes,
                "free": each.free_bytes,
                "log_bytes": each.log_bytes,
            }
            for each in disks.value
        ],
        "bad_logs": [
            {"topic": key.topic, "partition": key.partition, "trouble": trouble, "reason": reason}
            for key, trouble, reason in islice(services.log_dirs.bad_logs(), _MOST_BAD_LOGS)
        ],
        "facts": {
            "bytes": diagnostics.kept_bytes,
            "most_bytes": diagnostics.most_bytes,
            "left_out": {kind: count for kind, count in diagnostics.left_out().items() if count},
        },
    }
    # Defaults for the broker's first second, before `figures` is set.
    yield {"started_ms": diagnostics.kept_since_ms, "limits": [], **row, **diagnostics.figures()}
