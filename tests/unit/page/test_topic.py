"""One topic, of clusters that were made up."""

import pytest

from barnabas.core.types import TopicPartition
from barnabas.page.views.topic import SegmentRow, partition_rows, segment_rows
from tests.unit.explain.worlds import NOW_MS, VIEWS, directory, log, partition, snapshot


def test_a_partition_tells_where_it_is_and_how_it_grows() -> None:
    ends = {
        "topic": "views",
        "partition": 0,
        "high_watermark": 1_000,
        "ends": [[NOW_MS - 30_000, 700], [NOW_MS, 1_000]],
    }
    world = snapshot(
        partition(VIEWS[0], isr=(1,), adding=(3,)),
        partition(VIEWS[1], leader_id=-1, isr=()),
        partition(TopicPartition("clicks", 0)),
        logs={VIEWS[0]: log(10, 990, 1_000)},
        directories=[directory(2), directory(1)],
        facts={"ends": [ends]},
    )
    first, second = partition_rows(world, "views")
    assert (first.partition, first.leader_id, first.replicas, first.adding, first.isr) == (0, 1, (1, 2, 3), (3,), (1,))
    assert (first.start_offset, first.stable_offset, first.end_offset) == (10, 990, 1_000)
    assert first.rate_per_s == pytest.approx(10)
    assert first.sizes == {1: 1_000, 2: 1_000}
    assert first.troubles == ("under min.insync.replicas", "under-replicated")
    assert (second.leader_id, second.end_offset, second.rate_per_s) == (None, None, None)
    assert second.troubles[0] == "offline"


def test_each_segment_tells_when_it_goes_and_what_keeps_it() -> None:
    kept = {"base": 0, "bytes": 100, "newest_ms": NOW_MS - 1, "is_active": False, "goes_at_ms": NOW_MS + 5}
    segments = [
        {**kept, "rule": "retention.ms", "kept_by": "retention.ms"},
        {**kept, "base": 9, "newest_ms": -1, "goes_at_ms": None, "rule": "retention.bytes", "kept_by": None},
    ]
    row = {"topic": "views", "partition": 0, "broker_id": 1, "is_leader": True, "segments": segments}
    world = snapshot(facts={"segments": [row, {**row, "is_leader": False}]})
    assert list(segment_rows(world, "views")) == [
        SegmentRow(0, 0, 100, NOW_MS - 1, NOW_MS + 5, "its newest record is not old enough (retention.ms)"),
        SegmentRow(0, 9, 100, None, None, "nothing: retention.bytes is about to delete it"),
    ]
