"""A host's figures: levels at once, rates from differences."""

from datetime import UTC, datetime

from barnabas.pipeline.events.encode import encode_json
from barnabas.pipeline.events.types import HOST_METRIC
from barnabas.pipeline.sources.host import Counters, HostLook, figures, look_at_this_host

FIRST = Counters(100.0, 0.0, 40.0, {"/": 70.0, "/data": 10.0}, 1_000, 2_000, {"eth0": (500, 700)})
SECOND = Counters(110.0, 25.0, 41.0, {"/": 71.0}, 6_000, 2_000, {"eth0": (1_500, 2_700), "eth1": (1, 1)})


def test_first_look_has_levels_alone() -> None:
    assert figures(None, FIRST) == [
        ("memory_percent", None, 40.0),
        ("disk_percent", "/", 70.0),
        ("disk_percent", "/data", 10.0),
    ]


def test_rates_are_differences_by_time() -> None:
    assert figures(FIRST, SECOND) == [
        ("memory_percent", None, 41.0),
        ("disk_percent", "/", 71.0),
        ("cpu_percent", None, 25.0),
        ("disk_read_bytes_per_s", None, 500.0),
        ("disk_write_bytes_per_s", None, 0.0),
        ("network_bytes_per_s", "eth0", 300.0),
        ("network_received_bytes_per_s", "eth0", 100.0),
        ("network_sent_bytes_per_s", "eth0", 200.0),
    ]


def test_each_look_tells_events() -> None:
    look = HostLook("db1", iter((FIRST, SECOND)).__next__)
    first, second = look(), look()
    assert first[1] == (
        HOST_METRIC,
        "disk_percent:/",
        {"host": "db1", "metric": "disk_percent", "value": 70.0, "instance": "/"},
    )
    event_type, what, fields = second[-1]
    assert (what, fields["instance"]) == ("network_sent_bytes_per_s:eth0", "eth0")
    assert encode_json(event_type, {"id": "1", "time": datetime(2026, 1, 1, tzinfo=UTC), **fields})


def test_this_host_can_be_looked_at() -> None:
    first, second = look_at_this_host(), look_at_this_host()
    assert 0 <= second.memory_percent <= 100
    assert 0 <= second.cpu_percent <= 100
    assert second.disk_read_bytes >= first.disk_read_bytes
