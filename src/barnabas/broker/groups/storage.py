"""Encodes the records of `__consumer_offsets` like Kafka 2.7, and decodes all older versions.

| record | key (int16 type first) | value (int16 version first) |
| --- | --- | --- |
| committed offset | 0 or 1: group, topic, partition | v3: offset, leader epoch, metadata, commit time; v1: expiry |
| group | 2: group | v3: protocol type, generation, protocol, leader, state time, members |

Older versions of the values lack fields, and are written for older brokers: `inter.broker.protocol.version` selects the
version. A null value is a tombstone. All integers are big-endian.

Source: OffsetCommitKey, OffsetCommitValue, GroupMetadataKey, GroupMetadataValue; KIP-211 (v2), KIP-320 (v3).
"""

from collections.abc import Iterable, Mapping
from struct import Struct
from typing import NamedTuple

from barnabas.broker.groups.group import CommittedOffset, Group, GroupSettings, Member, Phase
from barnabas.core.config.versions import NEWEST, KafkaVersion
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError, ProtocolError
from barnabas.core.types import NO_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, NO_TIMESTAMP, TopicPartition
from barnabas.wire.protocol.messages.group_metadata_key import GroupMetadataKey
from barnabas.wire.protocol.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from barnabas.wire.protocol.messages.offset_commit_key import OffsetCommitKey
from barnabas.wire.protocol.messages.offset_commit_value import OffsetCommitValue
from barnabas.wire.protocol.wire import Message, WireBuffer
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder, one_record_batch
from barnabas.wire.records.record import MAX_UNCOMPRESSED_BYTES

LEGACY_OFFSET_KEY_TYPE = 0
OFFSET_KEY_TYPE = OffsetCommitKey.API_KEY
GROUP_KEY_TYPE = GroupMetadataKey.API_KEY

_OFFSET_VALUE_VERSION_WITH_EXPIRY = 1
_OFFSET_VALUE_VERSION_WITH_EPOCH = 3
_GROUP_VALUE_VERSION_WITH_REBALANCE_TIMEOUT = 1
_GROUP_VALUE_VERSION_WITH_STATE_TIME = 2
GROUP_VALUE_VERSION_WITH_INSTANCES = 3
_KEY_VERSION = 0
_TRANSACTIONAL_SEQUENCE = 0
# Cached, because access to an enum member is a lookup each time.
_NO_CODEC = Codec.NONE

# The largest batch of tombstones: far below any reasonable max.message.bytes.
_TOMBSTONE_BATCH_BYTES = 256 * 1024

_PREFIX = Struct(">h")
# The fixed fields around the strings in the key and value of a committed offset.
_OFFSET_KEY_START = Struct(">hh")
_LENGTH = Struct(">h")
_PARTITION = Struct(">i")
_OFFSET_VALUE_START = Struct(">hqih")
_COMMIT_TIMESTAMP = Struct(">q")


class OffsetKey(NamedTuple):
    """The key of a committed offset."""

    group_id: str
    topic_partition: TopicPartition


class GroupKey(NamedTuple):
    """The key of a group's metadata."""

    group_id: str


def encode_offset_key(group_id: str, topic_partition: TopicPartition) -> bytes:
    """Return the key of a committed offset: an `OffsetCommitKey`, encoded here because every commit needs one."""
    # hot path: scripts/bench --whole --only commits
    group, topic = group_id.encode(), topic_partition.topic.encode()
    return b"".join(
        (
            _OFFSET_KEY_START.pack(OFFSET_KEY_TYPE, len(group)),
            group,
            _LENGTH.pack(len(topic)),
            topic,
            _PARTITION.pack(topic_partition.partition),
        )
    )


def encode_group_key(group_id: str) -> bytes:
    """Return the key of a group's metadata."""
    return _prefixed(GROUP_KEY_TYPE, GroupMetadataKey(group_id), _KEY_VERSION)


def encode_offset_value(committed: CommittedOffset, reader: KafkaVersion = NEWEST) -> bytes:
    """Return the value of a committed offset; with an expiry time, an older version without leader epoch is used.

    Args:
        committed: The offset.
        reader: The oldest Kafka that must be able to read it (inter.broker.protocol.version).
    """
    version = reader.offset_value_version
    if version == _OFFSET_VALUE_VERSION_WITH_EPOCH and committed.expire_timestamp_ms == NO_TIMESTAMP:
        # hot path: scripts/bench --whole --only commits (an `OffsetCommitValue` of version 3, as nearly all are)
        metadata = committed.metadata.encode()
        start = _OFFSET_VALUE_START.pack(version, committed.offset, committed.leader_epoch, len(metadata))
        return start + metadata + _COMMIT_TIMESTAMP.pack(committed.commit_timestamp_ms)
    value = OffsetCommitValue(committed.offset, NO_EPOCH, committed.metadata, committed.commit_timestamp_ms)
    if committed.expire_timestamp_ms != NO_TIMESTAMP:
        version = _OFFSET_VALUE_VERSION_WITH_EXPIRY
    if version == _OFFSET_VALUE_VERSION_WITH_EXPIRY:
        value.expire_timestamp = committed.expire_timestamp_ms
    if version >= _OFFSET_VALUE_VERSION_WITH_EPOCH:
        value.leader_epoch = committed.leader_epoch
    return _prefixed(version, value, version)


def encode_group_value(group: Group, assignments: Mapping[str, bytes], reader: KafkaVersion = NEWEST) -> bytes:
    """Return the value of a group's metadata.

    Args:
        group: The group.
        assignments: The assignments of its members.
        reader: The oldest Kafka that must be able to read it (inter.broker.protocol.version).
    """
    version = reader.group_value_version
    members = [
        MemberMetadata(
            member.member_id,
            member.group_instance_id if version >= GROUP_VALUE_VERSION_WITH_INSTANCES else None,
            member.client_id,
            member.client_host,
            member.rebalance_timeout_ms if version >= _GROUP_VALUE_VERSION_WITH_REBALANCE_TIMEOUT else NO_TIMESTAMP,
            member.session_timeout_ms,
            member.metadata(group.protocol_name),
            assignments.get(member.member_id, b""),
        )
        for member in group.members.values()
    ]
    value = GroupMetadataValue(
        group.protocol_type or "",
        group.generation,
        group.protocol_name,
        group.leader_id,
        group.state_timestamp_ms if version >= _GROUP_VALUE_VERSION_WITH_STATE_TIME else NO_TIMESTAMP,
        members,
    )
    return _prefixed(version, value, version)


def group_batch(
    group: Group, assignments: Mapping[str, bytes], now_ms: int, codec: Codec, reader: KafkaVersion = NEWEST
) -> bytearray:
    """Return the batch that stores a group's metadata.

    Raises:
        KafkaError: MESSAGE_TOO_LARGE: the batch could not be read again.
    """
    builder = BatchBuilder(codec)
    builder.append(now_ms, encode_group_key(group.group_id), encode_group_value(group, assignments, reader))
    _check_size(builder)
    return builder.build()


def offsets_batch(
    group_id: str,
    offsets: Mapping[TopicPartition, CommittedOffset],
    now_ms: int,
    codec: Codec,
    reader: KafkaVersion = NEWEST,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_EPOCH,
) -> bytearray:
    """Return the batch that stores the offsets of one commit; a transaction's if it has a producer id.

    Raises:
        KafkaError: MESSAGE_TOO_LARGE: the batch could not be read again.
    """
    is_transactional = producer_id != NO_PRODUCER_ID
    if len(offsets) == 1 and codec is _NO_CODEC and not is_transactional:
        ((topic_partition, committed),) = offsets.items()
        key, value = encode_offset_key(group_id, topic_partition), encode_offset_value(committed, reader)
        return one_record_batch(now_ms, key, value)
    # As in Kafka, all batches of a producer have the same base sequence, which is not checked.
    base_sequence = _TRANSACTIONAL_SEQUENCE if is_transactional else NO_SEQUENCE
    builder = BatchBuilder(codec, producer_id, producer_epoch, base_sequence, is_transactional=is_transactional)
    for topic_partition, committed in offsets.items():
        builder.append(now_ms, encode_offset_key(group_id, topic_partition), encode_offset_value(committed, reader))
        _check_size(builder)
    return builder.build()


def _check_size(builder: BatchBuilder) -> None:
    """Refuse a batch that a load could not decompress (`unpacked-size`), however small a codec makes it."""
    if builder.uncompressed_bytes > MAX_UNCOMPRESSED_BYTES:
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, f"more than {MAX_UNCOMPRESSED_BYTES} bytes uncompressed")


def tombstone_batches(
    group_id: str, partitions: Iterable[TopicPartition], is_group_removed: bool, now_ms: int, codec: Codec
) -> list[bytearray]:
    """Return the batches that remove offsets, and finally the group itself."""
    keys = [encode_offset_key(group_id, topic_partition) for topic_partition in partitions]
    if is_group_removed:
        keys.append(encode_group_key(group_id))
    batches = []
    builder = BatchBuilder(codec)
    for key in keys:
        builder.append(now_ms, key, None)
        if builder.uncompressed_bytes > _TOMBSTONE_BATCH_BYTES:
            batches.append(builder.build())
            builder = BatchBuilder(codec)
    if builder.record_count:
        batches.append(builder.build())
    return batches


def decode_key(key: bytes) -> OffsetKey | GroupKey | None:
    """Read a record's key.

    Returns:
        The decoded key; None for an unknown type.

    Raises:
        ProtocolError: The key is malformed.
    """
    key_type = _read_prefix(key)
    if key_type in (LEGACY_OFFSET_KEY_TYPE, OFFSET_KEY_TYPE):
        decoded, _ = OffsetCommitKey.decode(_KEY_VERSION, memoryview(key), _PREFIX.size)
        return OffsetKey(decoded.group, TopicPartition(decoded.topic, decoded.partition))
    if key_type == GROUP_KEY_TYPE:
        group_key, _ = GroupMetadataKey.decode(_KEY_VERSION, memoryview(key), _PREFIX.size)
        return GroupKey(group_key.group)
    return None


def decode_offset_value(value: bytes) -> CommittedOffset:
    """Read a committed offset.

    Raises:
        ProtocolError: The bytes are malformed, or of an unknown version.
    """
    decoded, _ = OffsetCommitValue.decode(_read_prefix(value), memoryview(value), _PREFIX.size)
    return CommittedOffset(
        decoded.offset, decoded.leader_epoch, decoded.metadata, decoded.commit_timestamp, decoded.expire_timestamp
    )


def decode_group_value(group_id: str, value: bytes, settings: GroupSettings) -> Group:
    """Decode a group as it was stored: with its assignments, or empty.

    Raises:
        ProtocolError: The bytes are malformed, or of an unknown version.
    """
    decoded, _ = GroupMetadataValue.decode(_read_prefix(value), memoryview(value), _PREFIX.size)
    group = Group(
        group_id,
        settings,
        phase=Phase.STABLE if decoded.members else Phase.EMPTY,
        generation=decoded.generation,
        protocol_type=decoded.protocol_type or None,
        protocol_name=decoded.protocol,
        state_timestamp_ms=decoded.current_state_timestamp,
    )
    for stored in decoded.members:
        # Before version 1 one timeout was used for both.
        has_rebalance_timeout = stored.rebalance_timeout != NO_TIMESTAMP
        member = Member(
            stored.member_id,
            stored.client_id,
            stored.client_host,
            stored.rebalance_timeout if has_rebalance_timeout else stored.session_timeout,
            stored.session_timeout,
            ((decoded.protocol or "", stored.subscription),),
            stored.group_instance_id,
            stored.assignment,
        )
        group.add(member, decoded.protocol_type)
    if decoded.leader in group.members:
        group.leader_id = decoded.leader
    group.compute_subscribed_topics()
    return group


def _prefixed(prefix: int, message: Message, version: int) -> bytes:
    out = WireBuffer(_PREFIX.pack(prefix))
    message.encode(version, out)
    return bytes(out)


def _read_prefix(data: bytes) -> int:
    if len(data) < _PREFIX.size:
        raise ProtocolError("a record of __consumer_offsets is too short for its version")
    (prefix,) = _PREFIX.unpack_from(data)
    return int(prefix)
