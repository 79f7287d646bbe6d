"""`barnabas produce`: sends lines of text as records, with the options of kafka-console-producer."""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator
from typing import Annotated

from barnabas.cli.client_properties import ClientProperties
from barnabas.cli.options import (
    DEFAULT_SERVER,
    AsJson,
    BootstrapServer,
    Option,
    flag,
    paragraphs,
    parse_flag,
    parse_pairs,
    run_async,
    stop_on_signals,
)
from barnabas.cli.output import Bar, note, print_json, progress, prompt
from barnabas.clients import Pool, Producer, RecordMetadata
from barnabas.clients.producer import ACKS_ALL
from barnabas.core.errors import BarnabasError
from barnabas.wire.records.batch import Codec

HELP = paragraphs(
    """Send lines of text to a topic.

Each line of standard input is one record's value; with --property parse.key=true, the text before the first separator
is its key. A topic that does not exist is created if auto.create.topics.enable is true.

Examples:

  echo hello | barnabas produce --topic greetings

  barnabas produce --topic views --property parse.key=true --property key.separator=: < views.txt
"""
)

_ACKS = {"0": 0, "1": 1, "-1": -1, "all": -1}
_CODECS = {codec.name.lower(): codec for codec in Codec}
_CHUNK_BYTES = 1 << 18
# The default of max.request.size, which kafka-console-producer uses.
_MAX_REQUEST_BYTES = 1_048_576
_FLUSH_EVERY = 100


def produce(
    topic: Annotated[str, Option("--topic", metavar="NAME", help="Topic to send records to.")],
    properties: Annotated[
        list[str] | None,
        Option(
            "--property",
            metavar="NAME=VALUE",
            help="Input format: parse.key (false), key.separator (tab), ignore.error (false). May be repeated.",
        ),
    ] = None,
    producer_properties: Annotated[
        list[str] | None,
        Option(
            "--producer-property",
            metavar="NAME=VALUE",
            help="Producer property of Kafka: acks, compression.type, linger.ms, batch.size, enable.idempotence, "
            "client.id, security.protocol, ssl.*, sasl.*, ..., and max.request.size, the longest line in bytes "
            f"({_MAX_REQUEST_BYTES}). Overrides --producer.config. May be repeated.",
        ),
    ] = None,
    request_required_acks: Annotated[
        str | None,
        Option(
            "--request-required-acks",
            metavar="0|1|all",
            help="Required acknowledgements: 0 none, 1 by the leader, all (or -1) by all in-sync replicas (default: "
            "the property acks, else 1).",
        ),
    ] = None,
    compression_codec: Annotated[
        str | None,
        Option(
            "--compression-codec",
            metavar="CODEC",
            help="Compression: none, gzip, snappy, lz4 or zstd (default: the property compression.type, else none).",
        ),
    ] = None,
    sync: Annotated[bool, flag("--sync", "Wait for each record before the next is sent.")] = False,
    batch_size: Annotated[
        int | None,
        Option(
            "--batch-size",
            min=1,
            metavar="BYTES",
            help="Largest size of a batch (default: the property batch.size, else 16384).",
        ),
    ] = None,
    timeout: Annotated[
        # differs from Kafka (produce-timeout): 1,000 ms there.
        int | None,
        Option(
            "--timeout",
            min=0,
            metavar="MS",
            help="Longest time that a batch waits for more records (default: the property linger.ms, else 100).",
        ),
    ] = None,
    request_timeout_ms: Annotated[
        int | None,
        Option(
            "--request-timeout-ms",
            min=1,
            metavar="MS",
            help="Timeout of each request (default: the property request.timeout.ms, else 30000).",
        ),
    ] = None,
    producer_config: Annotated[
        str | None,
        Option("--producer.config", "--command-config", metavar="FILE", help="Properties file of the producer."),
    ] = None,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    as_json: AsJson = False,
) -> None:
    reader = _LineReader(parse_pairs(properties or [], "--property"))
    client = ClientProperties(producer_config, producer_properties or [], "--producer-property")
    acks = client.choice("acks", ("--request-required-acks", request_required_acks), "1", _ACKS)
    # differs from Kafka (produce-compression): the option's default wins over the property.
    codec = client.choice("compression.type", ("--compression-codec", compression_codec), "none", _CODECS)
    batch_size = client.number("batch.size", batch_size, 16_384)
    linger_ms = client.number("linger.ms", timeout, 100)
    request_timeout_ms = client.number("request.timeout.ms", request_timeout_ms, 30_000, 1)
    delivery_timeout_ms = client.number("delivery.timeout.ms", None, 120_000)
    buffer_bytes = client.number("buffer.memory", None, 32 * 1024 * 1024)
    most_bytes = client.number("max.request.size", None, _MAX_REQUEST_BYTES, 1)
    max_age_ms = client.number("metadata.max.age.ms", None, 300_000)
    client_id = client.text("client.id", "barnabas-produce")
    is_idempotent = client.flag("enable.idempotence", False)
    if is_idempotent and acks != ACKS_ALL:
        raise BarnabasError("enable.idempotence=true needs acks=all: add --request-required-acks all")
    security = client.security()
    client.note_unused()
    if sys.stdin is None:
        raise BarnabasError("standard input is closed: connect it to a file, a pipe or a terminal")

    async def work() -> int:
        stopped = stop_on_signals()
        async with Pool(bootstrap_server, client_id, metadata_max_age_ms=max_age_ms, security=security) as pool:
            producer = Producer(
                pool,
                acks=acks,
                codec=codec,
                batch_size_bytes=batch_size,
                linger_ms=0 if sync else linger_ms,
                buffer_memory_bytes=buffer_bytes,
                request_timeout_ms=request_timeout_ms,
                delivery_timeout_ms=delivery_timeout_ms,
                enable_idempotence=is_idempotent,
            )
            async with producer:
                with progress(f"Sending to {topic}", _input_bytes()) as bar:
                    return await _send_all(producer, topic, reader, _lines(stopped, most_bytes), sync, bar)

    count = run_async(work())
    if as_json:
        print_json({"topic": topic, "records": count})
    elif sys.stdin.isatty() or sys.stderr.isatty():
        note(f"Sent {count} record{'' if count == 1 else 's'} to {topic}.")


async def _send_all(
    producer: Producer, topic: str, reader: "_LineReader", lines: AsyncIterator[bytes], sync: bool, bar: Bar
) -> int:
    sent = _Sent()
    count = read_bytes = 0
    async for line in lines:
        read_bytes += len(line) + 1
        key, value = reader.record(line, count + 1)
        future = await producer.send(topic, value, key)
        future.add_done_callback(sent.note)
        if sync:
            await asyncio.wait([future])
        sent.raise_failure()
        count += 1
        if count % _FLUSH_EVERY == 0:
            bar.set(read_bytes, f"{count:,} records")
            # Reading available lines never suspends: without this, nothing would be sent before the end of the input.
            await asyncio.sleep(0)
    await producer.flush()
    sent.raise_failure()
    return count


class _Sent:
    """Keeps the first failure of the sent records."""

    def __init__(self) -> None:
        self._failure: BaseException | None = None

    def note(self, future: "asyncio.Future[RecordMetadata]") -> None:
        if not future.cancelled():
            # Also after the first failure: asyncio logs exceptions that are never retrieved.
            failure = future.exception()
            self._failure = self._failure or failure

    def raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure


class _LineReader:
    """Splits a line into key and value by the properties."""

    def __init__(self, properties: dict[str, str]) -> None:
        self._parses_key = parse_flag(properties, "parse.key", False)
        self._separator = properties.pop("key.separator", "\t").encode()
        self._ignores_error = parse_flag(properties, "ignore.error", False)
        if properties:
            raise BarnabasError(
                f"--property {next(iter(properties))} is unknown: must be parse.key, key.separator or ignore.error"
            )
        if not self._separator:
            raise BarnabasError("--property key.separator=: must not be empty")

    def record(self, line: bytes, number: int) -> tuple[bytes | None, bytes]:
        """Return key and value of one line. Raises BarnabasError if a required key is missing."""
        if not self._parses_key:
            return None, line
        key, separator, value = line.partition(self._separator)
        if separator:
            return key, value
        if self._ignores_error:
            return None, line
        raise BarnabasError(
            f"line {number} has no key separator {self._separator.decode()!r}; --property ignore.error=true sends it "
            "without a key"
        )


async def _lines(stopped: asyncio.Event, most_bytes: int) -> AsyncIterator[bytes]:
    """Yield the lines of standard input, until its end or until `stopped` is set.

    Raises:
        BarnabasError: A line has more than `most_bytes`; at most that and one chunk are buffered.
        OSError: Standard input can't be read.
    """
    chunks = _Chunks()
    is_terminal = sys.stdin.isatty()

    def invite() -> None:
        if is_terminal:
            prompt(">")

    stop = asyncio.get_running_loop().create_task(stopped.wait())
    number, rest = 1, b""
    invite()
    try:
        while not stopped.is_set():
            get = asyncio.get_running_loop().create_task(chunks.get())
            await asyncio.wait([get, stop], return_when=asyncio.FIRST_COMPLETED)
            if not get.done():
                get.cancel()
                return
            chunk = get.result()
            *whole, rest = (rest + chunk).split(b"\n")
            if not chunk and rest:
                whole, rest = [rest], b""
            for line in whole:
                yield _checked(line, number, most_bytes)
                number += 1
            _checked(rest, number, most_bytes)
            if not chunk:
                return
            invite()
    finally:
        stop.cancel()


def _checked(line: bytes, number: int, most_bytes: int) -> bytes:
    line = line.removesuffix(b"\r")
    if len(line) > most_bytes:
        raise BarnabasError(
            f"line {number} has more than {most_bytes} bytes; --producer-property max.request.size=BYTES allows longer "
            "lines, up to the topic's max.message.bytes"
        )
    return line


class _Chunks:
    """Standard input in pieces, read by a thread, because the event loop cannot wait for regular files."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | OSError] = asyncio.Queue()
        self._room = threading.Semaphore(4)
        threading.Thread(target=self._read, daemon=True, name="stdin").start()

    async def get(self) -> bytes:
        """Return the next piece, empty at the end. Raises OSError."""
        chunk = await self._queue.get()
        self._room.release()
        if isinstance(chunk, OSError):
            raise chunk
        return chunk

    def _read(self) -> None:
        # os.read, because a thread that waits in sys.stdin would keep its lock when the process ends.
        chunk: bytes | OSError = b"-"
        while chunk and not isinstance(chunk, OSError):
            self._room.acquire()
            try:
                chunk = os.read(0, _CHUNK_BYTES)
            except OSError as error:
                chunk = OSError(error.errno, error.strerror, "standard input")
            try:
                self._loop.call_soon_threadsafe(self._queue.put_nowait, chunk)
            except RuntimeError:
                # The loop is closed: the command has ended.
                return


def _input_bytes() -> int | None:
    """Return the size of standard input if that is a file."""
    status = os.fstat(0)
    return status.st_size or None
