"""A mirror's writer of one partition: what it says in the table of offsets is where its records stand in the target."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, closing, suppress

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.clients import Admin, Pool
from barnabas.clients.admin import NewTopic
from barnabas.clients.mirror_offsets import (
    TABLE_CONFIGS,
    TABLE_TOPIC,
    Coverage,
    MirrorOffsets,
    RecordMark,
    Run,
    SourcePartition,
)
from barnabas.core.errors import ConfigError, KafkaError
from barnabas.pipeline.mirror.rows import Rows
from barnabas.pipeline.mirror.table import MirrorFencedError, OffsetTable
from barnabas.pipeline.mirror.writer import Hint, PartitionWriter, Route
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.testing import Broker
from tests.patience import PATIENCE_S
from tests.settled import await_markers

MARK = RecordMark(0, 0, 0)


class Target:
    """A broker that is mirrored into, with a topic for one test."""

    def __init__(self, broker: Broker, topic: str) -> None:
        self.options = KafkaOptions(broker.bootstrap_servers, {})
        self.topic = topic
        self.source = SourcePartition("m", "c-1", topic, 0)
        self._administer(self._create)

    def make_anew(self) -> None:
        """Delete the topic and create it again."""

        async def act(admin: Admin) -> None:
            await admin.delete_topic(self.topic)
            async with asyncio.timeout(PATIENCE_S):
                while self.topic not in await admin.topics():
                    # The answer comes when nobody can see it any more, and the controller is about to be done with it.
                    with suppress(KafkaError):
                        await admin.create_topic(NewTopic(self.topic, 1, 1))

        self._administer(act)

    async def _create(self, admin: Admin) -> None:
        if TABLE_TOPIC not in await admin.topics():
            await admin.create_topic(NewTopic(TABLE_TOPIC, 1, 1, TABLE_CONFIGS))
        await admin.create_topic(NewTopic(self.topic, 1, 1))

    def _administer(self, act: Callable[[Admin], Awaitable[None]]) -> None:
        async def work() -> None:
            async with Pool(self.options.bootstrap_servers) as pool:
                await act(Admin(pool))

        asyncio.run(work())

    def route(self, target_topic: str = "", options: KafkaOptions | None = None) -> Route:
        return Route(self.source, "west", options or self.options, target_topic or self.topic, 1)

    def table(self) -> MirrorOffsets:
        await_markers(self.options.bootstrap_servers, TABLE_TOPIC)
        with OffsetTable(self.options) as table:
            table.refresh()
            return table.offsets

    def send(self, *values: bytes) -> None:
        producer = Producer({"bootstrap.servers": self.options.bootstrap_servers})
        for value in values:
            producer.produce(self.topic, value, partition=0)
        assert producer.flush(PATIENCE_S) == 0

    def read(self, until: bytes) -> dict[bytes, int]:
        """Give the committed values up to one, with their offsets."""
        options = {"bootstrap.servers": self.options.bootstrap_servers, "group.id": "g"}
        consumer = Consumer({**options, "isolation.level": "read_committed"})
        consumer.assign([TopicPartition(self.topic, 0, 0)])
        found: dict[bytes, int] = {}
        while until not in found:
            message = consumer.poll(PATIENCE_S)
            assert message is not None
            found[message.value() or b""] = message.offset() or 0
        consumer.close()
        return found


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(config={"auto.create.topics.enable": "false"}) as broker:
        yield broker


@pytest.fixture
def target(broker: Broker, request: pytest.FixtureRequest) -> Target:
    return Target(broker, request.node.name)


@pytest.fixture
def writer(target: Target) -> Iterator[Callable[..., PartitionWriter]]:
    with ExitStack() as stack:
        yield lambda start=0: stack.enter_context(closing(PartitionWriter(target.route(), Hint(None, 0, start, start))))


def rows(*offsets: int) -> Rows:
    values: list[bytes | None] = [b"%d" % offset for offset in offsets]
    nothing: list[bytes | None] = [None] * len(offsets)
    times = [1_700_000_000_000] * len(offsets)
    return Rows(nothing, values, [[] for _ in offsets], list(offsets), times, offsets[-1] + 1, 0, len(offsets), MARK)


def test_among_records_of_others_the_offsets_are_still_those_of_each(target: Target) -> None:
    """What was added is found torn apart, aborted, and sent again: each record is asked for its offset then."""
    # A batch for each record: so many take longer than one of somebody else.
    slow = KafkaOptions(target.options.bootstrap_servers, {"batch.size": "1", "linger.ms": "0"})
    with closing(PartitionWriter(target.route(options=slow), Hint(None, 0, 0, 0))) as ours:
        ours.add(rows(0, 1, 2))
        ours.add(rows(*range(5, 2_000)))
        target.send(b"theirs")
        ours.add(rows(2_000, 2_001))
        target.send(b"theirs too")
        ours.commit(2_010, MARK)
    target.send(b"last")
    found = target.read(b"last")
    told = {
        run.source_offset + number: run.target_offset + number
        for run in target.table().runs(target.source)
        for number in range(run.record_count)
    }
    assert told == {int(value): offset for value, offset in found.items() if value.isdigit()}
    assert len(told) == 2_000
    assert min(told.values()) > 2_000, "they were not torn apart"


def test_a_target_topic_that_is_made_anew_has_other_offsets(target: Target, writer) -> None:
    first = writer()
    first.add(rows(*range(5)))
    first.commit(6, MARK)
    target.make_anew()
    second = writer()
    second.add(rows(7, 8))
    second.commit(9, MARK)
    table = target.table()
    assert table.runs(target.source) == [Run(7, 0, 2)]
    assert table.translate(target.source, 3) == (0, Coverage.BEFORE)
    assert table.translate(target.source, 8) == (1, Coverage.EXACT)


def test_a_place_of_another_topic_is_not_gone_on_with(target: Target, writer) -> None:
    writer().commit(3, None)
    with pytest.raises(MirrorFencedError, match=r"is mirrored to .*, not to other: give this one another --name"):
        PartitionWriter(target.route("other"), Hint(None, 0, 0, 0))


def test_a_transaction_may_have_less_time(target: Target) -> None:
    """A message has no longer then: librdkafka would refuse it."""
    options = KafkaOptions(target.options.bootstrap_servers, {"transaction.timeout.ms": "20000"})
    with closing(PartitionWriter(target.route(options=options), Hint(None, 0, 0, 0))) as ours:
        ours.add(rows(0))
        ours.commit(1, MARK)
    assert target.table().runs(target.source) == [Run(0, 0, 1)]


def test_a_setting_that_librdkafka_refuses_is_said_in_a_line(target: Target) -> None:
    options = KafkaOptions(target.options.bootstrap_servers, {"transaction.timeout.ms": "soon"})
    with pytest.raises(ConfigError, match=r'librdkafka refuses: .*"transaction\.timeout\.ms"'):
        PartitionWriter(target.route(options=options), Hint(None, 0, 0, 0))
