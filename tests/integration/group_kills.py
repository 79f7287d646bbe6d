"""`kill -9` in the middle of rebalances: each time the group comes together again and goes on where it was.

Members are librdkafka's, some of them static. In each round one joins, leaves or is started anew under its instance id;
when the broker has seen some requests of the rebalance it is killed. Afterwards all members that are there share all
partitions, every record is read and committed, and no committed offset has gone back.

`python -m tests.integration.group_kills --kills 20 --seed 1` plays the long form (`scripts/soak --groups`).
"""

import argparse
import random
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import confluent_kafka
from confluent_kafka import admin

from barnabas.testing import Broker
from tests.integration.test_kill import CLIENT_CONFIG, Load
from tests.patience import PATIENCE_S

TOPIC, GROUP = "rebalanced", "rebalancing"
PARTITION_COUNT = 6
RECORDS_PER_ROUND = 60
SESSION_MS = 6_000
LEAST_MEMBERS, MOST_MEMBERS = 2, 5
INSTANCES = ("i1", "i2")
# What the broker is killed after, and how many of them at the most: a static member that comes back joins alone.
WATCHED = {"JoinGroup": 1, "SyncGroup": 1, "Heartbeat": 4, "OffsetCommit": 2}
BROKER_CONFIG: Mapping[str, str | int | float | Sequence[str]] = {
    "num.partitions": PARTITION_COUNT,
    "group.initial.rebalance.delay.ms": 50,
    "log.segment.bytes": 100_000,
}


class Member(Load):
    """A member of the group that commits what it has read; static with an instance id."""

    def __init__(self, bootstrap_servers: str, instance: str | None, is_cooperative: bool) -> None:
        super().__init__()
        self.instance = instance
        self.owned: frozenset[int] = frozenset()
        self.seen: set[int] = set()
        self.acknowledged: dict[int, int] = {}
        self._consumer = confluent_kafka.Consumer(
            CLIENT_CONFIG
            | {
                "bootstrap.servers": bootstrap_servers,
                "group.id": GROUP,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                # A member that left just before the kill is expected back for so long.
                "session.timeout.ms": SESSION_MS,
                "heartbeat.interval.ms": 100,
                "partition.assignment.strategy": "cooperative-sticky" if is_cooperative else "range",
            }
            | ({} if instance is None else {"group.instance.id": instance})
        )
        self._has_uncommitted = False
        self._consumer.subscribe([TOPIC])
        self.start()

    def work(self) -> None:
        messages = [each for each in self._consumer.consume(20, timeout=0.05) if each.error() is None]
        owned = frozenset(each.partition for each in self._consumer.assignment())
        numbers = {int(each.value()) for each in messages}
        self._has_uncommitted |= bool(messages)
        committed = self._commit() if self._has_uncommitted else []

        def change() -> None:
            self.owned = owned
            self.seen |= numbers
            for each in committed:
                if each.error is None and each.offset >= 0:
                    self.acknowledged[each.partition] = max(each.offset, self.acknowledged.get(each.partition, 0))

        self.note(change)

    def finish(self) -> None:
        self._consumer.close()

    def _commit(self) -> list[confluent_kafka.TopicPartition]:
        """Commit what was read; what can't be committed now is tried again, unless its partitions are gone."""
        try:
            committed = self._consumer.commit(asynchronous=False)
        except confluent_kafka.KafkaException as error:
            # The broker was just killed, or the group gathers anew: nothing was acknowledged.
            self._has_uncommitted = error.args[0].code() != confluent_kafka.KafkaError._NO_OFFSET
            return []
        self._has_uncommitted = any(each.error is not None for each in committed)
        return committed


class Rebalances:
    """A group on a broker that is killed again and again."""

    def __init__(self, broker: Broker, source: random.Random) -> None:
        self._broker = broker
        self._source = source
        self._is_cooperative = source.random() < 0.5
        self._record_count = 0
        self._acknowledged: dict[int, int] = {}
        self._seen: set[int] = set()
        servers = {"bootstrap.servers": broker.bootstrap_servers}
        self._producer = confluent_kafka.Producer(CLIENT_CONFIG | servers | {"enable.idempotence": True})
        self._judge = confluent_kafka.Consumer(CLIENT_CONFIG | servers | {"group.id": GROUP})
        client = admin.AdminClient({**CLIENT_CONFIG, **servers})
        client.create_topics([admin.NewTopic(TOPIC, PARTITION_COUNT, 1)])[TOPIC].result(PATIENCE_S)
        self._members = [self._member(instance) for instance in (*INSTANCES, None)]

    def play(self, kill_count: int) -> None:
        """Kill the broker so many times, each time in the middle of a rebalance."""
        self._produce()
        self._wait_until_read()
        for number in range(kill_count):
            api, most = self._source.choice(list(WATCHED.items()))
            with self._broker.on(api, group=GROUP).watch() as watched:
                self._produce()
                self._disturb()
                watched.wait_for(self._source.randint(1, most), PATIENCE_S)
            self._broker.kill()
            self._broker.start()
            self._produce()
            self._wait_until_read()
            print(f"kill {number + 1} after {watched.count} {api}: {len(self._members)} members resumed", flush=True)
        for member in self._members:
            member.stop()
            self._gather(member)
        self._judge.close()
        assert self._seen == set(range(self._record_count))

    def _member(self, instance: str | None) -> Member:
        return Member(self._broker.bootstrap_servers, instance, self._is_cooperative)

    def _produce(self) -> None:
        for _ in range(RECORDS_PER_ROUND):
            partition = self._record_count % PARTITION_COUNT
            self._producer.produce(TOPIC, b"%d" % self._record_count, partition=partition)
            self._record_count += 1
        assert self._producer.flush(PATIENCE_S) == 0

    def _disturb(self) -> None:
        """Somebody joins, leaves, or comes back under its instance id."""
        may_join = len(self._members) < MOST_MEMBERS
        may_leave = len(self._members) > LEAST_MEMBERS
        what = self._source.choice(["return"] + ["join"] * may_join + ["leave"] * may_leave)
        if what == "join":
            self._members.append(self._member(None))
            return
        dynamic = [member for member in self._members if member.instance is None]
        static = [member for member in self._members if member.instance is not None]
        going = self._source.choice(dynamic if what == "leave" and dynamic else static)
        going.stop()
        self._gather(going)
        self._members.remove(going)
        if going.instance is not None:
            self._members.append(self._member(going.instance))

    def _gather(self, member: Member) -> None:
        self._seen |= member.seen
        for partition, offset in member.acknowledged.items():
            self._acknowledged[partition] = max(offset, self._acknowledged.get(partition, 0))

    def _wait_until_read(self) -> None:
        """All members share all partitions, and all that is there is committed."""
        deadline = time.monotonic() + PATIENCE_S
        while not (self._is_shared() and self._committed() == self._ends()):
            for member in self._members:
                member.check()
            owned = [(member.instance, sorted(member.owned)) for member in self._members]
            assert time.monotonic() < deadline, (
                owned,
                self._committed(),
                self._ends(),
                self._broker.log_text()[-3_000:],
            )

    def _is_shared(self) -> bool:
        owned = [partition for member in self._members for partition in member.owned]
        return sorted(owned) == list(range(PARTITION_COUNT)) and all(member.owned for member in self._members)

    def _ends(self) -> dict[int, int]:
        return dict.fromkeys(range(PARTITION_COUNT), self._record_count // PARTITION_COUNT)

    def _committed(self) -> dict[int, int]:
        for member in self._members:
            self._gather(member)
        before = dict(self._acknowledged)
        wanted = [confluent_kafka.TopicPartition(TOPIC, partition) for partition in range(PARTITION_COUNT)]
        try:
            found = {each.partition: each.offset for each in self._judge.committed(wanted, timeout=PATIENCE_S)}
        except confluent_kafka.KafkaException:
            return {}
        for partition, offset in before.items():
            assert found[partition] >= offset, f"partition {partition} went back from {offset} to {found[partition]}"
        return found


def play(directory: Path, seed: int, kill_count: int) -> None:
    """One group and its kills; the seed says what happens when."""
    print(f"seed {seed}")
    with Broker(data_dir=directory, config=BROKER_CONFIG) as broker:
        Rebalances(broker, random.Random(seed)).play(kill_count)
        assert "Traceback" not in broker.log_text()


def main() -> None:
    """The long form."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        began = time.monotonic()
        play(Path(directory), arguments.seed, arguments.kills)
        print(f"{arguments.kills} kills, the group resumed after each; {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
