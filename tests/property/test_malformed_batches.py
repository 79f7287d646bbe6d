"""Hundreds of kinds of malformed batches: each gets its error and changes nothing."""

import pytest

from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.producers.producer_snapshot import encode_snapshot
from barnabas.broker.log.startup.recovery import open_log
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.error_code import ErrorCode
from barnabas.core.executor import InlineExecutor
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.records.batch import CODEC_MASK, Codec
from tests.property.malformed_batches import MAX_MESSAGE_BYTES, Kind, good_batch, kinds

KINDS = list(kinds())

# The same data where the topic has it written anew: it must not be the rewriting that finds out.
REWRITING = {"compression.type": "snappy", "message.format.version": "0.10.2"}


def open_with(directory, is_full=False, **settings):
    clock = ManualClock()
    env = LogEnvironment(clock, clock, InlineExecutor(), validates_records=is_full)
    config = TopicConfig.from_broker(BrokerConfig.from_properties({}, None, "test")).with_overrides(
        {"max.message.bytes": str(MAX_MESSAGE_BYTES), **settings}
    )
    return open_log(env, TopicPartition("t", 0), directory, config)


def state_of(log: PartitionLog):
    files = {path.name: path.read_bytes() for path in sorted(log.directory.iterdir())}
    numbers = (log.log_start_offset, log.log_end_offset, log.recovery_point, log.size_bytes)
    return files, numbers, log.epochs.entries, encode_snapshot(log.producers)


def test_there_are_enough_of_them():
    assert len({kind.name for kind in KINDS}) == len(KINDS) >= 200


@pytest.fixture(scope="module", params=[False, True], ids=["trusting", "full"])
def log(request, tmp_path_factory):
    opened = open_with(tmp_path_factory.mktemp("log") / "t-0", request.param)
    assert opened.append(memoryview(good_batch()), 0).error_code == ErrorCode.NONE
    return opened, request.param


@pytest.fixture(scope="module", params=list(REWRITING.items()), ids=list(REWRITING))
def rewriting_log(request, tmp_path_factory):
    name, value = request.param
    opened = open_with(tmp_path_factory.mktemp("log") / "t-0", **{name: value})
    assert opened.append(memoryview(good_batch(has_headers=False)), 0).error_code == ErrorCode.NONE
    return opened


def codec_of(kind: Kind) -> int:
    return kind.data[22] & CODEC_MASK if len(kind.data) > 22 else Codec.NONE


def refuse(log: PartitionLog, kind: Kind) -> None:
    before = state_of(log)
    result = log.append(memoryview(bytearray(kind.data)), 0, is_any_format=kind.is_any_format)
    assert result.error_code in kind.errors
    assert (result.base_offset, result.last_offset, result.append_time_ms) == (-1, -1, -1)
    assert (result.message is None) == (not result.record_errors)
    assert state_of(log) == before


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_it_is_refused_and_changes_nothing(log, kind):
    opened, is_full = log
    if kind.is_full and not is_full:
        # Trusted, as docs/differences.md says: whatever is in it, it must be readable as a run of bytes.
        end_offset = opened.log_end_offset
        result = opened.append(memoryview(bytearray(kind.data)), 0)
        assert result.error_code in (ErrorCode.NONE, *kind.errors)
        assert opened.read(end_offset, 1 << 20, opened.log_end_offset) is not None or result.error_code
        return
    refuse(opened, kind)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_it_is_refused_where_data_is_written_anew(rewriting_log, kind):
    config = rewriting_log.config
    # Numbers inside do not count where all records are numbered anew.
    is_taken = "offset delta" in kind.name
    # A codec that is the topic's already is not taken apart.
    is_taken = is_taken or (kind.is_full and config.compression_type == "snappy" and codec_of(kind) == Codec.SNAPPY)
    # As Kafka, which looks at the CRC of a message that stays as it is, and at nothing else.
    is_taken = is_taken or (
        rewriting_log.magic == 1 and kind.name in ("magic 1: key beyond it", "magic 1: value beyond it")
    )
    if not is_taken:
        refuse(rewriting_log, kind)
        return
    result = rewriting_log.append(memoryview(bytearray(kind.data)), 0, is_any_format=kind.is_any_format)
    # There is no zstd in the older format.
    assert result.error_code in (ErrorCode.NONE, ErrorCode.UNKNOWN_SERVER_ERROR, *kind.errors)


def test_a_good_batch_is_taken_after_all_of_them(log):
    opened, _ = log
    end_offset = opened.log_end_offset
    result = opened.append(memoryview(good_batch()), 0)
    assert (result.error_code, result.base_offset) == (ErrorCode.NONE, end_offset)
