"""Headers of requests and responses.

| request header v1, v2 | type                                             |
| --------------------- | ------------------------------------------------ |
| api key               | int16                                            |
| api version           | int16                                            |
| correlation id        | int32                                            |
| client id             | nullable string, int16 length in v2 as well      |
| tagged section        | v2 only                                          |

A request's header is v2 if the API's version is flexible, otherwise v1; ControlledShutdown v0 has v0, without a client
id. A response's header is the correlation id, and a tagged section if the API's version is flexible; ApiVersions never
has the section, so that a client that knows no versions yet can read the response.

Source: protocol guide, "Request and response headers"; KIP-511 for ApiVersions, KIP-482 for tagged fields.
"""

from struct import Struct
from typing import Final

from barnabas.core.errors import EncodeError, ProtocolError
from barnabas.wire.protocol.api_keys import FIRST_FLEXIBLE_VERSION, ApiKey
from barnabas.wire.protocol.wire import (
    MALFORMED,
    UNSAYABLE,
    Budget,
    WireBuffer,
    skip_tagged_fields,
    write_nullable_string,
    wrong_length,
)

# More unknown tagged fields than this stand in no honest header.
_TAGGED_FIELD_LIMIT: Final = 1_000

_START: Final = Struct(">hhi")
_START_AND_LENGTH: Final = Struct(">hhih")
_CORRELATION_ID: Final = Struct(">i")

_unpack_start_and_length: Final = _START_AND_LENGTH.unpack_from
_LENGTH_END: Final = _START_AND_LENGTH.size

_CONTROLLED_SHUTDOWN: Final = int(ApiKey.CONTROLLED_SHUTDOWN)
_API_VERSIONS: Final = int(ApiKey.API_VERSIONS)


def decode_request_header(frame: memoryview) -> tuple[int, int, int, str | None, int]:
    """Decode the header of a request.

    Args:
        frame: The request without its size.

    Returns:
        API key, API version, correlation id, client id, and where the body starts. The version is as sent: it may be
        one that nobody knows.

    Raises:
        ProtocolError: The bytes are no header, or no API has the key.
    """
    # hot path: once per request (benchmarks/micro/test_protocol.py).
    try:
        api_key, api_version, correlation_id, length = _unpack_start_and_length(frame, 0)
        first_flexible_version = FIRST_FLEXIBLE_VERSION[api_key]
        if api_key == _CONTROLLED_SHUTDOWN and api_version == 0:
            return api_key, api_version, correlation_id, None, _START.size
        client_id, pos = None, _LENGTH_END
        if length >= 0:
            pos += length
            if pos > len(frame):
                raise wrong_length("string", length, _LENGTH_END, frame)
            client_id = str(frame[_LENGTH_END:pos], "utf-8")
        if api_version >= first_flexible_version:
            pos = skip_tagged_fields(frame, pos, Budget(_TAGGED_FIELD_LIMIT)) if frame[pos] else pos + 1
        return api_key, api_version, correlation_id, client_id, pos
    except KeyError as error:
        raise ProtocolError(f"no API has the key {error.args[0]}") from None
    except MALFORMED as error:
        raise ProtocolError(f"malformed request header: {error}") from error


def encode_request_header(
    out: WireBuffer, api_key: int, api_version: int, correlation_id: int, client_id: str | None
) -> None:
    """Append the header of a request.

    Raises:
        EncodeError: A number is out of range, the client id too long, or no API has the key.
    """
    if api_key not in FIRST_FLEXIBLE_VERSION:
        raise EncodeError(f"no API has the key {api_key}")
    try:
        out += _START.pack(api_key, api_version, correlation_id)
        if api_key == _CONTROLLED_SHUTDOWN and api_version == 0:
            return
        write_nullable_string(client_id, out)
        if api_version >= FIRST_FLEXIBLE_VERSION[api_key]:
            out.append(0)
    except UNSAYABLE as error:
        raise EncodeError(f"cannot encode request header: {error}") from error


def encode_response_header(out: WireBuffer, api_key: int, api_version: int, correlation_id: int) -> None:
    """Append the header of a response to a request of this API and version."""
    out += _CORRELATION_ID.pack(correlation_id)
    if api_version >= FIRST_FLEXIBLE_VERSION[api_key] and api_key != _API_VERSIONS:
        out.append(0)


def decode_response_header(buf: memoryview, api_key: int, api_version: int, pos: int = 0) -> tuple[int, int]:
    """Decode the header of a response to a request of this API and version.

    Returns:
        The correlation id, and where the body starts.

    Raises:
        ProtocolError: The bytes are no header.
    """
    try:
        (correlation_id,) = _CORRELATION_ID.unpack_from(buf, pos)
        pos += 4
        if api_version >= FIRST_FLEXIBLE_VERSION[api_key] and api_key != _API_VERSIONS:
            pos = skip_tagged_fields(buf, pos, Budget(_TAGGED_FIELD_LIMIT))
    except MALFORMED as error:
        raise ProtocolError(f"malformed response header: {error}") from error
    return correlation_id, pos
