"""Headers of requests and responses."""

import pytest

from barnabas.core.errors import ProtocolError
from barnabas.wire.protocol.api_keys import APIS, NEVER_FLEXIBLE, ApiKey, request_class, response_class
from barnabas.wire.protocol.header import (
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
)
from barnabas.wire.protocol.wire import WireBuffer


@pytest.mark.parametrize(
    ("api_key", "version", "client_id", "encoded"),
    [
        (ApiKey.PRODUCE, 8, "c", "0000000800000007000163"),
        (ApiKey.PRODUCE, 8, None, "0000000800000007ffff"),
        (ApiKey.FETCH, 12, "c", "0001000c0000000700016300"),
        (ApiKey.API_VERSIONS, 3, "", "0012000300000007000000"),
        (ApiKey.SASL_HANDSHAKE, 1, "c", "0011000100000007000163"),
        (ApiKey.CONTROLLED_SHUTDOWN, 0, None, "0007000000000007"),
        (ApiKey.CONTROLLED_SHUTDOWN, 1, "c", "0007000100000007000163"),
    ],
)
def test_request_header_follows_the_apis_version(api_key: ApiKey, version: int, client_id: str | None, encoded: str):
    out = WireBuffer()
    encode_request_header(out, api_key, version, 7, client_id)
    assert out.hex() == encoded
    frame = memoryview(out + b"body")
    assert decode_request_header(frame) == (api_key, version, 7, client_id, len(out))


def test_unknown_tagged_fields_of_a_request_header_are_skipped() -> None:
    frame = bytes.fromhex("0001000c00000007000163010502ffff") + b"body"
    assert decode_request_header(memoryview(frame)) == (1, 12, 7, "c", len(frame) - 4)


@pytest.mark.parametrize(
    "frame", ["", "0001", "0001000400000007", "000100040000000700", "0001000400000007000561", "0001000c00000007000163"]
)
def test_truncated_request_header_is_refused(frame: str) -> None:
    with pytest.raises(ProtocolError):
        decode_request_header(memoryview(bytes.fromhex(frame)))


def test_unknown_api_key_is_refused() -> None:
    with pytest.raises(ProtocolError, match="no API has the key 999"):
        decode_request_header(memoryview(bytes.fromhex("03e7000000000007ffff")))


def test_version_that_nobody_knows_still_has_a_header() -> None:
    frame = memoryview(bytes.fromhex("001200630000000700016300"))
    assert decode_request_header(frame) == (ApiKey.API_VERSIONS, 99, 7, "c", len(frame))


@pytest.mark.parametrize(
    ("api_key", "version", "encoded"),
    [(ApiKey.PRODUCE, 8, "00000007"), (ApiKey.FETCH, 12, "0000000700"), (ApiKey.API_VERSIONS, 3, "00000007")],
)
def test_response_header_follows_the_apis_version(api_key: ApiKey, version: int, encoded: str) -> None:
    out = WireBuffer()
    encode_response_header(out, api_key, version, 7)
    assert out.hex() == encoded
    assert decode_response_header(memoryview(out), api_key, version) == (7, len(out))


def test_truncated_response_header_is_refused() -> None:
    with pytest.raises(ProtocolError):
        decode_response_header(memoryview(b"\x00\x00\x00"), 0, 0)
    with pytest.raises(ProtocolError):
        decode_response_header(memoryview(b"\x00\x00\x00\x00"), 1, 12)


def test_apis_are_those_of_kafka_2_7() -> None:
    # Up to AlterUserScramCredentials; between it and AlterIsr 2.7 has four of Raft, which it does not serve.
    kafkas = {key for key, api in APIS.items() if not api.is_private}
    assert kafkas == {*range(52), ApiKey.ALTER_ISR, ApiKey.UPDATE_FEATURES}


def test_private_apis_are_out_of_the_way_of_kafkas_next_ones() -> None:
    assert all(key >= 10_000 for key, api in APIS.items() if api.is_private)


def test_every_api_names_classes_of_its_own_versions_and_no_others() -> None:
    for key, api in APIS.items():
        for message in (request_class(key), response_class(key)):
            assert key == message.API_KEY
            assert (api.min_version, api.max_version) == (message.MIN_VERSION, message.MAX_VERSION)
            assert len(message.DECODERS) == len(message.ENCODERS) == message.MAX_VERSION + 1
    assert APIS[ApiKey.SASL_HANDSHAKE].first_flexible_version == NEVER_FLEXIBLE
    assert (APIS[ApiKey.FETCH].min_version, APIS[ApiKey.FETCH].max_version) == (0, 12)
