"""Subscriptions and assignments as the members of a group write and read them."""

from barnabas.clients.consumer_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from barnabas.core.types import TopicPartition


def test_what_is_said_in_the_group_survives_the_wire():
    assert decode_subscription(encode_subscription(["a", "b"])) == ["a", "b"]
    assigned = [TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 2)]
    assert decode_assignment(encode_assignment(assigned)) == assigned
    assert decode_assignment(b"") == []


def test_a_newer_subscription_is_read_as_far_as_it_is_known():
    data = b"\x00\x01\x00\x00\x00\x01\x00\x01t\xff\xff\xff\xff\x00\x00\x00\x00"
    assert decode_subscription(data) == ["t"]
