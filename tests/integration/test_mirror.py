"""A mirror between brokers: what stays of a record, circles, growth, losses, what can't be copied whole; each once."""

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from struct import pack_into
from typing import Any

import pytest

from barnabas.clients.mirror.mirror import Mirror, MirrorFigures
from barnabas.clients.mirror.offsets import TABLE_TOPIC, Coverage, MirrorOffsets, Run, SourcePartition
from barnabas.clients.mirror.partition import UnmirrorableError
from barnabas.clients.mirror.plan import MirroredCluster, MirrorFencedError, MirrorPlan, RecordsLostError
from barnabas.clients.mirror.table_reader import read_table
from barnabas.clients.pool import Pool
from barnabas.clients.positions import Bound, OnDataLoss, PlanError
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.testing import Broker
from barnabas.wire.records.batch import LAST_OFFSET_DELTA_POSITION, RECORD_COUNT_POSITION, set_crc
from tests.mirrored_clusters import Cluster, Sent, numbered
from tests.patience import PATIENCE_S, until
from tests.settled import await_markers
from tools.kafka.server import ONE_BROKER, QuickKafkaServer

TIME_MS = 1_700_000_000_000
# Nothing comes into being by itself, also not what a test has just deleted.
CONFIG = {**ONE_BROKER, "auto.create.topics.enable": "false"}


@pytest.fixture(scope="module")
def west() -> Iterator[Cluster]:
    with Broker(config=CONFIG) as broker:
        yield Cluster(broker)


@pytest.fixture(scope="module")
def east() -> Iterator[Cluster]:
    with Broker(config=CONFIG) as broker:
        yield Cluster(broker)


@pytest.fixture(scope="module")
def north() -> Iterator[Cluster]:
    with Broker(config=CONFIG) as broker:
        yield Cluster(broker)


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have mirrors look for new topics, and for another process, more often than every ten seconds."""
    monkeypatch.setattr("barnabas.clients.mirror.mirror._LOOK_S", 0.5)


@pytest.fixture(scope="module")
def kafka() -> Iterator[Cluster]:
    with QuickKafkaServer() as server:
        yield Cluster(server)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name for the test's topics and mirrors."""
    return re.sub(r"[^a-z0-9_]+", "-", request.node.name).strip("-")[5:]


class Mirrors:
    """Mirrors of one test, under its name.

    Attributes:
        warnings: What they have said.
    """

    def __init__(self, name: str) -> None:
        self.warnings: list[str] = []
        self._name = name

    def plan(self, source: Cluster, target: Cluster, *topics: str, **fields: Any) -> MirrorPlan:
        own = {"name": self._name, "alias": "source", **fields}
        clusters = MirroredCluster(source.address), MirroredCluster(target.address)
        return MirrorPlan(own.pop("name"), own.pop("alias"), *clusters, topics, **own)

    def once(self, source: Cluster, target: Cluster, *topics: str, **fields: Any) -> MirrorFigures:
        plan = self.plan(source, target, *topics, **fields)
        return asyncio.run(self._run(plan, lambda figures, stopped: None, is_once=True))

    def until(
        self, plan: MirrorPlan, look: Callable[[MirrorFigures, asyncio.Event], None], *, is_once: bool = False
    ) -> MirrorFigures:
        """Mirror while `look`, which sees the figures after each range, has not set the event."""
        return asyncio.run(self._run(plan, look, is_once=is_once))

    async def _run(
        self, plan: MirrorPlan, look: Callable[[MirrorFigures, asyncio.Event], None], *, is_once: bool
    ) -> MirrorFigures:
        stopped = asyncio.Event()
        mirror = Mirror(plan, lambda figures: look(figures, stopped), self.warnings.append, 60.0)
        await mirror.run(stopped, is_once=is_once)
        return mirror.figures

    def table(self, target: Cluster) -> MirrorOffsets:
        async def read() -> MirrorOffsets:
            offsets = MirrorOffsets()
            async with Pool(target.address) as pool:
                await read_table(pool, offsets, 0)
            return offsets

        await_markers(target.address, TABLE_TOPIC)
        return asyncio.run(read())

    def source(self, cluster: Cluster, topic: str, partition: int = 0) -> SourcePartition:
        return SourcePartition(self._name, cluster.cluster_id, topic, partition)


@pytest.fixture
def mirrors(name: str) -> Mirrors:
    return Mirrors(name)


@pytest.mark.parametrize(
    "codec", ["zstd", *(pytest.param(each, marks=pytest.mark.whole) for each in ("none", "gzip", "snappy", "lz4"))]
)
def test_a_record_keeps_all_that_it_has(west: Cluster, east: Cluster, mirrors: Mirrors, name: str, codec: str) -> None:
    records = [
        Sent(None, None, TIME_MS),
        Sent(b"", b"", TIME_MS + 5),
        Sent(b"k", b"v", TIME_MS - 1_000_000, (("a", b"1"), ("b", None), ("a", b""), ("ü", b"\x00\xff"))),
        Sent(bytes(range(256)), b"\x00" * 100_000, 0),
    ]
    west.create(
        name,
        3,
        segment_bytes="1048576",
        max_message_bytes="2000000",
        compression_type=codec.replace("none", "uncompressed"),
    )
    west.send(name, {0: records, 2: list(reversed(records))})
    figures = mirrors.once(west, east, name)
    assert east.read(name) == west.read(name)
    assert (figures.record_count, figures.lag) == (8, 0)
    assert east.config(name, "segment.bytes") == "1048576"
    assert east.config(name, "max.message.bytes") == "2000000"


def test_a_restart_goes_on_where_the_target_stands(west: Cluster, east: Cluster, mirrors: Mirrors, name: str) -> None:
    west.create(name, 2)
    west.send(name, numbered(2, range(100)))
    mirrors.once(west, east, name)
    west.send(name, numbered(2, range(100, 130)))
    assert mirrors.once(west, east, name).record_count == 30
    assert mirrors.once(west, east, name).record_count == 0
    assert east.read(name) == west.read(name)


def test_what_was_aborted_is_not_mirrored_and_offsets_are_known(
    west: Cluster, east: Cluster, mirrors: Mirrors, name: str
) -> None:
    west.create(name, 1)
    for start in (0, 100):
        west.send(name, numbered(1, range(start, start + 10)), transactional_id=name)
        west.send(name, numbered(1, range(start + 10, start + 20)), transactional_id=name, is_aborted=True)
    assert mirrors.once(west, east, name).record_count == 20
    assert east.read(name) == west.read(name)
    # Ten records, a marker, eleven offsets of what was aborted.
    table, source = mirrors.table(east), mirrors.source(west, name)
    assert table.runs(source) == [Run(0, 0, 10), Run(22, 10, 10)]
    assert table.translate(source, 15) == (10, Coverage.EXACT)
    west.send(name, numbered(1, range(400, 410)), transactional_id=name, is_aborted=True)
    assert mirrors.once(west, east, name).record_count == 0
    assert mirrors.table(east).places[source].position == 55


def test_both_ways_and_no_circles(west: Cluster, east: Cluster, mirrors: Mirrors, name: str) -> None:
    for cluster, text in ((west, "w"), (east, "e")):
        cluster.create(name, 2)
        cluster.send(name, numbered(2, range(50), text))
    assert mirrors.once(west, east, name).record_count == 50
    back = mirrors.once(east, west, name)
    assert (back.record_count, back.skipped_count) == (50, 50)
    for source, target in ((west, east), (east, west)):
        assert mirrors.once(source, target, name).record_count == 0
    for cluster in (west, east):
        for number, records in cluster.read(name).items():
            assert set(records) == {each for text in "we" for each in numbered(2, range(50), text)[number]}
            assert len(records) == 50


def test_a_ring_of_three(west: Cluster, east: Cluster, north: Cluster, mirrors: Mirrors, name: str) -> None:
    ring = [west, east, north]
    for cluster, text in zip(ring, "wen", strict=True):
        cluster.create(name, 1)
        for start in (0, 20):
            cluster.send(name, numbered(1, range(start, start + 20), text))
    counts = [mirrors.once(ring[n % 3], ring[(n + 1) % 3], name, name=f"{name}-{n % 3}").record_count for n in range(9)]
    # Each goes two ways on, and stops before the third.
    assert sum(counts) == 3 * 40 * 2
    assert counts[6:] == [0, 0, 0]
    whole = sorted(each.value or b"" for text in "wen" for each in numbered(1, range(40), text)[0])
    for cluster in ring:
        values = [each.value or b"" for each in cluster.read(name)[0]]
        assert sorted(values) == whole
        for sender in (b"w", b"e", b"n"):
            own = [int(value[1:]) for value in values if value.startswith(sender)]
            assert own == list(range(40))
    paths = {each.path for each in mirrors.table(north).producers.values() if each.source.topic == name}
    assert paths == {(east.cluster_id,), (west.cluster_id, east.cluster_id)}


@pytest.mark.whole
def test_a_star(west: Cluster, east: Cluster, north: Cluster, mirrors: Mirrors, name: str) -> None:
    for cluster, text in zip((west, east, north), "wen", strict=True):
        cluster.create(name, 1)
        cluster.send(name, numbered(1, range(10), text))
    for _ in range(2):
        for alias, arm in (("west", west), ("east", east)):
            mirrors.once(arm, north, name, alias=alias)
        for arm in (west, east):
            mirrors.once(north, arm, name)
    for cluster in (west, east, north):
        assert len(cluster.read(name)[0]) == 30


def test_patterns_that_take_each_other_s_topics_come_to_an_end(
    west: Cluster, east: Cluster, mirrors: Mirrors, name: str
) -> None:
    west.create(name, 1)
    west.create(f"{name}-empty", 1)
    west.send(name, numbered(1, range(3)))
    for _ in range(2):
        mirrors.once(west, east, f"/.*{name}.*/", prefix="w.")
        mirrors.once(east, west, f"/.*{name}.*/", prefix="e.")
    assert {topic for topic in east.topics() if name in topic} == {f"w.{name}"}
    # Its records are all from there: it stays empty, and so nothing comes of it.
    assert {topic for topic in west.topics() if name in topic} == {name, f"{name}-empty", f"e.w.{name}"}


def test_a_topic_that_grows_and_one_that_comes(west: Cluster, east: Cluster, mirrors: Mirrors, name: str) -> None:
    west.create(name, 1)
    west.send(name, numbered(1, range(10)))

    def look(figures: MirrorFigures, stopped: asyncio.Event) -> None:
        if figures.record_count == 10 and west.partition_count(name) == 1:
            west.grow(name, 3)
            west.send(name, numbered(3, range(20, 50)))
            west.create(f"{name}-later", 1)
            west.send(f"{name}-later", numbered(1, range(3)))
        if figures.record_count == 43:
            stopped.set()

    mirrors.until(mirrors.plan(west, east, f"/{name}.*/"), look)
    assert east.read(name) == west.read(name)
    assert east.read(f"{name}-later") == west.read(f"{name}-later")
    assert any("had 1 partitions and now has 3" in text for text in mirrors.warnings)


def test_timestamps_of_the_log_stay_those_of_the_source(
    west: Cluster, east: Cluster, mirrors: Mirrors, name: str
) -> None:
    west.create(name, 1, message_timestamp_type="LogAppendTime", retention_bytes="1000000000")
    west.send(name, numbered(1, range(3)))
    mirrors.once(west, east, name)
    assert east.read(name) == west.read(name)
    assert east.config(name, "message.timestamp.type") == "CreateTime"
    assert any("so that the timestamps stay" in text for text in mirrors.warnings)
    with pytest.raises(PlanError, match="timestamps would be lost"):
        mirrors.once(east, west, name, name=f"{name}-back")


@pytest.mark.parametrize("limit", [pytest.param(150_000, marks=pytest.mark.whole), 3_000])
def test_batches_that_are_too_large_for_the_target_become_smaller(
    west: Cluster, east: Cluster, mirrors: Mirrors, name: str, limit: int
) -> None:
    west.create(name, 1)
    east.create(name, 1, max_message_bytes=str(limit))
    west.send(name, numbered(1, range(400), "x" * 1_000))
    assert mirrors.once(west, east, name).record_count == 400
    assert east.read(name) == west.read(name)


@pytest.mark.parametrize("limit", ["3000", "1000000"], ids=["refused", "failed"])
def test_what_was_committed_before_a_failure_is_counted(
    west: Cluster, east: Cluster, mirrors: Mirrors, name: str, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each batch has its own transaction.
    monkeypatch.setattr("barnabas.clients.mirror.writer._FULL_BYTES", 1)
    west.create(name, 1)
    east.create(name, 1, max_message_bytes=limit)
    west.send(name, numbered(1, range(2)))
    west.send(name, numbered(1, range(2, 10), "x" * 1_000))
    assert isinstance(east.broker, Broker)
    sent_count = 0

    def is_second(request: object) -> bool:
        nonlocal sent_count
        sent_count += 1
        return sent_count == 2 and limit == "1000000"

    with east.broker.on("Produce", topic=name, where=is_second).fail(ErrorCode.NOT_LEADER_OR_FOLLOWER):
        assert mirrors.once(west, east, name).record_count == 10
    assert east.read(name) == west.read(name)


def test_a_record_that_the_target_refuses_is_named(west: Cluster, east: Cluster, mirrors: Mirrors, name: str) -> None:
    west.create(name, 1)
    east.create(name, 1, max_message_bytes="3000")
    west.send(name, {0: [Sent(None, b"x" * size, TIME_MS) for size in (10, 10, 5_000, 10)]})
    with pytest.raises(UnmirrorableError, match=rf"partition {name}-0, offset 2: the target refuses it: .*MESSAGE_TOO"):
        mirrors.once(west, east, name)
    assert east.read(name) == {0: []}
    # Nothing is lost: once it is taken it goes on there.
    east.set_config(name, "max.message.bytes", "10000")
    mirrors.once(west, east, name)
    assert east.read(name) == west.read(name)


def test_a_damaged_batch_is_named_and_not_passed_over(
    west: Cluster, east: Cluster, mirrors: Mirrors, name: str
) -> None:
    west.create(name, 1)
    west.send(name, numbered(1, range(5)))
    west.send(name, numbered(1, range(5, 10)))

    def damage(answer: Any, request: object) -> Any:
        for topic in answer.responses:
            for part in topic.partitions:
                if part.records:
                    part.records = bytes(part.records[:-1]) + bytes([part.records[-1] ^ 1])
        return answer

    assert isinstance(west.broker, Broker)
    with (
        west.broker.on("Fetch", topic=name).change_answer(damage),
        pytest.raises(UnmirrorableError, match=rf"partition {name}-0, at offset \d: a batch that its CRC does not fit"),
    ):
        mirrors.once(west, east, name)
    mirrors.once(west, east, name)
    assert east.read(name) == west.read(name)


def test_a_source_that_throttles_fetches_is_read_to_its_end(
    west: Cluster, east: Cluster, mirrors: Mirrors, name: str
) -> None:
    west.create(name, 1)
    west.send(name, numbered(1, range(5)))

    def throttle(answer: Any, request: object) -> Any:
        answer.responses, answer.throttle_time_ms = [], 1
        return answer

    assert isinstance(west.broker, Broker)
    with west.broker.on("Fetch", topic=name).change_answer(throttle, times=2):
        mirrors.once(west, east, name)
    assert east.read(name) == west.read(name)
    assert not any("stopped" in text for text in mirrors.warnings)


@pytest.mark.parametrize("kind", ["barnabas", "kafka"])
def test_a_batch_with_other_records_than_its_header_says_is_named(
    west: Cluster, mirrors: Mirrors, name: str, kind: str, request: pytest.FixtureRequest
) -> None:
    west.create(name, 1)
    west.send(name, numbered(1, range(5)))

    def miscount(answer: Any, request: object) -> Any:
        for topic in answer.responses:
            for part in topic.partitions:
                if part.records:
                    data = bytearray(part.records)
                    pack_into(">i", data, LAST_OFFSET_DELTA_POSITION, 6)
                    pack_into(">i", data, RECORD_COUNT_POSITION, 7)
                    set_crc(data, 0, len(data))
                    part.records = data
        return answer

    assert isinstance(west.broker, Broker)
    with ExitStack() as stack:
        # Barnabas trusts a header and its CRC unless it is told otherwise.
        target = (
            request.getfixturevalue("kafka")
            if kind == "kafka"
            else Cluster(stack.enter_context(Broker(config={**CONFIG, "barnabas.record.validation": "full"})))
        )
        with (
            west.broker.on("Fetch", topic=name).change_answer(miscount),
            pytest.raises(UnmirrorableError, match=rf"partition {name}-0, at offset 0: "),
        ):
            mirrors.once(west, target, name)
        mirrors.once(west, target, name)
        assert target.read(name) == west.read(name)


def test_a_topic_that_compaction_has_been_in(east: Cluster, mirrors: Mirrors, name: str) -> None:
    cleaning = {"log.cleaner.backoff.ms": "100", "log.cleaner.min.cleanable.ratio": "0.01"}
    with Broker(config={**CONFIG, **cleaning}) as broker:
        source = Cluster(broker)
        source.create(name, 1, cleanup_policy="compact", segment_bytes="2000")
        for start in range(0, 200, 20):
            source.send(name, numbered(1, range(start, start + 20)))
        mirrors.once(source, east, name)
        for start in range(200, 300, 20):
            source.send(name, numbered(1, range(start, start + 20)))
        # All but the last segment, which is not cleaned, have the last record of each key alone.
        until(lambda: len(source.read(name)[0]) <= 100)
        # That the batch which was read last is another one now, or gone, is no loss.
        mirrors.once(source, east, name)
        assert _last_values(east.read(name)[0]) == _last_values(source.read(name)[0])
        mirrors.once(source, east, name, name=f"{name}-late", prefix="late.")
        assert east.read(f"late.{name}") == source.read(name)
        table = mirrors.table(east)
        late = mirrors.source(source, name)._replace(mirror=f"{name}-late")
        assert table.places[late].position == source.end(name)
        assert table.translate(late, 0) == (0, Coverage.EXACT)


def test_what_is_noted_of_producers_is_forgotten_with_their_batches(west: Cluster, mirrors: Mirrors, name: str) -> None:
    expiring = {
        "transactional.id.expiration.ms": "100",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "100",
    }
    with Broker(config={**CONFIG, **expiring}) as broker:
        target, sent_count = Cluster(broker), 0
        west.create(name, 1)

        def replaced_until(enough: Callable[[dict[int, int | None]], bool]) -> dict[int, int | None]:
            """Mirror on until the coordinator has forgotten the producers often enough; ends by producer id."""
            nonlocal sent_count
            deadline = time.monotonic() + PATIENCE_S
            ends: dict[int, int | None] = {}
            while not enough(ends):
                assert time.monotonic() < deadline
                west.send(name, numbered(1, [sent_count]))
                sent_count += 1
                mirrors.once(west, target, name)
                producers = mirrors.table(target).producers
                ends = {number: each.end_offset for number, each in producers.items() if each.source.topic == name}
                # Idle for so long they are forgotten.
                time.sleep(0.2)
            return ends

        first = replaced_until(lambda ends: len(ends) >= 2)
        assert sum(end is None for end in first.values()) == 1
        target.cut(name, 0, target.end(name))
        replaced_until(lambda ends: bool(ends) and not set(ends) & set(list(first)[:1]))


def test_a_later_process_takes_over(west: Cluster, east: Cluster, mirrors: Mirrors, name: str) -> None:
    west.create(name, 1)
    west.send(name, numbered(1, range(3)))

    async def mirror_twice() -> None:
        has_mirrored = asyncio.Event()
        first = Mirror(mirrors.plan(west, east, name), lambda figures: has_mirrored.set(), mirrors.warnings.append)
        task = asyncio.create_task(first.run(asyncio.Event(), is_once=False))
        await has_mirrored.wait()
        later = mirrors.plan(west, east, name, pid=4711, host="there")
        await Mirror(later, lambda figures: None, mirrors.warnings.append).run(asyncio.Event(), is_once=True)
        west.send(name, numbered(1, range(3, 6)))
        await task

    with pytest.raises(MirrorFencedError, match="process 4711 on there"):
        asyncio.run(mirror_twice())
    mirrors.once(west, east, name)
    assert east.read(name) == west.read(name)


def test_a_moment_to_begin_at_is_that_of_the_first_start(
    west: Cluster, east: Cluster, mirrors: Mirrors, name: str
) -> None:
    both, latest = f"/{name}.*/", Bound(is_latest=True)
    west.create(name, 1)
    west.send(name, numbered(1, range(3)))
    assert mirrors.once(west, east, both, start=latest).record_count == 0
    west.send(name, numbered(1, range(3, 6)))
    west.create(f"{name}-later", 1)
    west.send(f"{name}-later", numbered(1, range(2)))
    assert mirrors.once(west, east, both, start=latest).record_count == 5
    assert east.read(name) == numbered(1, range(3, 6))
    # In the middle of a batch.
    place = Bound(offsets={name: {0: 4}})
    assert mirrors.once(west, east, name, start=place, name=f"{name}-4", prefix="from-4.").record_count == 2
    assert east.read(f"from-4.{name}") == numbered(1, range(4, 6))
    moment = Bound(time_ms=TIME_MS + 5)
    assert mirrors.once(west, east, name, start=moment, name=f"{name}-5", prefix="from-5.").record_count == 1


def test_a_first_start_that_is_broken_off_places_all_partitions_or_none(
    west: Cluster, east: Cluster, mirrors: Mirrors, name: str
) -> None:
    west.create(name, 3)
    west.send(name, numbered(3, range(30)))
    counted = 0

    def is_third(request: object) -> bool:
        nonlocal counted
        counted += 1
        return counted == 3

    assert isinstance(east.broker, Broker)
    # The first two are those of the claim and of the first partition or of all places.
    with (
        east.broker.on("InitProducerId", where=is_third).fail(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        pytest.raises(KafkaError, match="InitProducerId"),
    ):
        mirrors.once(west, east, name, start=Bound(is_latest=True))
    west.send(name, numbered(3, range(30, 33)))
    assert mirrors.once(west, east, name, start=Bound(is_latest=True)).record_count == 0
    west.send(name, numbered(3, range(33, 36)))
    assert mirrors.once(west, east, name, start=Bound(is_latest=True)).record_count == 3


def test_a_name_is_of_one_target_topic(west: Cluster, east: Cluster, mirrors: Mirrors, name: str) -> None:
    west.create(name, 1)
    west.send(name, numbered(1, range(3)))
    mirrors.once(west, east, name, prefix="a.")
    with pytest.raises(PlanError, match=f"{name} of this cluster is mirrored to a.{name}, not to b.{name}: give this"):
        mirrors.once(west, east, name, prefix="b.")
    with pytest.raises(PlanError, match="source and target are the same cluster"):
        mirrors.once(west, west, name)


def test_records_that_are_lost_before_they_are_mirrored(
    west: Cluster, east: Cluster, mirrors: Mirrors, name: str
) -> None:
    gone, cut = f"{name}-gone", f"{name}-cut"
    for topic in (name, gone, cut):
        west.create(topic, 1)
        west.send(topic, numbered(1, range(10)))
    mirrors.once(west, east, name, gone, cut)
    west.make_anew(name, 1)
    west.send(name, numbered(1, range(50, 65)))
    west.delete(gone)
    west.send(cut, numbered(1, range(10, 20)))
    west.cut(cut, 0, 15)
    with pytest.raises(RecordsLostError) as lost:
        mirrors.once(west, east, name, gone, cut)
    assert f"{name}-0: read up to offset 10: another record stands where the last one was read" in str(lost.value)
    assert f"{gone}-0: read up to offset 10: the partition does not exist any more" in str(lost.value)
    assert f"{cut}-0: offsets 10 to 14 (5 records): deleted by retention" in str(lost.value)
    mirrors.once(west, east, name, gone, cut, on_data_loss=OnDataLoss.CONTINUE)
    assert east.read(name)[0] == [*numbered(1, range(10))[0], *numbered(1, range(50, 65))[0]]
    assert sum(" lost " in text for text in mirrors.warnings) == 3
    # What retention took leaves the offsets of before; one marker is between the two transactions.
    assert east.read(cut)[0] == numbered(1, [*range(10), *range(15, 20)])[0]
    table = mirrors.table(east)
    for offset, expected in ((5, 5), (12, 11), (16, 12)):
        assert table.translate(mirrors.source(west, cut), offset) == (expected, Coverage.EXACT)
    # What was told once is not told again.
    assert mirrors.once(west, east, name, gone, cut).record_count == 0


@pytest.mark.parametrize("count", [3, 15], ids=["shorter", "longer"])
def test_a_topic_that_is_made_anew_under_a_running_mirror_is_a_loss(
    west: Cluster, east: Cluster, mirrors: Mirrors, name: str, count: int
) -> None:
    before, after = numbered(1, range(10)), numbered(1, range(50, 50 + count))
    west.create(name, 1)
    west.send(name, before)
    is_anew = False

    def look(figures: MirrorFigures, stopped: asyncio.Event) -> None:
        nonlocal is_anew
        if is_anew:
            stopped.set()
            return
        west.make_anew(name, 1)
        west.send(name, after)
        is_anew = True

    with pytest.raises(RecordsLostError, match=f"{name}-0: read up to offset 10: .* made anew"):
        mirrors.until(mirrors.plan(west, east, name), look)
    assert east.read(name) == before
    mirrors.once(west, east, name, on_data_loss=OnDataLoss.CONTINUE)
    assert east.read(name) == {0: [*before[0], *after[0]]}


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_partition_without_a_leader_stops_no_other(
    west: Cluster, east: Cluster, mirrors: Mirrors, name: str, side: str
) -> None:
    online, offline = f"{name}-on", f"{name}-off"
    for topic in (online, offline):
        west.create(topic, 1)
        east.create(topic, 1)
        west.send(topic, numbered(1, range(10)))

    def take_leader(answer: Any, request: object) -> Any:
        for topic in answer.topics:
            for part in topic.partitions if topic.name == offline else ():
                part.leader_id, part.error_code = -1, ErrorCode.LEADER_NOT_AVAILABLE
        return answer

    broker = west.broker if side == "source" else east.broker
    assert isinstance(broker, Broker)
    with ExitStack() as stack:
        stack.enter_context(broker.on("Metadata").change_answer(take_leader))

        def look(figures: MirrorFigures, stopped: asyncio.Event) -> None:
            # The other topic is mirrored; now it has a leader again.
            stack.close()

        figures = mirrors.until(mirrors.plan(west, east, online, offline), look, is_once=True)
    assert figures.restart_count == 0
    assert sum(f"{offline}-0" in text for text in mirrors.warnings) == 1
    for topic in (online, offline):
        assert east.read(topic) == west.read(topic)


def test_a_partition_that_fails_for_too_long_ends_the_mirror(
    west: Cluster, east: Cluster, mirrors: Mirrors, name: str
) -> None:
    good, bad = f"{name}-good", f"{name}-bad"
    for topic in (good, bad):
        west.create(topic, 1)
        west.send(topic, numbered(1, range(10)))
    assert isinstance(east.broker, Broker)
    mirror = Mirror(mirrors.plan(west, east, good, bad), lambda figures: None, mirrors.warnings.append, 0.0)
    with (
        east.broker.on("Produce", topic=bad).fail(ErrorCode.NOT_ENOUGH_REPLICAS),
        pytest.raises(KafkaError, match=f"{bad}-0"),
    ):
        asyncio.run(mirror.run(asyncio.Event(), is_once=False))
    assert mirror.figures.positions[good][0] == 10
    assert east.read(good) == west.read(good)


def test_once_ends_though_topics_of_its_pattern_are_deleted_before_their_turn(
    west: Cluster, east: Cluster, mirrors: Mirrors, name: str
) -> None:
    # More than are mirrored side by side.
    topics = {f"{name}-{number}" for number in range(6)}
    for topic in topics:
        west.create(topic, 1)
        west.send(topic, numbered(1, range(10)))
    kept: set[str] = set()

    def look(figures: MirrorFigures, _: asyncio.Event) -> None:
        if not kept:
            kept.update(topic for topic, partitions in figures.positions.items() if partitions[0])
            for topic in topics - kept:
                west.delete(topic)

    mirrors.until(mirrors.plan(west, east, f"/{name}-.*/"), look, is_once=True)
    (topic,) = kept
    assert east.read(topic) == west.read(topic)


def test_a_topic_of_a_pattern_may_be_deleted(west: Cluster, east: Cluster, mirrors: Mirrors, name: str) -> None:
    both = f"/{name}.*/"
    for topic in (name, f"{name}-gone"):
        west.create(topic, 1)
        west.send(topic, numbered(1, range(10)))
    mirrors.once(west, east, both)
    west.delete(f"{name}-gone")
    west.send(name, numbered(1, range(10, 12)))
    assert mirrors.once(west, east, both).record_count == 2
    assert any(f"topic {name}-gone was deleted" in text for text in mirrors.warnings)


def test_a_topic_that_is_not_there_is_told_once(west: Cluster, east: Cluster, mirrors: Mirrors, name: str) -> None:
    west.create(name, 1)
    west.send(name, numbered(1, range(3)))

    def look(figures: MirrorFigures, stopped: asyncio.Event) -> None:
        if figures.record_count == 3 and "later" not in west.topics():
            west.create("later", 1)
            west.send("later", numbered(1, range(2)))
        if figures.record_count == 5:
            stopped.set()

    mirrors.until(mirrors.plan(west, east, name, "later", "never", "/no-such-.*/"), look)
    told = [text.partition(": ")[2] for text in mirrors.warnings if "does not exist" in text]
    assert told == [f"topic {each} does not exist, or you may not see it" for each in ("later", "never")]


def test_a_target_topic_that_is_made_anew_has_other_offsets(
    west: Cluster, east: Cluster, mirrors: Mirrors, name: str
) -> None:
    west.create(name, 1)
    west.send(name, numbered(1, range(5)))
    mirrors.once(west, east, name)
    east.make_anew(name, 1)
    west.send(name, numbered(1, range(5, 7)))
    mirrors.once(west, east, name)
    table, source = mirrors.table(east), mirrors.source(west, name)
    assert table.runs(source) == [Run(5, 0, 2)]
    assert table.translate(source, 3) == (0, Coverage.BEFORE)


def test_among_records_of_others_the_offsets_are_still_those_of_each(
    west: Cluster, east: Cluster, mirrors: Mirrors, name: str
) -> None:
    west.create(name, 1)
    east.create(name, 1)
    for start in range(0, 30, 10):
        west.send(name, numbered(1, range(start, start + 10)))
        east.send(name, numbered(1, range(3), "theirs"))
        mirrors.once(west, east, name)
    # Each transaction has its marker.
    assert mirrors.table(east).runs(mirrors.source(west, name)) == [Run(0, 3, 10), Run(10, 17, 10), Run(20, 31, 10)]


def test_from_and_to_kafka(west: Cluster, east: Cluster, kafka: Cluster, mirrors: Mirrors, name: str) -> None:
    west.create(name, 2, segment_bytes="1048576")
    west.send(name, numbered(2, range(40)), transactional_id=name)
    west.send(name, numbered(2, range(40, 60)), transactional_id=name, is_aborted=True)
    mirrors.once(west, kafka, name)
    mirrors.once(kafka, east, name, name=f"{name}-on")
    assert kafka.config(name, "segment.bytes") == east.config(name, "segment.bytes") == "1048576"
    west.send(name, numbered(2, range(60, 80)))
    mirrors.once(west, kafka, name)
    mirrors.once(kafka, east, name, name=f"{name}-on")
    # What came from there is known by its producers.
    assert mirrors.once(kafka, west, name, name=f"{name}-back").skipped_count == 60
    assert mirrors.once(east, west, name, name=f"{name}-ring").skipped_count == 60
    whole = numbered(2, [*range(40), *range(60, 80)])
    assert kafka.read(name) == whole
    # Batches that Kafka would not take as they are.
    large = f"{name}-large"
    west.create(large, 1, message_timestamp_type="LogAppendTime")
    west.send(large, numbered(1, range(300), "x" * 1_000))
    kafka.create(large, 1, max_message_bytes="20000")
    mirrors.once(west, kafka, large)
    assert kafka.read(large) == west.read(large)
    assert east.read(name) == west.read(name) == whole


def _last_values(records: list[Sent]) -> dict[bytes | None, bytes | None]:
    """Give what compaction keeps."""
    return {each.key: each.value for each in records}
