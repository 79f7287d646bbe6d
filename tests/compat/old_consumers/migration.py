"""The offsets of a group move from ZooKeeper to Kafka under load, member by member, and back.

    start      all commit to ZooKeeper
    dual       a rolling bounce to storage kafka with dual commit
    kafka      another to storage kafka alone
    dual again, and ZooKeeper: the same way back

One member of each phase is killed where the others are shut down in order. One topic is idle: of it messages are there
before the group, and none comes later.

Source: implementation document, migrating offsets from ZooKeeper to Kafka.
"""

import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.compat.old_consumers.group import PlayedGroup
from tests.compat.old_consumers.history import Outcome
from tests.compat.old_consumers.judge import Partition
from tests.compat.old_consumers.site import Site

ZOOKEEPER = {"offsets.storage": "zookeeper"}
DUAL = {"offsets.storage": "kafka", "dual.commit.enabled": "true"}
KAFKA = {"offsets.storage": "kafka", "dual.commit.enabled": "false"}
PHASES = (("dual", DUAL), ("kafka", KAFKA), ("dual again", DUAL), ("zookeeper again", ZOOKEEPER))

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

    def bounce(self, phase: str, settings: dict[str, str]) -> None:
        """Start each member anew with other settings, one after the other; one of them is killed."""
        old = list(self._group.members)
        self._dice.shuffle(old)
        killed = self._dice.choice(old)
        for member in old:
            self.changes.append(f"{phase}: {member.id} {'is killed' if member is killed else 'is bounced'}")
            self._group.members.remove(member)
            if member is killed:
                self._group.crash(member)
            else:
                member.shutdown()
            self._group.join(member.kind, settings=settings)

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


def migrate(registry: str, seed: int, kinds: Sequence[str]) -> Outcome:
    """Move a group of these members to Kafka and back, and judge it."""
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
                for phase, settings in PHASES:
                    migration.bounce(phase, settings)
                    migration.check(phase, settings)
                outcome.wrong = [*migration.wrong, *group.finish()]
            except BaseException as error:
                error.add_note(f"seed {seed}, after: {'; '.join(migration.changes)}")
                raise
            outcome.note(migration.changes, site, group)
    return outcome
