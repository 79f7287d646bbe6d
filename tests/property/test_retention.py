"""All rules of retention together, against the simplest model of Kafka 2.7.2's `Log.deleteOldSegments`."""

import tempfile
from pathlib import Path
from typing import NamedTuple

from hypothesis import example, given, settings
from hypothesis import strategies as st

from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.retention import apply_retention
from barnabas.broker.log.startup.recovery import open_log
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.executor import InlineExecutor
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.records.builder import BatchBuilder

BROKER = BrokerConfig.from_properties({}, None, "test")
NOW_MS = 1_000


class Kept(NamedTuple):
    """A segment of the model."""

    base_offset: int
    end_offset: int
    size_bytes: int
    timestamp_ms: int


def model(
    kept: list[Kept], policy: str, retention_ms: int, retention_bytes: int, log_start_offset: int, high_watermark: int
) -> list[int]:
    """Where the segments begin that Kafka keeps; a new one at the log end when none of the old ones stays."""
    log_end_offset = kept[-1].end_offset

    def may_go() -> bool:
        return bool(kept) and high_watermark >= kept[0].end_offset and kept[0].size_bytes > 0

    if "delete" in policy:
        while may_go() and 0 <= retention_ms < NOW_MS - kept[0].timestamp_ms:
            kept.pop(0)
        while may_go() and 0 <= retention_bytes <= sum(each.size_bytes for each in kept) - kept[0].size_bytes:
            kept.pop(0)
    # What retention deleted only moves the start further.
    while may_go() and len(kept) > 1 and kept[1].base_offset <= log_start_offset:
        kept.pop(0)
    return [each.base_offset for each in kept] or [log_end_offset]


def open_filled(
    directory: Path, config: TopicConfig, segments: list[tuple[int, int]]
) -> tuple[PartitionLog, list[Kept]]:
    """A log with one batch in each segment: (bytes in its value, timestamp)."""
    clock = ManualClock(NOW_MS)
    env = LogEnvironment(clock, clock, InlineExecutor())
    log = open_log(env, TopicPartition("t", 0), directory, config)
    kept = []
    for index, (value_bytes, timestamp_ms) in enumerate(segments):
        builder = BatchBuilder()
        builder.append(timestamp_ms, b"k", b"v" * value_bytes)
        batch = builder.build()
        log.append(memoryview(batch), 0)
        kept.append(Kept(index, index + 1, len(batch), timestamp_ms))
        if index + 1 < len(segments):
            log.roll()
    return log, kept


@settings(deadline=None)
@given(
    segments=st.lists(st.tuples(st.sampled_from([0, 40, 100]), st.integers(0, NOW_MS)), min_size=1, max_size=8),
    policy=st.sampled_from(["delete", "compact", "compact,delete"]),
    retention_ms=st.one_of(st.just(-1), st.integers(0, NOW_MS)),
    retention_bytes=st.one_of(st.just(-1), st.integers(0, 800)),
    start_part=st.floats(0, 1),
    watermark_part=st.floats(0, 1),
    has_empty_end=st.booleans(),
)
# Seen live: Kafka keeps five of ten; the size rule finds nothing to do once the time rule is done.
@example([(0, 0)] * 5 + [(0, 999)] * 5, "delete", 500, 5 * 70, 0.0, 1.0, False)
def test_what_stays_is_what_kafka_keeps(
    segments: list[tuple[int, int]],
    policy: str,
    retention_ms: int,
    retention_bytes: int,
    start_part: float,
    watermark_part: float,
    has_empty_end: bool,
) -> None:
    config = TopicConfig.from_broker(BROKER).with_overrides(
        {"cleanup.policy": policy, "retention.ms": str(retention_ms), "retention.bytes": str(retention_bytes)}
    )
    with tempfile.TemporaryDirectory() as directory:
        log, kept = open_filled(Path(directory), config, segments)
        if has_empty_end:
            log.roll()
            kept.append(Kept(len(segments), len(segments), 0, 0))
        log_start_offset = int(log.log_end_offset * start_part)
        high_watermark = log_start_offset + int((log.log_end_offset - log_start_offset) * watermark_part)
        log.increment_log_start_offset(log_start_offset)
        wanted = model(list(kept), policy, retention_ms, retention_bytes, log_start_offset, high_watermark)

        deleted_count = apply_retention(log, high_watermark, NOW_MS)

        bases = [segment.base_offset for segment in log.segments]
        assert bases == wanted
        assert deleted_count == len([each for each in kept if each.base_offset < bases[0]])
        assert log.log_start_offset == max(log_start_offset, bases[0])
        log.release()
