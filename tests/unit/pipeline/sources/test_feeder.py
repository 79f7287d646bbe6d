"""The feeder: in order, without a gap, and on from where each partition ends, whatever went wrong."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.clients.partitioner import partition_for_key
from barnabas.core.types import TopicPartition
from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.sources import feeder
from barnabas.pipeline.sources.feeder import FeedPlan, FeedProgress, OtherLogError, feed
from barnabas.pipeline.sources.log_lines import Refused, SourceLine
from barnabas.pipeline.sources.topics import BrokerTopics, LastRecord, Outgoing, TopicUnavailableError

FOLLOW, SEARCH, SERVICE_LOG = (EVENT_TYPES[name] for name in ("follow", "search", "service_log"))
PLAN = FeedPlan((FOLLOW, SEARCH), partition_count=3, lines_per_s=100)
LINE_COUNT = 60


class MemoryTopics(BrokerTopics):
    """Topics in memory, whose broker fails as it is told to.

    `faults` is used up by the calls of `append`: the number of records that are written before the call fails, by
    partition in turn; None: all is well.
    """

    def __init__(self, faults: Sequence[int | None] = ()) -> None:
        self.records: dict[TopicPartition, list[Outgoing]] = {}
        self.counts: dict[str, int] = {}
        self.looks = 0
        self._faults = list(faults)

    def create(self, partition_counts: Mapping[str, int]) -> dict[str, int]:
        self.counts = {name: self.counts.get(name, count) for name, count in partition_counts.items()}
        return self.counts

    def last_records(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, LastRecord]:
        self.looks += 1
        lasts = {partition: self.records[partition][-1] for partition in partitions if self.records.get(partition)}
        return {partition: LastRecord(last.value, last.headers) for partition, last in lasts.items()}

    def append(self, records: Sequence[Outgoing]) -> None:
        fault = self._faults.pop(0) if self._faults else None
        partitions = list(dict.fromkeys(record.partition for record in records))
        # A partition's batch is written whole or not at all.
        for partition in partitions if fault is None else partitions[:fault]:
            self.records.setdefault(partition, []).extend(each for each in records if each.partition == partition)
        if fault is not None:
            raise TopicUnavailableError("no answer")

    def ids(self) -> dict[TopicPartition, list[str]]:
        return {
            partition: [record.headers[0][1].decode() for record in records]
            for partition, records in self.records.items()
        }


def source(line_count: int = LINE_COUNT, log: str = "log", user: str = "u") -> Iterator[SourceLine]:
    """Each line is a follow of one of seven users, each third one a search too, each tenth one refused."""
    for number in range(1, line_count + 1):
        place, time = f"{log}:{number}", datetime.fromtimestamp(number, UTC)
        if number % 10 == 0:
            yield SourceLine(log, number, number * 1000, refused=Refused("what?", "no line"))
            continue
        follow: dict[str, object] = {"id": place, "time": time, "user": f"{user}{number % 7}"}
        events = [(FOLLOW, {**follow, "followee": "x", "is_following": True})]
        if number % 3 == 0:
            search = {"time": time, "address": f"a{number % 5}", "query": "q"}
            events += [(SEARCH, {"id": f"{place}:{each}", **search}) for each in ("search", "site-search")]
        yield SourceLine(log, number, number * 1000, events)


def run(topics: MemoryTopics, lines: Iterable[SourceLine] | None = None, plan: FeedPlan = PLAN) -> FeedProgress:
    return feed(topics, plan, source() if lines is None else lines, sleep=lambda _: None)


def expected() -> dict[TopicPartition, list[str]]:
    topics = MemoryTopics()
    run(topics)
    return topics.ids()


@pytest.fixture
def topics() -> MemoryTopics:
    return MemoryTopics()


def test_events_are_keyed_and_in_order_and_refused_lines_are_aside(topics: MemoryTopics) -> None:
    progress = run(topics)
    assert progress == FeedProgress(LINE_COUNT, refused_count=6, sent_count=96)
    assert topics.counts == {"follows": 3, "searches": 3, "follows.dlq": 3}
    for partition, records in topics.records.items():
        for record in records:
            if record.key is not None:
                assert partition.partition == partition_for_key(record.key, 3)
        lines = [int(record.headers[0][1].split(b":")[1]) for record in records]
        assert lines == sorted(lines)
    ids = [each for ids in topics.ids().values() for each in ids]
    assert len(ids) == len(set(ids)) == 96
    dead = [record for partition, records in topics.records.items() if "dlq" in partition.topic for record in records]
    assert {(record.value, record.headers[1]) for record in dead} == {(b"what?", ("reason", b"no line"))}


def test_order_of_a_partition_is_that_of_the_lines() -> None:
    searches = [each for partition, ids in expected().items() if partition.topic == "searches" for each in ids]
    assert len(searches) == 36
    for ids in expected().values():
        assert ids == sorted(ids, key=lambda each: (int(each.split(":")[1]), each))


@given(st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=12))
def test_nothing_is_lost_doubled_or_moved_when_answers_are_lost(faults: list[int | None]) -> None:
    topics = MemoryTopics(faults)
    run(topics)
    assert topics.ids() == expected()


@given(st.data())
def test_each_partition_goes_on_where_it_ends(data: st.DataObject) -> None:
    whole = MemoryTopics()
    run(whole)
    topics = MemoryTopics()
    for partition, records in whole.records.items():
        topics.records[partition] = records[: data.draw(st.integers(0, len(records)), label=str(partition))]
    run(topics)
    assert topics.ids() == expected()


@given(st.data(), st.booleans())
def test_a_log_keeps_its_partitions_if_more_are_added(data: st.DataObject, is_followed: bool) -> None:
    topics, fresh = MemoryTopics(), MemoryTopics()
    run(topics)
    topics.counts = fresh.counts = dict.fromkeys(topics.counts, 5)
    for partition, records in topics.records.items():
        topics.records[partition] = records[: data.draw(st.integers(1, len(records)), label=str(partition))]
    run(topics, plan=replace(PLAN, is_followed=is_followed))
    there = expected()
    assert topics.ids() == there
    # The next log is in all partitions, also after a restart.
    rotated = list(source(log="rotated"))
    run(fresh, rotated)
    for line_count in (20, LINE_COUNT):
        run(topics, rotated[:line_count], FOLLOWED)
    for partition, ids in topics.ids().items():
        assert ids == [*there.get(partition, []), *fresh.ids().get(partition, [])]


def test_complete_topics_are_left_as_they_are(topics: MemoryTopics) -> None:
    run(topics)
    progress = run(topics)
    assert (progress.line_count, progress.sent_count) == (LINE_COUNT, 0)
    assert topics.ids() == expected()


def test_existing_topic_keeps_its_partitions(topics: MemoryTopics) -> None:
    topics.counts["follows"] = 1
    run(topics)
    assert {partition.partition for partition in topics.records if partition.topic == "follows"} == {0}
    assert len({partition for partition in topics.records if partition.topic == "searches"}) > 1


@pytest.mark.parametrize(
    "other",
    [
        # Another log's name, other values of the same name, fewer lines, a line that gives other events.
        list(source(log="other")),
        list(source(user="v")),
        list(source(LINE_COUNT - 30)),
        [SourceLine(line.log, line.number) for line in source()],
    ],
)
def test_another_log_is_refused_unless_it_may_be_appended(topics: MemoryTopics, other: list[SourceLine]) -> None:
    run(topics)
    with pytest.raises(OtherLogError, match=r"partition \d of topic .* of another log"):
        run(topics, other)
    assert topics.ids() == expected()
    run(topics, other, FeedPlan((FOLLOW, SEARCH), partition_count=3, may_append=True))
    for partition, ids in expected().items():
        assert topics.ids()[partition][: len(ids)] == ids


@pytest.mark.parametrize("is_followed", [False, True])
@pytest.mark.parametrize("headers", [(), (("id", b"12"),), (("id", b"a:b"),), (("id", b"\xff"),)])
def test_topic_of_somebody_else_is_refused(
    topics: MemoryTopics, headers: tuple[tuple[str, bytes], ...], is_followed: bool
) -> None:
    partition = TopicPartition("follows", partition_for_key(b"u1", 3))
    topics.records[partition] = [Outgoing(partition, b"u1", b"x", headers=headers)]
    with pytest.raises(OtherLogError, match="topic follows ends with a record of another log"):
        run(topics, plan=replace(PLAN, is_followed=is_followed))


FOLLOWED = replace(PLAN, is_followed=True)


def growing(*numbers: int, log: str = "log", followee: str = "x", last_number: int = 0) -> list[SourceLine]:
    """Give a follow for each of the lines of a log that has been read to its end for now."""
    lines = [
        SourceLine(log, number, None, [(FOLLOW, {**each.events[0][1], "id": f"{log}:{number}", "followee": followee})])
        for number, each in zip(numbers, [next(source(1))] * len(numbers), strict=True)
    ]
    return [*lines[:-1], replace(lines[-1], is_last_for_now=True, last_number=last_number)]


@pytest.mark.parametrize(
    ("sent", "found", "new"),
    [
        # A record has another value: a stack trace was added to it, or its time is that of its reading.
        (growing(1, 2, 3), growing(1, 2, 3, 4, followee="y"), ["log:4"]),
        # A trace that was a record of its own is read together with its record.
        (growing(1, 2, 3), growing(1, 2, 4), ["log:4"]),
        (growing(1, 2, 3), growing(1, 2, last_number=3), []),
        (growing(1, 2, 3), growing(1, 2, log="rotated"), ["rotated:1", "rotated:2"]),
        # Earlier versions did not add the inode to a name.
        (growing(1, 2, 3, log="abc"), growing(1, 2, 3, 4, log="abc-1f"), ["abc-1f:4"]),
        # Or no line with a time followed yet.
        (growing(1, 2, 3, log="abc-1f"), growing(1, 2, 3, 4, log="abc-1f+77"), ["abc-1f+77:4"]),
        # Another log that has the inode of the last one, and one that has its first line.
        (growing(1, 2, 3, log="abc-1f+77"), growing(1, 2, log="abc-1f+88"), ["abc-1f+88:1", "abc-1f+88:2"]),
        (growing(1, 2, 3, log="abc-1f+77"), growing(1, log="abc-2a+88"), ["abc-2a+88:1"]),
    ],
)
def test_followed_log_goes_on_after_its_last_line(
    topics: MemoryTopics, sent: list[SourceLine], found: list[SourceLine], new: list[str]
) -> None:
    run(topics, sent, FOLLOWED)
    (partition,) = topics.records
    run(topics, found, FOLLOWED)
    assert topics.ids() == {partition: [*(f"{line.log}:{line.number}" for line in sent), *new]}


def test_followed_log_goes_on_where_partitions_end_with_its_predecessor(topics: MemoryTopics) -> None:
    run(topics, source(), FOLLOWED)
    rotated = list(source(LINE_COUNT, log="rotated"))
    run(topics, rotated[:5], FOLLOWED)
    run(topics, rotated, FOLLOWED)
    whole = {partition: [each.replace("log", "rotated", 1) for each in ids] for partition, ids in expected().items()}
    assert topics.ids() == {partition: ids + whole[partition] for partition, ids in expected().items()}


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        ("begin-1f", "begin-2a"),
        ("begin-1f", "begin-2a+77"),
        ("begin-1f+77", "begin-1f"),
        ("begin-1f+77", "begin-2a+77"),
    ],
)
def test_another_file_that_begins_as_the_last_one_is_sent_only_if_it_may_be_appended(
    topics: MemoryTopics, sent: str, found: str
) -> None:
    run(topics, source(log=sent), FOLLOWED)
    with pytest.raises(OtherLogError, match="another file that begins with the same line"):
        run(topics, source(log=found), FOLLOWED)
    run(topics, source(log=found), replace(FOLLOWED, may_append=True))
    assert all(ids[-1].startswith(f"{found}:") for ids in topics.ids().values())


@pytest.mark.parametrize("found", ["log", "log-1f"])
def test_followed_log_that_has_lost_lines_is_refused(topics: MemoryTopics, found: str) -> None:
    run(topics, growing(1, 2, 3), FOLLOWED)
    for may_append in (False, True):
        with pytest.raises(OtherLogError, match="line 3 of the log, which ends with line 2 now"):
            run(topics, growing(1, 2, log=found), replace(FOLLOWED, may_append=may_append))


@pytest.mark.parametrize("format", ["json", "avro"])
@pytest.mark.parametrize(
    ("message", "is_same"),
    [('the "last"', True), ('the "last"\n  at its place', True), ("the first", False)],
)
def test_followed_log_with_another_message_in_the_last_line_is_refused(
    topics: MemoryTopics, message: str, is_same: bool, format: Literal["json", "avro"]
) -> None:
    plan = FeedPlan((SERVICE_LOG,), format=format, is_followed=True)

    def lines(*messages: str) -> Iterator[SourceLine]:
        for number, each in enumerate(messages, start=1):
            fields = {"id": f"log:{number}", "time": datetime.fromtimestamp(number, UTC), "service": "s"}
            yield SourceLine("log", number, None, [(SERVICE_LOG, {**fields, "level": "INFO", "message": each})])

    run(topics, lines("one", 'the "last"'), plan)
    if is_same:
        assert run(topics, lines("one", message, "new"), plan).sent_count == 1
    else:
        with pytest.raises(OtherLogError, match="another message in line 2"):
            run(topics, lines("one", message, "new"), plan)


def test_only_lines_that_are_sent_count_for_the_rate(topics: MemoryTopics, monkeypatch: pytest.MonkeyPatch) -> None:
    run(topics, source(1_000))
    slept: list[float] = []
    # A clock that stands still.
    monkeypatch.setattr(feeder, "time", SimpleNamespace(monotonic=lambda: 0.0))
    feed(topics, PLAN, source(1_050), sleep=slept.append)
    # 50 lines at 100 lines/s, but for the last ones: nothing follows them.
    assert 0.4 < max(slept) <= 0.5


def test_a_broker_that_stays_away_ends_the_feeder() -> None:
    with pytest.raises(TopicUnavailableError):
        run(MemoryTopics([0] * 20), plan=FeedPlan((FOLLOW, SEARCH), give_up_s=-1))


def test_slow_source_does_not_wait_for_a_full_batch(topics: MemoryTopics) -> None:
    counts: list[int] = []

    def lines() -> Iterator[SourceLine]:
        for line in source(3):
            counts.append(sum(map(len, topics.records.values())))
            yield SourceLine(line.log, line.number, line.time_ms, line.events, is_last_for_now=True)

    run(topics, lines(), FeedPlan((FOLLOW, SEARCH)))
    assert counts == [0, 1, 2]


def test_avro_is_sent_where_it_is_asked_for(topics: MemoryTopics) -> None:
    run(topics, plan=FeedPlan((FOLLOW, SEARCH), format="avro"))
    values = [record.value for record in topics.records[TopicPartition("follows", 0)]]
    assert all(value.startswith(b"\xc3\x01") for value in values)
