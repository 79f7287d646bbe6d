"""/admin/preferred_replica_election and /admin/reassign_partitions: requests of Kafka's old tools.

    election      {"version":1,"partitions":[{"topic":"t","partition":0}]}
    reassignment  {"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}

Source: zookeeper.md, admin requests through ZooKeeper.
"""

from collections.abc import Iterator, Mapping, Sequence

from barnabas.core.types import TopicPartition
from barnabas.wire.registry.znodes.payload import MalformedError, dump, load_strictly


def decode_election(data: bytes | None) -> list[TopicPartition]:
    """Return the partitions, each once.

    Raises:
        MalformedError: The value is invalid.
    """
    return list(dict.fromkeys(partition for partition, _ in _entries(data)))


def decode_reassignment(data: bytes | None) -> dict[TopicPartition, list[int]]:
    """Return the new brokers of each partition.

    Raises:
        MalformedError: The value is invalid.
    """
    wanted = {}
    for partition, entry in _entries(data):
        replicas = entry.get("replicas")
        if not isinstance(replicas, list) or not all(type(each) is int for each in replicas):
            raise MalformedError(f"the replicas of {partition} are no brokers")
        wanted[partition] = replicas
    return wanted


def encode_reassignment(wanted: Mapping[TopicPartition, Sequence[int]]) -> bytes:
    return dump(
        {
            "version": 1,
            "partitions": [
                {"topic": partition.topic, "partition": partition.partition, "replicas": list(replicas)}
                for partition, replicas in wanted.items()
            ],
        }
    )


def _entries(data: bytes | None) -> Iterator[tuple[TopicPartition, dict[str, object]]]:
    partitions = load_strictly(data).get("partitions")
    if not isinstance(partitions, list):
        raise MalformedError("it names no partitions")
    for entry in partitions:
        topic, index = (entry.get("topic"), entry.get("partition")) if isinstance(entry, dict) else (None, None)
        if not isinstance(topic, str) or type(index) is not int:
            raise MalformedError("an entry is not a partition")
        yield TopicPartition(topic, index), entry
