"""Records of `__consumer_offsets` that every commit brings: the same bytes by the short way as by the long one."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.groups.group import CommittedOffset
from barnabas.broker.groups.storage import encode_offset_key, encode_offset_value, offsets_batch
from barnabas.core.config.versions import KafkaVersion, kafka_version
from barnabas.core.types import NO_EPOCH, NO_TIMESTAMP, TopicPartition
from barnabas.wire.protocol.messages.offset_commit_key import OffsetCommitKey
from barnabas.wire.protocol.messages.offset_commit_value import OffsetCommitValue
from barnabas.wire.protocol.wire import WireBuffer
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder, one_record_batch

int32s = st.integers(-(1 << 31), (1 << 31) - 1)
int64s = st.integers(-(1 << 63), (1 << 63) - 1)
names = st.text(max_size=200)
readers = st.sampled_from([kafka_version(text) for text in ("0.10.0", "2.0", "2.1", "2.7")])
commits = st.builds(
    CommittedOffset, int64s, int32s, names, st.integers(-1, 1 << 60), st.just(NO_TIMESTAMP) | st.integers(0, 1 << 60)
)


@given(st.integers(-1, 1 << 60), st.binary(max_size=9_000), st.binary(max_size=9_000))
def test_a_batch_of_one_record(timestamp_ms: int, key: bytes, value: bytes) -> None:
    builder = BatchBuilder()
    builder.append(timestamp_ms, key, value)
    assert one_record_batch(timestamp_ms, key, value) == builder.build()


@given(names, names, int32s)
def test_key_of_an_offset(group_id: str, topic: str, partition: int) -> None:
    out = WireBuffer(b"\0\1")
    OffsetCommitKey(group_id, topic, partition).encode(0, out)
    assert encode_offset_key(group_id, TopicPartition(topic, partition)) == out


@given(commits, readers)
def test_value_of_an_offset(committed: CommittedOffset, reader: KafkaVersion) -> None:
    has_expiry = committed.expire_timestamp_ms != NO_TIMESTAMP
    version = 1 if has_expiry else reader.offset_value_version
    out = WireBuffer((0, version))
    OffsetCommitValue(
        committed.offset,
        committed.leader_epoch if version == 3 else NO_EPOCH,
        committed.metadata,
        committed.commit_timestamp_ms,
        committed.expire_timestamp_ms,
    ).encode(version, out)
    assert encode_offset_value(committed, reader) == out


@given(names, names, commits, st.integers(0, 1 << 60), st.sampled_from(Codec), readers)
def test_batch_of_one_commit(
    group_id: str, topic: str, committed: CommittedOffset, now_ms: int, codec: Codec, reader: KafkaVersion
) -> None:
    topic_partition = TopicPartition(topic, 7)
    builder = BatchBuilder(codec)
    builder.append(now_ms, encode_offset_key(group_id, topic_partition), encode_offset_value(committed, reader))
    assert offsets_batch(group_id, {topic_partition: committed}, now_ms, codec, reader) == builder.build()


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(struct.error):
        encode_offset_key("g" * (1 << 15), TopicPartition("t", 0))
