"""Where a group stands between ZooKeeper and Kafka, and whether its next step is safe."""

from collections.abc import Sequence

import pytest

from barnabas.core.types import TopicPartition
from barnabas.migration.offsets.evidence import Commits, PartitionEvidence
from barnabas.migration.offsets.migration_state import MigrationState, Phase, Side, Step, migration_state

Z, B, K, SILENT, MIXED = Commits.ZOOKEEPER, Commits.BOTH, Commits.KAFKA, Commits.SILENT, Commits.MIXED


def judged(commits: Sequence[Commits], to: Side = Side.KAFKA, *, allows_silence: bool = False) -> MigrationState:
    """Consumers a, b, ... with a partition each, that commit so; both sides hold the same."""
    names = "abcdef"[: len(commits)]
    partitions = [part(index, each, name) for index, (each, name) in enumerate(zip(commits, names, strict=True))]
    return migration_state(dict.fromkeys(names, 1), partitions, to, allows_silence=allows_silence)


def part(
    index: int, commits: Commits, owner: str | None = "a", zookeeper: int | None = 10, kafka: int | None = 10
) -> PartitionEvidence:
    return PartitionEvidence(
        TopicPartition("t", index),
        owner,
        zookeeper,
        kafka,
        commits,
        (zookeeper or 0) > (kafka or 0),
        (kafka or 0) > (zookeeper or 0),
    )


@pytest.mark.parametrize(
    ("commits", "to", "phase", "step", "is_safe"),
    [
        # There ...
        ([Z, Z], Side.KAFKA, Phase.ZOOKEEPER, Step.DUAL_COMMIT, True),
        ([Z, B], Side.KAFKA, Phase.ZOOKEEPER_AND_BOTH, Step.RESTART_THE_OTHERS, False),
        ([B, B], Side.KAFKA, Phase.BOTH, Step.KAFKA_ALONE, True),
        ([B, K], Side.KAFKA, Phase.BOTH_AND_KAFKA, Step.RESTART_THE_OTHERS, False),
        ([K, K], Side.KAFKA, Phase.KAFKA, Step.DONE, True),
        # ... and back.
        ([K, K], Side.ZOOKEEPER, Phase.KAFKA, Step.DUAL_COMMIT, True),
        ([B, K], Side.ZOOKEEPER, Phase.BOTH_AND_KAFKA, Step.RESTART_THE_OTHERS, False),
        ([B, B], Side.ZOOKEEPER, Phase.BOTH, Step.ZOOKEEPER_ALONE, True),
        ([Z, B], Side.ZOOKEEPER, Phase.ZOOKEEPER_AND_BOTH, Step.RESTART_THE_OTHERS, False),
        ([Z, Z], Side.ZOOKEEPER, Phase.ZOOKEEPER, Step.DONE, True),
        # What must not be.
        ([Z, K], Side.KAFKA, Phase.SPLIT, Step.REPAIR, False),
        ([Z, B, K], Side.ZOOKEEPER, Phase.SPLIT, Step.REPAIR, False),
        ([B, MIXED], Side.KAFKA, Phase.SPLIT, Step.REPAIR, False),
        # What nobody can tell.
        ([SILENT, SILENT], Side.KAFKA, Phase.UNTOLD, Step.WAIT, False),
        ([B, SILENT], Side.KAFKA, Phase.BOTH, Step.KAFKA_ALONE, False),
        ([Z, SILENT], Side.KAFKA, Phase.ZOOKEEPER, Step.DUAL_COMMIT, True),
        ([], Side.KAFKA, Phase.STOPPED, Step.DUAL_COMMIT, True),
        ([], Side.ZOOKEEPER, Phase.STOPPED, Step.DUAL_COMMIT, True),
    ],
)
def test_the_way_there_and_back(commits: list[Commits], to: Side, phase: Phase, step: Step, is_safe: bool) -> None:
    found = judged(commits, to)
    assert (found.phase, found.step, found.is_safe) == (phase, step, is_safe)


def test_who_is_not_restarted_yet_is_named() -> None:
    assert judged([B, Z, B]).reasons == ("b still commits to ZooKeeper alone",)
    assert judged([B, K], Side.ZOOKEEPER).reasons == ("b still commits to Kafka alone",)
    assert judged([B, K]).reasons == ("a still commits to both",)


def test_who_was_not_seen_to_commit_is_a_doubt_that_a_person_can_take_away() -> None:
    found = judged([B, SILENT])
    assert (found.reasons, len(found.doubts)) == ((), 1)
    assert found.doubts[0].startswith("b ")
    assert judged([B, SILENT], allows_silence=True).is_safe
    # But nobody can take away that nothing is known at all.
    assert not judged([SILENT], allows_silence=True).is_safe


def test_who_owns_nothing_is_a_doubt() -> None:
    found = migration_state({"a": 1, "spare": 2}, [part(0, B)], Side.KAFKA)
    assert [doubt.split()[0] for doubt in found.doubts] == ["spare"]
    assert [(each.name, each.partition_count) for each in found.consumers] == [("a", 1), ("spare", 0)]


@pytest.mark.parametrize(
    ("offsets", "commits", "to", "expected"),
    [
        (
            {"zookeeper": 10, "kafka": 9},
            B,
            Side.KAFKA,
            "ZooKeeper has 10, Kafka has 9: what lies between would be read",
        ),
        ({"zookeeper": 10, "kafka": None}, B, Side.KAFKA, "ZooKeeper has 10, Kafka has nothing"),
        (
            {"zookeeper": 9, "kafka": 10},
            B,
            Side.ZOOKEEPER,
            "Kafka has 10, ZooKeeper has 9: what lies between would be read",
        ),
        (
            {"zookeeper": 9, "kafka": 10},
            Z,
            Side.KAFKA,
            "Kafka has 10, ZooKeeper has 9: dual commit begins with the larger",
        ),
        ({"zookeeper": 10, "kafka": 9}, K, Side.ZOOKEEPER, "ZooKeeper has 10, Kafka has 9: dual commit begins"),
    ],
)
def test_a_side_that_lacks_something_is_not_relied_on(
    offsets: dict[str, int | None], commits: Commits, to: Side, expected: str
) -> None:
    found = migration_state(
        {"a": 1}, [part(0, commits), part(1, commits, "a", offsets["zookeeper"], offsets["kafka"])], to
    )
    assert not found.is_safe
    (reason,) = found.reasons
    assert reason.startswith(f"t-1: {expected}")


def test_the_side_that_is_left_may_stay_behind() -> None:
    assert migration_state({"a": 1}, [part(0, K, zookeeper=3)], Side.KAFKA).is_safe
    assert migration_state({"a": 1}, [part(0, Z, kafka=3)], Side.ZOOKEEPER).is_safe


def test_what_nobody_owns_counts_where_it_moves_and_is_in_doubt_where_it_does_not() -> None:
    assert migration_state({"a": 1}, [part(0, B), part(1, Z, owner=None)], Side.KAFKA).phase is Phase.ZOOKEEPER_AND_BOTH
    assert migration_state({"a": 1}, [part(0, B), part(1, Z, owner=None)], Side.KAFKA).reasons == (
        "somebody still commits to ZooKeeper alone",
    )
    left = migration_state({"a": 1}, [part(0, K), part(1, SILENT, owner=None, zookeeper=3)], Side.KAFKA)
    assert len(left.doubts) == 1


def test_newer_consumers_in_the_group_are_a_reason() -> None:
    found = migration_state({"a": 1}, [part(0, Z)], Side.KAFKA, new_members=["new-1"])
    assert "new-1" in found.reasons[0]
