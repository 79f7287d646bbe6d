"""A broker's data path in one process: handlers over a replica manager over logs on a disk, one topic per name."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from operator import call
from pathlib import Path
from random import Random
from typing import Any

import pytest

from barnabas.broker.cluster.image import ClusterView
from barnabas.broker.log.disk.files import FileSlice
from barnabas.broker.log.manager import LogManager
from barnabas.broker.quotas.manager import Client
from barnabas.broker.replicas.control_requests import ControlRequests
from barnabas.broker.replicas.leader_replicas import LeaderReplicas
from barnabas.broker.replicas.log_dirs import ReplicaLogDirs
from barnabas.broker.replicas.manager import ReplicaManager
from barnabas.broker.requests.context import ConnectionInfo
from barnabas.broker.requests.conversions import Conversions
from barnabas.broker.requests.exchange import Exchange
from barnabas.broker.requests.fetches.sessions import FetchSessions
from barnabas.broker.requests.handlers import fetch, list_offsets, produce
from barnabas.broker.requests.table import Handler, Route
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.pending import Pending, Spawner
from barnabas.core.purgatory import Purgatory
from barnabas.core.types import TopicPartition
from barnabas.testing.faulty_disk import FaultyDisk
from barnabas.testing.manual_clock import ManualClock
from barnabas.testing.manual_executor import ManualExecutor
from barnabas.wire.protocol.api_keys import response_class
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState2,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from barnabas.wire.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from barnabas.wire.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState2,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from barnabas.wire.protocol.wire import WireBuffer
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.security.principals import ANONYMOUS
from tests.patience import PATIENCE_S
from tests.unit.broker.handling import encoded, recoded, services_of
from tests.unit.broker.requests.wire import Wire

BROKER_ID = 1


def batch(count=1, value=b"value", *, key=b"key", timestamp_ms=1_600_000_000_000, **producer: Any):
    builder = BatchBuilder(**producer)
    for _ in range(count):
        builder.append(timestamp_ms, key, value)
    return builder.build()


def produce_request(records: Mapping[str, bytes], acks: int = 1, transactional_id: str | None = None) -> ProduceRequest:
    """Records for partition 0 of each topic."""
    data = [TopicProduceData(topic, [PartitionProduceData(0, bytes(each))]) for topic, each in records.items()]
    return ProduceRequest(transactional_id, acks, 1_000, data)


def wanted(offset: int = 0, partition: int = 0, max_bytes: int = 1 << 20, **changes: Any) -> FetchPartition:
    """A partition in a fetch."""
    return FetchPartition(partition, fetch_offset=offset, partition_max_bytes=max_bytes, **changes)


def fetch_request(*partitions: FetchPartition, topics: Iterable[str] = ("t",), **changes: Any) -> FetchRequest:
    """A fetch of the same partitions of each topic; a consumer's that wants a byte and does not wait, by default."""
    values = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 24, "replica_id": -1} | changes
    return FetchRequest(topics=[FetchTopic(topic, list(partitions)) for topic in topics], **values)


class HoldingExecutor(ManualExecutor):
    """Does the work at once; while it is holding, when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.is_holding = False

    def run(self, work, then, failed) -> None:
        super().run(work, then, failed)
        if not self.is_holding:
            self.run_all()


class DataPath:
    """Sends requests to the handlers as the session would.

    Attributes:
        errors: What failed in the background.
        preparing: Where long appends are prepared.
        writing: Where logs are made, written ahead and followed by their files.
        kept_frames: How many requests' bytes are kept at the moment.
    """

    def __init__(self, directory: Path, **settings: str) -> None:
        self.clock = ManualClock()
        self.disk = FaultyDisk()
        self.errors: list[BaseException] = []
        self.preparing = HoldingExecutor()
        self.writing = HoldingExecutor()
        self.conversions = Conversions(HoldingExecutor(), HoldingExecutor(), Random(1))
        self.kept_frames = 0
        self._directory = directory
        self._settings = settings
        self._topic_configs: dict[str, TopicConfig] = {}
        self._leader_epoch = 0
        self.start()

    def start(self) -> None:
        """Open what is in the directory."""
        config = BrokerConfig.from_properties({"log.dirs": str(self._directory), **self._settings}, None, "test")
        self.config = config
        self.logs = LogManager(
            config,
            self.clock,
            self.clock,
            self.writing,
            lambda partition: self.topic_config(partition.topic),
            self.errors.append,
            files=self.disk,
        )
        asyncio.run(self._open())
        self._due: list[tuple[Callable[..., object], tuple[object, ...]]] = []
        fetches = Purgatory(self.clock, lambda callback, *args: self._due.append((callback, args)))
        leader_replicas = LeaderReplicas(BROKER_ID, self.clock, self.clock, fetches, lambda: 30_000)
        self.replicas = ReplicaManager(
            BROKER_ID, self.logs, fetches, self.topic_config, self.preparing, call, leader_replicas
        )
        spawner, view = Spawner(self.errors.append), ClusterView("cluster")
        control = ControlRequests(self.replicas, view, self._load_settings, spawner)
        control.registered()
        self.services = services_of(
            self.clock,
            lambda task: self._due.append((task, ())),
            config=config,
            spawner=spawner,
            cluster=view,
            replicas=self.replicas,
            control=control,
            fetches=fetches,
            log_dirs=ReplicaLogDirs(self.logs, self.replicas),
            conversions=self.conversions,
            fetch_sessions=FetchSessions(config.max_incremental_fetch_session_cache_slots, self.clock, Random(1)),
        )
        for topic in self._topic_configs:
            self._lead(topic)

    async def _load_settings(self, topics: Iterable[str]) -> None:
        for topic in topics:
            self.services.cluster.set_topic_overrides(topic, {})

    async def _open(self) -> None:
        await self.logs.lock()
        await self.logs.load("cluster", BROKER_ID)

    def stop(self) -> None:
        """Close all logs cleanly."""
        asyncio.run(self.logs.close())

    def topic_config(self, topic: str) -> TopicConfig:
        known = self._topic_configs.get(topic)
        return known if known is not None else TopicConfig.from_broker(self.config)

    def create(self, topic: str, **overrides: object) -> None:
        """Lead partition 0 of a new topic with some settings; an underscore stands for a dot."""
        self.configure(topic, **overrides)
        self._lead(topic)

    def configure(self, topic: str, **overrides: object) -> None:
        """Replace a topic's settings."""
        named = {name.replace("_", "."): str(value) for name, value in overrides.items()}
        self._topic_configs[topic] = TopicConfig.from_broker(self.config).with_overrides(named)
        self.replicas.update_topic_config(topic)

    def led_elsewhere(self, *topics: str) -> None:
        """Learn of topics whose partition 0 has no replica here."""
        other = BROKER_ID + 1
        state = UpdateMetadataPartitionState2(0, 1, other, 1, [other], 1, [other])
        states = [UpdateMetadataTopicState(topic, [state]) for topic in topics]
        self.services.cluster.update_metadata(UpdateMetadataRequest(controller_epoch=1, topic_states=states))

    def _lead(self, topic: str) -> None:
        self._be_told(topic, BROKER_ID, [BROKER_ID])

    def follow(self, topic: str) -> None:
        """Become a follower of partition 0."""
        self._be_told(topic, BROKER_ID + 1, [BROKER_ID + 1, BROKER_ID])

    def _be_told(self, topic: str, leader: int, replicas: list[int]) -> None:
        assert self.leadership(topic, leader, replicas) == 0

    def leadership(
        self,
        topic: str,
        leader: int = BROKER_ID,
        replicas: Sequence[int] = (BROKER_ID,),
        isr: Sequence[int] | None = None,
    ) -> int:
        """The error code of being told who leads partition 0; all replicas are in sync unless it is said."""
        self._leader_epoch += 1
        state = LeaderAndIsrPartitionState2(
            partition_index=0,
            controller_epoch=1,
            leader=leader,
            leader_epoch=self._leader_epoch,
            isr=list(replicas if isr is None else isr),
            replicas=list(replicas),
        )
        request = LeaderAndIsrRequest(controller_epoch=1, topic_states=[LeaderAndIsrTopicState(topic, [state])])
        answer = self.replicas.leader_and_isr(request)
        assert answer.is_done
        (partition,) = answer.value.partition_errors
        return int(partition.error_code)

    def log(self, topic: str):
        """The log of partition 0."""
        return self.partition(topic).log

    def partition(self, topic: str):
        partition = self.replicas.partition(TopicPartition(topic, 0))
        assert partition is not None
        return partition

    def run_due(self) -> int:
        """Do what was put off to the next turn of the loop, and what comes of it; gives the number of turns."""
        turn_count = 0
        while self._due:
            self.run_one_turn()
            turn_count += 1
        return turn_count

    def run_one_turn(self) -> None:
        due, self._due[:] = list(self._due), []
        for callback, args in due:
            callback(*args)

    def exchange(self, handler, version: int, request) -> Exchange:
        """A request as it is decoded from the wire."""
        assert handler.min_version <= version <= handler.max_version
        decoded = recoded(request, version, handler.request_class)
        size = len(encoded(request, version))
        connection = ConnectionInfo("10.1.2.3", 5_000, "PLAINTEXT")
        # Of which nothing is used but the context: no class may inherit from a compiled one.
        session: Any = self
        route = route_of(handler, version)
        return Exchange(self.services, connection, "client", version, 1, route, decoded, session, 0, self.client, size)

    def begin(self, handler, version: int, request, *, is_large: bool = False) -> object:
        """Handle a request as it is decoded from the wire; gives the response or a pending one."""
        ctx = self.exchange(handler, version, request)
        ctx.is_large = is_large
        return handler.handle(ctx, ctx.request)

    @property
    def client(self) -> Client:
        """Whose requests these are."""
        return self.services.quotas.enter(ANONYMOUS.name, "client", 0)

    def now_ns(self) -> int:
        return self.clock.monotonic_ns()

    def take_network_ns(self) -> int:
        return 0

    def wait_for_answer(self, exchange: Exchange) -> None:
        """Nothing is taken from it but its requests, one by one."""

    def settle_soon(self, outcome: object) -> None:
        """Its answer is looked at by who made it."""

    def keep_frame(self) -> Callable[[], object]:
        self.kept_frames += 1

        def release() -> None:
            self.kept_frames -= 1

        return release

    def finish(self, handler, version: int, response):
        """The response as the client decodes it; slices of files are read."""
        if isinstance(response, Pending):
            self.run_due()
            assert response.is_done
            response = response.value
        out = WireBuffer()
        response.encode(version, out)
        data = bytearray()
        position = 0
        for at, part in out.regions:
            assert isinstance(part, FileSlice)
            data += out[position:at] + part.read()
            position = at
        data += out[position:]
        decoded, end = response_class(handler.api_key).decode(version, memoryview(data))
        assert end == len(data)
        return decoded

    def call(self, handler, version: int, request):
        return self.finish(handler, version, self.begin(handler, version, request))

    def produce(self, topic: str, records: bytes, version: int = 8, *, acks: int = 1, transactional_id=None):
        """One partition's answer."""
        request = produce_request({topic: records}, acks, transactional_id)
        (answered,) = self.call(produce.HANDLER, version, request).responses
        return answered.partition_responses[0]

    def fetch_request(self, topic: str, offset: int = 0, *, max_bytes=1 << 20, wait_ms=0, isolation=0, total=1 << 24):
        partition = wanted(offset, max_bytes=max_bytes)
        return fetch_request(partition, topics=[topic], max_wait_ms=wait_ms, max_bytes=total, isolation_level=isolation)

    def fetch(self, topic: str, offset: int = 0, version: int = 11, **options: int):
        """One partition's answer."""
        return self.fetched(self.begin(fetch.HANDLER, version, self.fetch_request(topic, offset, **options)), version)

    def fetched(self, response, version: int = 11):
        """The one partition's answer of a fetch that has ended."""
        ((data,),) = (topic.partitions for topic in self.finish(fetch.HANDLER, version, response).responses)
        return data

    def stop_replica(self, topic: str, *, is_deleted: bool) -> None:
        """Be told by the controller that partition 0 of a topic leaves this broker, or is deleted."""
        state = StopReplicaPartitionState(0, leader_epoch=-2, delete_partition=is_deleted)
        topics = StopReplicaTopicState(topic, [state])
        self.replicas.stop_replica(StopReplicaRequest(controller_epoch=1, topic_states=[topics]))

    def list_offsets(self, topic: str, timestamp: int, version: int = 5, *, isolation=0, count=1, replica_id=-1):
        """One partition's answer."""
        wanted = ListOffsetsPartition(0, timestamp=timestamp, max_num_offsets=count)
        request = ListOffsetsRequest(replica_id, isolation, [ListOffsetsTopic(topic, [wanted])])
        return self.call(list_offsets.HANDLER, version, request).topics[0].partitions[0]


def route_of(handler: Handler, version: int) -> Route:
    """The route to a handler alone."""
    decode = handler.request_class.DECODERS[version]
    encode = response_class(handler.api_key).ENCODERS[version]
    assert decode is not None
    assert encode is not None
    name, has_tagged_header, has_throttle_time, is_limited = "any", False, False, False
    return Route(
        name,
        handler.api_key,
        version,
        decode,
        encode,
        handler.handle,
        handler.refuse,
        has_tagged_header,
        has_throttle_time,
        is_limited,
        handler.goes_on,
    )


@pytest.fixture
def data_path(tmp_path: Path) -> DataPath:
    return DataPath(tmp_path / "data")


@pytest.fixture
def play(data_path: DataPath) -> Callable[..., None]:
    """Runs a test with a function that connects a client to a broker with these handlers."""

    def run(test: Callable[[Callable[..., Wire]], Awaitable[None]]) -> None:
        wires: list[Wire] = []

        def connect(*handlers: Handler, **options: Any) -> Wire:
            wires.append(Wire(data_path.services, handlers, **options))
            return wires[-1]

        async def main() -> None:
            try:
                await asyncio.wait_for(test(connect), PATIENCE_S)
            finally:
                for wire in wires:
                    wire.close()

        asyncio.run(main())

    return run


@pytest.fixture
def make_data_path(tmp_path: Path) -> Callable[..., DataPath]:
    def make(**settings: str) -> DataPath:
        return DataPath(tmp_path / "data", **{name.replace("_", "."): value for name, value in settings.items()})

    return make
