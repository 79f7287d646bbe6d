"""A group against everything that can happen to it, in any order.

The machine plays the coordinator: it keeps the timers, the parked answers and the records that are on their way, and
checks after every step what must hold whatever happened before. Besides what a group's bookkeeping owes, that is:

- in one generation a partition has one owner (`check_sync`);
- no commit of a fenced member, or of another generation, is stored (`may_commit`);
- nobody waits forever (`something_ends_every_wait`, `teardown`);
- offsets of a transaction count once it is committed, by the place of their record
  (`committed_offsets_are_those_appended_last`).
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from barnabas.broker.groups.events import (
    REBALANCE_TIMER,
    Answer,
    AnswerDeletion,
    AnswerJoin,
    AnswerSync,
    AppendTombstones,
    AwaitJoin,
    AwaitSync,
    CancelTimer,
    Commit,
    CommitAppended,
    CommitFailed,
    DeleteGroup,
    DeleteOffsets,
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
    ReplacementStored,
    SetTimer,
    StoreGroup,
    StoreOffsets,
    StoreReplacement,
    Sync,
    SyncAnswer,
    TransactionEnded,
    TxnCommit,
    Unloaded,
)
from barnabas.broker.groups.events import TimerFired as Fired
from barnabas.broker.groups.group import CommittedOffset, Group, GroupSettings, Phase
from barnabas.broker.groups.state import step
from barnabas.broker.groups.storage import decode_group_value, encode_group_value
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_PRODUCER_ID, TopicPartition

PROTOCOLS = st.lists(
    st.tuples(st.sampled_from(["range", "sticky", "own"]), st.sampled_from([b"", b"x"])), min_size=1, max_size=3
).map(tuple)
CHOICES = st.integers(0, 7)
GENERATION_STEPS = st.sampled_from([0, 0, 0, 0, 0, -1, 1])
INSTANCES = st.sampled_from([None, None, "i1", "i2"])
# The instance id that a request names beside a member's id: its own, none, or another.
NAMED = st.sampled_from(["own", "own", "own", "none", "i1", "i2", "unknown"])
PRODUCERS = st.sampled_from([1, 2])
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
        self.stores: list[tuple[int, StoreGroup | StoreReplacement | StoreOffsets]] = []
        self.protocols: dict[int, str] = {}
        self.owners: dict[tuple[int, bytes], str] = {}
        # By producer: its offsets that wait for the end of its transaction, and where their records lie once confirmed.
        self.transactions: dict[int, dict[TopicPartition, tuple[CommittedOffset, int | None]]] = {}
        # Those whose transaction was committed before their records were confirmed.
        self.decided: list[tuple[TopicPartition, CommittedOffset]] = []
        self.append_offset = 0
        self.committed: dict[TopicPartition, tuple[int, int]] = {}
        self.removed_offset: dict[TopicPartition, int] = {}

    def pick(self, choice: int) -> str:
        """Most often a member, else an id that was handed out, else one that is gone or was never there."""
        known = [*self.group.members, *sorted(self.group.pending_member_ids)]
        return known[choice % len(known)] if known and choice < 7 else "m0"

    def instance(self, named: str, member_id: str) -> str | None:
        """The instance id that goes with `NAMED`."""
        if named != "own":
            return None if named == "none" else named
        member = self.group.members.get(member_id)
        return None if member is None else member.group_instance_id

    def happen(self, event: Event) -> list:
        may_store = not isinstance(event, Commit | TxnCommit) or self.may_commit(event)
        effects = step(self.group, event, self.now_ms)
        assert may_store or not any(isinstance(effect, StoreOffsets) for effect in effects)
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
            case FinishSync(member_id, answer):
                self.syncs.remove(member_id)
                self.check_sync(member_id, answer)
            case AnswerJoin(answer):
                self.check_join(answer)
            case StoreGroup() | StoreReplacement() | StoreOffsets():
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
        self.owners.clear()
        self.decided.clear()
        self.transactions = {
            producer_id: {key: (each, each.append_offset) for key, each in pending.items()}
            for producer_id, pending in group.pending_transactions.items()
        }
        self.generation = group.generation

    def check_join(self, answer: JoinAnswer) -> None:
        if answer.error_code is ErrorCode.NOT_COORDINATOR and answer.member_id == "":
            # A member that came back could not be stored: what holds is told beside the error.
            assert answer.generation == self.group.generation
            return
        if answer.error_code is not ErrorCode.NONE:
            assert answer.generation == -1
            return
        assert answer.generation == self.group.generation
        assert self.protocols.setdefault(answer.generation, answer.protocol_name) == answer.protocol_name
        assert bool(answer.members) == (answer.member_id == answer.leader_id)

    def check_sync(self, member_id: str, answer: SyncAnswer) -> None:
        """One owner per partition and generation: a member, or under whichever id a static member."""
        if answer.error_code is ErrorCode.NONE and answer.assignment:
            owner = self.group.members[member_id].group_instance_id or member_id
            assert self.owners.setdefault((self.group.generation, answer.assignment), owner) == owner

    def may_commit(self, event: Commit | TxnCommit) -> bool:
        """Whether the caller is a member of this generation that nobody has replaced, or nobody has to be."""
        instance = event.group_instance_id
        if instance is not None and self.group.static_member_ids.get(instance, event.member_id) != event.member_id:
            return False
        is_of_generation = event.generation == self.group.generation
        is_member = event.member_id in self.group.members
        if isinstance(event, TxnCommit):
            return (is_member or event.member_id == "") and (is_of_generation or event.generation < 0)
        return (is_member and is_of_generation) or (event.generation < 0 and self.group.phase is Phase.EMPTY)

    @rule(
        protocols=PROTOCOLS,
        is_member_id_required=st.booleans(),
        rebalance_timeout_ms=st.sampled_from([-1, 50, 1_000]),
        session_timeout_ms=st.sampled_from([60, 500]),
        instance=INSTANCES,
    )
    def join_as_new(self, protocols, is_member_id_required, rebalance_timeout_ms, session_timeout_ms, instance) -> None:
        member_id = f"m{self.member_count}"
        self.member_count += 1
        times = (rebalance_timeout_ms, session_timeout_ms)
        is_required = is_member_id_required and instance is None
        self.happen(Join("", member_id, is_required, "c", "/h", *times, "consumer", protocols, instance))

    @rule(choice=CHOICES, protocols=st.none() | PROTOCOLS, named=NAMED)
    def rejoin(self, choice, protocols, named) -> None:
        member_id = self.pick(choice)
        member = self.group.members.get(member_id)
        given = protocols or (member.protocols if member else (("range", b""),))
        instance = self.instance(named, member_id)
        effects = self.happen(Join(member_id, "", True, "c", "/h", 1_000, 500, "consumer", given, instance))
        assert any(isinstance(effect, AwaitJoin | AnswerJoin) for effect in effects)

    @rule()
    def rejoin_all(self) -> None:
        for member_id, member in list(self.group.members.items()):
            if not member.is_awaiting_join and member_id in self.group.members:
                instance = member.group_instance_id
                self.happen(Join(member_id, "", True, "c", "/h", 1_000, 500, "consumer", member.protocols, instance))

    @rule(choice=CHOICES, by=GENERATION_STEPS, named=NAMED, protocol=st.sampled_from([None, None, "range"]))
    def sync(self, choice, by, named, protocol) -> None:
        member_id = self.pick(choice)
        instance = self.instance(named, member_id)
        event = Sync(member_id, self.group.generation + by, {member_id: b"alone"}, instance, None, protocol)
        effects = self.happen(event)
        assert any(isinstance(effect, AwaitSync | AnswerSync) for effect in effects)
        for effect in effects:
            if isinstance(effect, AnswerSync):
                self.check_sync(member_id, effect.answer)

    @precondition(lambda self: self.group.phase is Phase.COMPLETING_REBALANCE)
    @rule(order=st.randoms(use_true_random=False))
    def sync_as_leader(self, order) -> None:
        leader_id = self.group.leader_id
        assert leader_id is not None
        member_ids = list(self.group.members)
        order.shuffle(member_ids)
        assignments = {member_id: f"partition {index}".encode() for index, member_id in enumerate(member_ids)}
        self.happen(Sync(leader_id, self.group.generation, assignments))

    @rule(choice=CHOICES, by=GENERATION_STEPS, named=NAMED)
    def heartbeat(self, choice, by, named) -> None:
        member_id = self.pick(choice)
        event = Heartbeat(member_id, self.group.generation + by, self.instance(named, member_id))
        assert isinstance(self.happen(event)[-1], Answer)

    @rule(leaves=st.lists(st.tuples(CHOICES, NAMED), min_size=1, max_size=3))
    def leave(self, leaves) -> None:
        """Several members, as one request names them."""
        named = [
            (member_id, self.instance(each, member_id)) for choice, each in leaves for member_id in [self.pick(choice)]
        ]
        for member_id, instance in named:
            answer = self.happen(Leave(member_id, instance))[-1]
            assert isinstance(answer, Answer)
            if answer.error_code is ErrorCode.NONE:
                assert member_id not in self.group.members

    @rule(instance=st.sampled_from(["i1", "i2", "unknown"]))
    def leave_by_instance(self, instance) -> None:
        is_known = instance in self.group.static_member_ids
        expected = ErrorCode.NONE if is_known else ErrorCode.UNKNOWN_MEMBER_ID
        assert self.happen(Leave("", instance))[-1] == Answer(expected)
        assert instance not in self.group.static_member_ids

    @rule(
        choice=CHOICES,
        by=GENERATION_STEPS,
        named=NAMED,
        partition=PARTITIONS,
        offsets=st.lists(st.integers(0, 9), max_size=3),
    )
    def commit(self, choice, by, named, partition, offsets) -> None:
        """Commits that follow each other at once, of a member or, to an empty group, of nobody."""
        is_empty = self.group.phase is Phase.EMPTY
        member_id, generation = ("", -1) if is_empty else (self.pick(choice), self.group.generation + by)
        instance = self.instance(named, member_id)
        for offset in offsets:
            committed = CommittedOffset(offset, commit_timestamp_ms=self.now_ms)
            self.happen(Commit(member_id, generation, {partition: committed}, instance))

    @rule(
        producer_id=PRODUCERS,
        choice=CHOICES,
        by=GENERATION_STEPS,
        is_named=st.booleans(),
        named=NAMED,
        partition=PARTITIONS,
        offset=st.integers(0, 9),
    )
    def commit_in_a_transaction(self, producer_id, choice, by, is_named, named, partition, offset) -> None:
        member_id, generation = (self.pick(choice), self.group.generation + by) if is_named else ("", -1)
        committed = CommittedOffset(offset, commit_timestamp_ms=self.now_ms)
        instance = self.instance(named, member_id) if is_named else None
        effects = self.happen(TxnCommit(producer_id, 0, member_id, generation, {partition: committed}, instance))
        if any(isinstance(effect, StoreOffsets) for effect in effects):
            self.transactions.setdefault(producer_id, {})[partition] = (committed, None)

    @rule(producer_id=PRODUCERS, is_committed=st.booleans())
    def end_transaction(self, producer_id, is_committed) -> None:
        for partition, (committed, append_offset) in self.transactions.pop(producer_id, {}).items():
            if is_committed and append_offset is None:
                self.decided.append((partition, committed))
            elif is_committed:
                self.count(partition, append_offset, committed)
        self.happen(TransactionEnded(producer_id, is_committed))

    def count(self, partition, append_offset, committed) -> None:
        """An offset counts unless one does whose record lies behind its record."""
        stored = (append_offset, committed.offset)
        self.committed[partition] = max(stored, self.committed.get(partition, stored))

    def confirm_in_a_transaction(self, append_offset, effect, is_stored) -> None:
        pending = self.transactions.get(effect.producer_id, {})
        for partition, committed in effect.offsets.items():
            is_pending = partition in pending and pending[partition][0] is committed
            if (partition, committed) in self.decided:
                self.decided.remove((partition, committed))
                if is_stored:
                    self.count(partition, append_offset, committed)
            elif is_pending and is_stored:
                pending[partition] = (committed, append_offset)
            elif is_pending:
                del pending[partition]

    def forget_pending(self, partitions) -> None:
        """What is pending for these partitions was deleted with them."""
        for pending in self.transactions.values():
            for partition in partitions:
                pending.pop(partition, None)
        self.decided = [each for each in self.decided if each[0] not in partitions]

    @precondition(lambda self: self.stores)
    @rule(data=st.data(), is_stored=st.sampled_from([True, True, True, False]))
    def confirm(self, data, is_stored) -> None:
        """A record is safe in the log, or not; that of a later one may be known first."""
        append_offset, effect = self.stores.pop(data.draw(st.integers(0, len(self.stores) - 1)))
        if isinstance(effect, StoreGroup):
            error_code = ErrorCode.NONE if is_stored else ErrorCode.NOT_COORDINATOR
            self.happen(GroupStored(effect.generation, effect.assignments, error_code))
        elif isinstance(effect, StoreReplacement):
            error_code = ErrorCode.NONE if is_stored else ErrorCode.NOT_COORDINATOR
            self.happen(ReplacementStored(effect.generation, effect.replacement, error_code))
        elif effect.producer_id != NO_PRODUCER_ID:
            self.confirm_in_a_transaction(append_offset, effect, is_stored)
            if is_stored:
                self.happen(CommitAppended(effect.offsets, append_offset, effect.producer_id))
            else:
                self.happen(CommitFailed(effect.offsets, effect.producer_id))
        elif not is_stored:
            self.happen(CommitFailed(effect.offsets))
        else:
            for partition, committed in effect.offsets.items():
                if append_offset > self.removed_offset.get(partition, -1):
                    self.count(partition, append_offset, committed)
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
        self.forget_pending([TopicPartition("u", 0)])
        self.happen(RemoveTopics(frozenset({"u"})))

    @rule(partitions=st.lists(PARTITIONS, max_size=3))
    def delete_offsets(self, partitions) -> None:
        before = self.group
        (answer,) = [
            each.answer for each in self.happen(DeleteOffsets(tuple(partitions))) if type(each) is AnswerDeletion
        ]
        if answer.error_code is ErrorCode.NONE and self.group is before:
            deleted = [partition for partition in partitions if partition not in answer.subscribed]
            self.removed_offset.update(dict.fromkeys(deleted, self.append_offset))
            self.forget_pending(deleted)

    @rule()
    def delete_group(self) -> None:
        is_empty = self.group.phase is Phase.EMPTY
        expected = ErrorCode.NONE if is_empty else ErrorCode.NON_EMPTY_GROUP
        assert self.happen(DeleteGroup())[-1] == Answer(expected)
        assert not (is_empty and self.committed)

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
        group.pending_transactions = {key: dict(each) for key, each in old.pending_transactions.items()}
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
    def instances_are_those_of_members(self) -> None:
        members = self.group.members.values()
        found = [(each.group_instance_id, each.member_id) for each in members if each.group_instance_id is not None]
        assert len(found) == len(self.group.static_member_ids)
        assert dict(found) == self.group.static_member_ids

    @invariant()
    def transactions_are_those_that_are_open(self) -> None:
        found = {
            producer_id: {key: (each, each.append_offset) for key, each in pending.items()}
            for producer_id, pending in self.group.pending_transactions.items()
        }
        expected = {
            producer_id: {key: (each, -1 if place is None else place) for key, (each, place) in pending.items()}
            for producer_id, pending in self.transactions.items()
            if pending
        }
        assert found == expected

    @invariant()
    def members_agree_on_a_protocol(self) -> None:
        if self.group.members:
            assert set.intersection(*(member.protocol_names for member in self.group.members.values()))

    @invariant()
    def waits_fit_the_phase(self) -> None:
        if self.group.phase is Phase.STABLE:
            # Members that came back, and whose ids are being stored.
            stored = {each.replacement.member_id for _, each in self.stores if isinstance(each, StoreReplacement)}
            assert self.joins <= stored
        elif self.group.phase is not Phase.PREPARING_REBALANCE:
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
                elif isinstance(effect, StoreReplacement):
                    self.happen(ReplacementStored(effect.generation, effect.replacement, ErrorCode.NONE))
            if not self.timers:
                break
            self.advance(max(self.timers.values()) - self.now_ms)
        assert not self.joins
        assert not self.syncs
        assert not self.group.members
        assert self.group.phase is Phase.EMPTY


TestGroups = Groups.TestCase
TestGroups.settings = settings(max_examples=3 * settings().max_examples, stateful_step_count=50, deadline=None)
