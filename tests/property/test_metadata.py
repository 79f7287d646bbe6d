"""Answers to Metadata are, byte for byte, what they would be if nothing of them were kept."""

import asyncio
from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.broker.cluster.image import ClusterImage, ClusterView, PartitionState
from barnabas.broker.requests.context import ConnectionInfo, RequestContext
from barnabas.broker.requests.encoded_metadata import MOST_KINDS, TopicParts
from barnabas.broker.requests.handlers.metadata import HANDLER
from barnabas.broker.requests.slices import MOST_ELEMENTS_AT_ONCE
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.testing.manual_clock import ManualClock
from barnabas.testing.manual_executor import ManualExecutor
from barnabas.wire.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.wire.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState2,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from barnabas.wire.protocol.wire import WireBuffer
from barnabas.wire.security.authorizer import AllowAll
from tests.unit.turns import slices_of

TOPICS = ["a", "b", "u-long" * 20, "__consumer_offsets"]
LISTENERS = ["PLAINTEXT", "INTERNAL"]
DELETED = -2

ids = st.integers(0, 3)
replica_lists = st.lists(ids, unique=True, max_size=4)
states = st.builds(
    UpdateMetadataPartitionState2,
    partition_index=st.integers(0, 3),
    leader=st.sampled_from([0, 1, 2, 3, -1, DELETED]),
    leader_epoch=st.integers(0, 9),
    isr=replica_lists,
    replicas=replica_lists,
    offline_replicas=replica_lists,
)
long_topics = st.builds(
    lambda leader: [
        UpdateMetadataPartitionState2(partition_index=index, leader=leader, isr=[leader], replicas=[leader])
        for index in range(MOST_ELEMENTS_AT_ONCE + 1)
    ],
    ids,
)
topic_states = st.builds(
    UpdateMetadataTopicState,
    topic_name=st.sampled_from(TOPICS),
    partition_states=st.one_of(*[st.lists(states, max_size=4)] * 9, long_topics),
)
brokers = st.builds(
    UpdateMetadataBroker,
    id=ids,
    endpoints=st.lists(
        st.builds(
            UpdateMetadataEndpoint, port=st.integers(1, 9), host=st.just("h"), listener=st.sampled_from(LISTENERS)
        ),
        unique_by=lambda each: each.listener,
    ),
    rack=st.sampled_from([None, "r"]),
)
updates = st.builds(
    UpdateMetadataRequest,
    controller_id=ids,
    controller_epoch=st.just(1),
    topic_states=st.lists(topic_states, max_size=4),
    live_brokers=st.lists(brokers, unique_by=lambda each: each.id, max_size=4),
)
named = st.lists(st.sampled_from([*TOPICS, "unknown", "not there"]).map(MetadataRequestTopic), max_size=6)
requests = st.tuples(
    st.integers(HANDLER.min_version, HANDLER.max_version),
    st.builds(
        MetadataRequest,
        topics=st.none() | named,
        allow_auto_topic_creation=st.just(False),
        include_cluster_authorized_operations=st.booleans(),
        include_topic_authorized_operations=st.booleans(),
    ),
    st.sampled_from(LISTENERS),
    st.booleans(),
)


class Peer:
    """Asks the handler as a session would."""

    def __init__(self) -> None:
        self._due: list = []
        self.codec = ManualExecutor()
        clock = ManualClock()
        slices = slices_of(clock, self._due.append)
        slices.codec = self.codec
        self.view = ClusterView("cluster")
        self.parts = TopicParts()
        config = SimpleNamespace(auto_create_topics_enable=False)
        cluster_known = asyncio.Event()
        cluster_known.set()
        self._services: Any = SimpleNamespace(
            config=config,
            cluster=self.view,
            cluster_known=cluster_known,
            slices=slices,
            topic_parts=self.parts,
            authorizer=AllowAll(),
        )

    def ask(self, version: int, request: MetadataRequest, listener: str, is_large: bool, changes=()) -> bytes:
        """The bytes of the answer.

        Args:
            changes: What the broker is told while a large request is on its way.
        """
        ctx = RequestContext(self._services, ConnectionInfo("h", 1, listener), "client", version, 1)
        ctx.is_large = is_large
        answer = HANDLER.handle(ctx, request)
        for change in changes:
            self.view.update_metadata(change)
        if isinstance(answer, Pending):
            while not answer.is_done:
                due, self._due[:] = list(self._due), []
                for task in due:
                    task()
                self.codec.run_all()
            answer = answer.value
        return encoded(answer, version)


def encoded(answer, version: int) -> bytes:
    out = WireBuffer(b"header")
    encode = HANDLER.response_class.ENCODERS[version] if HANDLER.response_class else None
    assert encode is not None
    encode(answer, out)
    return bytes(out)


def expected(image: ClusterImage, version: int, request: MetadataRequest, listener: str) -> bytes:
    """The answer built of objects, and encoded at one stroke."""
    names = list(image.topics) if request.topics is None else [each.name for each in request.topics]
    if version == 0 and not names:
        names = list(image.topics)
    names = list(dict.fromkeys(names))
    known = [name for name in names if name in image.topics]
    reachable = {each.broker_id for each in image.brokers.values() if listener in each.endpoints}
    operations = 0b110111111000 if request.include_topic_authorized_operations else -(1 << 31)
    topics = []
    for name in known:
        partitions = [partition(image, reachable, version, *each) for each in image.topics[name].items()]
        topics.append(MetadataResponseTopic(0, name, name == "__consumer_offsets", partitions, operations))
    # Kafka says what one may do with a topic also where there is none.
    topics += [
        MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name, topic_authorized_operations=operations)
        for name in names
        if name not in image.topics
    ]
    out = WireBuffer(b"header")
    MetadataResponse(
        0,
        [
            MetadataResponseBroker(each.broker_id, *each.endpoints[listener], each.rack)
            for each in image.brokers.values()
            if listener in each.endpoints
        ],
        image.cluster_id,
        image.controller_id,
        topics,
        0b1111110100000 if request.include_cluster_authorized_operations else -(1 << 31),
    ).encode(version, out)
    return bytes(out)


def partition(
    image: ClusterImage, reachable: set[int], version: int, index: int, state: PartitionState
) -> MetadataResponsePartition:
    error, leader = ErrorCode.NONE, state.leader
    replicas, isr = list(state.replicas), list(state.isr)
    if leader not in reachable:
        is_alive = leader in image.brokers
        error = ErrorCode.LISTENER_NOT_FOUND if is_alive and version >= 6 else ErrorCode.LEADER_NOT_AVAILABLE
        leader = -1
    if version == 0:
        replicas = [each for each in replicas if each in reachable]
        isr = [each for each in isr if each in reachable]
        if error == ErrorCode.NONE and (len(replicas) < len(state.replicas) or len(isr) < len(state.isr)):
            error = ErrorCode.REPLICA_NOT_AVAILABLE
    return MetadataResponsePartition(error, index, leader, state.leader_epoch, replicas, isr, list(state.offline))


def for_version(version: int, request: MetadataRequest, image: ClusterImage) -> MetadataRequest:
    """The request as that version can say it, without internal topics that would be created."""
    topics = request.topics
    if topics is None and version == 0:
        topics = []
    if topics is not None:
        topics = [each for each in topics if each.name in image.topics or each.name != "__consumer_offsets"]
    if version < 8:
        return MetadataRequest(topics, request.allow_auto_topic_creation)
    return MetadataRequest(
        topics,
        request.allow_auto_topic_creation,
        request.include_cluster_authorized_operations,
        request.include_topic_authorized_operations,
    )


# An example is a story of up to 35 requests.
@settings(max_examples=settings().max_examples // 2)
@given(st.lists(st.tuples(updates, st.lists(requests, min_size=1, max_size=6)), min_size=1, max_size=5), updates)
def test_what_is_kept_says_what_is_so(story, late):
    peer = Peer()
    for update, asked in story:
        peer.view.update_metadata(update)
        for version, made, listener, is_large in asked:
            request = for_version(version, made, peer.view.image)
            # Twice: made, and kept.
            for _ in range(2):
                answer = peer.ask(version, request, listener, is_large)
                assert answer == expected(peer.view.image, version, request, listener)
    # What comes between the slices of a large request does not get into what is kept.
    for version, made, listener, _ in asked:
        request = for_version(version, made, peer.view.image)
        peer.ask(version, request, listener, True, [late, update])
        request = for_version(version, made, peer.view.image)
        for _ in range(2):
            answer = peer.ask(version, request, listener, False)
            assert answer == expected(peer.view.image, version, request, listener)
    assert len(peer.parts) <= MOST_KINDS
    kind = peer.parts.of(peer.view.image, version, listener, request.include_topic_authorized_operations)
    assert len(kind) <= len(peer.view.image.topics)
