"""A group whose members come, go, are killed or lose their sessions, beside a feeder; each change is waited for.

A group is stable when the owners are those of the range rule, no member is in a rebalance, and a round of messages,
one to each partition, reaches the owners while no partition is released.
"""

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.compat.old_consumers.judge import (
    Partition,
    Rebalance,
    doubled,
    gone_back,
    missing,
    needless,
    range_rule,
    wrong_owners,
)
from tests.compat.old_consumers.member import Board, Member, now_ms
from tests.compat.old_consumers.offsets import OffsetWatch
from tests.compat.old_consumers.site import Feeder, Site
from tests.compat.old_consumers.tree import Tree, read_tree
from tests.patience import PATIENCE_S

SETTINGS = {
    "auto.offset.reset": "smallest",
    "auto.commit.interval.ms": "500",
    "rebalance.backoff.ms": "500",
    # Beside a killed member they try until its session has expired.
    "rebalance.max.retries": "100",
    "zookeeper.session.timeout.ms": "4000",
    "zookeeper.connection.timeout.ms": "60000",
    "zookeeper.sync.time.ms": "200",
    "refresh.leader.backoff.ms": "100",
}


class PlayedGroup:
    """A group on a site, from the start of a `with` to its end; `finish` before that judges it.

    Attributes:
        members: Those that are registered or about to be.
        verdict: What was wrong, a line for each; `finish` fills it.
    """

    def __init__(
        self,
        site: Site,
        group: str,
        topics: Mapping[str, int],
        directory: Path,
        seed: int,
        idle: Sequence[Partition] = (),
    ) -> None:
        """Args:
        site: Where the topics are.
        group: Its id.
        topics: What all members read, with their partitions now.
        directory: For the members' logs.
        seed: Of the feeder.
        idle: Partitions that nothing is written to.
        """
        self.members: list[Member] = []
        self.verdict: list[str] = []
        self.board = Board()
        self._site, self._group, self._directory = site, group, directory
        self._topics = dict(topics)
        self._all: list[Member] = []
        self._numbers = itertools.count()
        self._crashed: set[str] = set()
        self._extra_unrest: list[Rebalance] = []
        self._partitions = [(topic, partition) for topic, count in topics.items() for partition in range(count)]
        self._partitions = [partition for partition in self._partitions if partition not in idle]
        self._feeder = Feeder(site, self._partitions, seed)
        self._watch = OffsetWatch(site, group)

    @property
    def partition_counts(self) -> Mapping[str, int]:
        return self._topics

    def join(
        self, kind: str, stream_count: int = 1, settings: Mapping[str, str] | None = None, *, is_by_filter: bool = False
    ) -> Member:
        """A consumer of the kind begins to read all topics; the group is stable when this returns."""
        member = self.start(kind, stream_count, settings, is_by_filter=is_by_filter)
        self.settle()
        return member

    def start(
        self, kind: str, stream_count: int = 1, settings: Mapping[str, str] | None = None, *, is_by_filter: bool = False
    ) -> Member:
        """As `join`, without waiting."""
        subscription = [",".join(f"{topic}:{stream_count}" for topic in self._topics)]
        if is_by_filter:
            subscription = ["--white-list", f"{'|'.join(self._topics)}:{stream_count}"]
        named = {"zookeeper.connect": self._site.connect, **SETTINGS, **(settings or {})}
        name = f"{kind}-{next(self._numbers)}"
        member = Member(self.board, kind, self._group, name, subscription, named, self._directory)
        self.members.append(member)
        self._all.append(member)
        return member

    def leave(self, member: Member) -> None:
        """A consumer leaves in order."""
        member.shutdown()
        self.members.remove(member)
        self.settle()

    def kill(self, member: Member) -> None:
        """A consumer is killed: its session ends when it has not been heard for its timeout."""
        self.members.remove(member)
        self.crash(member)
        self.settle()

    def crash(self, member: Member) -> None:
        """A consumer is killed, and nothing is waited for."""
        self._crashed.add(member.id)
        member.kill()

    def expire(self, member: Member) -> None:
        """A consumer is stopped until its session has expired and the others have its partitions, then goes on.

        What it had fetched before it gives to its program until it hears that its session has ended; it cannot know.
        """
        began_ms = now_ms()
        self._crashed.add(member.id)
        member.pause()
        self.members.remove(member)
        self.wait(lambda: member.id not in self._tree().subscriptions, lambda: f"{member.id} expires")
        if self.members:
            self.settle()
        member.resume()
        self.members.append(member)
        self.settle()
        self._extra_unrest.append(Rebalance(began_ms, now_ms()))

    def grow(self, topic: str, partition_count: int) -> None:
        """A topic gets more partitions."""
        self._site.grow(topic, partition_count)
        self._partitions += [(topic, partition) for partition in range(self._topics[topic], partition_count)]
        self._topics[topic] = partition_count
        self.settle()

    def bounce_broker(self, *, is_killed: bool) -> None:
        """The broker ends and comes back; where it serves the tree, all sessions end with it."""
        began_ms = now_ms()
        self._crashed |= {member.id for member in self.members}
        with self._watch.blind():
            self._site.bounce_broker(is_killed=is_killed)
        self.settle()
        self._extra_unrest.append(Rebalance(began_ms, now_ms()))

    def settle(self) -> None:
        """Wait until the group is stable."""
        deadline = time.monotonic() + PATIENCE_S
        if not self.members:
            self.wait(lambda: not self._tree().subscriptions, lambda: "the last member is gone")
            return
        while True:
            self.wait(lambda: not self._differences(self._tree()))
            tree = self._tree()
            if not self._differences(tree) and self._round_arrives(tree):
                return
            assert time.monotonic() < deadline, self._story()

    @contextlib.contextmanager
    def silence(self) -> Iterator[None]:
        """Nothing is written for as long."""
        self._feeder.pause()
        try:
            self._site.flush()
            yield
        finally:
            self._feeder.go_on()

    def finish(self) -> list[str]:
        """End the feeder, wait for what is on its way, and judge all that has happened; a line for each mistake."""
        self._feeder.end()
        self.settle()
        board = self.board
        self.wait(lambda: not missing(self._site.acknowledged, board.deliveries))
        self._watch.end()
        with board.changed:
            deliveries = list(board.deliveries)
        self.verdict += missing(self._site.acknowledged, deliveries)
        self.verdict += doubled(deliveries, [*board.rebalances, *self._extra_unrest])
        self.verdict += [f"{each.id}: {text}" for each in self._all if each.kind == "python" for text in each.errors]
        unfenced = self._extra_unrest
        if all(member.kind == "python" for member in self._all):
            self.verdict += needless(deliveries, self._crashed)
            unfenced = []
        self.verdict += gone_back(deliveries, self._watch.commits, board.rebalances, board.stores, unfenced)
        return self.verdict

    def _round_arrives(self, tree: Tree) -> bool:
        """Whether a message to each partition comes to its owner, and all owners stay."""
        place = len(self.board.deliveries)
        sent: list[tuple[Partition, int]] = []
        fed = [partition for partition in tree.owners if partition in self._partitions]
        for partition in fed:
            self._site.send(partition, noted=sent)
        self._site.flush()
        awaited: set[tuple[Partition, int]] | None = None
        arrived = []

        def has_arrived() -> bool:
            nonlocal place, awaited
            if len(sent) < len(fed):
                return False
            awaited = set(sent) if awaited is None else awaited
            for delivery in self.board.deliveries[place:]:
                place += 1
                if (delivery.partition, delivery.offset) in awaited:
                    arrived.append(delivery)
                    awaited.discard((delivery.partition, delivery.offset))
            return not awaited or self._tree() != tree

        self.wait(has_arrived)
        if self._tree() != tree:
            return False
        for delivery in arrived:
            owner = tree.owners[delivery.partition].rpartition("-")[0]
            if owner != delivery.member:
                self.verdict.append(f"{delivery}: the owner is {owner}")
        return True

    def _tree(self) -> Tree:
        return read_tree(self._site.kazoo, self._group)

    def _differences(self, tree: Tree) -> list[str]:
        """What keeps the group from being stable."""
        awaited = {member.id for member in self.members}
        lines = [f"registered: {sorted(tree.subscriptions)}, should be {sorted(awaited)}"]
        lines = lines if tree.subscriptions.keys() != awaited else []
        if tree.partition_counts != self._topics:
            lines.append(f"partitions: {tree.partition_counts}, should be {self._topics}")
        lines += wrong_owners(range_rule(self._topics, tree.subscriptions), tree.owners)
        return lines + [f"{member.id} rebalances" for member in self.members if member.is_rebalancing]

    def wait(self, is_so: Callable[[], bool], what: Callable[[], str] | None = None) -> None:
        """Wait until something is so; a member that ended by itself ends the waiting."""

        def is_so_or_somebody_died() -> bool:
            return is_so() or any(member.is_gone for member in self.members)

        self.board.wait(is_so_or_somebody_died, what or self._story)
        for member in self.members:
            assert not member.is_gone, f"it ended by itself: {member.story()}"

    def _story(self) -> str:
        """What is not as it should be, for whoever reads a failure."""
        lines = self._differences(self._tree())
        lines += missing(self._site.acknowledged, self.board.deliveries)[:10]
        return "\n".join(lines + [member.story() for member in self.members])

    def __enter__(self) -> Self:
        self._feeder.start()
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for member in self._all:
            member.close()
        self._feeder.end()
        self._watch.end()
