"""A leader and its followers against everything that can happen to a change of the in-sync replicas, in any order.

The model is a list of log end offsets and one state of the partition, as the controller or ZooKeeper has it. Followers
fetch, fall behind, die, and come back with less; requests and answers come late, twice or never; controllers change,
and raise the leader epoch whenever they like. What holds after every step:

- the high watermark never goes back, and is never above what a replica has that may be elected: the members of the
  state as it is written, and those of the leader's maximal ISR. (One that lost its tail is left out until it has
  it again: what was lost before its first fetch, nobody can know.)
- one change is pending at a time, and one request is on its way;
- nothing stays pending for ever: when all goes well again, everybody comes in, and the high watermark rises to the end.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.broker.registry.tree import Tree
from barnabas.broker.replicas.alter_isr_manager import AlterIsrManager
from barnabas.broker.replicas.isr import ReplicaSet
from barnabas.broker.replicas.isr_changes import Committed, IsrChanges, IsrOutcome
from barnabas.broker.replicas.registry_isr_changes import RegistryIsrChanges
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError
from barnabas.core.executor import InlineExecutor
from barnabas.core.pending import Pending, Spawner
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.protocol.messages.alter_isr import (
    AlterIsrRequest,
    AlterIsrResponse,
    AlterIsrResponsePartitionData,
    AlterIsrResponseTopicData,
)
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import ConnectionLostError, Stat
from barnabas.wire.registry.znodes.topics import PartitionStateNode, decode_partition_state, encode_partition_state

KEY = TopicPartition("t", 0)
LEADER, FOLLOWERS = 0, (1, 2, 3)
REPLICAS = (LEADER, *FOLLOWERS)
LAG_MS = 100
FIRST = PartitionStateNode(LEADER, 0, REPLICAS, 1)
FOLLOWER = st.sampled_from(FOLLOWERS)
PASSING = [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NOT_CONTROLLER, ErrorCode.STALE_BROKER_EPOCH]
PATIENT_ROUNDS = 100


class Replication(RuleBasedStateMachine):
    """The leader, its followers, and a controller that raises epochs; how changes are made is for subclasses."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.ends = dict.fromkeys(REPLICAS, 0)
        self.alive = set(FOLLOWERS)
        self.suspects: set[int] = set()
        self.high_watermark = self.highest = 0
        # What the controller wrote and the leader was not told yet.
        self.untold: tuple[PartitionStateNode, int] | None = None
        self.replicas = ReplicaSet(LEADER)
        self.changes = self.open()
        self.replicas.lead(REPLICAS, REPLICAS, 0, 0, 0, self.now_ms(), was_leader=False)

    @initialize(isr=st.sampled_from([REPLICAS, REPLICAS, (LEADER, 1), (LEADER, 2, 3)]))
    def begin(self, isr: tuple[int, ...]) -> None:
        if isr != REPLICAS:
            self.raise_epoch(isr)
            self.tell_the_leader()

    # --- for subclasses

    def open(self) -> IsrChanges:
        raise NotImplementedError

    def do(self, action: Callable[[], object]) -> None:
        """Do what may propose a change, or let time go by."""
        action()

    def state(self) -> tuple[PartitionStateNode, int]:
        """Return the partition's state as it is written, and its version."""
        raise NotImplementedError

    def write_as_controller(self, state: PartitionStateNode) -> None:
        raise NotImplementedError

    def settle(self) -> None:
        """Let what is on its way arrive, without trouble."""

    # --- the leader

    def now_ms(self) -> int:
        return self.clock.monotonic_ms()

    def advance(self) -> None:
        candidate = self.replicas.high_watermark(self.ends[LEADER], self.now_ms(), LAG_MS)
        self.high_watermark = max(self.high_watermark, candidate)

    def propose(self, isr: tuple[int, ...] | None) -> None:
        if isr is not None:
            replicas = self.replicas
            replicas.propose(isr)
            then = partial(self.take, replicas.leader_epoch)
            self.changes.propose(KEY, LEADER, replicas.leader_epoch, isr, replicas.zk_version, 1, then)

    def take(self, leader_epoch: int, outcome: IsrOutcome) -> None:
        assert self.replicas.leader_epoch == leader_epoch
        assert self.replicas.proposed is not None
        if isinstance(outcome, Committed):
            assert outcome.isr == self.replicas.proposed
            assert outcome.zk_version >= self.replicas.zk_version
            self.replicas.committed(*outcome)
            self.advance()

    def take_fetch(self, follower: int, fetch_offset: int) -> None:
        has_moved = self.replicas.note_fetch(follower, fetch_offset, 0, self.ends[LEADER], self.now_ms())
        self.propose(self.replicas.expansion(follower, self.high_watermark))
        if has_moved:
            self.advance()
        if fetch_offset < self.high_watermark:
            self.propose(self.replicas.expulsion(self.high_watermark))

    # --- what happens

    @rule(count=st.integers(1, 5))
    def append(self, count: int) -> None:
        self.ends[LEADER] += count
        self.advance()

    @rule(follower=FOLLOWER, taken=st.sampled_from([0, 1, 3, 100]))
    def fetch(self, follower: int, taken: int) -> None:
        if follower in self.alive:
            self.do(partial(self.take_fetch, follower, self.ends[follower]))
            self.ends[follower] = min(self.ends[LEADER], self.ends[follower] + taken)

    @rule(follower=FOLLOWER, back=st.integers(1, 5))
    def fetch_comes_late(self, follower: int, back: int) -> None:
        self.do(partial(self.take_fetch, follower, max(0, self.ends[follower] - back)))

    @rule(by_ms=st.sampled_from([10, 50, LAG_MS + 1]))
    def time_goes_by(self, by_ms: int) -> None:
        def check() -> None:
            self.clock.advance(by_ms)
            replicas = self.replicas
            self.propose(
                replicas.shrink(self.ends[LEADER], self.now_ms(), LAG_MS) or replicas.expulsion(self.high_watermark)
            )
            self.advance()

        self.do(check)

    @rule(follower=FOLLOWER, is_noticed=st.booleans(), lost=st.sampled_from([0, 0, 2, 100]))
    def die_or_come_back(self, follower: int, is_noticed: bool, lost: int) -> None:
        if follower not in self.alive:
            self.alive.add(follower)
            if lost and self.ends[follower]:
                self.ends[follower] = max(0, self.ends[follower] - lost)
                self.suspects.add(follower)
            return
        self.alive.discard(follower)
        state, _ = self.state()
        if is_noticed and follower in state.isr:
            self.raise_epoch(tuple(each for each in state.isr if each != follower))

    @rule(is_told=st.booleans())
    def elect_the_same_leader(self, is_told: bool) -> None:
        self.raise_epoch(self.state()[0].isr)
        if is_told:
            self.tell_the_leader()

    def raise_epoch(self, isr: tuple[int, ...]) -> None:
        state, _ = self.state()
        self.write_as_controller(replace(state, leader_epoch=state.leader_epoch + 1, isr=isr))
        self.untold = self.state()

    @precondition(lambda self: self.untold is not None)
    @rule()
    def tell_the_leader(self) -> None:
        assert self.untold is not None
        state, version = self.untold
        self.untold = None
        self.changes.withdraw(KEY)
        self.replicas.lead(
            REPLICAS, state.isr, version, state.leader_epoch, self.ends[LEADER], self.now_ms(), was_leader=True
        )
        self.advance()

    # --- what holds

    @invariant()
    def the_high_watermark_is_below_all_that_may_be_elected(self) -> None:
        assert self.highest <= self.high_watermark <= self.ends[LEADER]
        self.highest = self.high_watermark
        for follower in list(self.suspects):
            if self.replicas.followers[follower].end_offset <= self.ends[follower] >= self.high_watermark:
                self.suspects.discard(follower)
        state, _ = self.state()
        electable = {*state.isr, *self.replicas.maximal_isr} - self.suspects
        assert {each: self.ends[each] for each in electable if self.ends[each] < self.high_watermark} == {}

    @invariant()
    def the_leader_knows_all_members_that_there_may_be(self) -> None:
        if self.untold is None:
            assert set(self.state()[0].isr) <= set(self.replicas.maximal_isr)

    def teardown(self) -> None:
        """All goes well again."""
        for _ in range(PATIENT_ROUNDS):
            self.alive = set(FOLLOWERS)
            self.settle()
            if self.untold is not None:
                self.tell_the_leader()
            for follower in FOLLOWERS:
                self.fetch(follower, 1_000_000)
            self.time_goes_by(100)
            self.the_high_watermark_is_below_all_that_may_be_elected()
            is_settled = set(self.state()[0].isr) == set(self.replicas.isr) == set(REPLICAS)
            if is_settled and self.replicas.proposed is None and self.high_watermark == self.ends[LEADER]:
                return
        raise AssertionError(f"{self.replicas.proposed} stays pending, or somebody out, or the high watermark behind")


class Asked:
    """An AlterIsr on its way: to the controller, there, and back."""

    def __init__(self, request: AlterIsrRequest) -> None:
        self.request = request
        self.answer: Pending[AlterIsrResponse] = Pending()
        # Known as soon as the controller has done it.
        self.response: AlterIsrResponse | None = None


class AskingLeader(Replication):
    """Changes by AlterIsr."""

    def open(self) -> IsrChanges:
        self.written, self.version = FIRST, 0
        self.asked: list[Asked] = []
        self.altered = AlterIsrManager(LEADER, lambda: 1, self.send, self.clock)
        return self.altered

    def state(self) -> tuple[PartitionStateNode, int]:
        return self.written, self.version

    def write_as_controller(self, state: PartitionStateNode) -> None:
        self.written, self.version = state, self.version + 1

    def send(self, request: AlterIsrRequest) -> Pending[AlterIsrResponse]:
        assert all(each.answer.is_done for each in self.asked), "two are on their way"
        self.asked.append(Asked(request))
        return self.asked[-1].answer

    def settle(self) -> None:
        while self.asked:
            self.controller_does(0, is_answered=True)

    def chosen(self, choice: int) -> Asked:
        return self.asked[choice % len(self.asked)]

    @precondition(lambda self: self.asked)
    @rule(choice=st.integers(0, 3), is_answered=st.booleans())
    def controller_does(self, choice: int, is_answered: bool) -> None:
        """Also what nobody waits for any more. The answer comes now, or later, or never."""
        asked = self.chosen(choice)
        if asked.response is None:
            asked.response = self.done(asked.request)
        if is_answered:
            self.answer_comes(asked)

    @precondition(lambda self: self.asked)
    @rule(choice=st.integers(0, 3), trouble=st.sampled_from([None, *PASSING]), is_whole=st.booleans())
    def trouble(self, choice: int, trouble: ErrorCode | None, is_whole: bool) -> None:
        """The connection is lost, though the request may have arrived; or it is refused for now, or left out."""
        asked = self.chosen(choice)
        if trouble is None:
            asked.answer.fail(BarnabasError("the connection is lost"))
        elif asked.response is None:
            topic = AlterIsrResponseTopicData(KEY.topic, [AlterIsrResponsePartitionData(0, trouble)])
            is_left_out = trouble is ErrorCode.STALE_BROKER_EPOCH and not is_whole
            asked.response = AlterIsrResponse(
                error_code=trouble if is_whole else 0, topics=[] if is_left_out else [topic]
            )
            self.answer_comes(asked)

    def answer_comes(self, asked: Asked) -> None:
        assert asked.response is not None
        self.asked.remove(asked)
        asked.answer.complete(asked.response)

    def done(self, request: AlterIsrRequest) -> AlterIsrResponse:
        """Do what a controller is asked, by Kafka's rules."""
        ((topic,), (entry,)) = request.topics, request.topics[0].partitions
        isr = tuple(entry.new_isr)
        error_code = ErrorCode.NONE
        if entry.leader_epoch < self.written.leader_epoch:
            error_code = ErrorCode.FENCED_LEADER_EPOCH
        elif (entry.leader_epoch, isr) != (self.written.leader_epoch, self.written.isr):
            if entry.current_isr_version != self.version:
                error_code = ErrorCode.INVALID_UPDATE_VERSION
            else:
                self.write_as_controller(replace(self.written, leader_epoch=entry.leader_epoch, isr=isr))
        answer = AlterIsrResponsePartitionData(0, error_code)
        if not error_code:
            state = self.written
            answer = AlterIsrResponsePartitionData(0, 0, state.leader, state.leader_epoch, [*state.isr], self.version)
        return AlterIsrResponse(topics=[AlterIsrResponseTopicData(topic.name, [answer])])

    @rule()
    def another_controller(self) -> None:
        """What the one before did not do it never does: its writes are refused."""
        self.asked = [each for each in self.asked if each.response is not None]
        self.altered.controller_changed()


class ShakyRegistry(EmbeddedRegistry):
    """Loses its connection before or after the next writes: a list of which."""

    losses: list[bool]

    async def set(self, path: str, data: bytes | None, version: int = -1) -> Stat:
        is_done = self.losses.pop() if self.losses else None
        if is_done is False:
            raise ConnectionLostError(path)
        stat = await super().set(path, data, version)
        if is_done:
            raise ConnectionLostError(path)
        return stat


class WritingLeader(Replication):
    """Changes by writing the state, in a real registry."""

    def open(self) -> IsrChanges:
        self.loop = asyncio.new_event_loop()
        self.errors: list[BaseException] = []
        self.spawner = Spawner(self.errors.append)
        path = self.path = paths.partition_state(*KEY)

        async def fill() -> ShakyRegistry:
            registry = ShakyRegistry(Tree(), None, self.clock, InlineExecutor())
            registry.losses = []
            for each in [*paths.ancestors(path), paths.ISR_CHANGES]:
                await registry.create(each)
            await registry.create(path, encode_partition_state(FIRST))
            return registry

        self.registry = self.loop.run_until_complete(fill())
        return RegistryIsrChanges(self.registry, self.clock, self.clock, self.spawner)

    def do(self, action: Callable[[], object]) -> None:
        async def act() -> None:
            action()
            for _ in range(10):
                await asyncio.sleep(0)

        self.loop.run_until_complete(act())

    def state(self) -> tuple[PartitionStateNode, int]:
        node = self.registry.tree.get(self.path)
        assert node is not None
        return decode_partition_state(node.data), node.stat().version

    def write_as_controller(self, state: PartitionStateNode) -> None:
        self.loop.run_until_complete(EmbeddedRegistry.set(self.registry, self.path, encode_partition_state(state)))

    def settle(self) -> None:
        self.registry.losses.clear()

    @rule(is_done=st.booleans())
    def lose_the_connection(self, is_done: bool) -> None:
        self.registry.losses.append(is_done)

    def teardown(self) -> None:
        try:
            super().teardown()
            self.changes.close()
            self.loop.run_until_complete(self.registry.close())
            assert self.errors == []
        finally:
            self.loop.close()


TestAskingLeader = AskingLeader.TestCase
TestWritingLeader = WritingLeader.TestCase
