"""Groups that live in ZooKeeper, step by step, in any order: the rule and `state.py` against a tree of dicts.

Members look, release, and claim one partition after the other; between any two steps others do theirs, members come,
go, crash and lose their sessions, and topics grow. A member works with what it saw, be it old. Whatever the order: a
partition has one owner, and when nothing changes any more the owners are those of the rule, after as many tries as
there are members and changes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from hypothesis import given, note
from hypothesis import strategies as st

from barnabas.api.connector.assignment import Assignment, assign_ranges
from barnabas.api.connector.group_view import GroupView, share_of, threads_of
from barnabas.api.connector.state import MemberState, Step
from barnabas.core.types import TopicPartition
from barnabas.wire.registry.znodes.consumers import ConsumerThread, Pattern, Subscription


@dataclass
class Tree:
    """What the group has in ZooKeeper. Owners are kept with the session that they live with."""

    partitions: dict[str, int]
    subscriptions: dict[str, Subscription] = field(default_factory=dict)
    owners: dict[TopicPartition, tuple[ConsumerThread, tuple[str, int]]] = field(default_factory=dict)

    def view(self) -> GroupView:
        counts = {topic: range(count) for topic, count in self.partitions.items()}
        return GroupView(dict(self.subscriptions), list(counts), counts, True)

    def end_session(self, session: tuple[str, int]) -> None:
        self.owners = {each: owner for each, owner in self.owners.items() if owner[1] != session}
        self.subscriptions.pop(session[0], None)

    def rule(self) -> Assignment:
        view = self.view()
        found: Assignment = {}
        for consumer in self.subscriptions:
            found |= assign_ranges(view.partitions, threads_of(view, consumer, True))
        return found


class Member:
    """A member as `membership.py` drives it; a generator, so that every step is one of the world's."""

    def __init__(self, tree: Tree, name: str, subscription: Subscription) -> None:
        self.tree, self.name, self.subscription = tree, name, subscription
        self.state = MemberState(3)
        self.held: Assignment | None = None
        self.steps = self._steps()

    @property
    def session(self) -> tuple[str, int]:
        return self.name, self.state.epoch

    def expire(self) -> None:
        self.tree.end_session(self.session)
        self.state.note_expired()
        self.held = None

    def release(self) -> None:
        self.tree.owners = {each: owner for each, owner in self.tree.owners.items() if owner[1] != self.session}

    def _steps(self) -> Iterator[None]:
        while True:
            step, epoch = self.state.next_step, self.state.epoch
            if step is Step.REGISTER:
                self.tree.subscriptions[self.name] = self.subscription
                self.state.note_registered(epoch)
            elif step is Step.BACK_OFF:
                self.state.note_backed_off()
            elif step is Step.REBALANCE:
                self.state.begin_rebalance()
                yield from self._rebalance(epoch)
            yield

    def _rebalance(self, epoch: int) -> Iterator[None]:
        share = share_of(self.name, self.tree.view(), "range", True)
        yield
        if epoch == self.state.epoch and share == self.held:
            self.state.note_rebalanced(epoch)
            return
        self.held = None
        self.release()
        for partition, thread in sorted(share.items()):
            yield
            if epoch != self.state.epoch or partition in self.tree.owners:
                self.release()
                self.state.note_failed(epoch)
                return
            self.tree.owners[partition] = (thread, self.session)
        if epoch == self.state.epoch:
            self.held = share
        self.state.note_rebalanced(epoch)


SUBSCRIPTIONS = st.one_of(
    st.dictionaries(st.sampled_from("tu"), st.integers(1, 3), min_size=1).map(Subscription),
    st.integers(1, 3).map(lambda count: Subscription({"[tv].*": count}, Pattern.WHITE_LIST)),
    st.integers(1, 3).map(lambda count: Subscription({"t": count}, Pattern.BLACK_LIST)),
)


@given(st.data())
def test_a_partition_has_one_owner_and_in_the_end_it_is_the_rules(data: st.DataObject) -> None:
    tree = Tree(data.draw(st.dictionaries(st.sampled_from("tuv"), st.integers(0, 5), min_size=1)))
    members: list[Member] = []

    def tell() -> None:
        for member in members:
            member.state.note_change()

    for number in range(data.draw(st.integers(1, 12))):
        match data.draw(st.sampled_from(["join", "join", "leave", "expire", "grow"])):
            case "leave" if members:
                gone = members.pop(data.draw(st.integers(0, len(members) - 1)))
                tree.end_session(gone.session)
            case "expire" if members:
                members[data.draw(st.integers(0, len(members) - 1))].expire()
            case "grow":
                topic = data.draw(st.sampled_from("tuv"))
                tree.partitions[topic] = tree.partitions.get(topic, 0) + data.draw(st.integers(1, 3))
            case _:
                members.append(Member(tree, f"g_{number}", data.draw(SUBSCRIPTIONS)))
        tell()
        # Whoever registers is a change, too; the tree tells of it when it happens.
        for index in data.draw(st.lists(st.integers(0, 20), max_size=30)):
            if members:
                advance(members[index % len(members)], members)
                check(tree, members)

    rounds = 0
    while not all(member.state.is_settled for member in members):
        rounds += 1
        assert rounds < 500, "they never settle"
        for member in data.draw(st.permutations(members)) if rounds < 5 else members:
            for _ in range(1 + rounds % 7):
                advance(member, members)
                check(tree, members)
    note(f"{rounds} rounds")
    assert {partition: thread for partition, (thread, _) in tree.owners.items()} == tree.rule()


def advance(member: Member, members: list[Member]) -> None:
    before = member.tree.subscriptions.keys() | set()
    next(member.steps)
    if member.tree.subscriptions.keys() != before:
        for each in members:
            each.state.note_change()


def check(tree: Tree, members: list[Member]) -> None:
    """Nobody reads what the tree does not give to it."""
    for member in members:
        for partition, thread in (member.held or {}).items():
            assert tree.owners[partition] == (thread, member.session)
