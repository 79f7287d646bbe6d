"""A broker with its ZooKeeper, a real one or its own, topics, and a producer whose acknowledged messages are known.

With `BARNABAS_COMPAT_TARGET=kafka` it is Kafka 2.7.2 and its ZooKeeper, whatever the registry.
"""

import contextlib
import random
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

from barnabas.core.error_code import ErrorCode
from barnabas.testing import Broker
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.protocol.messages.offset_fetch import OffsetFetchRequest
from tests.clusters import Member, barnabas_member, cluster_of, wait_for_members
from tests.compat.commands import Commands
from tests.compat.conftest import TARGET, RunningBroker
from tests.compat.old_consumers.judge import Partition
from tests.compat.old_consumers.tree import zookeeper_offsets
from tests.compat.raw import ask
from tests.patience import PATIENCE_S
from tests.zookeeper_client import kazoo_client
from tools.kafka.server import ONE_BROKER, QuickKafkaServer, free_port
from tools.kafka.zookeeper import ZooKeeper

REGISTRIES = ("zookeeper", "embedded")
"""Where the tree is: in a real ZooKeeper, or in the broker, which serves it."""

_CLUSTER = {"auto.create.topics.enable": "false"}


class Site:
    """What a group reads from, from the start of a `with` to its end.

    Attributes:
        connect: The `zookeeper.connect` of consumers.
        acknowledged: Partition and offset of each message that the broker has said to have.
    """

    _replication_factor = 1

    def __init__(self, registry: str, directory: Path) -> None:
        self.acknowledged: list[tuple[Partition, int]] = []
        self.connect = ""
        self._registry, self._directory = registry, directory
        self._stack = ExitStack()
        self.broker: RunningBroker
        self.kazoo: KazooClient
        self._producer: Producer

    def create_topic(self, topic: str, partition_count: int) -> None:
        counts = ("--partitions", str(partition_count), "--replication-factor", str(self._replication_factor))
        self._commands.run("topics", "--create", "--topic", topic, *counts)

    def grow(self, topic: str, partition_count: int) -> None:
        """Give a topic more partitions, as an operator does."""
        self._commands.run("topics", "--alter", "--topic", topic, "--partitions", str(partition_count))

    def bounce_broker(self, *, is_killed: bool) -> None:
        """Stop or kill the broker, and start it again; returns when the tree can be read."""
        if is_killed:
            self.broker.kill()
        self.broker.restart()
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            # Its session may have ended with the broker.
            with contextlib.suppress(KazooException):
                self.kazoo.get("/")
                break
        self._wait_for_coordinator()

    def send(self, partition: Partition, count: int = 1, noted: list[tuple[Partition, int]] | None = None) -> None:
        """Write messages; `acknowledged`, and `noted` too, grow when the broker has them."""
        topic, number = partition

        def delivered(error: KafkaError | None, message: Message) -> None:
            assert error is None, error
            offset = message.offset()
            assert offset is not None
            self.acknowledged.append((partition, offset))
            if noted is not None:
                noted.append((partition, offset))

        for _ in range(count):
            self._produce(topic, number, delivered)
        self._producer.poll(0)

    def flush(self) -> None:
        """Wait until all that was sent is acknowledged."""
        assert self._producer.flush(PATIENCE_S) == 0

    def zookeeper_offsets(self, group: str) -> dict[Partition, int]:
        return zookeeper_offsets(self.kazoo, group)

    def kafka_offsets(self, group: str) -> dict[Partition, int]:
        """The group's committed offsets in Kafka; raises OSError where the coordinator is gone."""
        found = ask(self.broker.bootstrap_servers, FindCoordinatorRequest(group), 0)
        answer = ask(f"{found.host}:{found.port}", OffsetFetchRequest(group, None), 2)
        if answer is None:
            raise ConnectionError("the coordinator closed the connection")
        assert answer.error_code == ErrorCode.NONE, answer.error_code
        return {
            (topic.name, each.partition_index): each.committed_offset
            for topic in answer.topics
            for each in topic.partitions
            if each.committed_offset >= 0
        }

    def _produce(self, topic: str, partition: int, delivered: Callable[[KafkaError | None, Message], None]) -> None:
        while True:
            try:
                self._producer.produce(topic, b"m", partition=partition, on_delivery=delivered)
                return
            except KafkaException as error:
                if error.args[0].code() != KafkaError._UNKNOWN_PARTITION:
                    raise
                # The topic has grown, and the producer has not heard of it yet.
                self._producer.list_topics(topic, timeout=PATIENCE_S)

    def __enter__(self) -> Self:
        with self._stack:
            self.broker, self.connect = self._started_broker()
            self.kazoo = self._stack.enter_context(kazoo_client(self.connect, timeout=10))
            self._commands = Commands(self.broker.bootstrap_servers)
            self._producer = Producer(
                {
                    "bootstrap.servers": self.broker.bootstrap_servers,
                    "linger.ms": 5,
                    "log_level": 0,
                    "acks": "all",
                    # See broker_kills.py.
                    "metadata.recovery.strategy": "none",
                }
            )
            self._wait_for_coordinator()
            self._stack = self._stack.pop_all()
        return self

    def _started_broker(self) -> tuple[RunningBroker, str]:
        """A broker, and where its tree is."""
        config = {**ONE_BROKER, "offsets.topic.num.partitions": "3", "auto.create.topics.enable": "false"}
        if TARGET == "kafka":
            server = self._stack.enter_context(QuickKafkaServer(self._directory / "kafka", config))
            return server, server.zookeeper_connect
        if self._registry == "zookeeper":
            zookeeper = self._stack.enter_context(ZooKeeper(self._directory / "zookeeper"))
            connect = f"{zookeeper.connect}/clusters/old"
            config["zookeeper.connect"] = connect
        else:
            connect = f"127.0.0.1:{free_port()}"
            config |= {"barnabas.registry.listeners": connect, "barnabas.registry.min.session.timeout.ms": "2000"}
        return self._stack.enter_context(Broker(config=config)), connect

    def _wait_for_coordinator(self) -> None:
        """The first who asks has the topic of offsets made."""
        deadline = time.monotonic() + PATIENCE_S
        servers = self.broker.bootstrap_servers
        while (found := ask(servers, FindCoordinatorRequest("any"), 0)).error_code or ask(
            f"{found.host}:{found.port}", OffsetFetchRequest("any", []), 5
        ).error_code:
            assert time.monotonic() < deadline

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()


class ClusterSite(Site):
    """Three brokers of ours on a real ZooKeeper, to which more may come; what `broker` names stays.

    Attributes:
        members: All brokers, by id, be they killed or not.
    """

    _replication_factor = 3

    def __init__(self, directory: Path) -> None:
        super().__init__("zookeeper", directory)
        self.members: dict[int, Member] = {}

    def add_broker(self) -> None:
        broker_id = len(self.members) + 1
        place = self._directory / f"broker-{broker_id}"
        self.members[broker_id] = self._stack.enter_context(barnabas_member(place, self.connect, broker_id, _CLUSTER))
        wait_for_members(self.members)

    def _started_broker(self) -> tuple[RunningBroker, str]:
        zookeeper = self._stack.enter_context(ZooKeeper(self._directory / "zookeeper"))
        self.connect = f"{zookeeper.connect}/clusters/old"
        members = cluster_of(("barnabas",) * 3, self._directory, self.connect, _CLUSTER)
        self.members = dict(self._stack.enter_context(members))
        return self.members[1], self.connect


class Feeder(threading.Thread):
    """Writes into all partitions of some topics, at random, in small bursts."""

    def __init__(self, site: Site, partitions: list[Partition], seed: int) -> None:
        """Args:
        site: Where to.
        partitions: The caller may add to them.
        seed: Of what is written when.
        """
        super().__init__(daemon=True)
        self._site, self._partitions = site, partitions
        self._dice = random.Random(seed)
        self._is_over = threading.Event()
        self._writing = threading.Lock()

    def run(self) -> None:
        while not self._is_over.wait(0.02):
            with self._writing:
                self._site.send(self._dice.choice(self._partitions), self._dice.randrange(1, 8))

    def pause(self) -> None:
        self._writing.acquire()

    def go_on(self) -> None:
        self._writing.release()

    def end(self) -> None:
        """Stop, and wait until all is acknowledged."""
        self._is_over.set()
        self.join()
        self._site.flush()
