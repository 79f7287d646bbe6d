"""The file that keeps the traffic history."""

import json
import random
import struct
import zlib

import pytest

from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.history import History, Name
from barnabas.broker.quotas.history_file import decode, encode
from barnabas.broker.quotas.manager import Quotas

START_S = 1_600_000_000


def some_history() -> History:
    quotas, history = Quotas(Windows(11, 1_000)), History(most_kept=2)
    for second in range(3):
        for number, user in enumerate(("alice", "bob", "Ünicode", "")):
            client = quotas.enter(user, f"app-{number}", 0)
            client.produced_bytes += 1_000 * second + number + 1
            client.request_ns += 5_000
        history.collect((START_S + second) * 1_000 + 1_005, quotas.clients.values())
    return history


def packed(header: object, rings: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = zlib.compress(struct.pack(">I", len(text)) + text + rings)
    return b"BQH1" + struct.pack(">I", zlib.crc32(body)) + body


def good_header() -> dict[str, object]:
    body = encode(START_S, [])[8:]
    found: dict[str, object] = json.loads(zlib.decompress(body)[4:])
    return found


def test_what_was_written_is_read() -> None:
    history = some_history()
    second, recorded = decode(encode(history.second, history.recorded()))
    assert second == START_S + 2
    assert recorded == history.recorded()
    assert {each.client for each in recorded} == {Name("alice", "app-0"), Name("bob", "app-1"), None}


def test_an_empty_history() -> None:
    assert decode(encode(START_S, [])) == (START_S, [])


def test_the_largest_history_is_some_megabytes() -> None:
    quotas, history = Quotas(Windows(11, 1_000)), History()
    dice = random.Random(1)
    for second in range(5):
        for number in range(150):
            quotas.enter(f"user-{number}", "app", 0).produced_bytes += dice.randrange(2**31)
        history.collect((START_S + second) * 1_000 + 1_005, quotas.clients.values())
    assert len(encode(history.second, history.recorded())) < 6_000_000


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"BQH1",
        b"something else altogether",
        b"BQH1" + struct.pack(">I", zlib.crc32(b"no zlib")) + b"no zlib",
        packed(b"{"),
        packed(b"[]"),
        packed(b"[" * 100_000),
        packed({}),
        packed({**good_header(), "byteorder": "middle"}),
        packed({**good_header(), "second": "1"}),
        packed({**good_header(), "second": -1}),
        packed({**good_header(), "rings": 3}),
        packed({**good_header(), "rings": [["alice", "app", 0]]}),
        packed({**good_header(), "rings": [["alice", "app", 9]]}, bytes(4 * 3_600)),
        packed({**good_header(), "rings": [["alice", None, 0]]}, bytes(4 * 3_600)),
        packed({**good_header(), "rings": [["alice", "app"]]}, bytes(4 * 3_600)),
        packed({**good_header(), "rings": [7]}, bytes(4 * 3_600)),
        packed(good_header(), bytes(100)),
    ],
)
def test_what_is_no_history_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"it|header|wrote|bytes|name"):
        decode(data)


def test_a_damaged_file_is_refused() -> None:
    history = some_history()
    data = encode(history.second, history.recorded())
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    for _ in range(200):
        damaged = bytearray(data)
        damaged[dice.randrange(len(data))] ^= dice.randrange(1, 256)
        with pytest.raises(ValueError, match="it"):
            decode(bytes(damaged))
    for _ in range(50):
        with pytest.raises(ValueError, match="it"):
            decode(data[: dice.randrange(len(data))])
