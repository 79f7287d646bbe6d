"""Clients of Kafka 0.7 are known by each of their requests, and nobody else is taken for one."""

import logging
import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.requests.kafka_0_7 import MOST_ADDRESSES, SILENCE_MS, ClientsOf07, request_of_0_7
from barnabas.core.errors import ProtocolError
from barnabas.wire.records.message_set import MessageSetBuilder
from tests import old_requests as old
from tests.integration.hostile_peers import golden_frames

TOPIC = "page-views_2.eu"
REQUESTS = {
    f"Produce of topic {TOPIC}": old.produce(TOPIC, -1, b"\0\0\0\6\0\1\2\3\4x"),
    f"Fetch of topic {TOPIC}": old.fetch(TOPIC, 3, 12_345),
    f"MultiFetch of topic {TOPIC}": old.multifetch([(TOPIC, 0, 5), ("b", 1, 6), ("c", 2, 7)]),
    f"MultiProduce of topic {TOPIC}": old.multiproduce([(TOPIC, 0, b"abc"), ("b", -1, b"")]),
    f"Offsets of topic {TOPIC}": old.offsets(TOPIC, 0, -2, 10),
}
REASON = ProtocolError("API key 1 version 15 is not served")


@pytest.mark.parametrize("wanted", REQUESTS)
def test_each_of_the_five_requests_is_known(wanted: str) -> None:
    assert request_of_0_7(memoryview(REQUESTS[wanted])) == wanted


@pytest.mark.parametrize("wanted", REQUESTS)
def test_a_request_that_is_cut_or_goes_on_is_none(wanted: str) -> None:
    frame = REQUESTS[wanted]
    for length in range(len(frame)):
        assert request_of_0_7(memoryview(frame[:length])) is None
    assert request_of_0_7(memoryview(frame + b"\0")) is None


@pytest.mark.parametrize("count", [500, 501, 32_767])
def test_of_very_many_bodies_the_first_are_enough(count: int) -> None:
    frame = old.multifetch([("t", 0, 0)] * count)
    assert request_of_0_7(memoryview(frame)) == "MultiFetch of topic t"
    damaged = frame[: 4 + 100 * 19] + bytes(19) + frame[4 + 101 * 19 :]
    assert request_of_0_7(memoryview(damaged)) is None


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(old.fetch(""), id="no-topic"),
        pytest.param(old.fetch("a" * 256), id="long-topic"),
        pytest.param(old.fetch("a/b"), id="no-name-of-a-topic"),
        pytest.param(old.fetch("a", -1), id="no-partition"),
        pytest.param(old.fetch("a", 0, -3), id="no-offset"),
        pytest.param(old.fetch("a", 0, 0, -1), id="no-size"),
        pytest.param(old.produce("a", -2), id="no-partition-to-produce-to"),
        pytest.param(struct.pack(">h", 0) + b"\0\1a" + struct.pack(">ii", 0, -1), id="no-size-of-messages"),
        pytest.param(struct.pack(">hh", 2, 0), id="fetches-nothing"),
        pytest.param(struct.pack(">hh", 3, -1), id="produces-less-than-nothing"),
        pytest.param(struct.pack(">h", 5) + old.fetch("a")[2:], id="no-such-type"),
        pytest.param(struct.pack(">h", -1) + old.fetch("a")[2:], id="no-type"),
        pytest.param(struct.pack(">hh", 1, -1), id="no-length"),
    ],
)
def test_what_only_resembles_one_is_none(frame: bytes) -> None:
    assert request_of_0_7(memoryview(frame)) is None


def test_todays_requests_are_none_in_any_version() -> None:
    for frame in golden_frames():
        assert request_of_0_7(memoryview(frame)) is None
        # Of a client that is newer than the broker, or of one that counts its requests from anywhere.
        for version, correlation_id in ((14, 7), (99, 0x61616161), (3, 0x2D2D2D2D)):
            changed = frame[:2] + struct.pack(">hi", version, correlation_id) + frame[8:]
            assert request_of_0_7(memoryview(changed)) is None


def test_random_garbage_is_none() -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    for _ in range(50_000):
        start = struct.pack(">hh", rng.randrange(5), rng.randrange(1, 6)) if rng.random() < 0.5 else b""
        assert request_of_0_7(memoryview(start + rng.randbytes(rng.randrange(60)))) is None


@given(st.binary(max_size=100), st.integers(0, 4), st.integers(-1, 4))
def test_any_bytes_are_looked_at_without_harm(data: bytes, kind: int, count: int) -> None:
    request_of_0_7(memoryview(data))
    request_of_0_7(memoryview(struct.pack(">hh", kind, count) + data))


@pytest.fixture
def clients() -> ClientsOf07:
    return ClientsOf07()


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]


def test_it_is_said_once_in_a_while_for_each_address(clients: ClientsOf07, caplog: pytest.LogCaptureFixture) -> None:
    frame = memoryview(old.fetch(TOPIC))
    for now_ms, host in (
        (5, "10.0.0.1"),
        (6, "10.0.0.1"),
        (7, "10.0.0.2"),
        (4 + SILENCE_MS, "10.0.0.1"),
        (5 + SILENCE_MS, "10.0.0.1"),
        (6 + SILENCE_MS, "10.0.0.1"),
    ):
        # The line says it all: there is no second one for the connection.
        assert str(clients.refusal(frame, REASON, host, now_ms)) == ""
    said = warnings(caplog)
    assert [each.split()[4] for each in said] == ["10.0.0.1", "10.0.0.2", "10.0.0.1"]
    assert f"sent Fetch of topic {TOPIC}" in said[0]


def test_others_are_told_what_is_wrong(clients: ClientsOf07, caplog: pytest.LogCaptureFixture) -> None:
    builder = MessageSetBuilder(0)
    builder.append(0, -1, None, b"x")
    for frame in (b"", b"\0\1\0\x0f", builder.build(), b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\0"):
        assert clients.refusal(memoryview(frame), REASON, "10.0.0.1", 0) is REASON
    assert warnings(caplog) == []


def test_it_does_not_remember_every_address_there_is(clients: ClientsOf07, caplog: pytest.LogCaptureFixture) -> None:
    frame = memoryview(old.fetch(TOPIC))
    for number in range(MOST_ADDRESSES + 1):
        clients.refusal(frame, REASON, f"host-{number}", number)
    caplog.clear()
    # The first was forgotten, the others were not.
    for number in (0, 2, MOST_ADDRESSES):
        clients.refusal(frame, REASON, f"host-{number}", MOST_ADDRESSES + 1)
    assert [each.split()[4] for each in warnings(caplog)] == ["host-0"]
