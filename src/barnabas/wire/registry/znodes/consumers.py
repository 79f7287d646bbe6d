"""/consumers/<group>: the members of a group, the partitions of each, and the group's offsets.

    ids/<consumer>               {"version":1,"subscription":{"t":2},"pattern":"static","timestamp":"<ms>"}
    owners/<topic>/<partition>   <consumer>-<n>, n a thread of the consumer, from 0
    offsets/<topic>/<partition>  decimal text: the next offset

With the patterns `white_list` and `black_list` the one key of the subscription is a regular expression of topic names.
A consumer's name is `<group>_<host>-<ms>-<8 hex digits>`, or `<group>_` and its `consumer.id`.

Nodes of 0.7 are read, too: `{ "t": 2 }`, `*2*<white list>` and `!2!<black list>` in ids; below owners and offsets the
last element of a path is `<broker>-<partition>`, and the offset a position in bytes.

Source: zookeeper.md, old consumers; Kafka 0.8.2.2, TopicCount, ConsumerThreadId and registerConsumerInZK.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from barnabas.wire.registry.znodes.payload import MalformedError, dump, integer, load_strictly


class Pattern(Enum):
    """The kind of a subscription; the values are those in the tree."""

    STATIC = "static"
    WHITE_LIST = "white_list"
    BLACK_LIST = "black_list"


@dataclass(slots=True, frozen=True)
class Subscription:
    """The subscription of one consumer.

    Attributes:
        streams: Topic, or with a list the one regular expression, to the number of streams, which is above 0.
        pattern: The kind of the keys of `streams`.
        timestamp_ms: When the consumer registered; -1: unknown.
        is_of_0_7: Whether it was written as Kafka 0.7 does, whose partitions belong to brokers.
    """

    streams: Mapping[str, int]
    pattern: Pattern = Pattern.STATIC
    timestamp_ms: int = -1
    is_of_0_7: bool = False


class ConsumerThread(NamedTuple):
    """One stream of one consumer, the owner of partitions. Threads are ordered by their text, see `java_order`."""

    consumer: str
    number: int

    def __str__(self) -> str:
        return f"{self.consumer}-{self.number}"


class BrokerPartition(NamedTuple):
    """A partition in 0.7's naming: its broker, and its number there."""

    broker_id: int
    partition: int


def java_order(text: str) -> bytes:
    """Return the key that sorts texts in the order of Java's strings: by UTF-16 units, not code points."""
    return text.encode("utf-16-be", "surrogatepass")


def encode_subscription(subscription: Subscription) -> bytes:
    """Return the payload in version 1, the keys in the order of Kafka 0.8.2."""
    return dump(
        {
            "version": 1,
            "subscription": dict(subscription.streams),
            "pattern": subscription.pattern.value,
            "timestamp": str(subscription.timestamp_ms),
        }
    )


def decode_subscription(data: bytes | None) -> Subscription:
    """Decode the subscription in a payload of 0.8 or later, or of 0.7.

    Raises:
        MalformedError: It is neither, or without a topic or a positive number of streams.
    """
    if data and data[:1] in _LISTS_OF_0_7:
        return _decode_list_of_0_7(data)
    payload = load_strictly(data)
    subscribed = payload.get("subscription")
    if not isinstance(subscribed, dict):
        # A topic may be named so.
        return Subscription(_checked_streams(payload), is_of_0_7=True)
    try:
        pattern = Pattern(payload.get("pattern", Pattern.STATIC.value))
    except ValueError:
        raise MalformedError(f"{payload.get('pattern')!r} is not a pattern of topics") from None
    streams = _checked_streams(subscribed)
    if pattern is not Pattern.STATIC and len(streams) != 1:
        raise MalformedError(f"{len(streams)} regular expressions where there should be one")
    return Subscription(streams, pattern, integer(payload, "timestamp", -1))


def encode_owner(thread: ConsumerThread) -> bytes:
    return str(thread).encode()


def decode_owner(data: bytes | None) -> ConsumerThread:
    """Return the thread that owns a partition.

    Raises:
        MalformedError: The value is invalid.
    """
    consumer, dash, number = _text(data).rpartition("-")
    if not (consumer and dash and _is_number(number)):
        raise MalformedError(f"{data!r} is not a consumer's thread")
    return ConsumerThread(consumer, int(number))


def encode_offset(offset: int) -> bytes:
    return str(offset).encode()


def decode_offset(data: bytes | None) -> int:
    """Return the next offset to read; for 0.7's partitions, a position in bytes.

    Raises:
        MalformedError: It is no number.
    """
    text = _text(data)
    if not _is_number(text.removeprefix("-")):
        raise MalformedError(f"{data!r} is not an offset")
    return int(text)


def decode_partition(element: str) -> int | BrokerPartition:
    """Return the partition named by the last element of a path below owners or offsets.

    Raises:
        MalformedError: The value is invalid, neither as 0.8 nor as 0.7 writes it.
    """
    broker_id, dash, partition = element.rpartition("-")
    if not _is_number(partition) or (dash and not _is_number(broker_id)):
        raise MalformedError(f"{element!r} is not a partition")
    return BrokerPartition(int(broker_id), int(partition)) if dash else int(partition)


_LISTS_OF_0_7 = {b"*": Pattern.WHITE_LIST, b"!": Pattern.BLACK_LIST}


def _decode_list_of_0_7(data: bytes) -> Subscription:
    text = _text(data)
    number, mark, regex = text[1:].partition(text[0])
    if not (mark and regex and _is_number(number) and int(number) > 0):
        raise MalformedError(f"{text[:40]!r} is not a list of topics")
    return Subscription({regex: int(number)}, _LISTS_OF_0_7[data[:1]], is_of_0_7=True)


def _checked_streams(value: Mapping[str, object]) -> dict[str, int]:
    streams = {name: count for name, count in value.items() if type(count) is int and count > 0}
    if not value or len(streams) != len(value):
        raise MalformedError(f"{json.dumps(value)[:80]} are no topics with their numbers of streams")
    return streams


def _text(data: bytes | None) -> str:
    try:
        return (data or b"").decode()
    except UnicodeDecodeError:
        raise MalformedError(f"{data!r} is not text") from None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()
