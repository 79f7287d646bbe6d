"""A group that lives in the registry, looked at from outside, and members of it that note what they read."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from barnabas.api import ConsumerConnector
from barnabas.api.connector import ConsumerTimeoutError, KafkaStream
from barnabas.api.connector.assignment import assign_ranges
from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer
from barnabas.clients.zookeeper.registry import ZooKeeperRegistry
from barnabas.core.types import TopicPartition
from barnabas.testing import Broker
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import NoNodeError
from barnabas.wire.registry.znodes.consumers import ConsumerThread, decode_offset, decode_owner, decode_subscription
from barnabas.wire.registry.znodes.topics import decode_assignment
from tests.patience import PATIENCE_S, until
from tools.kafka.server import free_port

T = TypeVar("T")
Stored = dict[TopicPartition, int]


class Site:
    """A broker and its registry, and an admin's view of both."""

    def __init__(self, zookeeper: str = "") -> None:
        """Args:
        zookeeper: Where a real ZooKeeper is; empty: the broker serves its own tree.
        """
        port = free_port()
        self.connect = zookeeper or f"127.0.0.1:{port}"
        registry = {"zookeeper.connect": zookeeper} if zookeeper else {"barnabas.registry.listeners": f":{port}"}
        self.broker = Broker(config={**registry, "group.initial.rebalance.delay.ms": 0})
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> "Site":
        self.broker.start()
        self._thread.start()
        self.registry = self.call(ZooKeeperRegistry.open(self.connect))
        return self

    def __exit__(self, *_: object) -> None:
        self.call(self.registry.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self.broker.close()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def admin(self, do: Callable[[Admin], Coroutine[Any, Any, T]]) -> T:
        async def work() -> T:
            async with Pool(self.broker.bootstrap_servers) as pool:
                return await do(Admin(pool))

        return self.call(work())

    def create(self, topic: str, partition_count: int) -> None:
        self.admin(lambda admin: admin.create_topic(NewTopic(topic, partition_count, 1)))

    def write(self, topic: str, values: range, partition_count: int) -> None:
        """Messages with these numbers, in turn to each partition."""

        async def work() -> None:
            async with Pool(self.broker.bootstrap_servers) as pool, Producer(pool) as producer:
                for value in values:
                    await producer.send(topic, b"%d" % value, partition=value % partition_count)

        self.call(work())

    def group(self, group_id: str) -> "GroupTree":
        return GroupTree(self, group_id)


class GroupTree:
    """What one group has in the registry."""

    def __init__(self, site: Site, group_id: str) -> None:
        self._site = site
        self.group_id = group_id

    def _children(self, path: str) -> list[str]:
        try:
            return self._site.call(self._site.registry.children(path))
        except NoNodeError:
            return []

    def _get(self, path: str) -> bytes | None:
        try:
            return self._site.call(self._site.registry.get(path))[0]
        except NoNodeError:
            return None

    @property
    def consumers(self) -> list[str]:
        return self._children(paths.consumer_ids(self.group_id))

    def owners(self) -> dict[TopicPartition, ConsumerThread]:
        root, found = paths.consumer_owners(self.group_id), {}
        for topic in self._children(root):
            for partition in self._children(paths.child(root, topic)):
                data = self._get(paths.consumer_owner(self.group_id, topic, int(partition)))
                if data is not None:
                    found[TopicPartition(topic, int(partition))] = decode_owner(data)
        return found

    def rule(self, topics: set[str] | None = None) -> dict[TopicPartition, ConsumerThread]:
        """What 0.8.2 gives; with a list, `topics` are those that it covers."""
        threads: dict[str, list[ConsumerThread]] = {}
        for consumer in self.consumers:
            data = self._get(paths.consumer_id(self.group_id, consumer))
            if data is None:
                continue
            streams = decode_subscription(data).streams
            read = streams if topics is None else dict.fromkeys(topics, sum(streams.values()))
            for topic, count in read.items():
                threads.setdefault(topic, []).extend(ConsumerThread(consumer, n) for n in range(count))
        partitions = {topic: decode_assignment(self._get(paths.topic(topic))).replicas for topic in threads}
        return dict(assign_ranges(partitions, threads))

    def await_rule(self, member_count: int, partition_count: int, topics: set[str] | None = None) -> None:
        """Wait until so many members own so many partitions, as the rule has it."""
        until(
            lambda: (
                len(self.consumers) == member_count
                and len(owners := self.owners()) == partition_count
                and owners == self.rule(topics)
            ),
            lambda: f"{self.group_id}: {self.consumers}, {self.owners()}",
        )

    def stored(self) -> Stored:
        """The offsets in the registry."""
        root, found = paths.consumer_offsets(self.group_id), {}
        for topic in self._children(root):
            for partition in self._children(paths.child(root, topic)):
                data = self._get(paths.consumer_offset(self.group_id, topic, int(partition)))
                found[TopicPartition(topic, int(partition))] = decode_offset(data)
        return found


class Member:
    """A consumer whose streams are read to their ends, each in a thread."""

    def __init__(self, settings: Mapping[str, object], topics: Mapping[str, int]) -> None:
        self.connector = ConsumerConnector(settings)
        self.seen: list[tuple[TopicPartition, int, int]] = []
        self.failures: list[BaseException] = []
        streams = self.connector.create_message_streams(topics)
        self._threads = [
            threading.Thread(target=self._read, args=(each,), daemon=True) for some in streams.values() for each in some
        ]
        for thread in self._threads:
            thread.start()

    def _read(self, stream: KafkaStream[bytes, bytes]) -> None:
        try:
            for message in stream:
                assert message.message is not None
                partition = TopicPartition(message.topic, message.partition)
                self.seen.append((partition, message.offset, int(message.message)))
        except BaseException as error:
            self.failures.append(error)

    def close(self) -> None:
        self.connector.shutdown()
        for thread in self._threads:
            thread.join()
        assert self.failures == []

    def values(self) -> list[int]:
        return [value for _, _, value in self.seen]


class MemberProcess:
    """A consumer in a process of its own, which may be killed and stopped; it tells what it read line by line."""

    def __init__(self, settings: Mapping[str, object], topics: Mapping[str, int]) -> None:
        command = [sys.executable, "-m", "tests.integration.old_group", json.dumps([dict(settings), dict(topics)])]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
        self.seen: list[int] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.endswith("\n"):
                self.seen.append(int(line))

    def signal(self, number: signal.Signals) -> None:
        os.kill(self._process.pid, number)

    def kill(self) -> None:
        self._process.kill()
        self.end()

    def close(self) -> None:
        """Have it shut down, and wait for its end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self.end()
        assert self._process.returncode == 0

    def end(self) -> None:
        self._process.wait(PATIENCE_S)
        self._thread.join()
        assert self._process.stdout is not None
        assert self._process.stdin is not None
        self._process.stdout.close()
        self._process.stdin.close()


def read_until_quiet(stream: KafkaStream[Any, Any]) -> list[Any]:
    """What comes until consumer.timeout.ms passes without anything."""
    found = []
    while True:
        try:
            found.append(next(stream))
        except ConsumerTimeoutError:
            return found


def main() -> None:
    """A member as `MemberProcess` starts it: it ends when its input does."""
    settings, topics = json.loads(sys.argv[1])
    lock = threading.Lock()

    def read(stream: KafkaStream[bytes, bytes]) -> None:
        for message in stream:
            with lock:
                sys.stdout.write(f"{int(message.message or b'')}\n")
                sys.stdout.flush()

    with ConsumerConnector(settings) as connector:
        for streams in connector.create_message_streams(topics).values():
            for stream in streams:
                threading.Thread(target=read, args=(stream,)).start()
        sys.stdin.read()


if __name__ == "__main__":
    main()
