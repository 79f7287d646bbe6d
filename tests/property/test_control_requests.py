"""Control requests leave the same whether logs are opened at once or late, in whatever order things happen."""

import asyncio
import tempfile
from operator import call
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import example, given, settings
from hypothesis import strategies as st

from barnabas.broker.log.manager import LogManager
from barnabas.broker.replicas.leader_replicas import LeaderReplicas
from barnabas.broker.replicas.manager import ReplicaManager
from barnabas.broker.replicas.partition import Partition
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.executor import Executor, InlineExecutor
from barnabas.core.pending import Pending
from barnabas.core.purgatory import Purgatory
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.testing.manual_executor import ManualExecutor
from barnabas.wire.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState2,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from barnabas.wire.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)

BROKER_ID = 1
PARTITIONS = [TopicPartition("t", index) for index in (0, 1)]


class Lead(NamedTuple):
    """The controller names a leader for some partitions."""

    partitions: tuple[int, ...]
    leader: int
    leader_epoch: int


class Stop(NamedTuple):
    """The controller stops a partition."""

    partition: int
    leader_epoch: int
    is_deleted: bool


class Work(NamedTuple):
    """The oldest log that is being opened, or what else there is to do, gets on."""


Step = Lead | Stop | Work

leads = st.builds(Lead, st.sampled_from([(0,), (1,), (0, 1)]), st.sampled_from([BROKER_ID, 2]), st.integers(0, 3))
stops = st.builds(Stop, st.sampled_from([0, 1]), st.sampled_from([-2, -1, 1, 3]), st.booleans())
steps = st.lists(st.one_of(leads, stops, st.just(Work())), max_size=8)


class Broker:
    """A replica manager over real logs.

    Attributes:
        led: The partitions that the listener for leadership believes to be led, with their leader epochs.
        loaded: The `leading_since` of each of them when the listener last loaded it: not again while it is led.
    """

    def __init__(self, directory: Path) -> None:
        config = BrokerConfig.from_properties({"log.dirs": str(directory)}, None, "test")
        self.topic_config = TopicConfig.from_broker(config)
        self.executor: Executor = InlineExecutor()
        self.clock = ManualClock()
        self.failures: list[BaseException] = []
        self.logs = LogManager(config, self.clock, self.clock, self, lambda _: self.topic_config, self.failures.append)
        asyncio.run(self._start())
        fetches = Purgatory(self.clock, lambda callback, *args: callback(*args))
        self.replicas = ReplicaManager(
            BROKER_ID,
            self.logs,
            fetches,
            lambda _: self.topic_config,
            InlineExecutor(),
            call,
            LeaderReplicas(BROKER_ID, self.clock, self.clock, fetches, lambda: 30_000),
        )
        self.replicas.on_leadership = self._on_leadership
        self.led: dict[TopicPartition, int] = {}
        self.loaded: dict[TopicPartition, int] = {}
        self.answers: list[Pending[Any]] = []

    async def _start(self) -> None:
        await self.logs.lock()
        await self.logs.load("cluster", BROKER_ID)

    def run(self, work, then, failed) -> None:
        """Do work where it is done now."""
        self.executor.run(work, then, failed)

    def _on_leadership(self, led: list[Partition], resigned: list[TopicPartition]) -> None:
        for key in resigned:
            self.led.pop(key, None)
            self.loaded.pop(key, None)
        for partition in led:
            self.led[partition.topic_partition] = partition.leader_epoch
            self.loaded.setdefault(partition.topic_partition, partition.leading_since)

    def take(self, step: Step) -> None:
        if isinstance(step, Lead):
            states = [
                LeaderAndIsrPartitionState2(index, 1, step.leader, step.leader_epoch, isr=[1], replicas=[1, 2])
                for index in step.partitions
            ]
            request = LeaderAndIsrRequest(controller_epoch=1, topic_states=[LeaderAndIsrTopicState("t", states)])
            self.answers.append(self.replicas.leader_and_isr(request))
        elif isinstance(step, Stop):
            state = StopReplicaPartitionState(step.partition, step.leader_epoch, step.is_deleted)
            stop = StopReplicaRequest(controller_epoch=1, topic_states=[StopReplicaTopicState("t", [state])])
            self.answers.append(self.replicas.stop_replica(stop))

    def answered(self) -> list[dict[int, int]]:
        """Each answer's error codes by partition."""
        return [
            {each.partition_index: each.error_code for each in answer.value.partition_errors} for answer in self.answers
        ]

    def leading_since(self) -> dict[TopicPartition, int]:
        """The epoch since which each partition is led without a break."""
        return {each.topic_partition: each.leading_since for each in self.replicas.partitions if each.is_leader}

    def hosted(self) -> dict[TopicPartition, tuple[int, int]]:
        """Leader and epoch of each partition, whose log is open and in the manager's hands."""
        found = {}
        for partition in self.replicas.partitions:
            assert not partition.log.is_closed
            assert partition.log is self.logs.get(partition.topic_partition)
            found[partition.topic_partition] = (partition.leader, partition.leader_epoch)
        return found


@settings(deadline=None)
@given(steps)
@example([Lead((0,), 1, 0), Stop(0, -2, True), Lead((0,), 1, 0)])
@example([Lead((0,), 1, 0), Stop(0, -2, True), Lead((0,), 1, 0), Stop(0, -1, False), Work()])
@example([Lead((0, 1), 1, 0), Work(), Stop(0, -1, False)])
@example([Lead((0,), 1, 0), Work(), Lead((0, 1), 2, 1), Lead((0,), 1, 2)])
def test_a_late_log_changes_nothing(taken: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        at_once, late = Broker(root / "at-once"), Broker(root / "late")
        manual = ManualExecutor()
        late.executor = manual
        for step in taken:
            at_once.take(step)
            late.take(step)
            if isinstance(step, Work) and manual.waiting_count:
                manual.run_next()
        manual.run_all()
        assert late.answered() == at_once.answered()
        assert late.hosted() == at_once.hosted()
        assert late.led == at_once.led
        for broker in (at_once, late):
            assert broker.loaded == broker.leading_since()
        assert sorted(late.logs.topic_partitions) == sorted(at_once.logs.topic_partitions)
        for name in map(str, PARTITIONS):
            assert (root / "late" / name).exists() == (root / "at-once" / name).exists()
        assert not late.failures
        for broker in (at_once, late):
            broker.executor = InlineExecutor()
            asyncio.run(broker.logs.close())
