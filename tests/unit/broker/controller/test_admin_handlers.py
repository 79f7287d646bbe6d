"""Metadata, CreateTopics, DeleteTopics, DescribeConfigs, InitProducerId on a cluster of one, in all their versions."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from barnabas.broker.administration.configs import ConfigAdmin
from barnabas.broker.administration.leadership import LeadershipAdmin
from barnabas.broker.administration.live_config import LiveConfig
from barnabas.broker.administration.producer_ids import ProducerIds
from barnabas.broker.administration.topic_rules import NewTopic
from barnabas.broker.requests.context import ConnectionInfo, RequestContext
from barnabas.broker.requests.handlers import (
    alter_partition_reassignments,
    create_partitions,
    create_topics,
    delete_topics,
    describe_configs,
    elect_leaders,
    incremental_alter_configs,
    init_producer_id,
    list_partition_reassignments,
    metadata,
)
from barnabas.broker.requests.table import Handler
from barnabas.core.config.documentation import TEXTS
from barnabas.core.config.dynamic import Layer
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.wire.protocol.api_keys import response_class
from barnabas.wire.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.wire.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas.wire.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas.wire.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.wire.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.wire.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.registry.znodes.topics import PartitionStateNode, encode_partition_state
from tests.unit.broker.controller.harness import Cluster, play, settle, until
from tests.unit.broker.handling import recoded, services_of

E = ErrorCode


class Client:
    """Asks handlers over the wire format of one version.

    Attributes:
        throttle_time_ms: For how long it was told to wait last.
    """

    def __init__(self, cluster: Cluster, listener_name: str = "PLAINTEXT") -> None:
        self.services = services_of(
            cluster.clock,
            lambda task: asyncio.get_running_loop().call_soon(task),
            config=cluster.config,
            spawner=cluster.spawner,
            cluster=cluster.view,
            control=cluster.control,
            topics=cluster.topics,
            partitions=cluster.partitions,
            leadership=LeadershipAdmin(cluster.view, cluster.controller, cluster.clock),
            producer_ids=ProducerIds(cluster.registry, 0),
            registry=cluster.registry,
            configs=ConfigAdmin(cluster.registry, cluster.view, LiveConfig(cluster.config), cluster.configs, Random(1)),
        )
        self._listener_name = listener_name
        self.throttle_time_ms = 0

    async def ask(self, handler: Handler, version: int, request):
        """Encode the request, decode it, handle it, encode the answer, and decode that."""
        assert handler.min_version <= version <= handler.max_version
        connection = ConnectionInfo("127.0.0.1", 5, self._listener_name)
        ctx = RequestContext(self.services, connection, "client", version, 1)
        response: Any = handler.handle(ctx, recoded(request, version))
        if isinstance(response, Pending):
            response = await response.future()
        self.throttle_time_ms = ctx.throttle_time_ms
        return recoded(response, version, response_class(handler.api_key))

    async def metadata(self, version: int, names: list[str] | None, **options: bool):
        topics = None if names is None else [MetadataRequestTopic(name=name) for name in names]
        return await self.ask(metadata.HANDLER, version, MetadataRequest(topics, **options))


def play_with_client(story: Callable[[Cluster, Client], Awaitable[None]], **overrides: str) -> None:
    async def with_client(cluster: Cluster) -> None:
        await story(cluster, Client(cluster))

    settings = {name.replace("_", "."): value for name, value in overrides.items()}
    play(with_client, overrides=settings)


pytestmark = pytest.mark.played(by=play_with_client)


@pytest.mark.parametrize("version", range(10))
async def test_metadata_of_everything(cluster: Cluster, client: Client, /, version: int) -> None:
    await cluster.topics.create([NewTopic("t", 2, 1), NewTopic("u", 1, 1)], 1000)
    answer = await client.metadata(version, None if version else [])
    assert [(each.node_id, each.host, each.port) for each in answer.brokers] == [(0, "host0", 9092)]
    assert {topic.name: topic.error_code for topic in answer.topics} == {"t": E.NONE, "u": E.NONE}
    partitions = next(topic.partitions for topic in answer.topics if topic.name == "t")
    assert sorted(
        (each.partition_index, each.leader_id, each.replica_nodes, each.isr_nodes) for each in partitions
    ) == [(0, 0, [0], [0]), (1, 0, [0], [0])]
    assert {each.leader_epoch for each in partitions} == {0 if version >= 7 else -1}
    assert answer.controller_id == (0 if version >= 1 else -1)
    assert answer.cluster_id == ("cluster" if version >= 2 else None)


@pytest.mark.parametrize("version", range(10))
async def test_metadata_of_a_name_creates_the_topic(cluster: Cluster, client: Client, /, version: int) -> None:
    answer = await client.metadata(version, ["t", "t", "not good"])
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [
        ("t", E.LEADER_NOT_AVAILABLE),
        ("not good", E.INVALID_TOPIC_EXCEPTION),
    ]
    await until(lambda: cluster.view.image.has_leaders("t", 1))
    answer = await client.metadata(version, ["t"])
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [("t", E.NONE)]


async def test_metadata_creates_nothing_where_that_is_not_wanted(cluster: Cluster, client: Client, /) -> None:
    answer = await client.metadata(9, ["t"], allow_auto_topic_creation=False)
    assert [(topic.error_code, topic.is_internal) for topic in answer.topics] == [(E.UNKNOWN_TOPIC_OR_PARTITION, False)]
    assert (await client.metadata(1, [])).topics == []
    answer = await client.metadata(9, ["__consumer_offsets"], allow_auto_topic_creation=False)
    assert [(topic.error_code, topic.is_internal) for topic in answer.topics] == [(E.LEADER_NOT_AVAILABLE, True)]
    await settle()
    assert list(cluster.view.image.topics) == ["__consumer_offsets"]


@pytest.mark.played(by=play_with_client, auto_create_topics_enable="false")
async def test_metadata_creates_nothing_when_the_broker_may_not(cluster: Cluster, client: Client, /) -> None:
    answer = await client.metadata(0, ["t"])
    assert [topic.error_code for topic in answer.topics] == [E.UNKNOWN_TOPIC_OR_PARTITION]


async def test_metadata_tells_what_a_client_may_do(cluster: Cluster, client: Client, /) -> None:
    await cluster.topics.create([NewTopic("t", 1, 1)], 1000)
    answer = await client.metadata(8, None)
    assert (answer.cluster_authorized_operations, answer.topics[0].topic_authorized_operations) == (-(2**31),) * 2
    answer = await client.metadata(
        8, None, include_cluster_authorized_operations=True, include_topic_authorized_operations=True
    )
    assert answer.cluster_authorized_operations == 0b1_1111_1010_0000
    assert answer.topics[0].topic_authorized_operations == 0b1101_1111_1000


@pytest.mark.parametrize("version", range(10))
async def test_metadata_of_partitions_whose_brokers_are_dead(cluster: Cluster, client: Client, /, version: int) -> None:
    await cluster.add_broker(1)
    topic = NewTopic("t", assignments=[(0, [1, 0]), (1, [1, 0])])
    alone = NewTopic("alone", assignments=[(0, [1])])
    await cluster.topics.create([topic, alone], 1000)
    await cluster.remove_broker(1)
    await until(lambda: cluster.view.image.topics["alone"][0].leader == -1)
    answer = await client.metadata(version, ["t", "alone"])
    led, unled = answer.topics[0].partitions[0], answer.topics[1].partitions[0]
    assert (led.leader_id, led.isr_nodes) == (0, [0])
    assert (led.error_code, led.replica_nodes) == ((E.REPLICA_NOT_AVAILABLE, [0]) if version == 0 else (E.NONE, [1, 0]))
    assert (unled.error_code, unled.leader_id) == (E.LEADER_NOT_AVAILABLE, -1)
    assert (unled.replica_nodes, unled.isr_nodes) == (([], []) if version == 0 else ([1], [1]))
    assert unled.offline_replicas == ([1] if version >= 5 else [])


@pytest.mark.parametrize("version", range(10))
async def test_metadata_of_a_partition_whose_live_replica_may_not_lead(
    cluster: Cluster, client: Client, /, version: int
) -> None:
    """As Kafka 2.7.2 answers: without a leader, too, version 0 lists the replicas that are alive."""
    await cluster.add_broker(1)
    await cluster.topics.create([NewTopic("t", assignments=[(0, [1, 0])])], 1000)
    path = "/brokers/topics/t/partitions/0/state"
    alone = PartitionStateNode(1, 0, (1,), 1)
    await cluster.registry.set(path, encode_partition_state(alone))
    await cluster.remove_broker(1)
    await until(lambda: cluster.view.image.topics["t"][0].leader == -1)
    (answer,) = (await client.metadata(version, ["t"])).topics[0].partitions
    assert (answer.error_code, answer.leader_id) == (E.LEADER_NOT_AVAILABLE, -1)
    assert (answer.replica_nodes, answer.isr_nodes) == (([0], []) if version == 0 else ([1, 0], [1]))
    assert answer.offline_replicas == ([1] if version >= 5 else [])


@pytest.mark.parametrize(("version", "error_code"), [(5, E.LEADER_NOT_AVAILABLE), (6, E.LISTENER_NOT_FOUND)])
@pytest.mark.played(by=play)
async def test_a_leader_that_has_not_the_clients_listener(cluster: Cluster, /, version: int, error_code: ErrorCode):
    await cluster.topics.create([NewTopic("t", 1, 1)], 1000)
    answer = await Client(cluster, "INTERNAL").metadata(version, ["t"])
    assert answer.brokers == []
    assert (answer.topics[0].partitions[0].error_code, answer.topics[0].partitions[0].leader_id) == (error_code, -1)


@pytest.mark.parametrize("version", range(7))
async def test_create_topics(cluster: Cluster, client: Client, /, version: int) -> None:
    request = CreateTopicsRequest(
        [
            CreatableTopic("t", 2, 1, configs=[CreatableTopicConfig("retention.ms", "5")]),
            CreatableTopic("twice", 1, 1),
            CreatableTopic("twice", 1, 1),
            CreatableTopic("by_hand", -1, -1, [CreatableReplicaAssignment(0, [0])]),
            CreatableTopic("big", 1, 3),
            CreatableTopic("none", 1, 1, configs=[CreatableTopicConfig("retention.ms", None)]),
        ],
        1000,
    )
    answer = await client.ask(create_topics.HANDLER, version, request)
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [
        ("t", E.NONE),
        ("twice", E.INVALID_REQUEST),
        ("twice", E.INVALID_REQUEST),
        ("by_hand", E.NONE),
        ("big", E.INVALID_REPLICATION_FACTOR),
        ("none", E.INVALID_REQUEST),
    ]
    assert cluster.view.image.has_leaders("t", 2)
    made, failed = answer.topics[0], answer.topics[4]
    if version >= 1:
        assert made.error_message is None
        assert failed.error_message == "Replication factor: 3 larger than available brokers: 1."
    if version >= 5:
        assert (made.num_partitions, made.replication_factor) == (2, 1)
        described = {each.name: (each.value, each.config_source) for each in made.configs}
        assert described["retention.ms"] == ("5", 1)
        assert described["segment.bytes"] == ("1073741824", 5)
        assert (failed.num_partitions, failed.replication_factor, failed.configs) == (-1, -1, [])


@pytest.mark.parametrize("version", range(1, 7))
async def test_create_topics_may_only_validate(cluster: Cluster, client: Client, /, version: int) -> None:
    request = CreateTopicsRequest([CreatableTopic("t", 2, 1)], 1000, True)
    answer = await client.ask(create_topics.HANDLER, version, request)
    assert answer.topics[0].error_code == E.NONE
    assert answer.topics[0].num_partitions == (2 if version >= 5 else -1)
    assert await cluster.registry.children("/brokers/topics") == []


async def test_only_the_controller_creates_and_deletes(cluster: Cluster, client: Client, /) -> None:
    await cluster.controller.close()
    created = await client.ask(create_topics.HANDLER, 6, CreateTopicsRequest([CreatableTopic("t", 1, 1)]))
    assert [(topic.name, topic.error_code) for topic in created.topics] == [("t", E.NOT_CONTROLLER)]
    deleted = await client.ask(delete_topics.HANDLER, 5, DeleteTopicsRequest(["t"]))
    assert [(topic.name, topic.error_code) for topic in deleted.responses] == [("t", E.NOT_CONTROLLER)]


@pytest.mark.parametrize("version", range(6))
async def test_delete_topics(cluster: Cluster, client: Client, /, version: int) -> None:
    await cluster.topics.create([NewTopic("t", 1, 1)], 1000)
    answer = await client.ask(delete_topics.HANDLER, version, DeleteTopicsRequest(["t", "u"], timeout_ms=1000))
    assert [(topic.name, topic.error_code, topic.error_message) for topic in answer.responses] == [
        ("t", E.NONE, None),
        ("u", E.UNKNOWN_TOPIC_OR_PARTITION, None),
    ]
    assert "t" not in cluster.view.image.topics


async def test_a_topic_that_is_to_be_deleted_twice_is_answered_twice(cluster: Cluster, client: Client, /) -> None:
    await cluster.topics.create([NewTopic("t", 1, 1)], 1000)
    answer = await client.ask(delete_topics.HANDLER, 4, DeleteTopicsRequest(["u", "t", "t", "u"], 1000))
    unknown = E.UNKNOWN_TOPIC_OR_PARTITION
    assert [topic.error_code for topic in answer.responses] == [unknown, E.NONE, E.NONE, unknown]


@pytest.mark.parametrize("version", range(4))
async def test_create_partitions(cluster: Cluster, client: Client, /, version: int) -> None:
    await cluster.topics.create([NewTopic("t", 1, 1), NewTopic("twice", 1, 1)], 1000)
    topics = [
        CreatePartitionsTopic("twice", 2, None),
        CreatePartitionsTopic("t", 3, [CreatePartitionsAssignment([0])] * 2),
        CreatePartitionsTopic("twice", 3, None),
        CreatePartitionsTopic("u", 3, None),
    ]
    answer = await client.ask(create_partitions.HANDLER, version, CreatePartitionsRequest(topics, 1000, False))
    assert [(each.name, each.error_code, each.error_message) for each in answer.results] == [
        ("t", E.NONE, None),
        ("u", E.UNKNOWN_TOPIC_OR_PARTITION, "The topic 'u' does not exist."),
        ("twice", E.INVALID_REQUEST, "Duplicate topic in request."),
    ]
    assert cluster.view.image.has_leaders("t", 3)
    validated = CreatePartitionsRequest([CreatePartitionsTopic("t", 4, None)], 1000, True)
    answer = await client.ask(create_partitions.HANDLER, version, validated)
    assert (answer.results[0].error_code, cluster.view.image.partition_count("t")) == (E.NONE, 3)
    await cluster.controller.close()
    answer = await client.ask(create_partitions.HANDLER, version, validated)
    assert answer.results[0].error_code == E.NOT_CONTROLLER


async def test_throttled_replicas_that_name_nobody_are_told_of(
    cluster: Cluster, client: Client, /, caplog: pytest.LogCaptureFixture
) -> None:
    await cluster.topics.create([NewTopic("t", 2, 1)], 1000)
    name = "leader.replication.throttled.replicas"
    (broker,) = cluster.view.image.brokers
    for value in (f"0:{broker},1:{broker}", "*", f"2:{broker},0:{broker},1:99"):
        resource = AlterConfigsResource(2, "t", [AlterableConfig(name, 0, value)])
        answer = await client.ask(
            incremental_alter_configs.HANDLER, 1, IncrementalAlterConfigsRequest([resource], False)
        )
        assert answer.responses[0].error_code == E.NONE
    (told,) = [each.getMessage() for each in caplog.records if name in each.getMessage()]
    assert told.startswith(f"{name} of topic t throttles no replica for ['2:{broker}', '1:99']")


@pytest.mark.parametrize("version", range(3))
async def test_elect_leaders(cluster: Cluster, client: Client, /, version: int) -> None:
    await cluster.topics.create([NewTopic("t", 2, 1)], 1000)
    request = ElectLeadersRequest(0, [TopicPartitions("t", [1, 1, 2]), TopicPartitions("u", [0])], 1000)
    answer = await client.ask(elect_leaders.HANDLER, version, request)
    assert (answer.error_code, answer.replica_election_results[1].topic) == (0, "u")
    (of_t, _) = answer.replica_election_results
    assert [(each.partition_id, each.error_code) for each in of_t.partition_result] == [
        (1, E.ELECTION_NOT_NEEDED),
        (2, E.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    everything = ElectLeadersRequest(0, None, 1000)
    assert (await client.ask(elect_leaders.HANDLER, version, everything)).replica_election_results == []
    # Deleted since this broker was told of it: who asks for all did not ask for that one.
    image = cluster.view.image
    cluster.view.image = replace(image, topics={**image.topics, "gone": image.topics["t"]})
    assert (await client.ask(elect_leaders.HANDLER, version, everything)).replica_election_results == []
    cluster.view.image = image
    await cluster.controller.close()
    answer = await client.ask(elect_leaders.HANDLER, version, everything)
    (of_t,) = answer.replica_election_results
    assert (answer.error_code, {each.error_code for each in of_t.partition_result}) == (0, {E.NOT_CONTROLLER})


async def test_reassignments(cluster: Cluster, client: Client, /) -> None:
    await cluster.add_broker(9)
    await cluster.topics.create([NewTopic("t", -1, -1, [(0, [9]), (1, [0]), (2, [0])])], 1000)
    await cluster.remove_broker(9)
    wanted_replicas = {0: [0], 1: [], 2: [0, 0]}
    topics = [ReassignableTopic("t", [ReassignablePartition(*each) for each in wanted_replicas.items()])]
    alter = AlterPartitionReassignmentsRequest(1000, topics)
    answer = await client.ask(alter_partition_reassignments.HANDLER, 0, alter)
    assert (answer.error_code, answer.error_message) == (0, "")
    assert [(each.partition_index, each.error_code) for each in answer.responses[0].partitions] == [
        (0, E.NONE),
        (1, E.INVALID_REPLICA_ASSIGNMENT),
        (2, E.INVALID_REPLICA_ASSIGNMENT),
    ]
    for wanted in (None, [ListPartitionReassignmentsTopics("t", [0, 1, 2])]):
        listing = ListPartitionReassignmentsRequest(1000, wanted)
        answer = await client.ask(list_partition_reassignments.HANDLER, 0, listing)
        (each,) = answer.topics[0].partitions
        assert (each.partition_index, each.replicas, each.adding_replicas, each.removing_replicas) == (
            0,
            [0, 9],
            [0],
            [9],
        )
    listing = ListPartitionReassignmentsRequest(1000, [ListPartitionReassignmentsTopics("t", [1])])
    assert (await client.ask(list_partition_reassignments.HANDLER, 0, listing)).topics == []
    await cluster.controller.close()
    for handler, request in (
        (alter_partition_reassignments.HANDLER, alter),
        (list_partition_reassignments.HANDLER, listing),
    ):
        assert (await client.ask(handler, 0, request)).error_code == E.NOT_CONTROLLER


@pytest.mark.parametrize(("version", "error_code"), [(2, E.INVALID_REQUEST), (3, E.TOPIC_DELETION_DISABLED)])
@pytest.mark.played(by=play_with_client, delete_topic_enable="false")
async def test_delete_topics_where_that_is_disabled(
    cluster: Cluster, client: Client, /, version: int, error_code: ErrorCode
) -> None:
    await cluster.topics.create([NewTopic("t", 1, 1)], 1000)
    answer = await client.ask(delete_topics.HANDLER, version, DeleteTopicsRequest(["t"], timeout_ms=1000))
    assert answer.responses[0].error_code == error_code
    assert "t" in cluster.view.image.topics


@pytest.mark.parametrize("version", range(4))
@pytest.mark.played(by=play_with_client, num_partitions="1")
async def test_describe_configs(cluster: Cluster, client: Client, /, version: int) -> None:
    await cluster.topics.create([NewTopic("t", 1, 1, configs=[("retention.ms", "5")])], 1000)
    LiveConfig(cluster.config).set_overrides(Layer.ALL_BROKERS, {"log.segment.bytes": "1000"})
    request = DescribeConfigsRequest(
        [
            DescribeConfigsResource(2, "t", None),
            DescribeConfigsResource(2, "t", ["segment.bytes", "nonsense"]),
            DescribeConfigsResource(2, "unknown", None),
            DescribeConfigsResource(2, "not good", None),
            DescribeConfigsResource(4, "0", ["num.partitions"]),
            DescribeConfigsResource(4, "", None),
            DescribeConfigsResource(4, "1", None),
            DescribeConfigsResource(8, "0", ["root"]),
            DescribeConfigsResource(1, "x", None),
        ],
        include_synonyms=version >= 1,
        include_documentation=version >= 3,
    )
    answer = await client.ask(describe_configs.HANDLER, version, request)
    assert [(each.resource_type, each.resource_name, each.error_code) for each in answer.results] == [
        (2, "t", E.NONE),
        (2, "t", E.NONE),
        (2, "unknown", E.UNKNOWN_TOPIC_OR_PARTITION),
        (2, "not good", E.INVALID_TOPIC_EXCEPTION),
        (4, "0", E.NONE),
        (4, "", E.NONE),
        (4, "1", E.INVALID_REQUEST),
        (8, "0", E.NONE),
        (1, "x", E.INVALID_REQUEST),
    ]
    everything, some, unknown, _, broker, defaults, _, logger, _ = answer.results
    retention = next(each for each in everything.configs if each.name == "retention.ms")
    assert (retention.value, retention.read_only, retention.is_default) == ("5", False, False)
    assert [each.name for each in some.configs] == ["segment.bytes"]
    assert (everything.error_message, unknown.error_message, unknown.configs) == ("", "", [])
    assert [(each.name, each.value) for each in broker.configs] == [("num.partitions", "1")]
    assert [(each.name, each.value) for each in defaults.configs] == [("log.segment.bytes", "1000")]
    assert [(each.value, each.config_source) for each in some.configs] == [("1000", 3 if version else -1)]
    assert [each.name for each in logger.configs] == ["root"]
    if version >= 1:
        assert retention.config_source == 1
        assert (retention.synonyms[0].name, retention.synonyms[0].source) == ("retention.ms", 1)
        assert broker.configs[0].config_source == 4
    if version >= 3:
        assert (retention.config_type, retention.documentation) == (5, TEXTS["log.retention.ms"])
        told = [everything, some, broker, defaults]
        assert [each.name for result in told for each in result.configs if not each.documentation] == []
        assert [each.documentation for each in logger.configs] == [""]
        request.include_documentation = False
        answer = await client.ask(describe_configs.HANDLER, version, request)
        assert {each.documentation for result in answer.results[:-2] for each in result.configs} == {None}


@pytest.mark.parametrize("version", range(5))
async def test_init_producer_id(cluster: Cluster, client: Client, /, version: int) -> None:
    ids = []
    for _ in range(2):
        answer = await client.ask(init_producer_id.HANDLER, version, InitProducerIdRequest(None, 1000))
        assert (answer.error_code, answer.producer_epoch) == (E.NONE, 0)
        ids.append(answer.producer_id)
    assert ids == [0, 1]
    if version >= 3:
        half = await client.ask(init_producer_id.HANDLER, version, InitProducerIdRequest(None, 1000, 5, -1))
        assert half.error_code == E.INVALID_REQUEST


def test_handlers_serve_the_whole_range_of_kafka() -> None:
    handlers = (metadata, create_topics, delete_topics, describe_configs, init_producer_id, create_partitions)
    assert [(each.HANDLER.min_version, each.HANDLER.max_version) for each in handlers] == [
        (0, 9),
        (0, 6),
        (0, 5),
        (0, 3),
        (0, 4),
        (0, 3),
    ]
