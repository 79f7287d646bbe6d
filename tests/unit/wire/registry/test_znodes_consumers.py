"""What old consumers keep in the tree: as Kafka 0.8.2 writes it, and as 0.7 did."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.wire.registry.znodes import consumers
from barnabas.wire.registry.znodes.consumers import BrokerPartition, ConsumerThread, Pattern, Subscription
from barnabas.wire.registry.znodes.payload import MalformedError

STATIC = b'{"version":1,"subscription":{"t":2,"u":1},"pattern":"static","timestamp":"1416000000000"}'
WHITE_LIST = b'{"version":1,"subscription":{"a.*|b":3},"pattern":"white_list","timestamp":"7"}'


@pytest.mark.parametrize(
    ("data", "subscription"),
    [
        (STATIC, Subscription({"t": 2, "u": 1}, Pattern.STATIC, 1416000000000)),
        (WHITE_LIST, Subscription({"a.*|b": 3}, Pattern.WHITE_LIST, 7)),
        (
            b'{"version":1,"subscription":{"\\\\d":1},"pattern":"black_list","timestamp":"7"}',
            Subscription({"\\d": 1}, Pattern.BLACK_LIST, 7),
        ),
    ],
)
def test_a_subscription_is_written_as_by_0_8_2(data: bytes, subscription: Subscription) -> None:
    assert consumers.encode_subscription(subscription) == data
    assert consumers.decode_subscription(data) == subscription


@pytest.mark.parametrize(
    ("data", "streams", "pattern"),
    [
        (b'{ "t1": 2,"t2": 1 }', {"t1": 2, "t2": 1}, Pattern.STATIC),
        (b'{ "subscription": 2 }', {"subscription": 2}, Pattern.STATIC),
        (b"*2*a.*|b", {"a.*|b": 2}, Pattern.WHITE_LIST),
        (b"!1!a!b", {"a!b": 1}, Pattern.BLACK_LIST),
    ],
)
def test_a_subscription_of_0_7_is_read_and_told_from_others(data: bytes, streams: object, pattern: Pattern) -> None:
    assert consumers.decode_subscription(data) == Subscription(streams, pattern, is_of_0_7=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"",
        b"[]",
        b"{}",
        b"*",
        b"*x*a",
        b"*0*a",
        b"*2!a",
        b"*2*",
        b"*2*\xff",
        b'{"version":1,"subscription":{},"pattern":"static"}',
        b'{"version":1,"subscription":{"t":0},"pattern":"static"}',
        b'{"version":1,"subscription":{"t":true},"pattern":"static"}',
        b'{"version":1,"subscription":{"a":1,"b":1},"pattern":"white_list"}',
        b'{"version":1,"subscription":{"a":1},"pattern":"grey_list"}',
        b'{"version":1,"subscription":{"a":1},"pattern":[]}',
    ],
)
def test_what_is_no_subscription_is_refused(data: bytes | None) -> None:
    with pytest.raises(MalformedError):
        consumers.decode_subscription(data)


def test_an_owner_is_a_thread_whose_consumer_may_have_dashes() -> None:
    thread = ConsumerThread("g_host-a-1416000000000-0123abcd", 10)
    assert consumers.encode_owner(thread) == b"g_host-a-1416000000000-0123abcd-10"
    assert consumers.decode_owner(b"g_host-a-1416000000000-0123abcd-10") == thread
    for data in (None, b"", b"g_h", b"-1", b"g_h-", b"g_h-x", b"\xff-1"):
        with pytest.raises(MalformedError):
            consumers.decode_owner(data)


@pytest.mark.parametrize("offset", [0, 42, (1 << 63) - 1, -1])
def test_an_offset_is_decimal_text(offset: int) -> None:
    assert consumers.encode_offset(offset) == str(offset).encode()
    assert consumers.decode_offset(str(offset).encode()) == offset


@pytest.mark.parametrize("data", [None, b"", b"-", b" 1", b"1_0", b"+1", b"0x1", "²".encode(), b"\xff"])
def test_what_is_no_offset_is_refused(data: bytes | None) -> None:
    with pytest.raises(MalformedError):
        consumers.decode_offset(data)


def test_a_partition_of_0_7_belongs_to_a_broker() -> None:
    assert consumers.decode_partition("12") == 12
    assert consumers.decode_partition("3-12") == BrokerPartition(3, 12)
    for element in ("", "-", "-1", "1-", "a", "1-2-3", "²"):
        with pytest.raises(MalformedError):
            consumers.decode_partition(element)


def test_threads_are_in_the_order_of_javas_strings() -> None:
    # UTF-16 has what is above U+FFFF in units below U+E000.
    names = ["c-10", "c-2", "c-9", "\uffee-0", "\U0001f600-0"]
    assert sorted(names, key=consumers.java_order) == ["c-10", "c-2", "c-9", "\U0001f600-0", "\uffee-0"]


@given(st.binary(max_size=60))
def test_no_bytes_do_more_than_to_be_refused(data: bytes) -> None:
    for decode in (consumers.decode_subscription, consumers.decode_owner, consumers.decode_offset):
        try:
            decode(data)
        except MalformedError:
            pass
