"""Records of `__consumer_offsets`: the bytes, and what is read back from a whole partition."""

import pytest

from barnabas.broker.coordination.partitioning import partition_of
from barnabas.broker.groups.group import CommittedOffset, GroupSettings, Phase
from barnabas.broker.groups.loading import read_groups
from barnabas.broker.groups.storage import (
    GroupKey,
    OffsetKey,
    decode_group_value,
    decode_key,
    decode_offset_value,
    encode_group_key,
    encode_group_value,
    encode_offset_key,
    encode_offset_value,
    group_batch,
    offsets_batch,
    tombstone_batches,
)
from barnabas.core.config.versions import kafka_version
from barnabas.core.errors import ProtocolError
from barnabas.core.java_hash import java_hash_code
from barnabas.core.types import TopicPartition
from barnabas.wire.records.batch import Codec, batches, set_base_offset
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker
from barnabas.wire.records.formats import batches_of_any_magic
from barnabas.wire.records.message_set import MessageSetBuilder

T0 = TopicPartition("t", 0)
SETTINGS = GroupSettings()


def test_offset_key_is_type_group_topic_partition():
    key = encode_offset_key("g", TopicPartition("top", 7))
    assert key.hex() == "0001" + "000167" + "0003746f70" + "00000007"
    assert decode_key(key) == OffsetKey("g", TopicPartition("top", 7))


def test_oldest_offset_keys_are_of_type_0():
    assert decode_key(b"\0\0" + encode_offset_key("g", T0)[2:]) == OffsetKey("g", T0)


def test_group_key_is_type_and_group():
    assert encode_group_key("g").hex() == "0002" + "000167"
    assert decode_key(encode_group_key("g")) == GroupKey("g")


def test_key_of_a_newer_kafka_is_not_understood():
    assert decode_key(b"\0\x03\0\x01g") is None


@pytest.mark.parametrize("key", [b"", b"\0", b"\0\x01\0\x05g", b"\0\x02"])
def test_damaged_key_is_an_error(key):
    with pytest.raises(ProtocolError):
        decode_key(key)


def test_offset_value_carries_the_leader_epoch():
    value = encode_offset_value(CommittedOffset(42, 3, "m", 1_000))
    assert value.hex() == "0003" + "000000000000002a" + "00000003" + "00016d" + "00000000000003e8"
    decoded = decode_offset_value(value)
    assert (decoded.offset, decoded.leader_epoch, decoded.metadata, decoded.commit_timestamp_ms) == (42, 3, "m", 1_000)
    assert decoded.expire_timestamp_ms == -1


def test_offset_value_with_an_expiry_is_of_version_1():
    value = encode_offset_value(CommittedOffset(42, 3, "", 1_000, 2_000))
    assert value.hex() == "0001" + "000000000000002a" + "0000" + "00000000000003e8" + "00000000000007d0"
    assert decode_offset_value(value).expire_timestamp_ms == 2_000


def test_group_value_has_the_layout_of_version_3(story):
    story.stabilize("m1")
    group = story.group
    value = encode_group_value(group, {"m1": b"A"})
    expected = (
        "0003"  # version
        + "0008636f6e73756d6572"  # consumer
        + "00000001"  # generation
        + "000572616e6765"  # range
        + "00026d31"  # leader
        + f"{group.state_timestamp_ms:016x}"
        + "00000001"
        + "00026d31"  # member
        + "ffff"  # no instance id
        + "0006636c69656e74"  # client
        + "000a2f3132372e302e302e31"
        + f"{60_000:08x}{10_000:08x}"
        + f"{18:08x}"
        + b"topics of a member".hex()
        + "0000000141"
    )
    assert value.hex() == expected


def test_stable_group_is_read_back(stable_story):
    group = stable_story.group
    value = encode_group_value(group, {member_id: member.assignment for member_id, member in group.members.items()})
    read = decode_group_value("g", value, SETTINGS)
    assert (read.phase, read.generation, read.leader_id) == (Phase.STABLE, 1, "m1")
    assert read.protocol_name == "range"
    assert {member_id: member.assignment for member_id, member in read.members.items()} == {
        "m1": b"for m1",
        "m2": b"for m2",
    }
    assert read.members["m1"].rebalance_timeout_ms == 60_000
    assert read.supports("consumer", ["range"])


def test_empty_group_is_read_back(story):
    story.group.generation = 4
    story.group.protocol_type = "consumer"
    read = decode_group_value("g", encode_group_value(story.group, {}), SETTINGS)
    assert (read.phase, read.generation, read.leader_id, read.protocol_name) == (Phase.EMPTY, 4, None, None)


def test_value_of_an_unknown_version_is_an_error():
    for decode in (decode_offset_value, lambda value: decode_group_value("g", value, SETTINGS)):
        with pytest.raises(ProtocolError):
            decode(b"\0\x63" + bytes(40))
        with pytest.raises(ProtocolError):
            decode(b"")


def read(*parts):
    """Number the batches as a log would, and read them."""
    numbered = []
    for part in parts:
        for batch in batches(part):
            set_base_offset(batch, 0, 10 * len(numbered))
            numbered.append(batch)
    return read_groups(numbered, SETTINGS)


def test_last_record_of_a_key_counts():
    loaded = read(
        offsets_batch("g", {T0: CommittedOffset(1), TopicPartition("t", 1): CommittedOffset(5)}, 0, Codec.NONE),
        offsets_batch("g", {T0: CommittedOffset(2)}, 0, Codec.GZIP),
    )
    (group,) = loaded.items
    assert {key.partition: committed.offset for key, committed in group.offsets.items()} == {0: 2, 1: 5}
    assert group.offsets[T0].append_offset == 10
    assert group.phase is Phase.EMPTY


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_messages_of_old_formats_are_read(magic, codec):
    messages = MessageSetBuilder(magic, codec)
    for offset in range(2):
        messages.append(offset, 0, encode_offset_key("g", T0), encode_offset_value(CommittedOffset(offset + 5)))
    (group,) = read_groups(batches_of_any_magic(messages.build()), SETTINGS).items
    assert group.offsets[T0].offset == 6


def test_tombstones_remove_offsets_and_groups(stable_story):
    stored = [
        group_batch(stable_story.group, {}, 0, Codec.NONE),
        offsets_batch("g", {T0: CommittedOffset(1)}, 0, Codec.NONE),
    ]
    assert read(*stored, *tombstone_batches("g", [T0], True, 0, Codec.NONE)).items == []
    (group,) = read(*stored, *tombstone_batches("g", [], True, 0, Codec.NONE)).items
    assert (group.phase, group.generation, len(group.offsets)) == (Phase.EMPTY, 0, 1)


def test_many_tombstones_are_split_into_batches():
    partitions = [TopicPartition("t" * 200, index) for index in range(3_000)]
    found = tombstone_batches("g", partitions, True, 0, Codec.NONE)
    assert len(found) > 1
    assert all(len(batch) < 300_000 for batch in found)


def test_what_cannot_be_read_is_left_out(caplog):
    damaged = BatchBuilder()
    damaged.append(0, b"\0\x01broken", b"")
    damaged.append(0, None, b"")
    damaged.append(0, encode_offset_key("g", T0), b"\0\x63")
    damaged.append(0, encode_offset_key("h", T0), encode_offset_value(CommittedOffset(8)))
    loaded = read(damaged.build())
    assert (loaded.record_count, loaded.skipped_count) == (4, 3)
    assert [group.group_id for group in loaded.items] == ["h"]


def test_damaged_batch_is_left_out(caplog):
    broken = offsets_batch("g", {T0: CommittedOffset(1)}, 0, Codec.GZIP)
    broken[70:80] = bytes(10)
    loaded = read(broken, offsets_batch("h", {T0: CommittedOffset(1)}, 0, Codec.NONE))
    assert [group.group_id for group in loaded.items] == ["h"]


def transactional(producer_id, offset):
    builder = BatchBuilder(Codec.NONE, producer_id, 0, 0, is_transactional=True)
    builder.append(0, encode_offset_key("g", T0), encode_offset_value(CommittedOffset(offset)))
    return builder.build()


def plain(offset):
    return offsets_batch("g", {T0: CommittedOffset(offset)}, 0, Codec.NONE)


def marker(producer_id, marker_type):
    return build_marker(producer_id, 0, EndTransactionMarker(marker_type, 0), 0)


@pytest.mark.parametrize(
    ("parts", "offset", "pending"),
    [
        ([transactional(1, 5), marker(1, MarkerType.COMMIT)], 5, {}),
        ([transactional(1, 5), marker(2, MarkerType.COMMIT)], None, {1: 5}),
        ([transactional(1, 5), transactional(2, 6), marker(1, MarkerType.COMMIT)], 5, {2: 6}),
        ([transactional(1, 5), transactional(1, 6)], None, {1: 6}),
        ([transactional(1, 5), marker(1, MarkerType.ABORT), marker(1, MarkerType.COMMIT), plain(1)], 1, {}),
        ([transactional(1, 5), plain(9), marker(1, MarkerType.COMMIT)], 9, {}),
        ([transactional(1, 5), plain(9)], 9, {1: 5}),
    ],
    ids=["committed", "undecided", "one of two", "twice", "aborted", "overtaken", "undecided beside a plain one"],
)
def test_offsets_of_transactions_count_from_their_commit_on(parts, offset, pending):
    (group,) = read(*parts).items
    assert {key: each.offset for key, each in group.offsets.items()} == ({} if offset is None else {T0: offset})
    found = {producer_id: offsets[T0].offset for producer_id, offsets in group.pending_transactions.items()}
    assert found == pending


def test_nothing_is_left_of_an_aborted_transaction():
    assert read(transactional(1, 5), marker(1, MarkerType.ABORT)).items == []


def test_loading_stops_when_it_is_told_to():
    stored = [memoryview(offsets_batch("g", {T0: CommittedOffset(1)}, 0, Codec.NONE))] * 5
    asked = iter([False, False, True])
    assert read_groups(stored, SETTINGS, lambda: next(asked)).record_count == 2


@pytest.mark.parametrize(
    ("text", "hash_code"),
    [("", 0), ("a", 97), ("hello", 99_162_322), ("polygenelubricants", -(2**31)), ("\U0001f600", 1_772_899)],
)
def test_hash_is_javas(text, hash_code):
    assert java_hash_code(text) == hash_code


def test_smallest_hash_goes_to_partition_0():
    assert partition_of("polygenelubricants", 50) == 0


@pytest.mark.parametrize(
    ("version", "group_version", "offset_version"),
    [
        ("0.10.0", 0, 1),
        ("0.10.1", 1, 1),
        ("0.10.2", 1, 1),
        ("0.11.0", 1, 1),
        ("2.0", 1, 1),
        ("2.1-IV0", 2, 2),
        ("2.1", 2, 3),
        ("2.2", 2, 3),
        ("2.3", 3, 3),
        ("2.7", 3, 3),
    ],
)
def test_values_are_of_the_version_that_kafka_writes(stable_story, version, group_version, offset_version):
    reader = kafka_version(version)
    group = stable_story.group
    group.members["m1"].group_instance_id = "static"
    value = encode_group_value(group, {"m1": b"A"}, reader)
    assert value[:2] == group_version.to_bytes(2)
    read = decode_group_value("g", value, SETTINGS)
    assert read.members["m1"].assignment == b"A"
    assert read.members["m1"].rebalance_timeout_ms == (60_000 if group_version else 10_000)
    assert read.state_timestamp_ms == (group.state_timestamp_ms if group_version >= 2 else -1)
    assert read.members["m1"].group_instance_id == ("static" if group_version == 3 else None)

    value = encode_offset_value(CommittedOffset(42, 3, "m", 1_000), reader)
    assert value[:2] == offset_version.to_bytes(2)
    decoded = decode_offset_value(value)
    assert (decoded.offset, decoded.metadata, decoded.commit_timestamp_ms) == (42, "m", 1_000)
    assert decoded.leader_epoch == (3 if offset_version == 3 else -1)
    assert encode_offset_value(CommittedOffset(42, 3, "m", 1_000, 2_000), reader)[:2] == b"\0\1"
