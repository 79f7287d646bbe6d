import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.registry.zookeeper_server import messages
from barnabas.broker.registry.zookeeper_server.jute import JuteReader, MalformedError
from barnabas.broker.registry.zookeeper_server.messages import Operation
from barnabas.core.errors import ProtocolError
from tests import zookeeper_client as zk

WHOLE = [
    (Operation.CREATE, zk.creation("/a", b"x", 3)),
    (Operation.MULTI, zk.multi((zk.CREATE, zk.creation("/a")), (zk.CHECK, zk.versioned("/b")))),
    (Operation.SET_WATCHES, zk.watch_lists(5, ["/a"], ["/b", "/c"], [])),
    (Operation.SET_ACL, zk.text("/a") + zk.acls(zk.OPEN) + zk.integer(-1)),
    (Operation.SET_DATA, zk.setting("/a", b"12345")),
]


def read_all(request: messages.Request) -> None:
    """Read what is read one after the other."""
    if isinstance(request, messages.SetWatches):
        with contextlib.suppress(MalformedError):
            list(request.watches)


@given(st.sampled_from(list(Operation)) | st.integers(-20, 200), st.binary(max_size=200))
def test_any_bytes_are_a_request_or_refused(operation: int, data: bytes) -> None:
    read_all(messages.decode_request(operation, JuteReader(memoryview(data)), 1))


@given(st.sampled_from(WHOLE), st.data())
def test_a_request_that_is_damaged_is_a_request_or_refused(whole: tuple[int, bytes], data: st.DataObject) -> None:
    operation, body = whole
    damaged = bytearray(body[: data.draw(st.integers(0, len(body)))])
    for _ in range(data.draw(st.integers(0, 3))):
        if damaged:
            damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    read_all(messages.decode_request(operation, JuteReader(memoryview(bytes(damaged))), 1))


@pytest.mark.parametrize(("operation", "body"), WHOLE)
def test_a_request_that_ends_too_early_is_refused(operation: int, body: bytes) -> None:
    for end in range(len(body)):
        request = messages.decode_request(operation, JuteReader(memoryview(body[:end])), 1)
        if isinstance(request, messages.SetWatches):
            with pytest.raises(MalformedError):
                list(request.watches)
            continue
        assert request == messages.Refused(messages.Code.MARSHALLING_ERROR)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_first_frame_or_none(data: bytes) -> None:
    try:
        messages.decode_connect(JuteReader(memoryview(data)))
    except ProtocolError:
        return


def test_a_count_is_held_against_the_bytes_that_are_left() -> None:
    with pytest.raises(MalformedError):
        JuteReader(memoryview(struct.pack(">i", 1 << 30) + bytes(100))).count(4)


def test_a_transaction_has_so_many_parts() -> None:
    part = (zk.CHECK, zk.versioned("/a"))
    for count in (messages.MOST_PARTS, messages.MOST_PARTS + 1):
        body = memoryview(zk.multi(*[part] * count))
        request = messages.decode_request(Operation.MULTI, JuteReader(body), 1)
        if count == messages.MOST_PARTS:
            assert isinstance(request, messages.Write)
            assert len(request.ops) == count
        else:
            assert request == messages.Refused(messages.Code.MARSHALLING_ERROR)
