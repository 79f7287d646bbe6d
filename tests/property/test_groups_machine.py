"""A group against everything that can happen to it, in any order.

The machine plays the coordinator: it keeps the timers, the parked answers and the records that are on their way, and
checks after every step what must hold whatever happened before.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.groups.events import (
    REBALANCE_TIMER,
    Answer,
    AnswerJoin,
    AnswerSync,
    AppendTombstones,
    AwaitJoin,
    AwaitSync,
    CancelTimer,
    Commit,
    CommitAppended,
    CommitFailed,
    Event,
    ExpireOffsets,
    FinishJoin,
    FinishSync,
    ForgetGroup,
    GroupStored,
    Heartbeat,
    Join,
    JoinAnswer,
    Leave,
    Loaded,
    RemoveTopics,
    SetTimer,
    StoreGroup,
    StoreOffsets,
    Sync,
    Unloaded,
)
from barnabas.groups.events import TimerFired as Fired
from barnabas.groups.group import CommittedOffset, Group, GroupSettings, Phase
from barnabas.groups.state import step
from barnabas.groups.storage import decode_group_value, encode_group_value

PROTOCOLS = st.lists(
    st.tuples(st.sampled_from(["range", "sticky", "own"]), st.sampled_from([b"", b"x"])), min_size=1, max_size=3
).map(tuple)
CHOICES = st.integers(0, 7)
GENERATION_STEPS = st.sampled_from([0, 0, 0, 0, 0, -1, 1])
PARTITIONS = st.sampled_from([TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)])


class Groups(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.settings = GroupSettings(initial_rebalance_delay_ms=100, max_size=5)
        self.group = Group("g", self.settings)
        self.now_ms = 0
        self.member_count = 0
        self.generation = 0
        self.timers: dict[str, int] = {}
        self.joins: set[str] = set()
        self.syncs: set[str] = set()
        self.stores: list[tuple[int, StoreGroup | StoreOffsets]] = []
        self.protocols: dict[int, tuple[str, str]] = {}
        self.append_offset = 0
        self.committed: dict[TopicPartition, tuple[int, int]] = {}
        self.removed_offset: dict[TopicPartition, int] = {}

    def pick(self, choice: int) -> str:
        """Most often a member, else an id that was handed out, else one that is gone or was never there."""
        known = [*self.group.members, *sorted(self.group.pending_member_ids)]
        return known[choice % len(known)] if known and choice < 7 else "m0"

    def happen(self, event: Event) -> list:
        effects = step(self.group, event, self.now_ms)
        for effect in effects:
            self.carry_out(effect)
        return effects

    def carry_out(self, effect) -> None:
        match effect:
            case SetTimer(timer, deadline_ms):
                self.timers[timer] = deadline_ms
            case CancelTimer(timer):
                self.timers.pop(timer, None)
            case AwaitJoin(member_id):
                assert member_id not in self.joins
                self.joins.add(member_id)
            case AwaitSync(member_id):
                assert member_id not in self.syncs
                self.syncs.add(member_id)
            case FinishJoin(member_id, answer):
                self.joins.remove(member_id)
                self.check_join(answer)
            case FinishSync(member_id, _):
                self.syncs.remove(member_id)
            case AnswerJoin(answer):
                self.check_join(answer)
            case StoreGroup() | StoreOffsets():
                self.append_offset += 1
                self.stores.append((self.append_offset, effect))
            case AppendTombstones(partitions, _):
                for partition in partitions:
                    del self.committed[partition]
            case ForgetGroup():
                assert not self.joins
                assert not self.syncs
                self.begin_anew(Group("g", self.settings))

    def begin_anew(self, group: Group) -> None:
        """Another group takes the old one's place; records on their way belong to the old one."""
        self.group = group
        self.timers.clear()
        self.stores.clear()
        self.protocols.clear()
        self.generation = group.generation

    def check_join(self, answer: JoinAnswer) -> None:
        if answer.error_code is not ErrorCode.NONE:
            assert answer.generation == -1
            return
        assert answer.generation == self.group.generation
        chosen = (answer.protocol_name, answer.leader_id)
        assert self.protocols.setdefault(answer.generation, chosen) == chosen
        assert bool(answer.members) == (answer.member_id == answer.leader_id)

    @rule(
        protocols=PROTOCOLS,
        is_member_id_required=st.booleans(),
        rebalance_timeout_ms=st.sampled_from([-1, 50, 1_000]),
        session_timeout_ms=st.sampled_from([60, 500]),
    )
    def join_as_new(self, protocols, is_member_id_required, rebalance_timeout_ms, session_timeout_ms) -> None:
        member_id = f"m{self.member_count}"
        self.member_count += 1
        times = (rebalance_timeout_ms, session_timeout_ms)
        self.happen(Join("", member_id, is_member_id_required, "c", "/h", *times, "consumer", protocols))

    @rule(choice=CHOICES, protocols=st.none() | PROTOCOLS)
    def rejoin(self, choice, protocols) -> None:
        member_id = self.pick(choice)
        member = self.group.members.get(member_id)
        given = protocols or (member.protocols if member else (("range", b""),))
        effects = self.happen(Join(member_id, "", True, "c", "/h", 1_000, 500, "consumer", given))
        assert any(isinstance(effect, AwaitJoin | AnswerJoin) for effect in effects)

    @rule()
    def rejoin_all(self) -> None:
        for member_id, member in list(self.group.members.items()):
            if not member.is_awaiting_join and member_id in self.group.members:
                self.happen(Join(member_id, "", True, "c", "/h", 1_000, 500, "consumer", member.protocols))

    @rule(choice=CHOICES, by=GENERATION_STEPS)
    def sync(self, choice, by) -> None:
        member_id = self.pick(choice)
        event = Sync(member_id, self.group.generation + by, {member_id: b"a"})
        effects = self.happen(event)
        assert any(isinstance(effect, AwaitSync | AnswerSync) for effect in effects)

    @precondition(lambda self: self.group.phase is Phase.COMPLETING_REBALANCE)
    @rule()
    def sync_as_leader(self) -> None:
        leader_id = self.group.leader_id
        assert leader_id is not None
        self.happen(Sync(leader_id, self.group.generation, dict.fromkeys(self.group.members, b"all")))

    @rule(choice=CHOICES, by=GENERATION_STEPS)
    def heartbeat(self, choice, by) -> None:
        effects = self.happen(Heartbeat(self.pick(choice), self.group.generation + by))
        assert isinstance(effects[-1], Answer)

    @rule(choice=CHOICES)
    def leave(self, choice) -> None:
        member_id = self.pick(choice)
        effects = self.happen(Leave(member_id))
        assert isinstance(effects[-1], Answer)
        assert member_id not in self.group.members

    @rule(choice=CHOICES, by=GENERATION_STEPS, partition=PARTITIONS, offsets=st.lists(st.integers(0, 9), max_size=3))
    def commit(self, choice, by, partition, offsets) -> None:
        """Commits that follow each other at once, of a member or, to an empty group, of nobody."""
        is_empty = self.group.phase is Phase.EMPTY
        member_id, generation = ("", -1) if is_empty else (self.pick(choice), self.group.generation + by)
        for offset in offsets:
            committed = CommittedOffset(offset, commit_timestamp_ms=self.now_ms)
            self.happen(Commit(member_id, generation, {partition: committed}))

    @precondition(lambda self: self.stores)
    @rule(data=st.data(), is_stored=st.sampled_from([True, True, True, False]))
    def confirm(self, data, is_stored) -> None:
        """A record is safe in the log, or not; that of a later one may be known first."""
        append_offset, effect = self.stores.pop(data.draw(st.integers(0, len(self.stores) - 1)))
        if isinstance(effect, StoreGroup):
            error_code = ErrorCode.NONE if is_stored else ErrorCode.NOT_COORDINATOR
            self.happen(GroupStored(effect.generation, effect.assignments, error_code))
        elif not is_stored:
            self.happen(CommitFailed(effect.offsets))
        else:
            for partition, committed in effect.offsets.items():
                if append_offset > self.removed_offset.get(partition, -1):
                    stored = (append_offset, committed.offset)
                    self.committed[partition] = max(stored, self.committed.get(partition, stored))
            self.happen(CommitAppended(effect.offsets, append_offset))

    @rule(by_ms=st.integers(1, 400))
    def advance(self, by_ms) -> None:
        end_ms = self.now_ms + by_ms
        while due := sorted((deadline, timer) for timer, deadline in self.timers.items() if deadline <= end_ms):
            deadline_ms, timer = due[0]
            self.now_ms = max(self.now_ms, deadline_ms)
            del self.timers[timer]
            self.happen(Fired(timer))
        self.now_ms = end_ms

    @rule(retention_ms=st.sampled_from([0, 300]))
    def expire(self, retention_ms) -> None:
        self.happen(ExpireOffsets(retention_ms))

    @rule()
    def delete_topic(self) -> None:
        self.removed_offset[TopicPartition("u", 0)] = self.append_offset
        self.happen(RemoveTopics(frozenset({"u"})))

    @precondition(lambda self: self.group.phase in (Phase.STABLE, Phase.EMPTY) and not self.stores)
    @rule()
    def move(self) -> None:
        """The group's partition moves: what was stored is all that is left."""
        old = self.group
        value = encode_group_value(old, {member_id: member.assignment for member_id, member in old.members.items()})
        self.happen(Unloaded())
        assert not self.joins
        assert not self.syncs
        group = decode_group_value("g", value, self.settings)
        group.offsets = dict(old.offsets)
        self.begin_anew(group)
        self.happen(Loaded())

    @invariant()
    def leader_is_a_member(self) -> None:
        if self.group.members:
            assert self.group.leader_id in self.group.members
        else:
            assert self.group.leader_id is None

    @invariant()
    def generation_only_grows(self) -> None:
        assert self.group.generation >= self.generation
        self.generation = self.group.generation

    @invariant()
    def counts_are_right(self) -> None:
        members = self.group.members.values()
        assert self.group.awaiting_join_count == sum(member.is_awaiting_join for member in members)
        assert self.joins == {member.member_id for member in members if member.is_awaiting_join}
        assert self.syncs == {member.member_id for member in members if member.is_awaiting_sync}
        names = {name for member in members for name in member.protocol_names}
        assert self.group.protocol_counts == {
            name: sum(name in member.protocol_names for member in members) for name in names
        }
        assert not self.group.pending_member_ids & set(self.group.members)

    @invariant()
    def members_agree_on_a_protocol(self) -> None:
        if self.group.members:
            assert set.intersection(*(member.protocol_names for member in self.group.members.values()))

    @invariant()
    def waits_fit_the_phase(self) -> None:
        if self.group.phase is not Phase.PREPARING_REBALANCE:
            assert not self.joins
        if self.group.phase is not Phase.COMPLETING_REBALANCE:
            assert not self.syncs
        if self.group.phase is Phase.EMPTY:
            assert not self.group.members

    @invariant()
    def something_ends_every_wait(self) -> None:
        is_gathering = self.group.phase is Phase.PREPARING_REBALANCE
        assert (REBALANCE_TIMER in self.timers) == is_gathering
        for member in self.group.members.values():
            is_excused = not member.is_new and (member.is_awaiting_join or member.is_awaiting_sync)
            assert is_excused or member.member_id in self.timers
        assert self.group.pending_member_ids <= set(self.timers)

    @invariant()
    def nobody_waits_for_nothing(self) -> None:
        if self.group.phase is Phase.PREPARING_REBALANCE and self.group.initial_delay_ms is None:
            assert not self.group.has_all_members_joined

    @invariant()
    def committed_offsets_are_those_appended_last(self) -> None:
        found = {key: (each.append_offset, each.offset) for key, each in self.group.offsets.items()}
        assert found == self.committed

    def teardown(self) -> None:
        """When nothing more comes, time alone answers everybody and empties the group."""
        for _ in range(50):
            while self.stores:
                _, effect = self.stores.pop(0)
                if isinstance(effect, StoreGroup):
                    self.happen(GroupStored(effect.generation, effect.assignments, ErrorCode.NONE))
            if not self.timers:
                break
            self.advance(max(self.timers.values()) - self.now_ms)
        assert not self.joins
        assert not self.syncs
        assert not self.group.members
        assert self.group.phase is Phase.EMPTY


TestGroups = Groups.TestCase
TestGroups.settings = settings(max_examples=150, stateful_step_count=50, deadline=None)
