"""Groups in the phases that tests start from, and a coordinator on a manual clock with a log in memory."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from barnabas.broker.cluster.image import ClusterView
from barnabas.broker.diagnostics.rebalances import Note, Rebalances
from barnabas.broker.groups.coordinator import GroupCoordinator
from barnabas.broker.groups.events import Event, Join, Sync
from barnabas.broker.groups.group import Group, GroupSettings
from barnabas.broker.groups.state import step
from barnabas.broker.log.append_result import AppendResult
from barnabas.core.config import BrokerConfig
from barnabas.core.error_code import ErrorCode
from barnabas.core.executor import Executor, InlineExecutor
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC
from barnabas.core.pending import Pending, completed
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState2,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from barnabas.wire.records.batch import batches, read_header, set_base_offset
from tests.unit.broker.groups.asking import Client

SETTINGS = GroupSettings(initial_rebalance_delay_ms=3_000)
MOST_BYTES = 8_000_000
RANGE = (("range", b"topics of a member"),)


def join_event(member_id="", new_member_id="", *, protocols=RANGE, is_member_id_required=False, **changes) -> Join:
    values: dict[str, Any] = {
        "client_id": "client",
        "client_host": "/127.0.0.1",
        "rebalance_timeout_ms": 60_000,
        "session_timeout_ms": 10_000,
        "protocol_type": "consumer",
    } | changes
    return Join(member_id, new_member_id, is_member_id_required, protocols=protocols, **values)


class Effects(list):
    """Effects, equal only when their types are, too: they are tuples."""

    def __eq__(self, other) -> bool:
        return [(type(each), *each) for each in self] == [(type(each), *each) for each in other]

    __hash__ = None

    def __contains__(self, wanted) -> bool:
        return any(type(each) is type(wanted) and each == wanted for each in self)


class Story:
    """A group to which events happen one after the other; the storage answers when told.

    Attributes:
        rebalances: What its notes, which are not among the effects that are returned, have become.
    """

    def __init__(self, settings: GroupSettings = SETTINGS) -> None:
        self.group = Group("g", settings)
        self.now_ms = 0
        self.rebalances = Rebalances(1 << 20)

    def happen(self, event: Event) -> Effects:
        effects = step(self.group, event, self.now_ms)
        for note in effects:
            if isinstance(note, Note):
                self.rebalances.note("g", note, self.now_ms)
        return Effects(effect for effect in effects if not isinstance(effect, Note))

    def gather(self, *member_ids: str) -> None:
        """New members join an empty group, and the initial delay passes."""
        from barnabas.broker.groups.events import REBALANCE_TIMER, TimerFired

        for member_id in member_ids:
            self.happen(join_event(new_member_id=member_id))
        for _ in range(2):
            self.now_ms += 3_000
            self.happen(TimerFired(REBALANCE_TIMER))

    def stabilize(self, *member_ids: str) -> None:
        """The members gather and get assignments that name them."""
        from barnabas.broker.groups.events import GroupStored

        self.gather(*member_ids)
        generation = self.group.generation
        assignments = {member_id: f"for {member_id}".encode() for member_id in member_ids}
        for member_id in member_ids:
            self.happen(Sync(member_id, generation, assignments))
        self.happen(GroupStored(generation, assignments, ErrorCode.NONE))


@pytest.fixture
def story() -> Story:
    return Story()


@pytest.fixture
def stable_story(story: Story) -> Story:
    story.stabilize("m1", "m2")
    return story


class MemoryLog:
    """The log of one partition, in memory."""

    def __init__(self) -> None:
        self.data: list[bytes] = []
        self.log_start_offset = 0
        self.log_end_offset = 0

    def append(self, records: bytearray) -> int:
        base_offset = self.log_end_offset
        for batch in batches(records):
            header = read_header(batch)
            set_base_offset(batch, 0, self.log_end_offset)
            self.log_end_offset += header.last_offset_delta + 1
            self.data.append(bytes(batch))
        return base_offset

    def batches(self, start_offset: int, end_offset: int) -> Iterator[memoryview]:
        return iter([memoryview(batch) for batch in self.data])


class MemoryPartition:
    def __init__(self) -> None:
        self.log = MemoryLog()


class MemoryReplicas:
    """Partitions in memory. `error_code` fails every append, `failure` is raised by it; with `is_slow` the answers come
    by `release`."""

    def __init__(self) -> None:
        self.partitions: dict[TopicPartition, MemoryPartition] = {}
        self.error_code = ErrorCode.NONE
        self.failure: Exception | None = None
        self.is_slow = False
        self.waiting: list[tuple[Pending[AppendResult], AppendResult]] = []

    def partition(self, topic_partition: TopicPartition, /) -> MemoryPartition | None:
        return self.partitions.get(topic_partition)

    def append(
        self, topic_partition: TopicPartition, records: bytearray, required_acks: int, timeout_ms: int, /
    ) -> Pending[AppendResult]:
        if self.failure is not None:
            raise self.failure
        if self.error_code is not ErrorCode.NONE:
            return completed(AppendResult(self.error_code))
        result = AppendResult(ErrorCode.NONE, self.partitions[topic_partition].log.append(records))
        if not self.is_slow:
            return completed(result)
        pending: Pending[AppendResult] = Pending()
        self.waiting.append((pending, result))
        return pending

    def release(self) -> None:
        waiting, self.waiting = self.waiting, []
        for pending, result in waiting:
            pending.complete(result)


def cluster_view() -> ClusterView:
    """A cluster of one broker with two partitions of `__consumer_offsets`."""
    view = ClusterView("cluster")
    offsets = [UpdateMetadataPartitionState2(index) for index in range(2)]
    topic_states = [
        UpdateMetadataTopicState(GROUP_OFFSETS_TOPIC, partition_states=offsets),
        UpdateMetadataTopicState("t", partition_states=[UpdateMetadataPartitionState2(0)]),
    ]
    endpoint = UpdateMetadataEndpoint(9092, "broker.example", "PLAINTEXT")
    broker = UpdateMetadataBroker(0, endpoints=[endpoint])
    view.update_metadata(UpdateMetadataRequest(topic_states=topic_states, live_brokers=[broker]))
    return view


class Service:
    """A coordinator that owns all partitions of `__consumer_offsets`."""

    def __init__(self, clock: ManualClock, **settings: str) -> None:
        self.clock = clock
        self.config = BrokerConfig.single_broker(
            {"offsets.topic.num.partitions": "2", **{name.replace("_", "."): value for name, value in settings.items()}}
        )
        self.cluster = cluster_view()
        self.replicas = MemoryReplicas()
        for index in range(2):
            self.replicas.partitions[TopicPartition(GROUP_OFFSETS_TOPIC, index)] = MemoryPartition()
        self.groups = self.start(InlineExecutor())

    def restart(self) -> GroupCoordinator:
        """Another coordinator takes over what the log holds."""
        self.groups.close()
        self.groups = self.start(InlineExecutor())
        return self.groups

    def start(self, executor: Executor) -> GroupCoordinator:
        """A coordinator that begins to lead all partitions."""
        groups = GroupCoordinator(
            self.config, self.clock, self.clock, executor, self.replicas, 2, Random(1), MOST_BYTES
        )
        groups.start()
        for index in range(2):
            groups.on_partition_leader(index, 0)
        return groups


@pytest.fixture
def service(clock: ManualClock) -> Service:
    return Service(clock)


@pytest.fixture
def make_join():
    return join_event


@pytest.fixture
def make_story():
    return Story


@pytest.fixture
def make_service():
    return Service


@pytest.fixture
def client(service: Service) -> Client:
    return Client(service)
