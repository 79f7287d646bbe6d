"""Messages between a broker and its test kit, in a stream that is cut anywhere."""

import pytest

from barnabas.broker.requests.interception_messages import Fields, Splitter, encode

MESSAGES: list[tuple[Fields, bytes]] = [
    ({"op": "watch", "api_keys": [0, 1]}, b""),
    ({"op": "request", "id": 7}, bytes(300)),
    ({}, b"x"),
]


@pytest.mark.parametrize("piece_bytes", [1, 3, 50, 1_000])
def test_messages_are_found_however_the_stream_is_cut(piece_bytes):
    stream = b"".join(encode(fields, body) for fields, body in MESSAGES)
    splitter = Splitter()
    found = []
    for start in range(0, len(stream), piece_bytes):
        found += splitter.feed(stream[start : start + piece_bytes])
    assert found == MESSAGES
