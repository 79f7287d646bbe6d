"""ConsumerGroupMemberMetadataValue: the value of a record of an internal topic, after its int16 version.

Generated from the ConsumerGroupMemberMetadataValue schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import (
    Budget,
    MISSING,
    Message,
    Missing,
    Part,
    WireBuffer,
    check_tag_end,
    read_compact_bytes,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_tag,
    read_tagged_count,
    read_uvarint,
    skip_tagged_fields,
    write_compact_bytes,
    write_compact_nullable_string,
    write_compact_string,
    write_tagged_fields,
    write_uvarint,
)

_pack_i = Struct(">i").pack
_unpack_i = Struct(">i").unpack_from


class ClassicProtocol(Part):
    """Part of ConsumerGroupMemberMetadataValue."""

    __slots__ = (
        "name",
        "metadata",
    )

    def __init__(
        self,
        name: str = "",
        metadata: bytes = b"",
    ) -> None:
        self.name = name
        self.metadata = metadata


class ClassicMemberMetadata(Part):
    """Part of ConsumerGroupMemberMetadataValue."""

    __slots__ = (
        "session_timeout_ms",
        "supported_protocols",
    )

    def __init__(
        self,
        session_timeout_ms: int = 0,
        supported_protocols: list[ClassicProtocol] | None = None,
    ) -> None:
        self.session_timeout_ms = session_timeout_ms
        self.supported_protocols: list[ClassicProtocol] = [] if supported_protocols is None else supported_protocols


class ConsumerGroupMemberMetadataValue(Message):
    """ConsumerGroupMemberMetadataValue, versions 0."""

    __slots__ = (
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "rebalance_timeout_ms",
        "server_assignor",
        "classic_member_metadata",  # tag 0
    )

    SCHEMA_NAME: ClassVar[str] = "ConsumerGroupMemberMetadataValue"
    API_KEY: ClassVar[int] = 5
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ConsumerGroupMemberMetadataValue, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ConsumerGroupMemberMetadataValue, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] | None = None,
        subscribed_topic_regex: str | None = "",
        rebalance_timeout_ms: int = -1,
        server_assignor: str | None = "",
        classic_member_metadata: ClassicMemberMetadata | None | Missing = MISSING,
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names: list[str] = [] if subscribed_topic_names is None else subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.server_assignor = server_assignor
        self.classic_member_metadata: ClassicMemberMetadata | None = (
            ClassicMemberMetadata() if isinstance(classic_member_metadata, Missing) else classic_member_metadata
        )


def _decode_classic_protocol_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ClassicProtocol, int]:
    name, pos = read_compact_string(buf, pos)
    metadata, pos = read_compact_bytes(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ClassicProtocol(name, metadata), pos


def _encode_classic_protocol_v0(msg: ClassicProtocol, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_compact_bytes(msg.metadata, out)
    out.append(0)


def _decode_classic_member_metadata_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ClassicMemberMetadata, int]:
    (session_timeout_ms,) = _unpack_i(buf, pos)
    supported_protocols_count, pos = read_compact_count(buf, pos + 4, 3, budget)
    supported_protocols: list[ClassicProtocol] = []
    for _ in range(supported_protocols_count):
        supported_protocols_item, pos = _decode_classic_protocol_v0(buf, pos, budget)
        supported_protocols.append(supported_protocols_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ClassicMemberMetadata(session_timeout_ms, supported_protocols), pos


def _encode_classic_member_metadata_v0(msg: ClassicMemberMetadata, out: WireBuffer) -> None:
    out += _pack_i(msg.session_timeout_ms)
    write_uvarint(len(msg.supported_protocols) + 1, out)
    for supported_protocols_item in msg.supported_protocols:
        _encode_classic_protocol_v0(supported_protocols_item, out)
    out.append(0)


def _decode_consumer_group_member_metadata_value_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerGroupMemberMetadataValue, int]:
    instance_id, pos = read_compact_nullable_string(buf, pos)
    rack_id, pos = read_compact_nullable_string(buf, pos)
    client_id, pos = read_compact_string(buf, pos)
    client_host, pos = read_compact_string(buf, pos)
    subscribed_topic_names_count, pos = read_compact_count(buf, pos, 1, budget)
    subscribed_topic_names: list[str] = []
    for _ in range(subscribed_topic_names_count):
        subscribed_topic_names_item, pos = read_compact_string(buf, pos)
        subscribed_topic_names.append(subscribed_topic_names_item)
    subscribed_topic_regex, pos = read_compact_nullable_string(buf, pos)
    (rebalance_timeout_ms,) = _unpack_i(buf, pos)
    server_assignor, pos = read_compact_nullable_string(buf, pos + 4)
    classic_member_metadata: ClassicMemberMetadata | None = ClassicMemberMetadata()
    tagged_count, pos = read_tagged_count(buf, pos, budget)
    for _ in range(tagged_count):
        tag, tag_end, pos = read_tag(buf, pos)
        if tag == 0:
            classic_member_metadata_marker, pos = read_uvarint(buf, pos)
            classic_member_metadata = None
            if classic_member_metadata_marker:
                classic_member_metadata, pos = _decode_classic_member_metadata_v0(buf, pos, budget)
        else:
            pos = tag_end
        check_tag_end(pos, tag_end)
    return ConsumerGroupMemberMetadataValue(
        instance_id,
        rack_id,
        client_id,
        client_host,
        subscribed_topic_names,
        subscribed_topic_regex,
        rebalance_timeout_ms,
        server_assignor,
        classic_member_metadata,
    ), pos


def _encode_consumer_group_member_metadata_value_v0(msg: ConsumerGroupMemberMetadataValue, out: WireBuffer) -> None:
    write_compact_nullable_string(msg.instance_id, out)
    write_compact_nullable_string(msg.rack_id, out)
    write_compact_string(msg.client_id, out)
    write_compact_string(msg.client_host, out)
    write_uvarint(len(msg.subscribed_topic_names) + 1, out)
    for subscribed_topic_names_item in msg.subscribed_topic_names:
        write_compact_string(subscribed_topic_names_item, out)
    write_compact_nullable_string(msg.subscribed_topic_regex, out)
    out += _pack_i(msg.rebalance_timeout_ms)
    write_compact_nullable_string(msg.server_assignor, out)
    tagged: list[tuple[int, WireBuffer]] = []
    if (
        msg.classic_member_metadata is None
        or msg.classic_member_metadata.session_timeout_ms != 0
        or msg.classic_member_metadata.supported_protocols
    ):
        classic_member_metadata_value = WireBuffer()
        if msg.classic_member_metadata is None:
            classic_member_metadata_value.append(0)
        else:
            classic_member_metadata_value.append(1)
            _encode_classic_member_metadata_v0(msg.classic_member_metadata, classic_member_metadata_value)
        tagged.append((0, classic_member_metadata_value))
    write_tagged_fields(tagged, out)


ConsumerGroupMemberMetadataValue.DECODERS = (_decode_consumer_group_member_metadata_value_v0,)

ConsumerGroupMemberMetadataValue.ENCODERS = (_encode_consumer_group_member_metadata_value_v0,)
