"""Stories of one group of Java's members and ours: a short one, always the same, and any number of random ones."""

import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.compat.old_consumers.group import PlayedGroup
from tests.compat.old_consumers.member import KINDS, Member
from tests.compat.old_consumers.site import Site

TOPICS = {"a": 4, "b": 3}
_MOST_MEMBERS, _MOST_PARTITIONS = 5, 12


@dataclass
class Outcome:
    """What a story showed.

    Attributes:
        changes: What was done, in order.
        again_count: Messages that were delivered more than once.
        wrong: A line for each mistake.
    """

    seed: int
    changes: list[str] = field(default_factory=list)
    message_count: int = 0
    again_count: int = 0
    rebalance_count: int = 0
    wrong: list[str] = field(default_factory=list)

    def note(self, changes: list[str], site: Site, group: PlayedGroup) -> None:
        """Count what has happened."""
        deliveries = group.board.deliveries
        self.changes = changes
        self.message_count = len(site.acknowledged)
        self.rebalance_count = len(group.board.rebalances)
        self.again_count = len(deliveries) - len({(each.partition, each.offset) for each in deliveries})

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: {len(self.changes)} changes, {self.rebalance_count} rebalances, "
            f"{self.message_count} messages, {self.again_count} of them again, {len(self.wrong)} mistakes"
        )


class Story:
    """A group, and what is done to it by the dice."""

    def __init__(self, group: PlayedGroup, dice: random.Random) -> None:
        self.changes: list[str] = []
        self._group, self._dice = group, dice

    def join(self, kind: str, stream_count: int = 1, *, is_by_filter: bool = False) -> Member:
        self._note(f"{kind} joins with {stream_count} streams{' by a white list' if is_by_filter else ''}")
        return self._group.join(kind, stream_count, is_by_filter=is_by_filter)

    def leave(self, member: Member) -> None:
        self._note(f"{member.id} leaves")
        self._group.leave(member)

    def kill(self, member: Member) -> None:
        self._note(f"{member.id} is killed")
        self._group.kill(member)

    def expire(self, member: Member) -> None:
        self._note(f"{member.id} loses its session")
        self._group.expire(member)

    def grow(self, topic: str, count: int) -> None:
        self._note(f"{topic} grows to {count} partitions")
        self._group.grow(topic, count)

    def bounce_broker(self, *, is_killed: bool) -> None:
        self._note(f"the broker is {'killed' if is_killed else 'stopped'} and comes back")
        self._group.bounce_broker(is_killed=is_killed)

    def step(self, kinds: Sequence[str]) -> None:
        """Do any one thing that may be done now."""
        dice, group = self._dice, self._group
        counts = group.partition_counts
        growing = [topic for topic, count in counts.items() if count < _MOST_PARTITIONS]
        choices = ["join"] * 2 if len(group.members) < _MOST_MEMBERS else []
        if len(group.members) > 1:
            choices += ["leave", "kill", "expire"]
        if group.members:
            choices.append("bounce")
        if growing:
            choices.append("grow")
        match dice.choice(choices):
            case "join":
                self.join(dice.choice(kinds), dice.randrange(1, 4), is_by_filter=dice.random() < 0.3)
            case "leave":
                self.leave(dice.choice(group.members))
            case "kill":
                self.kill(dice.choice(group.members))
            case "expire":
                self.expire(dice.choice(group.members))
            case "bounce":
                self.bounce_broker(is_killed=dice.random() < 0.5)
            case "grow":
                topic = dice.choice(growing)
                self.grow(topic, counts[topic] + dice.randrange(1, 3))

    def _note(self, change: str) -> None:
        self.changes.append(change)


def play_short(story: Story, kinds: Sequence[str]) -> None:
    """Each kind of change once or more, to each kind of member.

    Args:
        story: Of an empty group.
        kinds: Of members; the first of them is the one that loses its session.
    """
    first, second = kinds[0], kinds[-1]
    one = story.join(first, 2)
    story.join(second)
    story.grow("a", 6)
    third = story.join(second, is_by_filter=True)
    story.expire(one)
    story.kill(third)
    fourth = story.join(first, 3)
    story.leave(one)
    story.kill(fourth)


def play(registry: str, seed: int, step_count: int | None = None, kinds: Sequence[str] = KINDS) -> Outcome:
    """Play the short story, or so many random steps after one of each kind has joined; and judge it."""
    dice = random.Random(seed)
    outcome = Outcome(seed)
    with tempfile.TemporaryDirectory(prefix="barnabas-old-consumers-") as name, Site(registry, Path(name)) as site:
        for topic, count in TOPICS.items():
            site.create_topic(topic, count)
        with PlayedGroup(site, "g", TOPICS, Path(name), seed) as group:
            story = Story(group, dice)
            try:
                if step_count is None:
                    play_short(story, kinds)
                else:
                    for kind in kinds:
                        story.join(kind)
                    for _ in range(step_count):
                        story.step(kinds)
                outcome.wrong = group.finish()
            except BaseException as error:
                error.add_note(f"seed {seed}, after: {'; '.join(story.changes)}")
                raise
            outcome.note(story.changes, site, group)
    return outcome
