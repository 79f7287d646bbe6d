"""Logs of old formats and with aborted transactions, written here and judged by Kafka's DumpLogSegments."""

from pathlib import Path

import pytest

from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.startup.recovery import open_log
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.error_code import ErrorCode
from barnabas.core.executor import InlineExecutor
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker
from barnabas.wire.records.message_set import MessageSetBuilder
from tests.integration.test_log_recovery_kafka import find_nothing_wrong
from tests.patience import PATIENCE_S
from tools.kafka.java import run_tool

TP = TopicPartition("t", 0)
OLD_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def open_with(tmp_path: Path, clock: ManualClock):
    def opened(**settings: object):
        config = TopicConfig.from_broker(BrokerConfig.from_properties({}, None, "test")).with_overrides(
            {name.replace("_", "."): str(value) for name, value in settings.items()}
        )
        env = LogEnvironment(clock, clock, InlineExecutor())
        return open_log(env, TP, tmp_path / "t-0", config)

    return opened


@pytest.mark.parametrize("version", ["0.9.0", "0.10.2"])
def test_old_formats(open_with, clock, version):
    settings = {"message_format_version": version, "segment_bytes": 3000, "index_interval_bytes": 200}
    log = open_with(**settings)
    for number in range(60):
        builder = MessageSetBuilder(log.magic, OLD_CODECS[number % 4])
        for index in range(number % 5 + 1):
            builder.append(index, clock.now_ms() + index, b"key", b"value" * 10)
        result = log.append(memoryview(builder.build()), 0, is_any_format=True)
        assert result.error_code == ErrorCode.NONE
        clock.advance(10)
    directory = log.directory
    end_offset = log.log_end_offset
    del log
    again = open_with(**settings)
    assert again.log_end_offset == end_offset
    again.close()
    find_nothing_wrong(directory)


def test_aborted_transactions(open_with, clock):
    log = open_with(segment_bytes=2000, index_interval_bytes=100)
    expected = []
    for number in range(20):
        builder = BatchBuilder(
            producer_id=number % 3, producer_epoch=0, base_sequence=number // 3, is_transactional=True
        )
        builder.append(clock.now_ms(), b"key", b"value" * 20)
        first = log.append(memoryview(builder.build()), 0).base_offset
        kind = MarkerType(number % 2)
        marker = build_marker(number % 3, 0, EndTransactionMarker(kind, 1), clock.now_ms())
        last = log.append(memoryview(marker), 0, is_client=False).base_offset
        if kind is MarkerType.ABORT:
            expected.append((number % 3, first, last))
    log.close()
    find_nothing_wrong(log.directory)
    paths = ",".join(str(path) for path in sorted(log.directory.glob("*.txnindex")))
    dumped = run_tool("kafka.tools.DumpLogSegments", "--files", paths, timeout_s=PATIENCE_S).stdout
    for producer_id, first, last in expected:
        assert (
            f"producerId: {producer_id} firstOffset: {first} lastOffset: {last} lastStableOffset: {last + 1}" in dumped
        )
