"""A cluster in memory: one real broker's controller and registry, hosts of replicas that take notes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from random import Random
from typing import TypeVar

from barnabas.broker.administration.partitions import PartitionAdmin
from barnabas.broker.administration.topics import TopicAdmin
from barnabas.broker.cluster.image import ClusterView
from barnabas.broker.cluster.watcher import ConfigWatcher
from barnabas.broker.controller.controller import Controller
from barnabas.broker.controller.local_channel import LocalChannel
from barnabas.broker.controller.requests import ControlRequest, ControlResponse
from barnabas.broker.controller.sender import BrokerLink, Delivered, Sender
from barnabas.broker.controller.state import Moving
from barnabas.broker.interbroker.versions import version_of
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.broker.registry.tree import Stage, Tree
from barnabas.broker.replicas.control_requests import ControlRequests
from barnabas.core.config import BrokerConfig, Endpoint
from barnabas.core.error_code import ErrorCode
from barnabas.core.executor import InlineExecutor
from barnabas.core.pending import Pending, Spawner
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from barnabas.wire.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from barnabas.wire.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from barnabas.wire.protocol.wire import WireBuffer
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import bootstrap, register_broker
from barnabas.wire.registry.store import CreateOp, DeleteOp, SetOp
from barnabas.wire.registry.znodes.brokers import BrokerRegistration, encode_registration
from barnabas.wire.registry.znodes.topics import PartitionStateNode, decode_partition_state
from tests.patience import PATIENCE_S

T = TypeVar("T")


def registration(broker_id: int, rack: str | None = None) -> BrokerRegistration:
    return BrokerRegistration(broker_id, (Endpoint("PLAINTEXT", f"host{broker_id}", 9092, "PLAINTEXT"),), rack)


class NotedReplicas:
    """Hosts replicas by saying yes and taking notes; while `is_holding`, answers wait for `release`."""

    def __init__(self) -> None:
        self.requests: list[LeaderAndIsrRequest | StopReplicaRequest] = []
        self.is_holding = False
        self._held: list[Callable[[], None]] = []

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> Pending[LeaderAndIsrResponse]:
        self.requests.append(request)
        return self._answer(LeaderAndIsrResponse(ErrorCode.NONE))

    def stop_replica(self, request: StopReplicaRequest) -> Pending[StopReplicaResponse]:
        self.requests.append(request)
        return self._answer(StopReplicaResponse(ErrorCode.NONE))

    def _answer(self, response: T) -> Pending[T]:
        pending: Pending[T] = Pending()
        if self.is_holding:
            self._held.append(lambda: pending.complete(response))
        else:
            pending.complete(response)
        return pending

    def release(self) -> None:
        self.is_holding = False
        held, self._held = self._held, []
        for answer in held:
            answer()


class NotedLink:
    """Another broker's link: takes notes and says yes, or what `answer` gives."""

    def __init__(self, protocol: str) -> None:
        self._protocol = protocol
        self.requests: list[ControlRequest] = []
        self.answer: Callable[[ControlRequest], ControlResponse | None] | None = None

    def send(self, request: ControlRequest, then: Delivered) -> None:
        # It is one that can be sent.
        request.encode(version_of(request.API_KEY, self._protocol), WireBuffer())
        self.requests.append(request)
        response = None if self.answer is None else self.answer(request)
        if response is not None:
            then(response)
        elif isinstance(request, LeaderAndIsrRequest):
            then(LeaderAndIsrResponse(ErrorCode.NONE))
        elif isinstance(request, StopReplicaRequest):
            then(StopReplicaResponse(ErrorCode.NONE))
        else:
            then(UpdateMetadataResponse(ErrorCode.NONE))

    def of(self, kind: type[T]) -> list[T]:
        return [request for request in self.requests if isinstance(request, kind)]


class Cluster:
    """Broker 0 and what it is made of. `tree` outlives it, as the journal would."""

    def __init__(self, config: BrokerConfig, errors: list[object]) -> None:
        self.config = config
        self.errors = errors
        self.tree = Tree()

    async def start(self) -> None:
        """Begin as a new process on what the registry holds."""
        clock = self.clock = ManualClock()
        registry = self.registry = EmbeddedRegistry(self.tree, None, clock, InlineExecutor())
        config = self.config
        self.replicas = NotedReplicas()
        self.links: dict[int, NotedLink] = {}
        self.spawner = Spawner(self.errors.append)
        # How many partitions there is room for.
        self.room = 1 << 31
        self.view = ClusterView("cluster")
        self.configs = ConfigWatcher(registry, clock, clock, self.spawner)
        self.configs.subscribe(paths.TOPICS, self.view.set_topic_overrides)
        self.control = ControlRequests(self.replicas, self.view, self._load_settings, self.spawner)
        self.control.registered()
        sender = Sender(clock, clock, self._link_to)
        self.controller = Controller(0, registry, clock, clock, sender, "PLAINTEXT", config)
        self.topics = TopicAdmin(registry, self.view, self.controller, config, clock, Random(1))
        self.partitions = PartitionAdmin(registry, self.view, self.controller, clock, lambda: self.room)
        await bootstrap(self.registry, Random(1))
        self.view.broker_epoch = await register_broker(self.registry, registration(0))
        await self.configs.start()
        await self.controller.start()

    async def restart(self) -> None:
        await self.close()
        await self.start()

    async def _load_settings(self, topics: Iterable[str]) -> None:
        await self.configs.load(f"{paths.TOPICS}/{topic}" for topic in topics)

    def _link_to(self, broker_id: int) -> BrokerLink:
        if broker_id == 0:
            return LocalChannel(self.control)
        link = self.links[broker_id] = NotedLink(self.config.inter_broker_protocol_version)
        return link

    async def add_broker(self, broker_id: int, rack: str | None = None) -> None:
        """Another broker registers."""
        data = encode_registration(registration(broker_id, rack))
        path = paths.broker(broker_id)
        await self.registry.multi([CreateOp(path, is_ephemeral=True), SetOp(path, data)])
        await until(lambda: broker_id in self.view.image.brokers)
        await settle()

    async def remove_broker(self, broker_id: int) -> None:
        """Another broker's session ends."""
        await self.registry.delete(paths.broker(broker_id))
        await until(lambda: broker_id not in self.view.image.brokers)
        await settle()

    async def state(self, topic: str, partition: int) -> PartitionStateNode:
        data, _ = await self.registry.get(paths.partition_state(topic, partition))
        return decode_partition_state(data)

    async def close(self) -> None:
        await self.controller.close()
        await self.spawner.close()
        await self.registry.close()
        self._drop_ephemerals()

    def _drop_ephemerals(self) -> None:
        """What the end of a session does."""
        stage = Stage(self.tree, 1)
        for path in (paths.CONTROLLER, paths.broker(0)):
            if self.tree.get(path) is not None:
                stage.apply([DeleteOp(path)], 0)
        self.tree.commit(stage)


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until a condition holds."""
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not come to that")


async def settle() -> None:
    """Let everything that is under way end: nothing here waits for anything but the loop."""
    for _ in range(100):
        await asyncio.sleep(0)


def play(*stories: Callable[[Cluster], Awaitable[None]], overrides: dict[str, str] | None = None) -> None:
    """Run each story on a broker of its own, one after the other on the same registry."""
    errors: list[object] = []
    cluster = Cluster(BrokerConfig.single_broker(overrides), errors)

    async def all_stories() -> None:
        for story in stories:
            await cluster.start()
            try:
                await story(cluster)
            finally:
                await cluster.close()

    asyncio.run(asyncio.wait_for(all_stories(), PATIENCE_S))
    assert errors == []


def metadata_topics(request: UpdateMetadataRequest) -> dict[str, dict[int, int]]:
    """Topic to partition to leader, as a request tells."""
    return {
        topic.topic_name: {state.partition_index: state.leader for state in topic.partition_states}
        for topic in request.topic_states
    }


def moving(cluster: Cluster) -> dict[TopicPartition, Moving]:
    """Return the reassignments in the controller's state."""
    assert cluster.controller.state is not None
    return cluster.controller.state.reassignments()
