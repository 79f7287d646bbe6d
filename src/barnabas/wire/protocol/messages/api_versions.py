"""ApiVersions (API key 18): request and response.

Generated from the ApiVersions schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import (
    Budget,
    Message,
    Part,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    check_count,
    check_tag_end,
    read_compact_count,
    read_compact_string,
    read_tag,
    read_tagged_count,
    skip_tagged_fields,
    write_compact_string,
    write_tagged_fields,
    write_uvarint,
)

_pack_h: Final = Struct(">h").pack
_pack_hhB: Final = Struct(">hhB").pack
_pack_hhh: Final = Struct(">hhh").pack
_pack_hhhB: Final = Struct(">hhhB").pack
_pack_hi: Final = Struct(">hi").pack
_pack_i: Final = Struct(">i").pack
_pack_q: Final = Struct(">q").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hh: Final = Struct(">hh").unpack_from
_unpack_hhh: Final = Struct(">hhh").unpack_from
_unpack_hi: Final = Struct(">hi").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_q: Final = Struct(">q").unpack_from


class ApiVersionsRequest(Message):
    """ApiVersionsRequest (API key 18), versions 0-3."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "client_software_name",  # versions 3+
        "client_software_version",  # versions 3+
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "ApiVersionsRequest"
    API_KEY: ClassVar[int] = 18
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ApiVersionsRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ApiVersionsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        client_software_name: str = "",
        client_software_version: str = "",
    ) -> None:
        self.client_software_name = client_software_name
        self.client_software_version = client_software_version


class ApiVersion(Part):
    """Part of ApiVersionsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "api_key",
        "min_version",
        "max_version",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        api_key: int = 0,
        min_version: int = 0,
        max_version: int = 0,
    ) -> None:
        self.api_key = api_key
        self.min_version = min_version
        self.max_version = max_version


class SupportedFeatureKey(Part):
    """Part of ApiVersionsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",  # versions 3+
        "min_version",  # versions 3+
        "max_version",  # versions 3+
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        min_version: int = 0,
        max_version: int = 0,
    ) -> None:
        self.name = name
        self.min_version = min_version
        self.max_version = max_version


class FinalizedFeatureKey(Part):
    """Part of ApiVersionsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",  # versions 3+
        "max_version_level",  # versions 3+
        "min_version_level",  # versions 3+
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        max_version_level: int = 0,
        min_version_level: int = 0,
    ) -> None:
        self.name = name
        self.max_version_level = max_version_level
        self.min_version_level = min_version_level


class ApiVersionsResponse(Message):
    """ApiVersionsResponse (API key 18), versions 0-3."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "api_keys",
        "throttle_time_ms",  # versions 1+
        "supported_features",  # versions 3+, tag 0
        "finalized_features_epoch",  # versions 3+, tag 1
        "finalized_features",  # versions 3+, tag 2
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (
        ("api_keys", ApiVersion, True),
        ("supported_features", SupportedFeatureKey, True),
        ("finalized_features", FinalizedFeatureKey, True),
    )

    SCHEMA_NAME: ClassVar[str] = "ApiVersionsResponse"
    API_KEY: ClassVar[int] = 18
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ApiVersionsResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ApiVersionsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        error_code: int = 0,
        api_keys: list[ApiVersion] | None = None,
        throttle_time_ms: int = 0,
        supported_features: list[SupportedFeatureKey] | None = None,
        finalized_features_epoch: int = -1,
        finalized_features: list[FinalizedFeatureKey] | None = None,
    ) -> None:
        self.error_code = error_code
        self.api_keys: list[ApiVersion] = [] if api_keys is None else api_keys
        self.throttle_time_ms = throttle_time_ms
        self.supported_features: list[SupportedFeatureKey] = [] if supported_features is None else supported_features
        self.finalized_features_epoch = finalized_features_epoch
        self.finalized_features: list[FinalizedFeatureKey] = [] if finalized_features is None else finalized_features


def _decode_api_versions_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ApiVersionsRequest, int]:
    return ApiVersionsRequest(), pos


def _encode_api_versions_request_v0(msg: ApiVersionsRequest, out: WireBuffer) -> None:
    pass


def _decode_api_versions_request_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[ApiVersionsRequest, int]:
    client_software_name, pos = read_compact_string(buf, pos)
    client_software_version, pos = read_compact_string(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ApiVersionsRequest(client_software_name, client_software_version), pos


def _encode_api_versions_request_v3(msg: ApiVersionsRequest, out: WireBuffer) -> None:
    write_compact_string(msg.client_software_name, out)
    write_compact_string(msg.client_software_version, out)
    out.append(0)


def _decode_api_versions_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ApiVersionsResponse, int]:
    error_code, api_keys_count = _unpack_hi(buf, pos)
    pos += 6
    elements_left = budget.elements_left - api_keys_count
    if api_keys_count < 0 or elements_left < 0 or api_keys_count * 6 > len(buf) - pos:
        check_count(api_keys_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    api_keys: list[ApiVersion] = []
    for _ in range(api_keys_count):
        api_keys_api_key, api_keys_min_version, api_keys_max_version = _unpack_hhh(buf, pos)
        pos += 6
        api_keys.append(ApiVersion(api_keys_api_key, api_keys_min_version, api_keys_max_version))
    return ApiVersionsResponse(error_code, api_keys), pos


def _encode_api_versions_response_v0(msg: ApiVersionsResponse, out: WireBuffer) -> None:
    out += _pack_hi(msg.error_code, len(msg.api_keys))
    for api_keys_item in msg.api_keys:
        out += _pack_hhh(api_keys_item.api_key, api_keys_item.min_version, api_keys_item.max_version)


def _decode_api_versions_response_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[ApiVersionsResponse, int]:
    error_code, api_keys_count = _unpack_hi(buf, pos)
    pos += 6
    elements_left = budget.elements_left - api_keys_count
    if api_keys_count < 0 or elements_left < 0 or api_keys_count * 6 > len(buf) - pos:
        check_count(api_keys_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    api_keys: list[ApiVersion] = []
    for _ in range(api_keys_count):
        api_keys_api_key, api_keys_min_version, api_keys_max_version = _unpack_hhh(buf, pos)
        pos += 6
        api_keys.append(ApiVersion(api_keys_api_key, api_keys_min_version, api_keys_max_version))
    (throttle_time_ms,) = _unpack_i(buf, pos)
    return ApiVersionsResponse(error_code, api_keys, throttle_time_ms), pos + 4


def _encode_api_versions_response_v1(msg: ApiVersionsResponse, out: WireBuffer) -> None:
    out += _pack_hi(msg.error_code, len(msg.api_keys))
    for api_keys_item in msg.api_keys:
        out += _pack_hhh(api_keys_item.api_key, api_keys_item.min_version, api_keys_item.max_version)
    out += _pack_i(msg.throttle_time_ms)


def _decode_api_version_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[ApiVersion, int]:
    api_key, min_version, max_version = _unpack_hhh(buf, pos)
    pos += 7
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ApiVersion(api_key, min_version, max_version), pos


def _encode_api_version_v3(msg: ApiVersion, out: WireBuffer) -> None:
    out += _pack_hhhB(msg.api_key, msg.min_version, msg.max_version, 0)


def _decode_supported_feature_key_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[SupportedFeatureKey, int]:
    name, pos = read_compact_string(buf, pos)
    min_version, max_version = _unpack_hh(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return SupportedFeatureKey(name, min_version, max_version), pos


def _encode_supported_feature_key_v3(msg: SupportedFeatureKey, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    out += _pack_hhB(msg.min_version, msg.max_version, 0)


def _decode_finalized_feature_key_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[FinalizedFeatureKey, int]:
    name, pos = read_compact_string(buf, pos)
    max_version_level, min_version_level = _unpack_hh(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return FinalizedFeatureKey(name, max_version_level, min_version_level), pos


def _encode_finalized_feature_key_v3(msg: FinalizedFeatureKey, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    out += _pack_hhB(msg.max_version_level, msg.min_version_level, 0)


def _decode_api_versions_response_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[ApiVersionsResponse, int]:
    (error_code,) = _unpack_h(buf, pos)
    api_keys_count, pos = read_compact_count(buf, pos + 2, 7, budget)
    api_keys: list[ApiVersion] = []
    for _ in range(api_keys_count):
        api_keys_item, pos = _decode_api_version_v3(buf, pos, budget)
        api_keys.append(api_keys_item)
    (throttle_time_ms,) = _unpack_i(buf, pos)
    supported_features: list[SupportedFeatureKey] = []
    finalized_features_epoch: int = -1
    finalized_features: list[FinalizedFeatureKey] = []
    tagged_count, pos = read_tagged_count(buf, pos + 4, budget)
    for _ in range(tagged_count):
        tag, tag_end, pos = read_tag(buf, pos)
        if tag == 0:
            supported_features_count, pos = read_compact_count(buf, pos, 6, budget)
            supported_features = []
            for _ in range(supported_features_count):
                supported_features_item, pos = _decode_supported_feature_key_v3(buf, pos, budget)
                supported_features.append(supported_features_item)
        elif tag == 1:
            (finalized_features_epoch,) = _unpack_q(buf, pos)
            pos += 8
        elif tag == 2:
            finalized_features_count, pos = read_compact_count(buf, pos, 6, budget)
            finalized_features = []
            for _ in range(finalized_features_count):
                finalized_features_item, pos = _decode_finalized_feature_key_v3(buf, pos, budget)
                finalized_features.append(finalized_features_item)
        else:
            pos = tag_end
        check_tag_end(pos, tag_end)
    return ApiVersionsResponse(
        error_code, api_keys, throttle_time_ms, supported_features, finalized_features_epoch, finalized_features
    ), pos


def _encode_api_versions_response_v3(msg: ApiVersionsResponse, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_uvarint(len(msg.api_keys) + 1, out)
    for api_keys_item in msg.api_keys:
        _encode_api_version_v3(api_keys_item, out)
    out += _pack_i(msg.throttle_time_ms)
    tagged: list[tuple[int, WireBuffer]] = []
    if msg.supported_features:
        supported_features_value = WireBuffer()
        write_uvarint(len(msg.supported_features) + 1, supported_features_value)
        for supported_features_item in msg.supported_features:
            _encode_supported_feature_key_v3(supported_features_item, supported_features_value)
        tagged.append((0, supported_features_value))
    if msg.finalized_features_epoch != -1:
        finalized_features_epoch_value = WireBuffer()
        finalized_features_epoch_value += _pack_q(msg.finalized_features_epoch)
        tagged.append((1, finalized_features_epoch_value))
    if msg.finalized_features:
        finalized_features_value = WireBuffer()
        write_uvarint(len(msg.finalized_features) + 1, finalized_features_value)
        for finalized_features_item in msg.finalized_features:
            _encode_finalized_feature_key_v3(finalized_features_item, finalized_features_value)
        tagged.append((2, finalized_features_value))
    write_tagged_fields(tagged, out)


ApiVersionsRequest.DECODERS = (
    _decode_api_versions_request_v0,
    _decode_api_versions_request_v0,
    _decode_api_versions_request_v0,
    _decode_api_versions_request_v3,
)

ApiVersionsRequest.ENCODERS = (
    _encode_api_versions_request_v0,
    _encode_api_versions_request_v0,
    _encode_api_versions_request_v0,
    _encode_api_versions_request_v3,
)

ApiVersionsResponse.DECODERS = (
    _decode_api_versions_response_v0,
    _decode_api_versions_response_v1,
    _decode_api_versions_response_v1,
    _decode_api_versions_response_v3,
)

ApiVersionsResponse.ENCODERS = (
    _encode_api_versions_response_v0,
    _encode_api_versions_response_v1,
    _encode_api_versions_response_v1,
    _encode_api_versions_response_v3,
)
