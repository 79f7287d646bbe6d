"""The offsets of a group move from ZooKeeper to Kafka under load, member by member, and back.

    start      all commit to ZooKeeper
    dual       a rolling bounce to storage kafka with dual commit
    kafka      another to storage kafka alone
    dual again, and ZooKeeper: the same way back

`barnabas groups migrate` allows each phase before it, names after each restart but the last who is left, and allows
what comes next when all were restarted. In each phase, or in some, one member is killed where the others are shut down
in order. One topic is idle: of it messages are there before the group, and none comes later.

Source: implementation document, migrating offsets from ZooKeeper to Kafka.
"""

import json
import random
import tempfile
from collections.abc import Container, Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import NamedTuple

from tests import commands
from tests.compat.old_consumers.group import PlayedGroup
from tests.compat.old_consumers.history import Outcome
from tests.compat.old_consumers.judge import Partition
from tests.compat.old_consumers.site import Site

ZOOKEEPER = {"offsets.storage": "zookeeper"}
DUAL = {"offsets.storage": "kafka", "dual.commit.enabled": "true"}
KAFKA = {"offsets.storage": "kafka", "dual.commit.enabled": "false"}
_COMMITS = {id(ZOOKEEPER): "zookeeper", id(DUAL): "both", id(KAFKA): "kafka"}


class Phase(NamedTuple):
    """A bounce of all members.

    Attributes:
        before: The settings before it.
        settings: Those that it brings.
        to: Where the offsets are to go, as the command has it.
        step: The command's word for it.
        then: The command's word for what comes after it.
    """

    name: str
    before: dict[str, str]
    settings: dict[str, str]
    to: str
    step: str
    then: str


PHASES = (
    Phase("dual", ZOOKEEPER, DUAL, "kafka", "dual-commit", "kafka-alone"),
    Phase("kafka", DUAL, KAFKA, "kafka", "kafka-alone", "done"),
    Phase("dual again", KAFKA, DUAL, "zookeeper", "dual-commit", "zookeeper-alone"),
    Phase("zookeeper again", DUAL, ZOOKEEPER, "zookeeper", "zookeeper-alone", "done"),
)

NAMES = tuple(phase.name for phase in PHASES)

_TOPICS = {"a": 7, "idle": 2}
_IDLE: list[Partition] = [("idle", 0), ("idle", 1)]
_GROUP = "g"


class _Migration:
    def __init__(self, site: Site, group: PlayedGroup, dice: random.Random) -> None:
        self.changes: list[str] = []
        self.wrong: list[str] = []
        self._site, self._group, self._dice = site, group, dice

    def begin(self, kinds: Sequence[str]) -> None:
        for kind in kinds:
            self._group.start(kind, settings=ZOOKEEPER)
        self._group.settle()

    def bounce(self, phase: Phase, *, with_kill: bool) -> None:
        """Start each member anew with other settings, one after the other; one of them may be killed."""
        if phase.step == "dual-commit":
            # The other steps were asked for at the end of this one's phase.
            self._expect_allowed(phase, phase.step)
        old = list(self._group.members)
        self._dice.shuffle(old)
        killed = self._dice.choice(old) if with_kill else None
        for count, member in enumerate(old, start=1):
            self.changes.append(f"{phase.name}: {member.id} {'is killed' if member is killed else 'is bounced'}")
            self._group.members.remove(member)
            if member is killed:
                self._group.crash(member)
            else:
                member.shutdown()
            self._group.join(member.kind, settings=phase.settings)
            if count < len(old):
                self._expect_left(phase, [each.id for each in old[count:]])
        self.check(phase.name, phase.settings)
        self._expect_allowed(phase, phase.then)

    def _expect_allowed(self, phase: Phase, step: str) -> None:
        allowed = self._ask(phase, "--step", step)
        if allowed.returncode:
            self.wrong.append(f"{phase.name}: {step} is not allowed: {allowed.stdout}{allowed.stderr}")

    def _expect_left(self, phase: Phase, left: list[str]) -> None:
        """Look whether the command names who is not restarted yet."""
        half_way = self._ask(phase)
        found = json.loads(half_way.stdout)
        told = {each["consumer"]: each["commits"] for each in found["consumers"]}
        wanted = {each.id: _COMMITS[id(phase.settings)] for each in self._group.members}
        wanted |= dict.fromkeys(left, _COMMITS[id(phase.before)])
        if (half_way.returncode, found["next_step"], told) != (1, "restart-the-others", wanted):
            self.wrong.append(f"{phase.name}: {left} are left, told is {half_way.stdout}")

    def _ask(self, phase: Phase, *arguments: str) -> CompletedProcess[str]:
        where = ("--group", _GROUP, "--zookeeper", self._site.connect)
        return commands.run("groups", "migrate", *where, "--to", phase.to, "--verify", "--json", *arguments)

    def ends(self) -> dict[Partition, int]:
        """The offsets of who has read all that was acknowledged."""
        ends: dict[Partition, int] = {}
        for partition, offset in self._site.acknowledged:
            ends[partition] = max(ends.get(partition, 0), offset + 1)
        return ends

    def check(self, phase: str, settings: dict[str, str]) -> None:
        """Wait until all is read and committed where the phase says, and look what the other store holds."""
        site, group = self._site, self._group
        kafka, zookeeper = site.kafka_offsets(_GROUP), site.zookeeper_offsets(_GROUP)
        with group.silence():
            ends = self.ends()
            if settings is not ZOOKEEPER:
                group.wait(lambda: site.kafka_offsets(_GROUP) == ends)
            if settings is not KAFKA:
                group.wait(lambda: site.zookeeper_offsets(_GROUP) == ends)
            # What nobody commits to any more stays as it is.
            if settings is KAFKA and site.zookeeper_offsets(_GROUP) != zookeeper:
                self.wrong.append(f"{phase}: committed to ZooKeeper: {zookeeper}, {site.zookeeper_offsets(_GROUP)}")
            if settings is ZOOKEEPER and site.kafka_offsets(_GROUP) != kafka:
                self.wrong.append(f"{phase}: committed to Kafka: {kafka}, {site.kafka_offsets(_GROUP)}")


def migrate(registry: str, seed: int, kinds: Sequence[str], kills: Container[str] = NAMES) -> Outcome:
    """Move a group of these members to Kafka and back, and judge it.

    Args:
        registry: Where the tree is.
        seed: Of all choices.
        kinds: Of the members.
        kills: The phases in which one of them is killed.
    """
    dice = random.Random(seed)
    outcome = Outcome(seed)
    with tempfile.TemporaryDirectory(prefix="barnabas-migration-") as name, Site(registry, Path(name)) as site:
        for topic, count in _TOPICS.items():
            site.create_topic(topic, count)
        for partition in _IDLE:
            site.send(partition, 10)
        with PlayedGroup(site, _GROUP, _TOPICS, Path(name), seed, idle=_IDLE) as group:
            migration = _Migration(site, group, dice)
            try:
                migration.begin(kinds)
                migration.check("start", ZOOKEEPER)
                for phase in PHASES:
                    migration.bounce(phase, with_kill=phase.name in kills)
                outcome.wrong = [*migration.wrong, *group.finish()]
            except BaseException as error:
                error.add_note(f"seed {seed}, after: {'; '.join(migration.changes)}")
                raise
            outcome.note(migration.changes, site, group)
    return outcome
