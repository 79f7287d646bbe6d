"""A compacted log with small segments, and a cleaner that is run by hand."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.log.cleaner.cleaner import Cleaner
from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.core.config import BrokerConfig
from barnabas.core.executor import InlineExecutor, new_stop_signal
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.formats import iterate_any_records

Row = tuple[int, bytes | None, bytes | None]
Append = Callable[..., int]


@pytest.fixture
def log(open_partition_log: Callable[..., PartitionLog]) -> PartitionLog:
    return open_partition_log(cleanup_policy="compact", min_cleanable_dirty_ratio="0.01", segment_bytes=600)


@pytest.fixture
def make_cleaner(env: LogEnvironment, clock: ManualClock) -> Callable[..., Cleaner]:
    """A cleaner of some logs; it has looked for work once and finished what it found."""

    def make(
        *logs: PartitionLog,
        noted: list[PartitionLog] | None = None,
        high_watermark: int | None = None,
        buffer_bytes: int | None = None,
        **settings: object,
    ) -> Cleaner:
        named = {name.replace("_", "."): str(value) for name, value in settings.items()}
        config = BrokerConfig.from_properties(named, None, "test")
        if buffer_bytes is not None:
            # Less than a broker may be given, so that few records fill it.
            config.log_cleaner_dedupe_buffer_size = buffer_bytes

        def high_watermarks() -> dict[TopicPartition, int]:
            return {
                log.topic_partition: log.log_end_offset if high_watermark is None else high_watermark for log in logs
            }

        noted_logs: list[PartitionLog] = [] if noted is None else noted
        cleaner = Cleaner(
            config, env, InlineExecutor(), lambda: logs, high_watermarks, noted_logs.append, new_stop_signal()
        )
        cleaner.start()
        clock.advance(0)
        return cleaner

    return make


@pytest.fixture
def append(log: PartitionLog, clock: ManualClock) -> Append:
    """Append one batch of (key, value) pairs to a log; gives its first offset."""

    def appended(
        pairs: Iterable[tuple[bytes | None, bytes | None]],
        to: PartitionLog | None = None,
        timestamp_ms: int | None = None,
        **batch: Any,
    ) -> int:
        builder = BatchBuilder(**batch)
        for key, value in pairs:
            builder.append(clock.now_ms() if timestamp_ms is None else timestamp_ms, key, value)
        result = (to or log).append(memoryview(builder.build()), 0)
        assert not result.error_code, result
        return result.base_offset

    return appended


def rows(log: PartitionLog) -> list[Row]:
    """Offset, key and value of every record of a log."""
    return [
        (record.offset, record.key, record.value)
        for batch in log.batches(log.log_start_offset, log.log_end_offset)
        for record in iterate_any_records(batch)
    ]


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}
