"""UpdateFeatures (API key 57): request and response.

Generated from the UpdateFeatures schemas by scripts/generate.

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
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_uvarint,
)

_pack_h: Final = Struct(">h").pack
_pack_htB: Final = Struct(">h?B").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_ht: Final = Struct(">h?").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from


class FeatureUpdateKey(Part):
    """Part of UpdateFeaturesRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "feature",
        "max_version_level",
        "allow_downgrade",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        feature: str = "",
        max_version_level: int = 0,
        allow_downgrade: bool = False,
    ) -> None:
        self.feature = feature
        self.max_version_level = max_version_level
        self.allow_downgrade = allow_downgrade


class UpdateFeaturesRequest(Message):
    """UpdateFeaturesRequest (API key 57), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "timeout_ms",
        "feature_updates",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("feature_updates", FeatureUpdateKey, True),)

    SCHEMA_NAME: ClassVar[str] = "UpdateFeaturesRequest"
    API_KEY: ClassVar[int] = 57
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[UpdateFeaturesRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[UpdateFeaturesRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        timeout_ms: int = 60000,
        feature_updates: list[FeatureUpdateKey] | None = None,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.feature_updates: list[FeatureUpdateKey] = [] if feature_updates is None else feature_updates


class UpdatableFeatureResult(Part):
    """Part of UpdateFeaturesResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "feature",
        "error_code",
        "error_message",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        feature: str = "",
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.feature = feature
        self.error_code = error_code
        self.error_message = error_message


class UpdateFeaturesResponse(Message):
    """UpdateFeaturesResponse (API key 57), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "results",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("results", UpdatableFeatureResult, True),)

    SCHEMA_NAME: ClassVar[str] = "UpdateFeaturesResponse"
    API_KEY: ClassVar[int] = 57
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[UpdateFeaturesResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[UpdateFeaturesResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[UpdatableFeatureResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results: list[UpdatableFeatureResult] = [] if results is None else results


def _decode_feature_update_key_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[FeatureUpdateKey, int]:
    feature, pos = read_compact_string(buf, pos)
    max_version_level, allow_downgrade = _unpack_ht(buf, pos)
    pos += 4
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return FeatureUpdateKey(feature, max_version_level, allow_downgrade), pos


def _encode_feature_update_key_v0(msg: FeatureUpdateKey, out: WireBuffer) -> None:
    write_compact_string(msg.feature, out)
    out += _pack_htB(msg.max_version_level, msg.allow_downgrade, 0)


def _decode_update_features_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[UpdateFeaturesRequest, int]:
    (timeout_ms,) = _unpack_i(buf, pos)
    feature_updates_count, pos = read_compact_count(buf, pos + 4, 5, budget)
    feature_updates: list[FeatureUpdateKey] = []
    for _ in range(feature_updates_count):
        feature_updates_item, pos = _decode_feature_update_key_v0(buf, pos, budget)
        feature_updates.append(feature_updates_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return UpdateFeaturesRequest(timeout_ms, feature_updates), pos


def _encode_update_features_request_v0(msg: UpdateFeaturesRequest, out: WireBuffer) -> None:
    out += _pack_i(msg.timeout_ms)
    write_uvarint(len(msg.feature_updates) + 1, out)
    for feature_updates_item in msg.feature_updates:
        _encode_feature_update_key_v0(feature_updates_item, out)
    out.append(0)


def _decode_updatable_feature_result_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[UpdatableFeatureResult, int]:
    feature, pos = read_compact_string(buf, pos)
    (error_code,) = _unpack_h(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 2)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return UpdatableFeatureResult(feature, error_code, error_message), pos


def _encode_updatable_feature_result_v0(msg: UpdatableFeatureResult, out: WireBuffer) -> None:
    write_compact_string(msg.feature, out)
    out += _pack_h(msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out.append(0)


def _decode_update_features_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[UpdateFeaturesResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    results_count, pos = read_compact_count(buf, pos, 5, budget)
    results: list[UpdatableFeatureResult] = []
    for _ in range(results_count):
        results_item, pos = _decode_updatable_feature_result_v0(buf, pos, budget)
        results.append(results_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return UpdateFeaturesResponse(throttle_time_ms, error_code, error_message, results), pos


def _encode_update_features_response_v0(msg: UpdateFeaturesResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    write_uvarint(len(msg.results) + 1, out)
    for results_item in msg.results:
        _encode_updatable_feature_result_v0(results_item, out)
    out.append(0)


UpdateFeaturesRequest.DECODERS = (_decode_update_features_request_v0,)

UpdateFeaturesRequest.ENCODERS = (_encode_update_features_request_v0,)

UpdateFeaturesResponse.DECODERS = (_decode_update_features_response_v0,)

UpdateFeaturesResponse.ENCODERS = (_encode_update_features_response_v0,)
