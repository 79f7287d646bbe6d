"""`barnabas perf`: measures produce and consume throughput, through librdkafka.

The output has the form of kafka-producer-perf-test and kafka-consumer-perf-test.
"""

import time
from array import array
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from barnabas.cli.options import (
    DEFAULT_SERVER,
    AsJson,
    BootstrapServer,
    Option,
    flag,
    paragraphs,
    parse_pairs,
    run_async,
)
from barnabas.cli.output import Bar, print_json, progress, say
from barnabas.clients import Pool
from barnabas.clients.admin import retry
from barnabas.core.build import install_hint
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message, Producer

_MEGABYTE = 1024 * 1024
_REPORT_INTERVAL_S = 5.0
_SAMPLE_LIMIT = 500_000
_TOPIC_TIMEOUT_MS = 10_000
_MISSING = f"perf needs librdkafka: {install_hint('clients')}"

HELP = paragraphs(
    """Measure produce and consume throughput.

The output has the form of kafka-producer-perf-test and kafka-consumer-perf-test.
"""
)
PRODUCE_HELP = paragraphs(
    """Send records at full speed or at a given rate, and print throughput and latency.

Example:

  barnabas perf produce --topic views --num-records 10000 --record-size 100 --producer-props acks=all linger.ms=5
"""
)
CONSUME_HELP = paragraphs(
    """Read a topic at full speed, and print throughput.

Example:

  barnabas perf consume --topic views --messages 10000
"""
)


def perf_produce(
    topic: Annotated[str, Option("--topic", metavar="NAME", help="Topic to send records to.")],
    num_records: Annotated[int, Option("--num-records", min=1, metavar="N", help="Number of records to send.")],
    record_size: Annotated[
        int | None, Option("--record-size", min=1, max=10**9, metavar="BYTES", help="Size of each record.")
    ] = None,
    payload_file: Annotated[
        Path | None,
        Option("--payload-file", metavar="FILE", help="Use the lines of this file as records instead."),
    ] = None,
    payload_delimiter: Annotated[
        str, Option("--payload-delimiter", metavar="TEXT", help="Separator of the records in --payload-file.")
    ] = "\\n",
    throughput: Annotated[float, Option("--throughput", metavar="N", help="Records per second; -1 for no limit.")] = -1,
    producer_props: Annotated[
        list[str] | None,
        Option(
            "--producer-props",
            nargs="+",
            metavar="NAME=VALUE",
            help="Settings of librdkafka, for example acks=all linger.ms=5.",
        ),
    ] = None,
    producer_config: Annotated[
        Path | None, Option("--producer.config", metavar="FILE", help="Properties file of librdkafka settings.")
    ] = None,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    as_json: AsJson = False,
) -> None:
    payloads = _payloads(record_size, payload_file, payload_delimiter)
    settings = {"bootstrap.servers": bootstrap_server, "client.id": "barnabas-perf-produce", "acks": "1"}
    settings |= _file_settings(producer_config) | parse_pairs(producer_props or [], "--producer-props")
    producer = _producer(settings, topic)
    run = _ProduceRun(num_records, is_quiet=as_json)
    from confluent_kafka import KafkaException

    with progress(f"Sending to {topic}", num_records) as bar:
        try:
            _send(producer, topic, payloads, num_records, throughput, run, bar)
        except KafkaException as error:
            raise BarnabasError(f"librdkafka: {error.args[0].str()}") from None
    run.finish(as_json)


class _ProduceRun:
    """Counts acknowledged records and their latencies."""

    def __init__(self, num_records: int, *, is_quiet: bool) -> None:
        self.started = time.perf_counter()
        self.count = 0
        self.failure: str | None = None
        self._is_quiet = is_quiet
        self._sampling = max(1, num_records // _SAMPLE_LIMIT)
        self._latencies_ms = array("d")
        self._byte_count = 0
        self._total_ms = 0.0
        self._max_ms = 0.0
        self._window_started = self.started
        self._window = [0, 0, 0.0, 0.0]  # records, bytes, sum of latencies, largest latency

    def delivered(self, latency_s: float, size_bytes: int) -> None:
        """Count one acknowledged record."""
        latency_ms = latency_s * 1000
        if self.count % self._sampling == 0:
            self._latencies_ms.append(latency_ms)
        self.count += 1
        self._byte_count += size_bytes
        self._total_ms += latency_ms
        self._max_ms = max(self._max_ms, latency_ms)
        window = self._window
        window[0] += 1
        window[1] += size_bytes
        window[2] += latency_ms
        window[3] = max(window[3], latency_ms)

    def report(self, bar: Bar) -> None:
        """Show the progress, and every five seconds a line as in Kafka's tool."""
        now = time.perf_counter()
        seconds = now - self.started
        bar.set(self.count, f"{self.count:,} records, {self.count / seconds:,.0f}/s")
        elapsed = now - self._window_started
        if elapsed < _REPORT_INTERVAL_S:
            return
        records, size_bytes, total_ms, max_ms = self._window
        if not self._is_quiet:
            say(
                f"{records:.0f} records sent, {records / elapsed:.1f} records/sec "
                f"({size_bytes / elapsed / _MEGABYTE:.2f} MB/sec), "
                f"{total_ms / max(records, 1):.1f} ms avg latency, {max_ms:.1f} ms max latency."
            )
        self._window_started = now
        self._window = [0, 0, 0.0, 0.0]

    def finish(self, as_json: bool) -> None:
        """Print the totals."""
        seconds = time.perf_counter() - self.started
        ordered = sorted(self._latencies_ms)
        p50, p95, p99, p999 = (percentile(ordered, share) for share in (0.5, 0.95, 0.99, 0.999))
        rate, megabytes = self.count / seconds, self._byte_count / seconds / _MEGABYTE
        average_ms = self._total_ms / max(self.count, 1)
        if as_json:
            latency_ms = {"avg": average_ms, "max": self._max_ms, "p50": p50, "p95": p95, "p99": p99, "p99.9": p999}
            print_json(
                {
                    "records": self.count,
                    "seconds": round(seconds, 6),
                    "records_per_s": round(rate, 3),
                    "mb_per_s": round(megabytes, 3),
                    "latency_ms": {name: round(value, 3) for name, value in latency_ms.items()},
                }
            )
            return
        say(
            f"{self.count} records sent, {rate:.6f} records/sec ({megabytes:.2f} MB/sec), "
            f"{average_ms:.2f} ms avg latency, {self._max_ms:.2f} ms max latency, "
            f"{p50:.0f} ms 50th, {p95:.0f} ms 95th, {p99:.0f} ms 99th, {p999:.0f} ms 99.9th."
        )


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return a percentile of sorted values, selected as in Kafka's tools; 0 without values."""
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0


def _send(
    producer: "Producer",
    topic: str,
    payloads: Sequence[bytes],
    num_records: int,
    throughput: float,
    run: _ProduceRun,
    bar: Bar,
) -> None:
    def on_delivery(error: "KafkaError | None", message: "Message") -> None:
        if error is not None:
            run.failure = run.failure or str(error)
        else:
            run.delivered(message.latency() or 0.0, len(message))

    next_report = run.started
    for index in range(num_records):
        payload = payloads[index % len(payloads)]
        if throughput > 0:
            _wait_until(producer, run.started + index / throughput)
        while True:
            try:
                producer.produce(topic, payload, on_delivery=on_delivery)
                break
            except BufferError:
                producer.poll(0.05)
        if index % 64 == 0:
            producer.poll(0)
            now = time.perf_counter()
            if now >= next_report:
                run.report(bar)
                next_report = now + 0.1
        if run.failure is not None:
            break
    while run.failure is None and producer.flush(0.2):
        run.report(bar)
    if run.failure is not None:
        producer.purge()
        raise BarnabasError(f"a record was not written: {run.failure}")


def _wait_until(producer: "Producer", moment: float) -> None:
    while (left := moment - time.perf_counter()) > 0:
        producer.poll(min(left, 0.1))


def perf_consume(
    topic: Annotated[str, Option("--topic", metavar="NAME", help="The topic to read.")],
    messages: Annotated[int, Option("--messages", min=1, metavar="N", help="Number of records to read.")],
    group: Annotated[
        str | None, Option("--group", metavar="NAME", help="Name of the consumer group (default: a new one).")
    ] = None,
    fetch_size: Annotated[
        int, Option("--fetch-size", min=1, metavar="BYTES", help="Most bytes to fetch from one partition at a time.")
    ] = _MEGABYTE,
    from_latest: Annotated[
        bool, flag("--from-latest", "Start at the end in partitions without a committed offset.")
    ] = False,
    timeout: Annotated[
        int, Option("--timeout", min=1, metavar="MS", help="Exit after this many milliseconds without a record.")
    ] = 10_000,
    consumer_config: Annotated[
        Path | None,
        Option("--consumer.config", metavar="FILE", help="Properties file of librdkafka settings."),
    ] = None,
    show_detailed_stats: Annotated[
        bool, flag("--show-detailed-stats", "Print a line for each reporting interval.")
    ] = False,
    reporting_interval: Annotated[
        int, Option("--reporting-interval", min=1, metavar="MS", help="Interval of the lines of --show-detailed-stats.")
    ] = 5_000,
    hide_header: Annotated[bool, flag("--hide-header", "Do not print the line with column names.")] = False,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    as_json: AsJson = False,
) -> None:
    settings = {
        "bootstrap.servers": bootstrap_server,
        "client.id": "barnabas-perf-consume",
        "group.id": group or f"perf-consumer-{time.time_ns() // 1_000_000 % 100_000}",
        "auto.offset.reset": "latest" if from_latest else "earliest",
        "fetch.message.max.bytes": str(fetch_size),
        # With the default, librdkafka fetches nothing for one second after its queue was full. That would dominate the
        # measurement.
        "fetch.queue.backoff.ms": "5",
    } | _file_settings(consumer_config)
    consumer = _consumer(settings, topic)
    run = _ConsumeRun(is_detailed=show_detailed_stats and not as_json, interval_s=reporting_interval / 1000)
    if not hide_header and not as_json:
        run.print_header()
    try:
        with progress(f"Reading {topic}", messages) as bar:
            _read(consumer, topic, messages, timeout / 1000, run, bar)
        run.finish(as_json)
    finally:
        consumer.close()
    if run.count < messages and not as_json:
        say(f"WARNING: Exiting before consuming the expected number of messages: timeout ({timeout} ms) exceeded.")


class _ConsumeRun:
    """Counts read records, and the time that the group took to assign partitions."""

    def __init__(self, *, is_detailed: bool, interval_s: float) -> None:
        self.count = 0
        self.rebalance_s = 0.0
        self._is_detailed = is_detailed
        self._interval_s = interval_s
        self._byte_count = 0
        self._started_at = datetime.now()
        self._started = time.perf_counter()
        self._joining_since: float | None = self._started
        self._window = (self._started, 0, 0, 0.0)  # since when; records, bytes, rebalance seconds until then

    def print_header(self) -> None:
        """Print the column names of Kafka's tool."""
        first = "time, threadId" if self._is_detailed else "start.time, end.time"
        say(
            f"{first}, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, "
            "fetch.MB.sec, fetch.nMsg.sec"
        )

    def joined(self, *_: object) -> None:
        """Note that the group has assigned partitions."""
        if self._joining_since is not None:
            self.rebalance_s += time.perf_counter() - self._joining_since
            self._joining_since = None

    def revoked(self, *_: object) -> None:
        """Note that the group revokes the partitions for a rebalance."""
        self._joining_since = time.perf_counter()

    def received(self, size_bytes: int) -> None:
        """Count one record."""
        self.count += 1
        self._byte_count += size_bytes

    def report(self, bar: Bar) -> None:
        """Show the progress; with details, a line for each interval."""
        now = time.perf_counter()
        bar.set(self.count, f"{self.count:,} records, {self.count / (now - self._started):,.0f}/s")
        since, count, byte_count, rebalance_s = self._window
        if self._is_detailed and now - since >= self._interval_s:
            figures = _figures(
                self._byte_count - byte_count, self.count - count, now - since, self.rebalance_s - rebalance_s
            )
            total_mb = self._byte_count / _MEGABYTE
            shown = [_time_text(datetime.now()), "0", f"{total_mb:.4f}", f"{figures['MB.sec']:.4f}", str(self.count)]
            say(", ".join(shown + _tail(figures)))
            self._window = (now, self.count, self._byte_count, self.rebalance_s)

    def finish(self, as_json: bool) -> None:
        """Print the totals."""
        seconds = time.perf_counter() - self._started
        figures = _figures(self._byte_count, self.count, seconds, self.rebalance_s)
        megabytes = self._byte_count / _MEGABYTE
        if as_json:
            counts = {"data.consumed.in.MB": megabytes, "data.consumed.in.nMsg": self.count}
            print_json({name: round(value, 4) for name, value in (counts | figures).items()})
        elif not self._is_detailed:
            shown = [
                _time_text(self._started_at),
                _time_text(datetime.now()),
                f"{megabytes:.4f}",
                f"{figures['MB.sec']:.4f}",
                str(self.count),
            ]
            say(", ".join(shown + _tail(figures)))


def _figures(byte_count: int, count: int, seconds: float, rebalance_s: float) -> dict[str, float]:
    fetch_s = max(seconds - rebalance_s, 1e-9)
    megabytes = byte_count / _MEGABYTE
    return {
        "MB.sec": megabytes / seconds,
        "nMsg.sec": count / seconds,
        "rebalance.time.ms": round(rebalance_s * 1000),
        "fetch.time.ms": round(fetch_s * 1000),
        "fetch.MB.sec": megabytes / fetch_s,
        "fetch.nMsg.sec": count / fetch_s,
    }


def _tail(figures: Mapping[str, float]) -> list[str]:
    whole = ("rebalance.time.ms", "fetch.time.ms")
    names = ("nMsg.sec", *whole, "fetch.MB.sec", "fetch.nMsg.sec")
    return [str(int(figures[name])) if name in whole else f"{figures[name]:.4f}" for name in names]


def _time_text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}:{moment.microsecond // 1000:03d}"


def _read(consumer: "Consumer", topic: str, messages: int, timeout_s: float, run: _ConsumeRun, bar: Bar) -> None:
    consumer.subscribe([topic], on_assign=run.joined, on_revoke=run.revoked)
    last = time.perf_counter()
    while run.count < messages and time.perf_counter() - last < timeout_s:
        batch = consumer.consume(min(1_000, messages - run.count), 0.1)
        for message in batch:
            if (error := message.error()) is not None:
                raise BarnabasError(f"topic {topic}: {error.str()}")
            run.received(len(message.key() or b"") + len(message))
        if batch:
            last = time.perf_counter()
        run.report(bar)


def _payloads(record_size: int | None, file: Path | None, delimiter: str) -> list[bytes]:
    if (record_size is None) == (file is None):
        raise BarnabasError("exactly one is required: --record-size BYTES or --payload-file FILE")
    if file is not None:
        try:
            divider = delimiter.encode("latin-1", "backslashreplace").decode("unicode_escape").encode()
            payloads = [part for part in file.read_bytes().split(divider) if part]
        except ValueError:
            raise BarnabasError(
                f"--payload-delimiter {delimiter!r}: must be text, with escapes such as \\n, \\t and \\\\"
            ) from None
        if not payloads:
            raise BarnabasError(f"--payload-file {file} is empty")
        return payloads
    assert record_size is not None
    # Kafka's tool sends random capital letters too; the seed is fixed so that two runs send the same.
    import random

    letters = random.Random(0)
    return [bytes(letters.choices(range(65, 91), k=record_size))]


def _file_settings(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    from barnabas.core.config import read_properties

    return read_properties(str(path))[0]


def _producer(settings: Mapping[str, str], topic: str) -> "Producer":
    try:
        from confluent_kafka import KafkaException, Producer
    except ImportError:
        raise BarnabasError(_MISSING) from None
    run_async(_require_topic(settings, topic, is_created=True))
    try:
        return Producer(dict(settings))
    except KafkaException as error:
        raise BarnabasError(f"librdkafka: {error.args[0].str()}") from None


def _consumer(settings: Mapping[str, str], topic: str) -> "Consumer":
    try:
        from confluent_kafka import Consumer, KafkaException
    except ImportError:
        raise BarnabasError(_MISSING) from None
    run_async(_require_topic(settings, topic, is_created=False))
    try:
        return Consumer(dict(settings))
    except KafkaException as error:
        raise BarnabasError(f"librdkafka: {error.args[0].str()}") from None


async def _require_topic(settings: Mapping[str, str], topic: str, *, is_created: bool) -> None:
    """Fail with one line if no broker answers or the topic is missing; librdkafka would retry for minutes."""
    if settings.get("security.protocol", "plaintext").lower() != "plaintext":
        # The settings are librdkafka's own, which `Pool` cannot use.
        return
    async with Pool(settings["bootstrap.servers"], settings["client.id"]) as pool:
        await retry(
            lambda: pool.topic(topic, allow_auto_topic_creation=is_created),
            _TOPIC_TIMEOUT_MS,
            () if is_created else (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,),
        )


SUBCOMMANDS: Final = {"produce": (perf_produce, PRODUCE_HELP), "consume": (perf_consume, CONSUME_HELP)}
