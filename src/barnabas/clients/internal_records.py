"""Records of `__consumer_offsets` and `__transaction_state` as text, in the format of Kafka's DumpLogSegments.

Key and value begin with an int16 type (key) or version (value); the fields of the schema of that name follow.

Source: OffsetCommitKey and -Value, GroupMetadataKey and -Value, TransactionLogKey and -Value,
ConsumerProtocolAssignment; cli facts, kafka-dump-log.
"""

import json
from struct import Struct
from typing import Protocol

from barnabas.clients.hash_order import added_in_sets, in_hash_order, string_hash, topic_partition_hash
from barnabas.core.errors import ProtocolError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from barnabas.wire.protocol.messages.group_metadata_key import GroupMetadataKey
from barnabas.wire.protocol.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from barnabas.wire.protocol.messages.offset_commit_key import OffsetCommitKey
from barnabas.wire.protocol.messages.offset_commit_value import OffsetCommitValue
from barnabas.wire.protocol.messages.transaction_log_key import TransactionLogKey
from barnabas.wire.protocol.messages.transaction_log_value import TransactionLogValue

_DELETED = "<DELETE>"
_CONSUMER = "consumer"
_OFFSET_KEY_TYPES = (0, OffsetCommitKey.API_KEY)
_KEY_VERSION = 0
_PREFIX = Struct(">h")
_STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)


class KeyAndValue(Protocol):
    """A record from any source."""

    @property
    def key(self) -> bytes | None: ...

    @property
    def value(self) -> bytes | None: ...


def decode_offsets_record(record: KeyAndValue) -> tuple[str, str]:
    """Return the text of a record of `__consumer_offsets`.

    Raises:
        ProtocolError: The value is invalid.
    """
    key_type, key = _split(record.key, "its key")
    if key_type in _OFFSET_KEY_TYPES:
        offset_key, _ = OffsetCommitKey.decode(_KEY_VERSION, key)
        partition = f"{offset_key.topic}-{offset_key.partition}"
        return f"offset_commit::group={offset_key.group},partition={partition}", _offset_value(record.value)
    if key_type == GroupMetadataKey.API_KEY:
        group_key, _ = GroupMetadataKey.decode(_KEY_VERSION, key)
        return f"group_metadata::group={group_key.group}", _group_value(record.value)
    raise ProtocolError(f"its key type {key_type} is invalid for __consumer_offsets")


def decode_transaction_record(record: KeyAndValue) -> tuple[str, str]:
    """Return the text of a record of `__transaction_state`.

    Raises:
        ProtocolError: The value is invalid.
    """
    version, key = _split(record.key, "its key")
    transaction_key, _ = TransactionLogKey.decode(version, key)
    text = f"transaction_metadata::transactionalId={transaction_key.transactional_id}"
    if record.value is None:
        return text, _DELETED
    version, data = _split(record.value, "its value")
    value, _ = TransactionLogValue.decode(version, data)
    status = value.transaction_status
    if not 0 <= status < len(_STATES):
        raise ProtocolError(f"transaction status {status} does not exist")
    sets = [
        [TopicPartition(part.topic, partition) for partition in part.partition_ids]
        for part in value.transaction_partitions or ()
    ]
    partitions = ",".join(f"{topic}-{number}" for topic, number in added_in_sets(sets, topic_partition_hash))
    return text, (
        f"producerId:{value.producer_id},producerEpoch:{value.producer_epoch},state={_STATES[status]},"
        f"partitions=[{partitions}],txnLastUpdateTimestamp={value.transaction_last_update_timestamp_ms},"
        f"txnTimeoutMs={value.transaction_timeout_ms}"
    )


def _split(data: bytes | None, what: str) -> tuple[int, memoryview]:
    if data is None or len(data) < _PREFIX.size:
        raise ProtocolError(f"{what} is missing or too short")
    return _PREFIX.unpack_from(data)[0], memoryview(data)[_PREFIX.size :]


def _offset_value(data: bytes | None) -> str:
    if data is None:
        return _DELETED
    version, body = _split(data, "its value")
    value, _ = OffsetCommitValue.decode(version, body)
    return f"offset={value.offset},metadata={value.metadata}" if value.metadata else f"offset={value.offset}"


def _group_value(data: bytes | None) -> str:
    if data is None:
        return _DELETED
    version, body = _split(data, "its value")
    value, _ = GroupMetadataValue.decode(version, body)
    by_id = {member.member_id: member for member in value.members}
    members = [by_id[member_id] for member_id in in_hash_order(by_id, string_hash)]
    shown = {
        "protocolType": value.protocol_type,
        "protocol": value.protocol,
        "generationId": value.generation,
        "assignment": "{" + ",".join(_assignment(member, value.protocol_type) for member in members) + "}",
    }
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def _assignment(member: MemberMetadata, protocol_type: str) -> str:
    if protocol_type != _CONSUMER or not member.assignment:
        return f"{member.member_id}={_hex(member.assignment)}"
    version, body = _split(member.assignment, f"the assignment of {member.member_id}")
    assignment, _ = ConsumerProtocolAssignment.decode(min(version, ConsumerProtocolAssignment.MAX_VERSION), body)
    partitions = ", ".join(f"{part.topic}-{n}" for part in assignment.assigned_partitions for n in part.partitions)
    user_data = _hex(assignment.user_data or b"")
    return f"{member.member_id}=[{partitions}]" + (f":{user_data}" if user_data else "")


def _hex(data: bytes) -> str:
    """Return the bytes as one hexadecimal number without leading zeros."""
    return f"{int.from_bytes(data, 'big'):X}" if data else ""
