"""/brokers/topics/<topic> and the state of each partition below it.

    <topic>                       {"version":2,"partitions":{"0":[1,2]},"adding_replicas":{},"removing_replicas":{}}
    <topic>/partitions/<p>/state  {"version":1,"leader":0,"leader_epoch":0,"controller_epoch":1,"isr":[0]}

Invariants: the first replica is the preferred leader; leader -1 is none; the version of the state's node guards
every change of it.

Source: zookeeper.md, topic assignment and partition state.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from barnabas.registry.znodes.payload import MalformedError, dump, load_strictly


@dataclass(slots=True)
class TopicAssignment:
    """Which brokers hold which partition.

    Attributes:
        replicas: Partition to broker ids; all replicas, those on their way in or out too.
        adding: Partition to the ids that a reassignment adds.
        removing: Partition to the ids that a reassignment removes.
    """

    replicas: dict[int, list[int]]
    adding: dict[int, list[int]] = field(default_factory=dict)
    removing: dict[int, list[int]] = field(default_factory=dict)


@dataclass(slots=True, frozen=True)
class PartitionStateNode:
    """A partition's leader, epochs and in-sync replicas, as the tree has them.

    Attributes:
        leader: Broker id; -1: nobody.
        leader_epoch: Raised with every election.
        isr: In-sync replicas, the leader among them.
        controller_epoch: Of the controller that wrote it.
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int


def encode_assignment(topic: TopicAssignment) -> bytes:
    """The payload in version 2."""
    return dump(
        {
            "version": 2,
            "partitions": _keyed(topic.replicas),
            "adding_replicas": _keyed(topic.adding),
            "removing_replicas": _keyed(topic.removing),
        }
    )


def decode_assignment(data: bytes | None) -> TopicAssignment:
    """The assignment of a payload of any version; null has no partitions.

    Raises:
        MalformedError: It is no JSON object, a partition is no number, or a replica is none.
    """
    payload = load_strictly(data) if data else {}
    return TopicAssignment(
        _unkeyed(payload.get("partitions")),
        _unkeyed(payload.get("adding_replicas")),
        _unkeyed(payload.get("removing_replicas")),
    )


def encode_partition_state(state: PartitionStateNode) -> bytes:
    return dump(
        {
            "version": 1,
            "leader": state.leader,
            "leader_epoch": state.leader_epoch,
            "controller_epoch": state.controller_epoch,
            "isr": list(state.isr),
        }
    )


def decode_partition_state(data: bytes | None) -> PartitionStateNode:
    """The state in a payload of any version.

    Raises:
        MalformedError: Something that Kafka needs is missing or of another kind.
    """
    payload = load_strictly(data)
    try:
        return PartitionStateNode(
            _number(payload["leader"]),
            _number(payload["leader_epoch"]),
            tuple(_numbers(payload["isr"])),
            _number(payload["controller_epoch"]),
        )
    except KeyError as error:
        raise MalformedError(f"without {error}") from None


def _keyed(replicas: Mapping[int, Sequence[int]]) -> dict[str, list[int]]:
    return {str(partition): list(brokers) for partition, brokers in replicas.items()}


def _unkeyed(value: object) -> dict[int, list[int]]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(key.isascii() and key.isdecimal() for key in value):
        raise MalformedError("partitions are not numbers")
    return {int(key): _numbers(brokers) for key, brokers in sorted(value.items(), key=lambda item: int(item[0]))}


def _numbers(value: object) -> list[int]:
    if not isinstance(value, list):
        raise MalformedError(f"{value!r} is no list of brokers")
    return [_number(item) for item in value]


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise MalformedError(f"{value!r} is no number")
    return value
