"""`barnabas consume`: prints records as lines, with the options of kafka-console-consumer."""

import asyncio
import base64
import math
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from typing import Annotated

from barnabas.cli.client_properties import ClientProperties
from barnabas.cli.options import (
    DEFAULT_SERVER,
    BootstrapServer,
    Option,
    flag,
    paragraphs,
    parse_flag,
    parse_pairs,
    run_async,
    stop_on_signals,
)
from barnabas.cli.output import Bar, data_writer, note, progress
from barnabas.cli.topics import name_matcher
from barnabas.clients import Admin, Consumer, GroupMember, Pool
from barnabas.clients.admin_calls import EARLIEST, LATEST
from barnabas.clients.consumer import Fetched
from barnabas.clients.pool import RETRY_BACKOFF_MS, check_topic
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.peer_text import to_json
from barnabas.core.stopping import comes_first, unless_stopped
from barnabas.core.types import TopicPartition
from barnabas.explain.formatting import listed
from barnabas.wire.records.record import Record

HELP = paragraphs(
    """Print the records of a topic.

Without --group it starts at the end (or at the beginning, or at --offset of one --partition) and commits no offsets.
With --group it shares the partitions with the other members and resumes at the group's committed offsets. Ctrl-C ends
it.

Topics and partitions that are created meanwhile are found within metadata.max.age.ms (5 minutes).

By default, as in Kafka's tool, records of open and aborted transactions are printed too. The pipeline's default is
read_committed.

Examples:

  barnabas consume --topic views --from-beginning --property print.key=true

  barnabas consume --topic views --group report --json --timeout-ms 5000

  barnabas consume --topic views --from-beginning --isolation-level read_committed --timeout-ms 5000
"""
)

_COMMIT_INTERVAL_MS = 5_000
_POLL_MS = 500
# How long a stopped command waits for the reader of its output, and for each of its last requests to the group; and the
# time without a record after which a command says that it waits for leaders.
_STALLED_S = 5
_Topics = dict[str, list[TopicPartition]]
_ISOLATION_LEVELS = {"read_uncommitted": False, "read_committed": True}
# differs from Kafka (consume-reset-none): `none` is allowed.
_RESETS = {"earliest": "earliest", "latest": "latest"}
_PLACES = {"earliest": EARLIEST, "latest": LATEST}
_DEFAULT_FORMATTER = "kafka.tools.DefaultMessageFormatter"
# Kafka's formatter classes, and whether they print anything.
# differs from Kafka (consume-formatters): any Java class, and deserializers.
_FORMATTERS = {
    _DEFAULT_FORMATTER: True,
    "kafka.tools.LoggingMessageFormatter": True,
    "kafka.tools.NoOpMessageFormatter": False,
}
_OTHER_FORMATTERS = {
    "OffsetsMessageFormatter": "`barnabas groups --describe` shows a group's offsets",
    "GroupMetadataMessageFormatter": "`barnabas groups --describe --members` shows members",
    "TransactionLogMessageFormatter": "`barnabas transactions list` shows transactions",
}


def consume(
    topic: Annotated[str | None, Option("--topic", metavar="NAME", help="The topic to read.")] = None,
    whitelist: Annotated[
        str | None,
        Option("--include", "--whitelist", metavar="REGEX", help="Read all topics that match, instead of --topic."),
    ] = None,
    partition: Annotated[
        int | None, Option("--partition", min=0, metavar="N", help="Read this partition only.")
    ] = None,
    offset: Annotated[
        str | None,
        Option("--offset", metavar="N|earliest|latest", help="First offset to read in --partition (default: latest)."),
    ] = None,
    from_beginning: Annotated[
        bool,
        flag(
            "--from-beginning",
            "Start at the first record; with --group, only in partitions without a committed offset.",
        ),
    ] = False,
    max_messages: Annotated[
        int | None, Option("--max-messages", min=1, metavar="N", help="Exit after this many records.")
    ] = None,
    timeout_ms: Annotated[
        int | None,
        Option("--timeout-ms", min=1, metavar="MS", help="Exit after this many milliseconds without a record."),
    ] = None,
    group: Annotated[
        str | None, Option("--group", metavar="NAME", help="Read as a member of this consumer group.")
    ] = None,
    properties: Annotated[
        list[str] | None,
        Option(
            "--property",
            metavar="NAME=VALUE",
            help="Output format: print.key, print.timestamp, print.offset, print.partition, print.headers (false), "
            "print.value (true), key.separator (tab), "
            "line.separator, headers.separator, null.literal. May be repeated.",
        ),
    ] = None,
    formatter: Annotated[
        str,
        Option(
            "--formatter",
            metavar="CLASS",
            help="kafka.tools.DefaultMessageFormatter, LoggingMessageFormatter (the same here) or "
            "NoOpMessageFormatter (prints nothing); --json prints JSON instead.",
        ),
    ] = _DEFAULT_FORMATTER,
    isolation_level: Annotated[
        str | None,
        Option(
            "--isolation-level",
            metavar="LEVEL",
            help="read_committed, or read_uncommitted to include records of open and aborted transactions (default: "
            "the property isolation.level, else read_uncommitted).",
        ),
    ] = None,
    consumer_properties: Annotated[
        list[str] | None,
        Option(
            "--consumer-property",
            metavar="NAME=VALUE",
            help="Consumer property of Kafka: group.id, auto.offset.reset, isolation.level, client.id, "
            "enable.auto.commit, fetch.*, session.timeout.ms, security.protocol, ssl.*, sasl.*, ... "
            "Overrides --consumer.config. May be repeated.",
        ),
    ] = None,
    consumer_config: Annotated[
        str | None,
        Option("--consumer.config", "--command-config", metavar="FILE", help="Properties file of the consumer."),
    ] = None,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    as_json: Annotated[bool, flag("--json", "Print one JSON object per record.")] = False,
) -> None:
    _check_formatter(formatter)
    writer = _Writer(parse_pairs(properties or [], "--property"), as_json, is_silent=not _FORMATTERS[formatter])
    client = ClientProperties(consumer_config, consumer_properties or [], "--consumer-property")
    group = _group(client, group)
    _check_options(topic, whitelist, partition, offset, from_beginning, group)
    reset = _reset(client, from_beginning)
    # As Kafka's tool: without an explicit group, no offsets are committed.
    commits = client.flag("enable.auto.commit", True)
    commit_interval_s = client.number("auto.commit.interval.ms", None, _COMMIT_INTERVAL_MS) / 1000
    is_read_committed = client.choice(
        "isolation.level", ("--isolation-level", isolation_level), "read_uncommitted", _ISOLATION_LEVELS
    )
    security = client.security()
    client_id = client.text("client.id", "barnabas-consume")
    max_age_ms = client.number("metadata.max.age.ms", None, 300_000)
    request_timeout_ms = client.number("request.timeout.ms", None, 30_000, 1)
    fetch_max_wait_ms = client.number("fetch.max.wait.ms", None, 500)
    fetch_min_bytes = client.number("fetch.min.bytes", None, 1)
    fetch_max_bytes = client.number("fetch.max.bytes", None, 50 * 1024 * 1024)
    max_partition_fetch_bytes = client.number("max.partition.fetch.bytes", None, 1024 * 1024)
    session_timeout_ms = client.number("session.timeout.ms", None, 10_000, 1)
    heartbeat_interval_ms = client.number("heartbeat.interval.ms", None, 3_000, 1)
    rebalance_timeout_ms = client.number("max.poll.interval.ms", None, 60_000, 1)
    client.note_unused()

    async def work() -> None:
        stopped = stop_on_signals()
        async with Pool(
            bootstrap_server,
            client_id,
            request_timeout_ms=request_timeout_ms,
            metadata_max_age_ms=max_age_ms,
            security=security,
        ) as pool:
            consumer = Consumer(
                pool,
                auto_offset_reset=reset,
                fetch_max_wait_ms=fetch_max_wait_ms,
                fetch_min_bytes=fetch_min_bytes,
                fetch_max_bytes=fetch_max_bytes,
                max_partition_fetch_bytes=max_partition_fetch_bytes,
                is_read_committed=is_read_committed,
            )
            reader = _Reader(consumer, writer, max_messages, timeout_ms, stopped, asyncio.to_thread)

            def watching(use: Callable[[_Topics], Awaitable[None]]) -> AbstractAsyncContextManager[None]:
                return _watching(lambda: _topics(Admin(pool), topic, whitelist), max_age_ms, use)

            topics = await unless_stopped(_topics(Admin(pool), topic, whitelist), stopped)
            if topics is None:
                return
            try:
                # Records printed to the same terminal show the progress.
                with progress(f"Reading {topic or whitelist}", max_messages, is_wanted=not sys.stdout.isatty()) as bar:
                    if group is not None:
                        member = GroupMember(
                            pool,
                            group,
                            list(topics),
                            session_timeout_ms=session_timeout_ms,
                            rebalance_timeout_ms=rebalance_timeout_ms,
                            heartbeat_interval_ms=heartbeat_interval_ms,
                        )
                        async with watching(lambda found: member.subscribe(list(found))):
                            await reader.read_as_member(member, reset, bar, commit_interval_s if commits else None)
                    else:
                        await _seek(consumer, topics, partition, offset or reset)
                        async with watching(lambda found: _seek(consumer, found, partition, offset or reset)):
                            await reader.read(bar)
                if consumer.sought and reader.count != max_messages:
                    note(f"Not read, because their leaders have not answered yet: {reader.waits_for()}")
            finally:
                if reader.is_printing:
                    note("stopped while printing, because the reader of the output does not read")
                    # An ordinary exit would wait for the thread that prints.
                    os._exit(1)
                sys.stdout.buffer.flush()
                await reader.consumer.close()
                note(f"Processed a total of {reader.count} messages")

    run_async(work())


def _check_formatter(name: str) -> None:
    if name in _FORMATTERS:
        return
    instead = next((text for suffix, text in _OTHER_FORMATTERS.items() if name.endswith(suffix)), "use --json")
    raise BarnabasError(f"--formatter {name} is not supported: {instead}; supported are {', '.join(_FORMATTERS)}")


def _group(client: ClientProperties, group: str | None) -> str | None:
    """Return the group of --group and group.id. Raises BarnabasError if they differ."""
    named = client.text("group.id", None)
    if group is not None and named is not None and group != named:
        raise BarnabasError(f"--group {group} and group.id={named} differ: give only one of them")
    return group or named or None


def _reset(client: ClientProperties, from_beginning: bool) -> str:
    """Return the reset policy. Raises BarnabasError if --from-beginning and auto.offset.reset differ."""
    named = client.choice("auto.offset.reset", ("", None), "earliest" if from_beginning else "latest", _RESETS)
    if from_beginning and named != "earliest":
        raise BarnabasError(f"--from-beginning and auto.offset.reset={named} exclude each other: give one of them")
    return named


def _check_options(
    topic: str | None,
    whitelist: str | None,
    partition: int | None,
    offset: str | None,
    from_beginning: bool,
    group: str | None,
) -> None:
    if topic is not None and whitelist is not None:
        raise BarnabasError("--topic and --include exclude each other: give one of them")
    if topic is None and whitelist is None:
        raise BarnabasError("no topic given: use --topic NAME or --include REGEX")
    if partition is not None and (whitelist is not None or group is not None):
        raise BarnabasError(
            "--partition needs --topic and excludes --group and --include: a group assigns the partitions itself"
        )
    if offset is not None:
        if partition is None:
            raise BarnabasError("--offset needs --partition")
        if from_beginning:
            raise BarnabasError("--offset and --from-beginning exclude each other")
        if offset not in ("earliest", "latest") and not (offset.isdecimal() and len(offset) < 19):
            raise BarnabasError(f"--offset {offset}: must be a number, earliest or latest")


async def _topics(admin: Admin, topic: str | None, whitelist: str | None) -> _Topics:
    known = await admin.topics([topic] if topic is not None else None)
    if topic is not None:
        # differs from Kafka (consume-absent-topic): Kafka's tool waits for the topic, or creates it.
        check_topic(topic, known.get(topic))
    matches = name_matcher(whitelist)
    found = {
        name: [TopicPartition(name, index) for index in metadata.partitions]
        for name, metadata in known.items()
        if metadata.error_code is ErrorCode.NONE and ((matches(name) and not metadata.is_internal) or name == topic)
    }
    if not found:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic matches {whitelist}")
    return found


@asynccontextmanager
async def _watching(
    look: Callable[[], Awaitable[_Topics]], interval_ms: int, use: Callable[[_Topics], Awaitable[None]]
) -> AsyncIterator[None]:
    """Look for topics and partitions at an interval, and pass all of them to `use`."""

    async def watch() -> None:
        while True:
            await asyncio.sleep(max(interval_ms, RETRY_BACKOFF_MS) / 1000)
            # Known partitions are read meanwhile, and the next time another broker may answer.
            with suppress(BarnabasError):
                await use(await look())

    task = asyncio.get_running_loop().create_task(watch())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _seek(consumer: Consumer, topics: _Topics, partition: int | None, offset: str) -> None:
    """Set the positions of the partitions that the consumer does not read yet."""
    partitions = [part for parts in topics.values() for part in parts if partition in (None, part.partition)]
    if not partitions:
        (name,) = topics
        raise BarnabasError(
            f"partition {partition} does not exist: topic {name} has {len(topics[name])}, counted from 0"
        )
    new = [part for part in partitions if part not in consumer.positions and part not in consumer.sought]
    consumer.seek(new, _PLACES[offset] if offset in _PLACES else int(offset))


class _Reader:
    """Reads and prints records until a limit or a signal ends it.

    Attributes:
        count: The number of printed records.
        is_printing: Whether a thread is printing.
    """

    def __init__(
        self,
        consumer: Consumer,
        writer: "_Writer",
        max_messages: int | None,
        timeout_ms: int | None,
        stopped: asyncio.Event,
        elsewhere: Callable[[Callable[[], None]], Awaitable[None]],
    ) -> None:
        """Args:
        elsewhere: Runs a function in a thread.
        """
        self.consumer = consumer
        self.count = 0
        self.is_printing = False
        self._elsewhere = elsewhere
        self._writer = writer
        self._max_messages = max_messages
        self._timeout_s = None if timeout_ms is None else timeout_ms / 1000
        self._stopped = stopped
        self._last_record = 0.0
        self._has_noted_wait = False

    def waits_for(self) -> str:
        """Return the partitions whose leaders have not answered yet, and the latest error."""
        reason = self.consumer.pause_reason
        return listed(sorted(self.consumer.sought)) + (f": {reason}" if reason else "")

    def _start_timeout(self) -> None:
        self._last_record = asyncio.get_running_loop().time()

    async def read(self, bar: Bar) -> None:
        """Read the partitions that the consumer is assigned."""
        self._start_timeout()
        while not self._is_done() and (fetched := await self._poll()) is not None:
            if await self._print(fetched) is None:
                return
            bar.set(self.count, f"{self.count:,} records")

    async def read_as_member(self, member: GroupMember, reset: str, bar: Bar, commit_interval_s: float | None) -> None:
        """Read the partitions that the group assigns, and commit positions unless `commit_interval_s` is None.

        As in Kafka, positions of all partitions are committed: without a committed offset, the next start of the group
        would begin at the end again, and skip the records that were written meanwhile.
        """
        self._start_timeout()
        loop = asyncio.get_running_loop()
        next_commit = math.inf if commit_interval_s is None else loop.time() + commit_interval_s
        positions: dict[TopicPartition, int] = {}
        try:
            while not self._is_done():
                if member.needs_rejoin:
                    member.raise_failure()
                    await self._commit(member, positions)
                    joined = await unless_stopped(member.join(None), self._stopped)
                    if joined is None:
                        return
                    self.consumer.assign(joined)
                    missing = [each for each in member.assignment if each not in self.consumer.positions]
                    self.consumer.seek(missing, _PLACES[reset])
                    positions = {} if commit_interval_s is None else dict(joined)
                fetched = await self._poll()
                if commit_interval_s is not None:
                    # Before these records, which may not get printed.
                    first_offsets = {each.partition: each.records[0].offset for each in reversed(fetched or [])}
                    positions = self.consumer.positions | first_offsets
                if fetched is None:
                    break
                # Without commits, records that a rebalance leaves unprinted could be skipped.
                printed = await self._print(fetched, None if commit_interval_s is None else member)
                if printed is None:
                    break
                if commit_interval_s is not None:
                    positions = printed
                bar.set(self.count, f"{self.count:,} records")
                if loop.time() >= next_commit:
                    await self._commit(member, positions)
                    next_commit = loop.time() + (commit_interval_s or 0)
            await self._commit(member, positions)
        finally:
            task = asyncio.current_task()
            # A second Ctrl-C cancels the connections, too: leaving would wait for its timeout.
            if task is None or not task.cancelling():
                leaving = loop.create_task(member.leave())
                if not await self._ends(leaving):
                    leaving.cancel()

    async def _commit(self, member: GroupMember, offsets: dict[TopicPartition, int]) -> None:
        """Commit, unless the group has rebalanced: then another member reads these records again.

        The offset of a deleted topic is not needed, and the broker stores the others. A signal limits the wait for a
        coordinator.
        """
        commit = asyncio.get_running_loop().create_task(member.commit(offsets))
        if not await self._ends(commit):
            commit.cancel()
            note("offsets were not committed: the group's coordinator does not answer")
            return
        try:
            commit.result()
        except KafkaError as error:
            if not member.needs_rejoin and error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            note(f"offsets were not committed: {error.message}")

    async def _ends(self, task: "asyncio.Task[object]") -> bool:
        """Wait for a task, after a signal only for a while; return whether it has ended."""
        if not await comes_first(task, self._stopped):
            await asyncio.wait([task], timeout=_STALLED_S)
        return task.done()

    async def _poll(self) -> Fetched | None:
        """Return the next records; None: a signal came first, and no record below the positions is missing."""
        is_searching = self.consumer.is_searching
        poll = self.consumer.poll(RETRY_BACKOFF_MS if is_searching else _POLL_MS)
        fetched = await unless_stopped(poll, self._stopped)
        if is_searching:
            # The requests of a search have timeouts of their own.
            self._start_timeout()
        elif self.consumer.sought and not self._has_noted_wait and self._silent_s() >= _STALLED_S:
            self._has_noted_wait = True
            note(f"Waiting for the leaders of {self.waits_for()}")
        return fetched

    async def _print(self, fetched: Fetched, member: GroupMember | None = None) -> dict[TopicPartition, int] | None:
        """Print records up to the limit; return the offset after the printed records for each partition.

        None: a signal came, and the reader of the output does not read.

        A thread prints, so that a slow reader of the output does not stop the heartbeats: without them, the group would
        give the partitions to another member, or to this one again, at the offsets before these records.

        Args:
            member: Its rebalance ends the print, so that the group does not wait for the reader of the output.
        """
        # differs from Kafka (consume-slow-reader): a member keeps its partitions however long its records take. If
        # max.poll.interval.ms removed it, it would print the same records again, as slowly. It limits rebalances only.
        next_offsets = dict(self.consumer.positions)
        write = partial(self._write_records, fetched, next_offsets, member)
        printing = asyncio.ensure_future(self._elsewhere(write))
        self.is_printing = True
        # After a signal, the thread stops after the record that it writes.
        if not await self._ends(printing):
            return None
        self.is_printing = False
        printing.result()
        if fetched:
            self._last_record = asyncio.get_running_loop().time()
        return next_offsets

    def _write_records(
        self, fetched: Fetched, next_offsets: dict[TopicPartition, int], member: GroupMember | None
    ) -> None:
        """Write records up to the limit, a signal or a rebalance; set `next_offsets` to the first ones not written."""
        count = self.count
        for partition, records, is_log_append_time in fetched:
            for record in records:
                if self._is_over() or (member is not None and member.needs_rejoin):
                    next_offsets[partition] = min(next_offsets[partition], record.offset)
                    break
                self._writer.write(partition, record, is_log_append_time)
                self.count += 1
        if self.count > count:
            sys.stdout.buffer.flush()

    def _is_over(self) -> bool:
        return self._stopped.is_set() or (self._max_messages is not None and self.count >= self._max_messages)

    def _is_done(self) -> bool:
        if self._is_over():
            return True
        return self._timeout_s is not None and self._silent_s() >= self._timeout_s

    def _silent_s(self) -> float:
        return asyncio.get_running_loop().time() - self._last_record


class _Writer:
    """Writes a record as one line, in the form of kafka-console-consumer's default formatter or as JSON."""

    def __init__(self, properties: dict[str, str], as_json: bool, *, is_silent: bool = False) -> None:
        self._as_json = as_json
        self._is_silent = is_silent
        self._write = data_writer()
        self._has_timestamp = parse_flag(properties, "print.timestamp", False)
        self._has_partition = parse_flag(properties, "print.partition", False)
        self._has_offset = parse_flag(properties, "print.offset", False)
        self._has_headers = parse_flag(properties, "print.headers", False)
        self._has_key = parse_flag(properties, "print.key", False)
        self._has_value = parse_flag(properties, "print.value", True)
        self._separator = properties.pop("key.separator", "\t").encode()
        self._line_end = properties.pop("line.separator", "\n").encode()
        self._header_separator = properties.pop("headers.separator", ",").encode()
        self._null = properties.pop("null.literal", "null").encode()
        if properties:
            raise BarnabasError(f"--property {next(iter(properties))} is unknown: see barnabas consume --help")

    def write(self, partition: TopicPartition, record: Record, is_log_append_time: bool) -> None:
        """Write one record to stdout."""
        if self._is_silent:
            return
        timestamp_type = "LogAppendTime" if is_log_append_time else "CreateTime"
        if self._as_json:
            line = _json_line(partition, record, timestamp_type)
        else:
            line = self._text(partition, record, timestamp_type)
        self._write(line)

    def _text(self, partition: TopicPartition, record: Record, timestamp_type: str) -> bytes:
        parts = []
        if self._has_timestamp:
            has_time = record.timestamp_ms >= 0
            parts.append(f"{timestamp_type}:{record.timestamp_ms}".encode() if has_time else b"NO_TIMESTAMP")
        if self._has_partition:
            parts.append(b"Partition:%d" % partition.partition)
        if self._has_offset:
            parts.append(b"Offset:%d" % record.offset)
        if self._has_headers:
            headers = [name.encode() + b":" + self._or_null(value) for name, value in record.headers]
            parts.append(self._header_separator.join(headers) or b"NO_HEADERS")
        if self._has_key:
            parts.append(self._or_null(record.key))
        if self._has_value:
            parts.append(self._or_null(record.value))
        return self._separator.join(parts) + self._line_end

    def _or_null(self, data: bytes | None) -> bytes:
        return self._null if data is None else data


def _json_line(partition: TopicPartition, record: Record, timestamp_type: str) -> bytes:
    shown: dict[str, object] = {
        "topic": partition.topic,
        "partition": partition.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms,
        "timestamp_type": timestamp_type,
    }
    shown |= _json_bytes("key", record.key) | _json_bytes("value", record.value)
    if record.headers:
        shown["headers"] = [{"name": name} | _json_bytes("value", value) for name, value in record.headers]
    return to_json(shown).encode() + b"\n"


def _json_bytes(name: str, data: bytes | None) -> dict[str, object]:
    """Return the value as text if it is UTF-8, else as `<name>_base64`, so that nothing is lost."""
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}
