"""Sends the events of a log to topics, keyed, and resumes where it was stopped.

Invariants:
- Progress is stored in the topics only. Each record has the header `id`: `<log>:<line>`, with a suffix after a second
  colon if a line yields several records. The last record of each partition is that partition's progress: records up to
  it are skipped. The record with the last one's id must have the same value; otherwise it is another log's topic.
- A followed log's last record may have another value: more lines, or the time at which it was read. Partitions may end
  with another log, such as the one before a rotation. But the log must still have the lines that were sent, and a
  message must still begin with the same line.
- Within a partition, the first appearances of records are in line order, without a gap. A batch whose response was lost
  may appear twice, with the same ids.
- A record's partition depends on its key (murmur2, as in Kafka's own clients), or on its line number if it has no key,
  and on the topic's number of partitions at the log's first record, which each record has in the header `partitions`.
  So a line always goes to the same partition, also after partitions were added.

Why first appearances stay in order even if senders are killed: each sender's records in a partition are a gapless part
of that partition's sequence. It starts at the latest one record after the last record found at the sender's start.

Source: Kafka's default partitioner; KIP-98 for idempotence.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeVar

import orjson

from barnabas.clients.partitioner import partition_for_key
from barnabas.core.types import TopicPartition
from barnabas.pipeline.events.encode import encode_json, record_key
from barnabas.pipeline.events.types import EventType
from barnabas.pipeline.job import DEAD_LETTER_SUFFIX
from barnabas.pipeline.sources.log_lines import REPEATED_LOG_REMEDY, SourceLine, has_same_begin, is_same_log
from barnabas.pipeline.sources.topics import (
    ID_HEADER,
    PARTITIONS_HEADER,
    BrokerTopics,
    LastRecord,
    Outgoing,
    TopicUnavailableError,
    counts_for,
)

T = TypeVar("T")

REASON_HEADER = "reason"

_BATCHES_PER_S = 20
_UNPACED_BATCH_COUNT = 2_000
_FIRST_RETRY_S = 0.2
_LONGEST_RETRY_S = 2.0


class OtherLogError(Exception):
    """A topic contains records of another log than the one being sent."""


@dataclass(frozen=True, slots=True)
class FeedPlan:
    """The options of a feed.

    Attributes:
        event_types: All types that may occur; their topics are created at the start. Refused lines go to the
            dead-letter topic of the first type.
        topics: Topics by name of event type, where they differ from the type's default.
        lines_per_s: Maximum rate of the lines that are sent; 0 is unlimited.
        give_up_s: How long a broker may be unavailable.
        may_append: Whether to append to topics that contain another log.
        is_followed: Whether the lines are those of a followed file.
    """

    event_types: tuple[EventType, ...]
    topics: Mapping[str, str] = field(default_factory=dict)
    partition_count: int = 1
    format: Literal["json", "avro"] = "json"
    lines_per_s: float = 0
    give_up_s: float = 60
    may_append: bool = False
    is_followed: bool = False

    def topic_of(self, event_type: EventType) -> str:
        """Return the topic of a type's events."""
        return self.topics.get(event_type.name, event_type.topic)

    @property
    def dead_letter_topic(self) -> str:
        """Return the topic of refused lines."""
        return self.topic_of(self.event_types[0]) + DEAD_LETTER_SUFFIX


@dataclass(slots=True)
class FeedProgress:
    """Counts so far: lines, refused lines, and records sent.

    A line whose records are already in the topics counts as a line; its records do not count as sent.
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
    """Send the records that the topics do not have yet; create missing topics.

    Args:
        topics, plan: The topics, and options.
        lines: All lines of the source from the first on, each once; may be endless.
        report: Called after each batch.
        warn: Called with a one-line message when a broker is unavailable and the feeder waits.
        sleep: Waits for some seconds.

    Raises:
        OtherLogError: a topic contains another log, or a followed log lacks lines that were sent.
        TopicUnavailableError: a broker was unavailable for longer than `plan.give_up_s`.
    """

    def attempt(call: Callable[[bool], T]) -> T:
        return _attempt(call, plan.give_up_s, warn, sleep)

    names = [*(plan.topic_of(event_type) for event_type in plan.event_types), plan.dead_letter_topic]
    partition_counts = attempt(lambda _: topics.create(dict.fromkeys(names, plan.partition_count)))
    partitions = [TopicPartition(name, index) for name in names for index in range(partition_counts[name])]
    last_records = attempt(lambda _: topics.last_records(partitions))
    filter_ = _Filter(last_records, plan)
    pace = _Pace(plan.lines_per_s, sleep)
    progress = FeedProgress()
    batch: list[Outgoing] = []
    batch_line_count = 0
    log, counts = "", partition_counts
    for line in lines:
        if line.log != log:
            log = line.log
            counts = counts_for(partial(is_same_log, name=log), last_records, partition_counts)
        new = [record for record in records_of(line, plan, counts) if filter_.is_new(line, record)]
        if line.is_last_for_now and plan.is_followed:
            filter_.check_length(line)
        batch += new
        batch_line_count += bool(new)
        progress.line_count += 1
        progress.refused_count += line.refused is not None
        # Send at the last line available now: events of a slow source must not wait for a full batch.
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
    """Yield the records of a line: one per event, or one for the dead-letter topic."""
    place = f"{line.log}:{line.number}"
    if line.refused is not None:
        topic = plan.dead_letter_topic
        partition = TopicPartition(topic, line.number % partition_counts[topic])
        headers = _headers(place, partition_counts[topic], (REASON_HEADER, line.refused.reason.encode()))
        yield Outgoing(partition, None, line.refused.text.encode(), line.time_ms, headers)
    for event_type, fields in line.events:
        topic = plan.topic_of(event_type)
        key = record_key(event_type, fields)
        partition = TopicPartition(topic, partition_for_key(key, partition_counts[topic]))
        headers = _headers(str(fields["id"]), partition_counts[topic])
        yield Outgoing(partition, key, _encode(event_type, fields, plan.format), line.time_ms, headers)


def _headers(record_id: str, partition_count: int, *others: tuple[str, bytes]) -> tuple[tuple[str, bytes], ...]:
    return (ID_HEADER, record_id.encode()), *others, (PARTITIONS_HEADER, str(partition_count).encode())


def _encode(event_type: EventType, fields: Mapping[str, object], format: str) -> bytes:
    if format == "json":
        return encode_json(event_type, fields)
    from barnabas.pipeline.events.avro import encode_avro

    return encode_avro(event_type, fields)


class _Filter:
    """Decides which records are not in the topics yet."""

    def __init__(self, last_records: Mapping[TopicPartition, LastRecord], plan: FeedPlan) -> None:
        self._left = {partition: (record.log_position, record) for partition, record in last_records.items()}
        self._plan = plan

    def is_new(self, line: SourceLine, record: Outgoing) -> bool:
        """Return whether the topics lack the record; records of a partition must be passed in order."""
        if not self._left or record.partition not in self._left:
            return True
        place, last = self._left[record.partition]
        # The last record is of another log, or this line is after it and no earlier line yielded it.
        if place is None or not is_same_log(place[0], line.log) or line.number > place[1]:
            self._refuse(record.partition, line)
            del self._left[record.partition]
            return True
        if _id_in_log(last.header(ID_HEADER)) == _id_in_log(record.headers[0][1]):
            if self._plan.is_followed and not _has_message(last.value or b"", line):
                raise OtherLogError(
                    f"partition {record.partition.partition} of topic {record.partition.topic} has another message in "
                    f"line {line.number} of the log: it was emptied or replaced; {REPEATED_LOG_REMEDY}"
                )
            if last.value != record.value:
                self._refuse(record.partition)
            del self._left[record.partition]
        return False

    def check_length(self, line: SourceLine) -> None:
        """Check that a followed log, whose last line for now is `line`, has all lines that were sent."""
        last_number = max(line.number, line.last_number)
        for partition, (place, _) in self._left.items():
            if place is not None and is_same_log(place[0], line.log) and place[1] > last_number:
                raise OtherLogError(
                    f"partition {partition.partition} of topic {partition.topic} has line {place[1]} of the log, which "
                    f"ends with line {last_number} now: it was emptied or replaced; {REPEATED_LOG_REMEDY}"
                )

    def check_end(self) -> None:
        """Check that the log contains the last record of each partition."""
        for partition in self._left:
            self._refuse(partition)

    def _refuse(self, partition: TopicPartition, line: SourceLine | None = None) -> None:
        place = self._left[partition][0]
        if line is not None and place is not None and has_same_begin(place[0], line.log) and not self._plan.may_append:
            raise OtherLogError(
                f"partition {partition.partition} of topic {partition.topic} ends with a record of another file that "
                "begins with the same line: append if this file is a new log (--append); a copy of that file would be "
                "sent again"
            )
        # A log that was rotated away is another log, but one that a feeder sent.
        if not (self._plan.may_append or (self._plan.is_followed and place is not None)):
            raise OtherLogError(
                f"partition {partition.partition} of topic {partition.topic} ends with a record of another log; name "
                "another topic or that log, or append to the topic (--append)"
            )


def _id_in_log(record_id: bytes | None) -> bytes:
    return (record_id or b"").partition(b":")[2]


def _has_message(value: bytes, line: SourceLine) -> bool:
    """Return whether a value, in any format, contains the first line of each message of this line's events."""
    messages = [str(fields["message"]).split("\n")[0] for _, fields in line.events if "message" in fields]
    return all(each.encode() in value or orjson.dumps(each)[1:-1] in value for each in messages)


def _attempt(
    call: Callable[[bool], T], give_up_s: float, warn: Callable[[str], None], sleep: Callable[[float], None]
) -> T:
    """Retry `call` while the brokers are unavailable; its argument is whether this is a retry."""
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
    """Append records; in a retry, only those that the topics lack."""
    there = topics.last_records({each.partition for each in records}) if is_again else {}
    topics.append(_behind(records, there))


def _behind(records: list[Outgoing], last_records: Mapping[TopicPartition, LastRecord]) -> list[Outgoing]:
    """Return the records after their partition's last record, if that is one of `records`; otherwise all of them."""
    start_of: dict[TopicPartition, int] = {}
    for index, record in enumerate(records):
        last = last_records.get(record.partition)
        if last is not None and last.header(ID_HEADER) == record.headers[0][1]:
            start_of[record.partition] = index + 1
    return [record for index, record in enumerate(records) if index >= start_of.get(record.partition, 0)]


class _Pace:
    """Limits a sender to a rate, however long each send takes; catches up at most one second."""

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
