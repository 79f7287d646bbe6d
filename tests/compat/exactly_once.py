"""Programs that read, process and write exactly once, killed again and again: what must be there is, once.

A kill falls into work: it is done when the program has written a number of records, drawn at random, since it was
started, whether they are committed or not. The draws come from one seed, which is told where something goes wrong.

Each trial is run against any broker; `BARNABAS_COMPAT_TARGET=kafka` shows that Kafka 2.7.2 passes.
"""

import json
import random
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.patience import PATIENCE_S
from tools.kafka.jars import STREAMS
from tools.kafka.java import compiled, run_tool, start_java

_WORD_COUNT = Path(__file__).with_name("java") / "WordCount.java"
_STREAMS_JVM_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_WORDS = ("kafka", "writes", "what", "it", "reads", "once", "and", "no", "word", "twice")
_POLL_S = 0.05


class Outcome(NamedTuple):
    """What a trial has come to.

    Attributes:
        expected: Records that must be there.
        missing, doubled: Of those, how many are not, and how many are there again.
        kills: How often somebody was killed.
    """

    expected: int
    missing: int
    doubled: int
    kills: int

    @property
    def is_right(self) -> bool:
        return self.missing == self.doubled == 0


class Topics:
    """Topics of one broker, looked at by librdkafka."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self._admin = AdminClient(
            {"bootstrap.servers": bootstrap_servers, "log_level": 0, "metadata.recovery.strategy": "none"}
        )
        settings = {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "looking",
            "log_level": 0,
            "metadata.recovery.strategy": "none",
        }
        self._looking = Consumer(settings)

    def create(self, name: str, partition_count: int) -> None:
        self._admin.create_topics([NewTopic(name, partition_count, 1)])[name].result(PATIENCE_S)

    def produce(self, name: str, values: list[str]) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap_servers, "enable.idempotence": True})
        for value in values:
            producer.produce(name, value.encode())
            producer.poll(0)
        assert producer.flush(PATIENCE_S) == 0

    def partition_count(self, name: str) -> int:
        return len(self._admin.list_topics(name, timeout=PATIENCE_S).topics[name].partitions)

    def end(self, name: str) -> int:
        """How many records (and markers) a topic holds, those of open transactions too."""
        count = self.partition_count(name)
        return sum(
            self._looking.get_watermark_offsets(TopicPartition(name, number), timeout=PATIENCE_S)[1]
            for number in range(count)
        )

    def committed(
        self, name: str, count: int, timeout_s: float = PATIENCE_S
    ) -> list[tuple[bytes | None, bytes | None]]:
        """Key and value of each record that a reader of committed records sees, in order within a partition.

        Args:
            count: Wait until at least so many came; and then whether more come.
            timeout_s: How long to wait for them; what came till then is returned.
        """
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "group.id": "judge",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                # The end is told by a fetch that finds nothing.
                "fetch.wait.max.ms": 10,
                "log_level": 0,
                "metadata.recovery.strategy": "none",
            }
        )
        partitions = range(self.partition_count(name))
        consumer.assign([TopicPartition(name, number, 0) for number in partitions])
        seen: list[tuple[bytes | None, bytes | None]] = []
        at_end: set[int] = set()
        deadline = time.monotonic() + timeout_s
        while (len(seen) < count or len(at_end) < len(partitions)) and time.monotonic() < deadline:
            message = consumer.poll(_POLL_S)
            if message is None:
                continue
            number = message.partition()
            assert number is not None
            if message.error() is not None:
                at_end.add(number)
            else:
                at_end.discard(number)
                seen.append((message.key(), message.value()))
        consumer.close()
        return seen

    def stuck(self, name: str) -> list[int]:
        """The partitions of a topic that readers of committed records can't read to the end."""
        found = []
        for number in range(self.partition_count(name)):
            place = TopicPartition(name, number)
            consumer = Consumer(
                {
                    "bootstrap.servers": self.bootstrap_servers,
                    "group.id": "looking",
                    "isolation.level": "read_committed",
                    "log_level": 0,
                    "metadata.recovery.strategy": "none",
                }
            )
            stable = consumer.get_watermark_offsets(place, timeout=PATIENCE_S)[1]
            consumer.close()
            if stable != self._looking.get_watermark_offsets(place, timeout=PATIENCE_S)[1]:
                found.append(number)
        return found

    def close(self) -> None:
        self._looking.close()


@contextmanager
def topics_of(bootstrap_servers: str) -> Iterator[Topics]:
    with closing(Topics(bootstrap_servers)) as topics:
        yield topics


def wait_for(is_reached: Callable[[], bool], process: subprocess.Popen[bytes], what: str) -> None:
    """Wait until something is reached by a process, which must live as long."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_reached():
        assert process.poll() is None, f"{what}: the process ended with status {process.returncode}"
        assert time.monotonic() < deadline, f"{what}: not reached in {PATIENCE_S} s"
        time.sleep(_POLL_S)


def compare(expected: Counter[bytes], seen: list[bytes], kills: int) -> Outcome:
    found = Counter(seen)
    return Outcome(expected.total(), (expected - found).total(), (found - expected).total(), kills)


def word_count(bootstrap_servers: str, name: str, directory: Path, kills: int, dice: random.Random) -> Outcome:
    """Count words with Kafka Streams under exactly_once, killed so many times; every update of every count is there.

    Args:
        name: Of the application; its topics are named after it.
        directory: For its local state.
    """
    source, target = f"{name}-lines", f"{name}-counts"
    lines_per_life, words_per_line = 60, 5
    counts: Counter[str] = Counter()
    with topics_of(bootstrap_servers) as topics:
        topics.create(source, 3)
        topics.create(target, 2)

        def start() -> subprocess.Popen[bytes]:
            arguments = (bootstrap_servers, name, source, target, str(directory), "exactly_once")
            return start_java(
                "WordCount",
                *arguments,
                jar_set=STREAMS,
                jvm_options=_STREAMS_JVM_OPTIONS,
                extra_classpath=compiled(_WORD_COUNT, STREAMS),
                log_level="ERROR",
                stderr=None,
            )

        for life in range(kills + 1):
            lines = [[dice.choice(_WORDS) for _ in range(words_per_line)] for _ in range(lines_per_life)]
            for line in lines:
                counts.update(line)
            topics.produce(source, [" ".join(line) for line in lines])
            begin = topics.end(target)
            process = start()
            try:
                if life < kills:
                    wanted = begin + dice.randrange(1, lines_per_life * words_per_line)
                    wait_for(lambda wanted=wanted: topics.end(target) >= wanted, process, f"{name}, life {life}")
                else:
                    expected = Counter(
                        {b"%s=%d" % (w.encode(), n): 1 for w, c in counts.items() for n in range(1, c + 1)}
                    )
                    seen = topics.committed(target, expected.total())
            finally:
                process.kill()
                process.wait()
        updates = [b"%s=%d" % (key or b"", int.from_bytes(value or b"", "big")) for key, value in seen]
        orders: dict[bytes | None, list[int]] = defaultdict(list)
        for key, value in seen:
            orders[key].append(int.from_bytes(value or b"", "big"))
        assert all(order == sorted(order) for order in orders.values()), "counts went back"
        return compare(expected, updates, kills)


def copier(bootstrap_servers: str, name: str, kills: int, dice: random.Random, directory: Path) -> Outcome:
    """Kafka's VerifiableProducer fills a topic, TransactionalMessageCopier copies it, VerifiableConsumer reads it.

    The copier is killed so many times, and aborts some of its transactions by itself.
    """
    source, target = f"{name}-in", f"{name}-out"
    count = 400 * (kills + 1)
    with topics_of(bootstrap_servers) as topics:
        topics.create(source, 1)
        topics.create(target, 2)
        server = ("--bootstrap-server", bootstrap_servers)
        filled = run_tool(
            "org.apache.kafka.tools.VerifiableProducer", *server, "--topic", source, "--max-messages", str(count)
        )
        assert filled.returncode == 0, filled.stdout[-2_000:] + filled.stderr
        said = [json.loads(line) for line in filled.stdout.splitlines()]
        expected = Counter(str(line["value"]).encode() for line in said if line["name"] == "producer_send_success")
        assert expected.total() == count

        def start() -> subprocess.Popen[bytes]:
            return start_java(
                "org.apache.kafka.tools.TransactionalMessageCopier",
                *("--broker-list", bootstrap_servers, "--input-topic", source, "--input-partition", "0"),
                *("--output-topic", target, "--transactional-id", name, "--consumer-group", name),
                *("--transaction-size", "50", "--transaction-timeout", "10000", "--enable-random-aborts"),
                *(("--group-mode", "--use-group-metadata") if dice.random() < 0.5 else ()),
                stderr=None,
            )

        for life in range(kills):
            wanted = topics.end(target) + dice.randrange(1, 300)
            process = start()
            try:
                wait_for(lambda wanted=wanted: topics.end(target) >= wanted, process, f"{name}, life {life}")
            finally:
                process.kill()
                process.wait()
        process = start()
        try:
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()
            process.wait()
        config = directory / f"{name}.properties"
        config.write_text("isolation.level=read_committed\n")
        read = run_tool(
            "org.apache.kafka.tools.VerifiableConsumer",
            *(*server, "--topic", target, "--group-id", f"{name}-judge", "--max-messages", str(count), "--verbose"),
            *("--consumer.config", str(config)),
        )
        assert read.returncode == 0, read.stdout[-2_000:] + read.stderr
        told = [json.loads(line) for line in read.stdout.splitlines()]
        assert sum(1 for line in told if line["name"] == "record_data") == count
        seen = topics.committed(target, count)
        return compare(expected, [value or b"" for _, value in seen], kills)
