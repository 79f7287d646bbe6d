"""VotersRecord: a structure kept in records or files.

Generated from the VotersRecord schema by scripts/generate.

Source: implementation page and KIPs of the structure.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import (
    Budget,
    Message,
    Part,
    WireBuffer,
    ZERO_UUID,
    read_compact_count,
    read_compact_string,
    skip_tagged_fields,
    write_compact_string,
    write_uvarint,
)

_pack_HB = Struct(">HB").pack
_pack_h = Struct(">h").pack
_pack_hhB = Struct(">hhB").pack
_pack_iu = Struct(">i16s").pack
_unpack_H = Struct(">H").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_iu = Struct(">i16s").unpack_from


class Endpoint(Part):
    """Part of VotersRecord."""

    __slots__ = (
        "name",
        "host",
        "port",
    )

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port


class KRaftVersionFeature(Part):
    """Part of VotersRecord."""

    __slots__ = (
        "min_supported_version",
        "max_supported_version",
    )

    def __init__(
        self,
        min_supported_version: int = 0,
        max_supported_version: int = 0,
    ) -> None:
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version


class Voter(Part):
    """Part of VotersRecord."""

    __slots__ = (
        "voter_id",
        "voter_directory_id",
        "endpoints",
        "kraft_version_feature",
    )

    def __init__(
        self,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        endpoints: list[Endpoint] | None = None,
        kraft_version_feature: KRaftVersionFeature | None = None,
    ) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.endpoints: list[Endpoint] = [] if endpoints is None else endpoints
        self.kraft_version_feature: KRaftVersionFeature = (
            KRaftVersionFeature() if kraft_version_feature is None else kraft_version_feature
        )


class VotersRecord(Message):
    """VotersRecord, versions 0."""

    __slots__ = (
        "version",
        "voters",
    )

    SCHEMA_NAME: ClassVar[str] = "VotersRecord"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[VotersRecord, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[VotersRecord, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        version: int = 0,
        voters: list[Voter] | None = None,
    ) -> None:
        self.version = version
        self.voters: list[Voter] = [] if voters is None else voters


def _decode_endpoint_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[Endpoint, int]:
    name, pos = read_compact_string(buf, pos)
    host, pos = read_compact_string(buf, pos)
    (port,) = _unpack_H(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Endpoint(name, host, port), pos


def _encode_endpoint_v0(msg: Endpoint, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_compact_string(msg.host, out)
    out += _pack_HB(msg.port, 0)


def _decode_kraft_version_feature_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[KRaftVersionFeature, int]:
    min_supported_version, max_supported_version = _unpack_hh(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return KRaftVersionFeature(min_supported_version, max_supported_version), pos


def _encode_kraft_version_feature_v0(msg: KRaftVersionFeature, out: WireBuffer) -> None:
    out += _pack_hhB(msg.min_supported_version, msg.max_supported_version, 0)


def _decode_voter_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[Voter, int]:
    voter_id, voter_directory_id = _unpack_iu(buf, pos)
    endpoints_count, pos = read_compact_count(buf, pos + 20, 5, budget)
    endpoints: list[Endpoint] = []
    for _ in range(endpoints_count):
        endpoints_item, pos = _decode_endpoint_v0(buf, pos, budget)
        endpoints.append(endpoints_item)
    kraft_version_feature, pos = _decode_kraft_version_feature_v0(buf, pos, budget)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Voter(voter_id, voter_directory_id, endpoints, kraft_version_feature), pos


def _encode_voter_v0(msg: Voter, out: WireBuffer) -> None:
    out += _pack_iu(msg.voter_id, msg.voter_directory_id)
    write_uvarint(len(msg.endpoints) + 1, out)
    for endpoints_item in msg.endpoints:
        _encode_endpoint_v0(endpoints_item, out)
    _encode_kraft_version_feature_v0(msg.kraft_version_feature, out)
    out.append(0)


def _decode_voters_record_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[VotersRecord, int]:
    (version,) = _unpack_h(buf, pos)
    voters_count, pos = read_compact_count(buf, pos + 2, 27, budget)
    voters: list[Voter] = []
    for _ in range(voters_count):
        voters_item, pos = _decode_voter_v0(buf, pos, budget)
        voters.append(voters_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return VotersRecord(version, voters), pos


def _encode_voters_record_v0(msg: VotersRecord, out: WireBuffer) -> None:
    out += _pack_h(msg.version)
    write_uvarint(len(msg.voters) + 1, out)
    for voters_item in msg.voters:
        _encode_voter_v0(voters_item, out)
    out.append(0)


VotersRecord.DECODERS = (_decode_voters_record_v0,)

VotersRecord.ENCODERS = (_encode_voters_record_v0,)
