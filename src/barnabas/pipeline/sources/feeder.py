"""Feeds the events of a log into topics, keyed, and finds its place again after it was stopped.

Invariants:
- The place is in the topics, nowhere else. Each record has the header `id`, `<log>:<line>`, and what stands behind a
  second colon where a line gives several records. The last record of each partition tells how far that partition has
  come; a line is skipped in the partitions that are past it, once it was made sure that the record is the one that
  would be sent.
- Within a partition records are in the order of the lines, without a gap, at their first appearance. A batch whose
  answer was lost may be there twice; its records have the same ids.
- A record's partition is that of its key (murmur2, as Kafka's own clients do), of its line number where it has none.
  So with the same number of partitions the same line always goes to the same place.

Why first appearances stay in order whatever is killed: of each partition's own records, each sender's are a run without
gaps that starts no later than one past what was there when it looked.

Source: Kafka's default partitioner; KIP-98 for idempotence.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeVar

from barnabas.clients.partitioner import partition_for_key
from barnabas.core.types import TopicPartition
from barnabas.pipeline.events.encode import encode_json, record_key
from barnabas.pipeline.events.types import EventType
from barnabas.pipeline.job import DEAD_LETTER_SUFFIX
from barnabas.pipeline.sources.log_lines import SourceLine
from barnabas.pipeline.sources.topics import ID_HEADER, BrokerTopics, LastRecord, Outgoing, TopicUnavailableError

T = TypeVar("T")

REASON_HEADER = "reason"

_BATCHES_PER_S = 20
_UNPACED_BATCH_COUNT = 2_000
_FIRST_RETRY_S = 0.2
_LONGEST_RETRY_S = 2.0


class OtherLogError(Exception):
    """A topic holds something else than the log that is to be fed into it."""


@dataclass(frozen=True, slots=True)
class FeedPlan:
    """The options of a feed.

    `event_types` are all that may come, so that their topics are there from the start; `topics` names another topic
    than a type's own, by the type's name. What is refused goes to the dead-letter topic of the first type.
    `lines_per_s` 0 means as fast as the brokers take them. `give_up_s` is how long a broker may be away. `may_append`:
    go on in topics that hold something else than this log.
    """

    event_types: tuple[EventType, ...]
    topics: Mapping[str, str] = field(default_factory=dict)
    partition_count: int = 1
    format: Literal["json", "avro"] = "json"
    lines_per_s: float = 0
    give_up_s: float = 60
    may_append: bool = False

    def topic_of(self, event_type: EventType) -> str:
        """Name the topic that a type's events go to."""
        return self.topics.get(event_type.name, event_type.topic)

    @property
    def dead_letter_topic(self) -> str:
        """Name the topic that refused lines go to."""
        return self.topic_of(self.event_types[0]) + DEAD_LETTER_SUFFIX


@dataclass(slots=True)
class FeedProgress:
    """Counts of the log so far: lines, those among them that were refused, and records sent.

    A line whose records are in the topics already counts as seen, its records not as sent.
    """

    line_count: int = 0
    refused_count: int = 0
    sent_count: int = 0


def feed(
    topics: BrokerTopics,
    plan: FeedPlan,
    lines: Iterable[SourceLine],
    report: Callable[[FeedProgress], None] = lambda _: None,
    warn: Callable[[str], None] = lambda _: None,
    sleep: Callable[[float], None] = time.sleep,
) -> FeedProgress:
    """Bring the topics, which are created if they do not exist, to the end of the lines; resume where they end.

    Args:
        topics, plan: The topics, and options.
        lines: All of the source's lines from its first on, each once; may be endless.
        report: Called after each batch.
        warn: Called with a line when a broker is away and the feeder waits.
        sleep: Waits for some seconds.

    Raises:
        OtherLogError: a topic holds something else than this log.
        TopicUnavailableError: a broker was away for longer than `plan.give_up_s`.
    """

    def attempt(call: Callable[[bool], T]) -> T:
        return _attempt(call, plan.give_up_s, warn, sleep)

    names = [*(plan.topic_of(event_type) for event_type in plan.event_types), plan.dead_letter_topic]
    partition_counts = attempt(lambda _: topics.create(dict.fromkeys(names, plan.partition_count)))
    partitions = [TopicPartition(name, index) for name in names for index in range(partition_counts[name])]
    filter_ = _Filter(attempt(lambda _: topics.last_records(partitions)), plan.may_append)
    pace = _Pace(plan.lines_per_s, sleep)
    progress = FeedProgress()
    batch: list[Outgoing] = []
    batch_line_count = 0
    for line in lines:
        batch += [record for record in records_of(line, plan, partition_counts) if filter_.is_new(line, record)]
        batch_line_count += 1
        progress.line_count += 1
        progress.refused_count += line.refused is not None
        # Endless lines say where what is there now ends; else a slow source's events would wait for a batch to be full.
        if len(batch) >= pace.batch_count or (batch and line.is_last_for_now):
            attempt(partial(_append, topics, batch))
            progress.sent_count += len(batch)
            report(progress)
            pace.wait(batch_line_count)
            batch, batch_line_count = [], 0
    if batch:
        attempt(partial(_append, topics, batch))
        progress.sent_count += len(batch)
    filter_.check_end()
    report(progress)
    return progress


def records_of(line: SourceLine, plan: FeedPlan, partition_counts: Mapping[str, int]) -> Iterator[Outgoing]:
    """Yield the records of a line: one per event, or one in the dead-letter topic."""
    place = f"{line.log}:{line.number}"
    if line.refused is not None:
        topic = plan.dead_letter_topic
        partition = TopicPartition(topic, line.number % partition_counts[topic])
        headers = ((ID_HEADER, place.encode()), (REASON_HEADER, line.refused.reason.encode()))
        yield Outgoing(partition, None, line.refused.text.encode(), line.time_ms, headers)
    for event_type, fields in line.events:
        topic = plan.topic_of(event_type)
        key = record_key(event_type, fields)
        partition = TopicPartition(topic, partition_for_key(key, partition_counts[topic]))
        header = (ID_HEADER, str(fields["id"]).encode())
        yield Outgoing(partition, key, _encode(event_type, fields, plan.format), line.time_ms, (header,))


def _encode(event_type: EventType, fields: Mapping[str, object], format: str) -> bytes:
    if format == "json":
        return encode_json(event_type, fields)
    from barnabas.pipeline.events.avro import encode_avro

    return encode_avro(event_type, fields)


class _Filter:
    """Tells which records are not in the topics yet."""

    def __init__(self, last_records: Mapping[TopicPartition, LastRecord], may_append: bool) -> None:
        self._left = {partition: (record.log_position, record) for partition, record in last_records.items()}
        self._may_append = may_append

    def is_new(self, line: SourceLine, record: Outgoing) -> bool:
        """Return whether the record is not there; records of a partition must come in order."""
        if not self._left or record.partition not in self._left:
            return True
        place, last = self._left[record.partition]
        # Of another log; or the line is past what the partition holds, and no line before it gave that record.
        if place is None or place[0] != line.log or line.number > place[1]:
            self._refuse(record.partition)
            del self._left[record.partition]
            return True
        if last.header(ID_HEADER) == record.headers[0][1]:
            if last.value != record.value:
                self._refuse(record.partition)
            del self._left[record.partition]
        return False

    def check_end(self) -> None:
        """Make sure that the log has given all that the topics hold."""
        for partition in self._left:
            self._refuse(partition)

    def _refuse(self, partition: TopicPartition) -> None:
        if not self._may_append:
            raise OtherLogError(
                f"partition {partition.partition} of topic {partition.topic} ends with a record of another log; name "
                "another topic or that log, or append to the topic (--append)"
            )


def _attempt(
    call: Callable[[bool], T], give_up_s: float, warn: Callable[[str], None], sleep: Callable[[float], None]
) -> T:
    """Call again and again while the brokers are away; `call` is told whether it is called again."""
    retry_s, start, is_again = _FIRST_RETRY_S, time.monotonic(), False
    while True:
        try:
            return call(is_again)
        except TopicUnavailableError as error:
            if time.monotonic() - start > give_up_s:
                raise
            warn(f"{error}; trying again in {retry_s:.1f} s")
            sleep(retry_s)
            retry_s, is_again = min(2 * retry_s, _LONGEST_RETRY_S), True


def _append(topics: BrokerTopics, records: list[Outgoing], is_again: bool) -> None:
    """Append records; after a failure only those that are not there."""
    there = topics.last_records({each.partition for each in records}) if is_again else {}
    topics.append(_behind(records, there))


def _behind(records: list[Outgoing], last_records: Mapping[TopicPartition, LastRecord]) -> list[Outgoing]:
    """Leave out what is in its partition already: up to the partition's last record, where it is one of these."""
    start_of: dict[TopicPartition, int] = {}
    for index, record in enumerate(records):
        last = last_records.get(record.partition)
        if last is not None and last.header(ID_HEADER) == record.headers[0][1]:
            start_of[record.partition] = index + 1
    return [record for index, record in enumerate(records) if index >= start_of.get(record.partition, 0)]


class _Pace:
    """Holds a sender to a rate, whatever each send takes; makes up for no more than one second."""

    def __init__(self, lines_per_s: float, sleep: Callable[[float], None]) -> None:
        self._sleep = sleep
        self._lines_per_s = lines_per_s
        self.batch_count = max(1, round(lines_per_s / _BATCHES_PER_S)) if lines_per_s else _UNPACED_BATCH_COUNT
        self._due = time.monotonic()

    def wait(self, line_count: int) -> None:
        if not self._lines_per_s:
            return
        now = time.monotonic()
        self._due = max(self._due, now - 1.0) + line_count / self._lines_per_s
        if self._due > now:
            self._sleep(self._due - now)
