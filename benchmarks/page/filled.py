"""A broker filled with data for the page: partitions with a record each, groups with lag, access rules."""

import json
from collections.abc import Sequence
from itertools import cycle
from typing import NamedTuple

from confluent_kafka import Producer

from barnabas.wire.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from benchmarks.log_numbers.brokers import Measured
from benchmarks.whole.topics import create, produce_one_each
from benchmarks.whole.wire import Peer

_PARTITIONS_OF_TOPIC, _PARTITIONS_OF_GROUP = 100, 10
_RULES_PER_REQUEST = 500
_TOPIC, _LITERAL, _PREFIXED, _READ, _ALLOW = 2, 3, 4, 3, 3

SETTINGS = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:ANONYMOUS",
    "allow.everyone.if.no.acl.found": "true",
}


class Size(NamedTuple):
    """The amount of data."""

    partition_count: int
    group_count: int
    user_count: int
    rules_per_user: int


def fill(broker: Measured, size: Size) -> None:
    """Create the data; half of the groups' committed offsets are one record behind."""
    # The count includes the broker's own hundred partitions and the measurement's topics. A broker refuses partitions
    # that need more than half of its file descriptors.
    numbers = range(size.partition_count // _PARTITIONS_OF_TOPIC - 2)
    topics = {f"topic-{number}": _PARTITIONS_OF_TOPIC for number in numbers}
    for name, count in topics.items():
        create(broker, {name: count})
    produce_one_each(broker, topics)
    _commit(broker, size.group_count, list(topics))
    _rule(broker, size)


def _commit(broker: Measured, group_count: int, topics: Sequence[str]) -> None:
    peer = Peer(broker.address)
    for number in range(group_count):
        group = f"group-{number}"
        peer.ask_until(FindCoordinatorRequest(group), 2, lambda answer: int(answer.error_code))
        first = number * _PARTITIONS_OF_GROUP % _PARTITIONS_OF_TOPIC
        offsets = [
            OffsetCommitRequestPartition(first + index, committed_offset=index % 2)
            for index in range(_PARTITIONS_OF_GROUP)
        ]
        request = OffsetCommitRequest(group, topics=[OffsetCommitRequestTopic(topics[number % len(topics)], offsets)])
        peer.ask_until(request, 6, lambda answer: max(int(e.error_code) for t in answer.topics for e in t.partitions))
    peer.close()


def _rule(broker: Measured, size: Size) -> None:
    rules = [
        AclCreation(_TOPIC, f"team-{user}-{number}", pattern, f"User:user-{user}", "*", _READ, _ALLOW)
        for user in range(size.user_count)
        for number, pattern in zip(range(size.rules_per_user), cycle((_LITERAL, _PREFIXED)), strict=False)
    ]
    peer = Peer(broker.address)
    for begin in range(0, len(rules), _RULES_PER_REQUEST):
        answer = peer.ask(CreateAclsRequest(rules[begin : begin + _RULES_PER_REQUEST]), 2)
        if errors := {each.error_code for each in answer.results} - {0}:
            raise RuntimeError(f"access rules could not be created: {sorted(errors)}")
    peer.close()


RARE = "needle-in-the-hay"
"""A text in few records; these have `order.status` 777 and `order.amount` above 1,000,000."""


def fill_orders(address: str, topic: str, size_mb: int, codec: str) -> None:
    """Write JSON records of about 500 bytes for searches."""
    producer = Producer(
        {
            "bootstrap.servers": address,
            "compression.type": codec,
            "queue.buffering.max.messages": 200_000,
            "linger.ms": 20,
            "acks": 1,
        }
    )
    written = number = 0
    while written < size_mb * 1_000_000:
        is_rare = number % 100_000 == 50_000
        order = {
            "id": number,
            "status": 777 if is_rare else 200 + number % 5,
            "amount": 2_000_000 if is_rare else number % 9_973 + 0.25,
            "customer": {"name": f"Customer {number % 1_009}", "mail": f"customer-{number % 1_009}@example.org"},
            "lines": [{"sku": f"A{number * each % 99_991}", "count": each} for each in (1, 2, 3)],
            "note": RARE if is_rare else f"{number:x} " * 20,
        }
        value = json.dumps({"order": order, "at": number})
        written += len(value)
        number += 1
        while True:
            try:
                producer.produce(topic, value, key=str(number))
                break
            except BufferError:
                producer.poll(0.1)
        if number % 1_000 == 0:
            producer.poll(0)
    if producer.flush(120):
        raise RuntimeError("not all records were acknowledged")
