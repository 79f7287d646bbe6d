"""Kafka 2.7.2 and two Barnabas brokers are one cluster on one ZooKeeper; one of each kind is the controller once.

The Java client writes with acks=all all the while and reads everything in the end; the logs of all three brokers hold
the same batches at the same offsets. With three brokers of Kafka the same story shows that it asks for nothing that
they don't do.
"""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.clusters import Members, cluster_of, create_topic, make_controller, servers_of, wait_for_in_sync
from tests.compat.clients.java import JavaClient
from tests.compat.clients.model import Message
from tests.compat.reading import read
from tests.patience import until
from tests.replicas import wait_for_equal_replicas
from tools.kafka.jars import KAFKA

_PARTITIONS = 3

MIXED = ("kafka", "barnabas", "barnabas")


class Writer:
    """Writes numbers with acks=all, round after round, until it is told to end.

    Attributes:
        acknowledged: By partition, in order.
    """

    def __init__(self, java: JavaClient, topic: str) -> None:
        self.acknowledged: dict[int, list[int]] = {index: [] for index in range(_PARTITIONS)}
        self.failure: BaseException | None = None
        self._java = java
        self._topic = topic
        self._is_ending = False
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            number = 0
            while not self._is_ending:
                numbers = range(number, number + 30)
                number += 30
                messages = [Message(b"%d" % each, partition=each % _PARTITIONS) for each in numbers]
                places = self._java.produce(self._topic, messages, acks="all", is_idempotent=True)
                for each, (partition, offset) in zip(numbers, places, strict=True):
                    assert partition == each % _PARTITIONS
                    assert offset == len(self.acknowledged[partition])
                    self.acknowledged[partition].append(each)
        except BaseException as error:
            self.failure = error

    def goes_on(self) -> None:
        """Wait until it has written two more rounds: the first may have been under way."""
        end = len(self.acknowledged[0]) + 20
        until(lambda: self.failure is not None or len(self.acknowledged[0]) >= end)
        assert self.failure is None, self.failure

    @contextmanager
    def writing(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._is_ending = True
            self._thread.join()
        assert self.failure is None, self.failure


@pytest.mark.parametrize(
    ("kinds", "controllers"),
    [
        pytest.param(MIXED, (1, 2), id="mixed"),
        pytest.param(MIXED, (1, 2, 3), id="mixed-each", marks=pytest.mark.whole),
        pytest.param(("kafka",) * 3, (1, 2, 3), id="kafka", marks=pytest.mark.whole),
    ],
)
def test_nothing_is_lost_whoever_is_the_controller(
    kinds: tuple[str, ...], controllers: tuple[int, ...], tmp_path: Path, connect: str, name: str
) -> None:
    with cluster_of(kinds, tmp_path, connect) as members:
        create_topic(members, name, _PARTITIONS)
        with closing(JavaClient(servers_of(members), KAFKA)) as java:
            _play(members, controllers, java, name)


def _play(members: Members, controllers: tuple[int, ...], java: JavaClient, name: str) -> None:
    topics = [name]
    writer = Writer(java, name)
    with writer.writing():
        writer.goes_on()
        for broker_id in controllers:
            make_controller(members, broker_id)
            writer.goes_on()
            # What this controller decides, all others follow.
            topics.append(f"{name}-{broker_id}")
            create_topic(members, topics[-1], 1)
            killed = members[next(each for each in members if each != broker_id)]
            killed.kill()
            writer.goes_on()
            killed.restart()
            for topic in topics:
                wait_for_in_sync(members, topic)
            writer.goes_on()
    for topic in topics[1:]:
        assert java.produce(topic, [Message(b"%d" % each) for each in range(10)]) == [(0, each) for each in range(10)]
    consumer = java.consumer(name, f"{name}-readers")
    records = read(consumer, sum(map(len, writer.acknowledged.values())))
    consumer.close()
    found: dict[int, list[int]] = {index: [] for index in range(_PARTITIONS)}
    for record in records:
        found[record.partition].append(int(record.value or b""))
    assert found == writer.acknowledged
    for topic in topics:
        count = _PARTITIONS if topic == name else 1
        wait_for_equal_replicas({broker_id: each.data_dir for broker_id, each in members.items()}, topic, count)
