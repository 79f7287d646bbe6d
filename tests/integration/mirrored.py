"""What is mirrored while mirrors are killed: records of all kinds, and both sides as read_committed shows them."""

import random
import string
from collections.abc import Iterable
from typing import Any, NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from tests.compat.conftest import RunningBroker
from tests.mirrored_clusters import Cluster, Sent
from tests.patience import PATIENCE_S

_START_MS = 1_772_800_000_000
_MOST_AT_ONCE = 120


class Seen(NamedTuple):
    """A record where a reader sees it."""

    offset: int
    record: Sent


class Side(Cluster):
    """One side of a mirror; it sends what no two records have in common, and reads with offsets."""

    def __init__(self, broker: RunningBroker, name: str, address: str = "") -> None:
        super().__init__(broker, address=address)
        self.name = name
        self._sent_count = 0

    def feed(self, topic: str, count: int, chance: random.Random) -> None:
        """Send so many records that are there in the end, some in transactions; others are aborted between them."""
        partition_count = self.partition_count(topic)
        while count:
            records = self._records(partition_count, min(count, chance.randint(1, _MOST_AT_ONCE)), chance)
            kind = chance.choice(["plain", "plain", "committed", "aborted"])
            self.send(topic, records, "" if kind == "plain" else f"{topic}-{self.name}", kind == "aborted")
            if kind != "aborted":
                count -= sum(map(len, records.values()))

    def _records(self, partition_count: int, count: int, chance: random.Random) -> dict[int, list[Sent]]:
        made: dict[int, list[Sent]] = {number: [] for number in range(partition_count)}
        for _ in range(count):
            self._sent_count += 1
            number = b"%d" % self._sent_count
            more = [
                (chance.choice(string.ascii_lowercase[:3]), chance.choice([None, b"", number]))
                for _ in range(chance.choice([0, 0, 1, 3]))
            ]
            headers = (*more, ("sent", b"%s-%d" % (self.name.encode(), self._sent_count)))
            key = chance.choice([None, b"", number])
            value = chance.choice([None, b"", number, number * chance.randint(1, 200)])
            made[chance.randrange(partition_count)].append(Sent(key, value, _START_MS + self._sent_count, headers))
        return made

    def read_all(self, topic: str) -> dict[int, list[Seen]]:
        """Give all records that read_committed sees, by partition and in order."""
        partition_count = self.partition_count(topic)
        consumer = reader(self.address, "nobody")
        # Who knows no leader yet asks where the beginning is half a second later.
        consumer.list_topics(topic, timeout=PATIENCE_S)
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(partition_count)])
        try:
            return read_to_ends(consumer, partition_count)
        finally:
            consumer.close()


def reader(address: str, group: str) -> Consumer:
    """A reader of committed records that says where partitions end, and commits nothing by itself."""
    return Consumer(
        {
            "bootstrap.servers": address,
            "group.id": group,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            # The end is told by a fetch that finds nothing.
            "fetch.wait.max.ms": 10,
            "enable.auto.commit": False,
        }
    )


def read_to_ends(consumer: Consumer, partition_count: int) -> dict[int, list[Seen]]:
    """Read all partitions of one topic to their ends."""
    found: dict[int, list[Seen]] = {number: [] for number in range(partition_count)}
    ended: set[int | None] = set()
    while len(ended) < partition_count:
        message = consumer.poll(PATIENCE_S)
        assert message is not None, f"{len(ended)} of {partition_count} partitions were read to their ends"
        error = message.error()
        if error is None:
            found[_number(message.partition())].append(_seen(message))
        else:
            assert error.code() == KafkaError._PARTITION_EOF, error
            ended.add(message.partition())
    return found


def sent_by(records: Iterable[Seen], name: str, least_offset: int = 0) -> list[Sent]:
    """Give what was sent to the side of a name, of what is at some side from an offset on."""
    return [each.record for each in records if each.offset >= least_offset and sender(each) == name]


def sender(seen: Seen) -> str:
    """Name the side that a record was sent to."""
    return (seen.record.headers[-1][1] or b"").partition(b"-")[0].decode()


def _seen(message: Message) -> Seen:
    headers: Any = tuple(message.headers() or ())
    return Seen(_number(message.offset()), Sent(message.key(), message.value(), message.timestamp()[1], headers))


def _number(value: int | None) -> int:
    assert value is not None
    return value
