"""Trials of mirrors that are killed, and what a read_committed reader must then see; `mirror_soak.py` runs them, too.

Each record that a source's own producers committed must be in the target once, and those of a partition in their order.
New ones of all kinds come between the lives. A group that moves over in mid-stream must go on in the target with the
first record that it has not committed.
"""

import json
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mirrored_clusters import Sent
from tests.patience import PATIENCE_S
from tests.pipeline.lives import ROOT, Lives, missing_and_doubled
from tests.pipeline.mirrored import Side, read_to_ends, reader, sender, sent_by

TOPIC = "events"
PARTITION_COUNT = 3
RECORDS_PER_BATCH = 150
# Of each source before each life: more than the batches that a life has before it is killed.
RECORDS_PER_LIFE = 6 * RECORDS_PER_BATCH
_TRIGGER_S = 0.1
_GROUP = "movers"


@dataclass(slots=True)
class Differences:
    """What is wrong: records that are not there, are there too often, or stand before one that they came after."""

    missing_count: int = 0
    doubled_count: int = 0
    misplaced_count: int = 0
    record_count: int = 0
    """What should be there."""

    def add(self, expected: Sequence[Sent], found: Sequence[Sent]) -> None:
        """Hold one partition's records against what they should be."""
        missing, doubled = missing_and_doubled(expected, found)
        self.missing_count += missing
        self.doubled_count += doubled
        self.record_count += len(expected)
        if not missing and not doubled:
            self.misplaced_count += sum(one != other for one, other in zip(expected, found, strict=True))

    @property
    def is_any(self) -> bool:
        return bool(self.missing_count or self.doubled_count or self.misplaced_count)


@dataclass(frozen=True, slots=True)
class Direction:
    """From which cluster into which; topics get the prefix."""

    source: Side
    target: Side
    prefix: str = ""


class Move:
    """A group that reads the source, stops in mid-stream, and goes on in the target."""

    def __init__(self, direction: Direction) -> None:
        self._direction = direction
        self._offsets: dict[int, int] = {}
        self.moved_count = 0
        self.uncommitted_count = 0

    def read_some(self, count: int, uncommitted_count: int) -> None:
        """Read and commit so many records at the source, then read some more, and stop."""
        consumer = reader(self._direction.source.address, _GROUP)
        consumer.subscribe([TOPIC])
        try:
            self._read(consumer, count)
            committed = consumer.commit(asynchronous=False)
            self._offsets = {each.partition: each.offset for each in committed if each.offset >= 0}
            self._read(consumer, uncommitted_count)
            self.uncommitted_count = uncommitted_count
        finally:
            consumer.close()

    def translate(self) -> list[dict[str, Any]]:
        """Let `barnabas groups translate` move the group; the mirror must be running, or have come far enough."""
        command = [sys.executable, "-m", "barnabas.cli.main", "groups", "translate", "--group", _GROUP, "--execute"]
        command += ["--bootstrap-server", self._direction.source.address, "--json", "--wait", str(int(PATIENCE_S))]
        command += ["--target-bootstrap-server", self._direction.target.address]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=2 * PATIENCE_S)
        assert done.returncode == 0, done.stderr
        rows: list[dict[str, Any]] = json.loads(done.stdout)
        assert {row["coverage"] for row in rows} == {"exact"}, rows
        self.moved_count = len(rows)
        return rows

    def differences(self) -> Differences:
        """Read on in the target, and hold that against what was not committed at the source."""
        target, topic = self._direction.target, self._direction.prefix + TOPIC
        consumer = reader(target.address, _GROUP)
        consumer.subscribe([topic])
        try:
            found = read_to_ends(consumer, PARTITION_COUNT)
        finally:
            consumer.close()
        source, differences = self._direction.source, Differences()
        for partition, records in source.read_all(TOPIC).items():
            expected = sent_by(records, source.name, self._offsets.get(partition, 0))
            differences.add(expected, sent_by(found[partition], source.name))
        return differences

    def _read(self, consumer: Any, count: int) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while count and time.monotonic() < deadline:
            message = consumer.poll(1.0)
            count -= message is not None and message.error() is None
        assert count == 0, f"{count} records more were wanted"


class MirrorTrial:
    """Clusters, mirrors between them in one driver, its lives, and the comparison at the end."""

    def __init__(
        self,
        directory: Path,
        directions: Sequence[Direction],
        seed: int,
        records_per_life: int = RECORDS_PER_LIFE,
        **asked: Any,
    ) -> None:
        self.directions = directions
        self._records_per_life = records_per_life
        self._fed_count = 0
        self._random = random.Random(f"records {seed}")
        self.sources = list(dict.fromkeys(direction.source for direction in directions))
        self.lives = Lives(
            directory,
            "tests.pipeline.mirror_driver",
            seed,
            mirrors=[
                {
                    "name": "killed",
                    "alias": direction.source.name,
                    "source": direction.source.address,
                    "target": direction.target.address,
                    "topics": [TOPIC],
                    "prefix": direction.prefix,
                }
                for direction in directions
            ],
            is_once=False,
            trigger_s=_TRIGGER_S,
            records_per_s=RECORDS_PER_BATCH / _TRIGGER_S,
            **asked,
        )
        for source in self.sources:
            source.create(TOPIC, PARTITION_COUNT)

    def feed(self) -> None:
        """Send new records into each source."""
        for source in self.sources:
            source.feed(TOPIC, self._records_per_life, self._random)
        self._fed_count += self._records_per_life

    def kill_drivers(self, count: int) -> None:
        """Let lives be killed, each after up to two batches, somewhere in what follows."""
        for _ in range(count):
            self.feed()
            assert not self.lives.live(self.lives.kill_after_batches()), self.lives.said()

    def kill_driver_while_group_moves(self, move: Move) -> None:
        """Let a group stop at the source, and its offsets be translated while a life mirrors; then kill that."""
        self.feed()
        move.read_some(self._records_per_life // 2, 20)
        self.feed()

        def end(process: subprocess.Popen[str], chance: random.Random) -> str:
            move.translate()
            return self.lives.kill_after_batches()(process, chance)

        assert not self.lives.live(end), self.lives.said()

    def finish(self) -> None:
        """Let a life mirror what is left, and end."""
        assert self.lives.live(None, is_once=True, records_per_s=0.0), self.lives.said()

    def finish_while_brokers_are_killed(self) -> None:
        """The same, while each of the brokers is killed and comes back."""
        self.feed()
        brokers = {id(side.broker): side.broker for each in self.directions for side in (each.source, each.target)}

        def end(process: subprocess.Popen[str], chance: random.Random) -> str:
            for broker in brokers.values():
                wanted = self.lives.killed.batch_count + 1
                while self.lives.killed.batch_count < wanted and process.poll() is None:
                    time.sleep(0.01)
                time.sleep(chance.uniform(0.0, 0.5))
                broker.kill()
                broker.restart()
                self.lives.killed.broker_restart_count += 1
            return "each of the brokers"

        # What the killed ones have left may be much: as many batches as the brokers are killed in, and some more.
        per_batch = max(RECORDS_PER_BATCH, self._fed_count // 10)
        assert self.lives.live(end, is_once=True, records_per_s=per_batch / _TRIGGER_S), self.lives.said()

    def compare(self) -> Differences:
        """Hold all targets against their sources."""
        differences = Differences()
        for direction in self.directions:
            came = direction.target.read_all(direction.prefix + TOPIC)
            for partition, records in direction.source.read_all(TOPIC).items():
                own = sent_by(records, direction.source.name)
                differences.doubled_count += len(own) - len(set(own))
                # What has come from elsewhere to the source goes on, unless it is from the target.
                for name in {sender(each) for each in records} - {direction.target.name}:
                    differences.add(sent_by(records, name), sent_by(came[partition], name))
        return differences
