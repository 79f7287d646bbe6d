"""/brokers/topics/<topic> and the state of each partition below it.

    <topic>                       {"version":2,"partitions":{"0":[1,2]},"adding_replicas":{},"removing_replicas":{}}
    <topic>/partitions/<p>/state  {"version":1,"leader":0,"leader_epoch":0,"controller_epoch":1,"isr":[0]}

Invariants: the first replica is the preferred leader; leader -1 is none; the version of the state's node guards
every change of it.

Source: zookeeper.md, topic assignment and partition state.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field

from barnabas.wire.registry.znodes.payload import MalformedError, decimal_int32, dump, is_int32, load_strictly


@dataclass(slots=True)
class TopicAssignment:
    """The assignment of partitions to brokers.

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
    """A partition's leader, epochs and in-sync replicas, as stored in the tree.

    Attributes:
        leader: Broker id; -1: none.
        leader_epoch: Raised with every election.
        isr: In-sync replicas, the leader among them.
        controller_epoch: Of the controller that wrote it.
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int


def encode_assignment(topic: TopicAssignment) -> bytes:
    """Return the payload in version 2."""
    return dump(
        {
            "version": 2,
            "partitions": _keyed(topic.replicas),
            "adding_replicas": _keyed(topic.adding),
            "removing_replicas": _keyed(topic.removing),
        }
    )


def decode_assignment(data: bytes | None) -> TopicAssignment:
    """Return the assignment of a payload of any version; null has no partitions.

    Raises:
        MalformedError: It is no JSON object, a partition or a replica is no number, or a partition has no replica.
    """
    steps = decoding_steps(data)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            assignment: TopicAssignment = end.value
            return assignment


def decoding_steps(data: bytes | None) -> Generator[None, None, TopicAssignment]:
    """Decode as `decode_assignment` does, with a pause after each partition; return the assignment at the end.

    Raises:
        MalformedError: See `decode_assignment`.
    """
    payload = load_strictly(data) if data else {}
    replicas = yield from _unkeyed(payload.get("partitions"))
    if not all(replicas.values()):
        raise MalformedError("a partition has no replicas")
    adding = yield from _unkeyed(payload.get("adding_replicas"))
    removing = yield from _unkeyed(payload.get("removing_replicas"))
    return TopicAssignment(replicas, adding, removing)


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
    """Decode the state in a payload of any version.

    Raises:
        MalformedError: Something that Kafka needs is missing or of another kind.
    """
    payload = load_strictly(data)
    try:
        return PartitionStateNode(
            _number(payload["leader"]),
            _epoch(payload["leader_epoch"]),
            tuple(_numbers(payload["isr"])),
            _number(payload["controller_epoch"]),
        )
    except KeyError as error:
        raise MalformedError(f"without {error}") from None


def _keyed(replicas: Mapping[int, Sequence[int]]) -> dict[str, list[int]]:
    return {str(partition): list(brokers) for partition, brokers in replicas.items()}


def _unkeyed(value: object) -> Generator[None, None, dict[int, list[int]]]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise MalformedError("partitions are no object")
    found = {}
    for key, brokers in value.items():
        partition = decimal_int32(key)
        if partition is None:
            raise MalformedError(f"partition {key[:40]!r} is not a number")
        found[partition] = _numbers(brokers)
        yield
    return dict(sorted(found.items()))


def _numbers(value: object) -> list[int]:
    if not isinstance(value, list):
        raise MalformedError("the brokers of a partition are no list")
    return [_number(item) for item in value]


def _number(value: object) -> int:
    if not isinstance(value, int) or not is_int32(value):
        raise MalformedError(f"{str(value)[:40]!r} is not a number")
    return value


def _epoch(value: object) -> int:
    """Return an epoch that can still be incremented."""
    epoch = _number(value)
    if not 0 <= epoch < (1 << 31) - 1:
        raise MalformedError(f"{epoch} is not a valid epoch")
    return epoch
