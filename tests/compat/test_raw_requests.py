"""What no client library sends, as Kafka 2.7.2 answers it: `BARNABAS_COMPAT_TARGET=kafka` asks Kafka itself."""

import pytest

from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.api_keys import APIS
from barnabas.wire.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.wire.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.records.builder import BatchBuilder
from tests.compat.conftest import TARGET, RunningBroker, StartBroker
from tests.compat.raw import ask, create_topic
from tests.patience import until

PATIENCE_S = 30
TRANSACTIONAL = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def batch(is_transactional: bool = False) -> bytes:
    builder = (
        BatchBuilder(producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
        if is_transactional
        else BatchBuilder()
    )
    builder.append(1_600_000_000_000, b"k", b"v")
    return bytes(builder.build())


PLAIN, IN_TRANSACTION = batch(), batch(is_transactional=True)


def create(cluster: RunningBroker, *names: str) -> None:
    for name in names:
        create_topic(cluster.bootstrap_servers, name)


def produced(
    cluster: RunningBroker, version: int, parts: dict[str, bytes], acks: int = 1
) -> dict[str, tuple[int, int, int]] | None:
    """The error, base offset and log start offset of each topic's partition 0; None where the connection closed."""
    data = [
        TopicProduceData(name, partition_data=[PartitionProduceData(0, memoryview(bytearray(records)))])
        for name, records in parts.items()
    ]
    answer = ask(cluster.bootstrap_servers, ProduceRequest(None, acks, 1_000, data), version)
    if answer is None:
        return None
    return {
        topic.name: (each.error_code, each.base_offset, each.log_start_offset)
        for topic in answer.responses
        for each in topic.partition_responses
    }


def latest(cluster: RunningBroker, name: str, replica_id: int = -1, version: int = 1, timestamp: int = -1) -> object:
    wanted = ListOffsetsPartition(0, timestamp=timestamp)
    if version == 0:
        wanted.max_num_offsets = 3
    request = ListOffsetsRequest(replica_id, 0, [ListOffsetsTopic(name, [wanted])])
    (answer,) = ask(cluster.bootstrap_servers, request, version).topics[0].partitions
    assert answer.error_code == 0
    return answer.old_style_offsets if version == 0 else answer.offset


@pytest.mark.parametrize("version", [0, 2, 3, 7, 8])
def test_a_transactional_batch_without_an_id_fails_the_whole_request(
    cluster: RunningBroker, name: str, version: int
) -> None:
    create(cluster, name, name + "-2")
    parts = {name: PLAIN, name + "-2": IN_TRANSACTION, name + "-not-there": PLAIN}
    assert produced(cluster, version, parts) == dict.fromkeys(parts, (TRANSACTIONAL, -1, -1))
    assert latest(cluster, name) == latest(cluster, name + "-2") == 0


def test_a_transactional_batch_without_an_id_comes_before_all_other_errors(cluster: RunningBroker, name: str) -> None:
    create(cluster, name)
    parts = {name: PLAIN, name + "-not-there": IN_TRANSACTION}
    assert produced(cluster, 7, parts) == dict.fromkeys(parts, (TRANSACTIONAL, -1, -1))
    assert produced(cluster, 7, {name: IN_TRANSACTION}, acks=5) == {name: (TRANSACTIONAL, -1, -1)}
    assert produced(cluster, 7, {name: PLAIN, name + "-not-there": IN_TRANSACTION}, acks=0) is None
    # Only the first batch is looked at; that there is another one is the next error.
    assert produced(cluster, 7, {name: PLAIN + IN_TRANSACTION}) == {name: (ErrorCode.INVALID_RECORD, -1, -1)}
    assert latest(cluster, name) == 0


@pytest.mark.parametrize("timeout_ms", [0, -1])
@pytest.mark.parametrize("version", [0, 1, 4, 5, 6])
def test_topics_created_without_waiting_time_out_and_come_into_being(
    cluster: RunningBroker, name: str, version: int, timeout_ms: int
) -> None:
    create(cluster, name)
    topics = [CreatableTopic(name, 1, 1), CreatableTopic(name + "-new", 2, 1)]
    answer = ask(cluster.bootstrap_servers, CreateTopicsRequest(topics, timeout_ms, False), version)
    has_message = version >= 1
    assert {
        topic.name: (topic.error_code, topic.error_message, topic.num_partitions, topic.replication_factor)
        for topic in answer.topics
    } == {
        name: (ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists." if has_message else "", -1, -1),
        name + "-new": (ErrorCode.REQUEST_TIMED_OUT, None if has_message else "", -1, -1),
    }
    until(lambda: partition_count(cluster, name + "-new") == 2)


def test_a_validation_without_waiting_does_not_time_out(cluster: RunningBroker, name: str) -> None:
    request = CreateTopicsRequest([CreatableTopic(name, 2, 1)], 0, True)
    (topic,) = ask(cluster.bootstrap_servers, request, 5).topics
    assert (topic.error_code, topic.num_partitions) == (0, 2)


def partition_count(cluster: RunningBroker, name: str) -> int:
    request = MetadataRequest([MetadataRequestTopic(name=name)], False)
    (topic,) = ask(cluster.bootstrap_servers, request, 4).topics
    return len(topic.partitions)


def test_a_debugger_is_told_the_same_as_a_follower(cluster: RunningBroker, name: str) -> None:
    create(cluster, name)
    produced(cluster, 7, {name: PLAIN})
    for replica_id in (-1, -2):
        assert [latest(cluster, name, replica_id, version) for version in (0, 1, 5)] == [[1, 0], 1, 1]
        assert [latest(cluster, name, replica_id, version, -2) for version in (0, 1, 5)] == [[0], 0, 0]


def test_who_asks_first_for_a_coordinator_is_told_to_ask_again(start_broker: StartBroker) -> None:
    broker = start_broker()
    for key_type in (0, 1):
        answers = [ask(broker.bootstrap_servers, FindCoordinatorRequest("key", key_type), 2)]
        while answers[-1].error_code:
            assert len(answers) < 10_000
            answers.append(ask(broker.bootstrap_servers, FindCoordinatorRequest("key", key_type), 2))
        assert {each.error_code for each in answers[:-1]} == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
        assert answers[-1].node_id == 0


def test_groups_that_too_few_brokers_can_keep_are_refused_at_once(start_broker: StartBroker) -> None:
    broker = start_broker(**{"offsets.topic.replication.factor": "3"})
    for _ in range(3):
        answer = ask(broker.bootstrap_servers, FindCoordinatorRequest("g", 0), 2)
        assert (answer.error_code, answer.error_message, answer.node_id, answer.host, answer.port) == (
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
            "The coordinator is not available.",
            -1,
            "",
            -1,
        )
    (topic,) = ask(
        broker.bootstrap_servers, MetadataRequest([MetadataRequestTopic(name="__consumer_offsets")], True), 5
    ).topics
    assert (topic.error_code, topic.is_internal, topic.partitions) == (ErrorCode.INVALID_REPLICATION_FACTOR, True, [])


@pytest.mark.parametrize("version", range(4))
def test_what_is_served_is_offered_in_kafkas_versions(cluster: RunningBroker, version: int) -> None:
    answer = ask(cluster.bootstrap_servers, ApiVersionsRequest("name", "1.0"), version)
    offered = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
    ranges = {key: (api.min_version, api.max_version) for key, api in APIS.items() if not api.is_private}
    served = {key: ranges[key] for key in offered if key in ranges}
    assert offered == served
    assert ranges.keys() == offered.keys()
    assert (answer.error_code, answer.supported_features, answer.finalized_features) == (ErrorCode.NONE, [], [])
    is_told = version == 3 and TARGET == "kafka"
    assert answer.finalized_features_epoch == (0 if is_told else -1)
