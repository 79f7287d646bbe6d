"""Evidence of where consumers commit, inferred from the offsets of both sides over time.

A consumer of 0.8.2 commits

    offsets.storage=zookeeper                       to ZooKeeper, where an offset has changed
    offsets.storage=kafka, dual.commit.enabled=true   to Kafka, then the same to ZooKeeper
    offsets.storage=kafka, dual.commit.enabled=false  to Kafka

An offset that moves on one side while the other side does not follow identifies the setting. An offset that does not
move proves nothing: the partition may have no traffic, and a consumer may own no partition.

Invariants:

- A commit to both sides, sampled half-way, does not count as a commit to one side: the test is whether a side has
  reached the other side's offset of the sample before.
- A movement before the owner took over the partition is not evidence about that owner.

Source: Kafka 0.8.2.2, ZookeeperConsumerConnector.commitOffsets.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import takewhile
from typing import NamedTuple

from barnabas.core.types import TopicPartition
from barnabas.wire.registry.consumer_groups import StoredOffset


class Commits(Enum):
    """The stores in which commits were seen."""

    ZOOKEEPER = "zookeeper"
    BOTH = "both"
    KAFKA = "kafka"
    MIXED = "mixed"
    SILENT = "-"
    """No commit was seen, or no evidence of where it went."""


class Sample(NamedTuple):
    """Offsets of both sides at one time; ZooKeeper was read before Kafka.

    Attributes:
        owners: The consumer that owns each partition.
        zookeeper: Offsets in ZooKeeper.
        kafka: Offsets in Kafka.
    """

    owners: Mapping[TopicPartition, str]
    zookeeper: Mapping[TopicPartition, StoredOffset]
    kafka: Mapping[TopicPartition, int]


@dataclass(slots=True, frozen=True)
class PartitionEvidence:
    """The last offsets of one partition, and the stores to which its owner commits.

    Attributes:
        owner: The last owner; None: no owner.
        zookeeper, kafka: The offset on each side; None: no offset.
        commits: Where commits were seen.
        is_behind_in_kafka: Kafka lacks ZooKeeper's offset, and not only because a commit is in progress.
        is_behind_in_zookeeper: ZooKeeper lacks Kafka's offset, likewise.
    """

    partition: TopicPartition
    owner: str | None
    zookeeper: int | None
    kafka: int | None
    commits: Commits
    is_behind_in_kafka: bool = False
    is_behind_in_zookeeper: bool = False


def partition_evidence(samples: Sequence[Sample]) -> list[PartitionEvidence]:
    """Return the evidence of each partition that has an owner, or an offset on either side.

    Args:
        samples: In the order of time; at least one.
    """
    last = samples[-1]
    found = []
    for partition in sorted({*last.owners, *last.zookeeper, *last.kafka}):
        owner = last.owners.get(partition)
        own = _of_owner(samples, partition, owner)
        stored = [sample.zookeeper.get(partition) for sample in own]
        offsets = [None if each is None else each.offset for each in stored]
        in_kafka = [sample.kafka.get(partition) for sample in own]
        found.append(
            PartitionEvidence(
                partition,
                owner,
                offsets[-1],
                in_kafka[-1],
                _commits(stored, in_kafka),
                not _has_caught_up(offsets, in_kafka[-1]),
                not _has_caught_up(in_kafka, offsets[-1]),
            )
        )
    return found


def together(commits: Iterable[Commits]) -> Commits:
    """Combine the commits of several partitions into one value, for a consumer or a whole group."""
    told = {each for each in commits if each is not Commits.SILENT}
    return Commits.SILENT if not told else told.pop() if len(told) == 1 else Commits.MIXED


def _of_owner(samples: Sequence[Sample], partition: TopicPartition, owner: str | None) -> list[Sample]:
    """Return the samples since the owner took over a partition.

    Each sample reads the owners before the offsets, and an owner commits before it releases a partition. So a sample's
    offsets belong to its owner.
    """
    own = takewhile(lambda sample: sample.owners.get(partition) == owner, reversed(samples))
    return list(own)[::-1]


def _commits(stored: Sequence[StoredOffset | None], in_kafka: Sequence[int | None]) -> Commits:
    offsets = [None if each is None else each.offset for each in stored]
    # Each write of a node counts, even with the same offset.
    in_zookeeper_at, in_kafka_at = _moves(stored), _moves(in_kafka)
    if in_zookeeper_at and in_kafka_at:
        is_both = _has_caught_up(offsets, in_kafka[-1]) and _has_caught_up(in_kafka, offsets[-1])
        return Commits.BOTH if is_both else Commits.MIXED
    moves = in_zookeeper_at or in_kafka_at
    last = len(stored) - 1
    # The movement proves nothing if the other side may be about to follow, or moved before the first sample. Nor if the
    # other side got the same offset again: a consumer's first commit may repeat it, which is invisible in Kafka.
    if not moves or moves == [last] or offsets[-1] == in_kafka[-1]:
        return Commits.SILENT
    return Commits.ZOOKEEPER if in_zookeeper_at else Commits.KAFKA


def _moves(values: Sequence[object]) -> list[int]:
    """Return the indexes of the values that differ from the one before."""
    return [index for index in range(1, len(values)) if values[index] != values[index - 1]]


def _has_caught_up(leading: Sequence[int | None], following: int | None) -> bool:
    """Return whether one side reached the other side's offset of an earlier sample and has not fallen back."""
    wanted = leading[-2:]
    if None in wanted:
        return leading[-1] is None or len(leading) > 1
    reached = min(each for each in wanted if each is not None)
    return following is not None and following >= reached
