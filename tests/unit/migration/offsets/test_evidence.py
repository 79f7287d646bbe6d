"""Who commits where, by what moved between samples."""

from collections.abc import Sequence

import pytest

from barnabas.core.types import TopicPartition
from barnabas.migration.offsets.evidence import Commits, PartitionEvidence, Sample, partition_evidence, together
from barnabas.wire.registry.consumer_groups import StoredOffset

T0 = TopicPartition("t", 0)


def evidence(
    zookeeper: Sequence[int | None], kafka: Sequence[int | None], owners: Sequence[str | None] | None = None
) -> PartitionEvidence:
    """What one partition tells that had these offsets in samples; a ZooKeeper offset that differs was written."""
    samples, version = [], 0
    for index, (stored, in_kafka) in enumerate(zip(zookeeper, kafka, strict=True)):
        version += index > 0 and stored != zookeeper[index - 1]
        owner = "c" if owners is None else owners[index]
        samples.append(
            Sample(
                {} if owner is None else {T0: owner},
                {} if stored is None else {T0: StoredOffset(stored, version, 0)},
                {} if in_kafka is None else {T0: in_kafka},
            )
        )
    (found,) = partition_evidence(samples)
    return found


@pytest.mark.parametrize(
    ("zookeeper", "kafka", "expected"),
    [
        # Nothing moves, or only now.
        ([5], [5], Commits.SILENT),
        ([5, 5, 5], [5, 5, 5], Commits.SILENT),
        ([5, 5, 9], [5, 5, 5], Commits.SILENT),
        ([5, 5, 5], [5, 5, 9], Commits.SILENT),
        # One side alone.
        ([5, 7, 9], [5, 5, 5], Commits.ZOOKEEPER),
        ([5, 7, 7], [5, 5, 5], Commits.ZOOKEEPER),
        ([5, 7, 9], [None, None, None], Commits.ZOOKEEPER),
        ([None, 7, 9], [None, None, None], Commits.ZOOKEEPER),
        ([5, 5, 5], [5, 7, 9], Commits.KAFKA),
        ([None, None, None], [5, 7, 9], Commits.KAFKA),
        # The other side is ahead from before.
        ([5, 7, 9], [100, 100, 100], Commits.ZOOKEEPER),
        ([100, 100, 100], [5, 7, 9], Commits.KAFKA),
        # Both.
        ([5, 7, 9], [5, 7, 9], Commits.BOTH),
        ([None, 7, 9], [None, 7, 9], Commits.BOTH),
        ([5, 7, 7], [7, 7, 9], Commits.BOTH),
        # Both, seen half-way in the first or last sample.
        ([5, 7, 7], [7, 7, 7], Commits.SILENT),
        ([7, 7, 7], [5, 7, 7], Commits.SILENT),
        ([5, 7, 7], [5, 7, 9], Commits.BOTH),
        # Two that do not go together.
        ([5, 7, 9], [1, 2, 2], Commits.MIXED),
        ([5, 6, 6], [5, 7, 9], Commits.MIXED),
    ],
)
def test_where_commits_were_seen(zookeeper: list[int | None], kafka: list[int | None], expected: Commits) -> None:
    assert evidence(zookeeper, kafka).commits is expected


def test_an_offset_that_is_written_again_is_a_commit() -> None:
    samples = [Sample({T0: "c"}, {T0: StoredOffset(5, version, 0)}, {T0: 4}) for version in range(3)]
    (found,) = partition_evidence(samples)
    assert found.commits is Commits.ZOOKEEPER


def test_the_first_commit_of_a_consumer_without_traffic_tells_nothing() -> None:
    """To both it looks as to ZooKeeper alone: what was committed to Kafka again is as before."""
    samples = [Sample({T0: "c"}, {T0: StoredOffset(5, int(index > 1), 0)}, {T0: 5}) for index in range(4)]
    (found,) = partition_evidence(samples)
    assert found.commits is Commits.SILENT


def test_what_moved_before_a_partition_changed_its_owner_is_not_the_new_one_s_evidence() -> None:
    found = evidence([5, 7, 9, 9], [5, 5, 5, 5], owners=["a", "a", "b", "b"])
    assert (found.owner, found.commits) == ("b", Commits.SILENT)
    found = evidence([5, 7, 9, 9, 9], [5, 5, 9, 10, 12], owners=["a", "a", None, "b", "b"])
    assert (found.owner, found.commits) == ("b", Commits.SILENT)
    found = evidence([5, 7, 9, 9, 9, 9], [5, 5, 9, 9, 10, 12], owners=["a", "a", None, "b", "b", "b"])
    assert (found.owner, found.commits) == ("b", Commits.KAFKA)
    assert evidence([5, 7, 9], [5, 5, 5], owners=[None, None, None]).commits is Commits.ZOOKEEPER


@pytest.mark.parametrize(
    ("zookeeper", "kafka", "is_behind_in_kafka", "is_behind_in_zookeeper"),
    [
        ([5], [5], False, False),
        ([5], [4], True, False),
        ([5], [6], False, True),
        ([5, 5], [None, None], True, False),
        ([None, None], [5, 5], False, True),
        # Under way.
        ([5, 9], [5, 5], False, False),
        ([5, 5], [5, 9], False, False),
        ([None, 9], [None, None], False, False),
        ([5, 9], [4, 4], True, False),
        # Set back on both sides.
        ([9, 3], [9, 3], False, False),
        ([9, 3], [3, 3], False, False),
        ([9, None], [9, 9], False, True),
    ],
)
def test_which_side_is_behind(
    zookeeper: list[int | None], kafka: list[int | None], is_behind_in_kafka: bool, is_behind_in_zookeeper: bool
) -> None:
    found = evidence(zookeeper, kafka)
    assert (found.is_behind_in_kafka, found.is_behind_in_zookeeper) == (is_behind_in_kafka, is_behind_in_zookeeper)


def test_what_several_partitions_tell_together() -> None:
    assert together([]) is Commits.SILENT
    assert together([Commits.SILENT, Commits.BOTH]) is Commits.BOTH
    assert together([Commits.KAFKA, Commits.BOTH]) is Commits.MIXED
