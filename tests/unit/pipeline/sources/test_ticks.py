"""What is looked at again and again: a line a tick, with ids that are no one else's."""

from itertools import islice

from barnabas.pipeline.events.encode import encode_json
from barnabas.pipeline.events.types import BROKER_METRIC, HOST_METRIC
from barnabas.pipeline.sources.ticks import Told, tick_lines


def load() -> list[Told]:
    return [(HOST_METRIC, "load:a", {"host": "db1", "metric": "load", "value": 1.5, "instance": "a"})]


def lag() -> list[Told]:
    return [(BROKER_METRIC, "cluster:lag", {"broker": "cluster", "metric": "lag", "value": 2.0})]


def test_each_tick_is_a_line_of_what_all_looks_tell() -> None:
    now_s = 1_767_225_600.0

    def sleep(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds

    first, second = islice(tick_lines("db1", 5.0, [load, lag], sleep=sleep, time_s=lambda: now_s), 2)
    assert (first.number, second.number, first.log) == (1, 2, "db1@1767225600000")
    assert (second.time_ms, second.is_last_for_now) == (1767225605000, True)
    assert [encode_json(*event).decode() for event in second.events] == [
        '{"type":"host_metric","version":1,"id":"db1@1767225600000:2:load:a",'
        '"time":"2026-01-01T00:00:05Z","host":"db1","metric":"load","value":1.5,"instance":"a"}',
        '{"type":"broker_metric","version":1,"id":"db1@1767225600000:2:cluster:lag",'
        '"time":"2026-01-01T00:00:05Z","broker":"cluster","metric":"lag","value":2.0}',
    ]
    ids = [fields["id"] for line in (first, second) for _, fields in line.events]
    assert len(ids) == len(set(ids)) == 4


def test_collector_stops_when_it_is_told_to() -> None:
    assert list(tick_lines("db1", 5.0, [load], is_stopped=lambda: True)) == []
