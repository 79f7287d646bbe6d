"""Elections and reassignments on a cluster of one, as Kafka 2.7.2 answers: `BARNABAS_COMPAT_TARGET=kafka` asks it."""

from collections.abc import Iterator

import pytest

from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.wire.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.wire.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.compat.conftest import RunningBroker, started
from tests.compat.raw import ask, create_topic
from tests.patience import until

E = ErrorCode
# Our broker, and one that never was.
BROKER, DEAD = 0, 99
NOT_NEEDED = E.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
UNKNOWN = E.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist."
NOT_ALIVE = "Replica assignment has brokers that are not alive. Replica list: "


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningBroker]:
    """A broker that no other test shares: partitions stay behind whose preferred leader never comes."""
    with started({}) as running:
        yield running


def create(cluster: RunningBroker, name: str, *replicas: list[int]) -> None:
    create_topic(cluster.bootstrap_servers, name, 1, replicas)


def elect(cluster: RunningBroker, version: int, election: int, wanted: dict[str, list[int]] | None):
    """The error and message of each partition, after the one of all."""
    topics = None if wanted is None else [TopicPartitions(*each) for each in wanted.items()]
    request = ElectLeadersRequest(election if version else 0, topics, 10_000)
    answer = ask(cluster.bootstrap_servers, request, version)
    return answer.error_code, {
        (topic.topic, each.partition_id): (each.error_code, each.error_message)
        for topic in answer.replica_election_results
        for each in topic.partition_result
    }


@pytest.mark.parametrize(("version", "election"), [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1)])
def test_leaders_that_need_no_election(cluster: RunningBroker, name: str, version: int, election: int) -> None:
    create(cluster, name, [BROKER], [BROKER])
    assert elect(cluster, version, election, {name: [0, 1, 7], "not-there": [0]}) == (
        0,
        {(name, 0): NOT_NEEDED, (name, 1): NOT_NEEDED, (name, 7): UNKNOWN, ("not-there", 0): UNKNOWN},
    )
    assert elect(cluster, version, election, {name: [0, 0, -1]}) == (0, {(name, 0): NOT_NEEDED, (name, -1): UNKNOWN})
    assert elect(cluster, version, election, {name: []}) == elect(cluster, version, election, {}) == (0, {})


@pytest.mark.parametrize("version", [0, 1, 2])
def test_an_election_of_all_leaders_tells_only_of_those_that_it_is_needed_for(
    cluster: RunningBroker, name: str, version: int
) -> None:
    create(cluster, name, [BROKER])
    error_code, results = elect(cluster, version, 0, None)
    assert error_code == 0
    assert (name, 0) not in results


@pytest.mark.parametrize("election", [2, -1])
def test_an_election_of_another_kind(cluster: RunningBroker, name: str, election: int) -> None:
    create(cluster, name, [BROKER])
    assert elect(cluster, 2, election, {name: [0]}) == (
        E.UNKNOWN_SERVER_ERROR,
        {(name, 0): (E.UNKNOWN_SERVER_ERROR, None)},
    )


def test_a_preferred_leader_that_is_not_alive(cluster: RunningBroker, name: str) -> None:
    create(cluster, name, [DEAD, BROKER])
    error_code, results = elect(cluster, 2, 0, {name: [0]})
    assert (error_code, results[name, 0]) == (
        0,
        (
            E.PREFERRED_LEADER_NOT_AVAILABLE,
            f"Failed to elect leader for partition {name}-0 under strategy "
            "PreferredReplicaPartitionLeaderElectionStrategy",
        ),
    )
    assert elect(cluster, 2, 1, {name: [0]}) == (0, {(name, 0): NOT_NEEDED})


def reassign(cluster: RunningBroker, *wanted: tuple[str, int, list[int] | None]):
    """The error and message of each partition."""
    topics = [ReassignableTopic(name, [ReassignablePartition(index, brokers)]) for name, index, brokers in wanted]
    answer = ask(cluster.bootstrap_servers, AlterPartitionReassignmentsRequest(10_000, topics), 0)
    assert (answer.error_code, answer.error_message) == (0, "")
    return {
        (topic.name, each.partition_index): (each.error_code, each.error_message)
        for topic in answer.responses
        for each in topic.partitions
    }


def reassignments(cluster: RunningBroker, wanted: dict[str, list[int]] | None):
    """All replicas, those added and those removed of each partition that moves."""
    topics = None if wanted is None else [ListPartitionReassignmentsTopics(*each) for each in wanted.items()]
    answer = ask(cluster.bootstrap_servers, ListPartitionReassignmentsRequest(10_000, topics), 0)
    assert (answer.error_code, answer.error_message) == (0, "")
    return {
        (topic.name, each.partition_index): (each.replicas, each.adding_replicas, each.removing_replicas)
        for topic in answer.topics
        for each in topic.partitions
    }


def replicas(cluster: RunningBroker, name: str) -> list[tuple[int, list[int], list[int]]]:
    """Leader, replicas and in-sync replicas of each partition."""
    request = MetadataRequest([MetadataRequestTopic(name=name)], False)
    (topic,) = ask(cluster.bootstrap_servers, request, 5).topics
    return [(each.leader_id, each.replica_nodes, each.isr_nodes) for each in topic.partitions]


@pytest.mark.parametrize(
    ("brokers", "error_code", "message"),
    [
        ([BROKER], E.NONE, None),
        ([], E.INVALID_REPLICA_ASSIGNMENT, "Empty replica list specified in partition reassignment."),
        ([BROKER, BROKER], E.INVALID_REPLICA_ASSIGNMENT, "Duplicate replica ids in partition reassignment replica"),
        ([-1], E.INVALID_REPLICA_ASSIGNMENT, "Invalid broker id in replica list: "),
        ([BROKER, -5], E.INVALID_REPLICA_ASSIGNMENT, "Invalid broker id in replica list: "),
        ([DEAD], E.INVALID_REPLICA_ASSIGNMENT, NOT_ALIVE),
        ([BROKER, DEAD], E.INVALID_REPLICA_ASSIGNMENT, NOT_ALIVE),
        (None, E.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress."),
    ],
    ids=str,
)
def test_where_a_partition_may_go(
    cluster: RunningBroker, name: str, brokers: list[int] | None, error_code: ErrorCode, message: str | None
) -> None:
    create(cluster, name, [BROKER])
    (answered,) = reassign(cluster, (name, 0, brokers)).values()
    assert answered[0] == error_code
    # What follows of some is a list as Scala prints it.
    assert answered[1] == message or (message is not None and answered[1].startswith(message))
    assert reassignments(cluster, {name: [0]}) == {}
    assert replicas(cluster, name) == [(BROKER, [BROKER], [BROKER])]


def test_partitions_that_are_not_there(cluster: RunningBroker, name: str) -> None:
    create(cluster, name, [BROKER])
    none_there = E.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress."
    assert reassign(cluster, (name, 7, [BROKER]), ("not-there", 0, [BROKER]), ("", 0, [BROKER])) == {
        (name, 7): UNKNOWN,
        ("not-there", 0): UNKNOWN,
        ("", 0): UNKNOWN,
    }
    assert reassign(cluster, (name, 7, None), ("not-there", 0, None)) == {
        (name, 7): none_there,
        ("not-there", 0): none_there,
    }
    # Of a partition that is named twice the later replicas count.
    assert reassign(cluster, (name, 0, [DEAD]), (name, 0, [BROKER])) == {(name, 0): (0, None)}
    assert reassignments(cluster, {name: [0, 7], "not-there": [0]}) == reassignments(cluster, {}) == {}


def test_brokers_that_are_gone_are_left_out(cluster: RunningBroker, name: str) -> None:
    create(cluster, name, [DEAD, BROKER], [BROKER, DEAD])
    assert reassign(cluster, (name, 0, [BROKER]), (name, 1, [DEAD, BROKER])) == {
        (name, 0): (0, None),
        (name, 1): (0, None),
    }
    until(lambda: replicas(cluster, name)[0] == (BROKER, [BROKER], [BROKER]))
    assert (name, 0) not in reassignments(cluster, None)
