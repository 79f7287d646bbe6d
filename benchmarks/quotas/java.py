"""Kafka's own ProducerPerformance and ConsumerPerformance, and their rates after a quota's first window.

A producer's progress is read from the log end ten times per second, because it reports only every five seconds; a
consumer reports ten times per second itself.

Rates count the records' bytes; requests and responses, which quotas count, are about two per cent larger.
"""

import contextlib
import re
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from benchmarks.load.raw import connect, receive
from benchmarks.quotas.brokers import PASSWORD, USER, Target, new_topic
from tools.kafka.java import die_with_parent, java_command

RECORD_BYTES = 1_024
_REPORT_S = 0.1
_THROTTLE = re.compile(r"(?:produce|fetch)-throttle-time-avg:\{[^}]*\}\s*:\s*([\d.]+)")


class Ran(NamedTuple):
    """The progress that a perf tool reported.

    Attributes:
        moves: Time in seconds since the first report, and total bytes by then.
        throttle_ms: Its metric `produce-throttle-time-avg` or `fetch-throttle-time-avg` at the end.
    """

    moves: list[tuple[float, float]]
    throttle_ms: float

    def up_to(self, at_s: float) -> "Ran":
        """Return the progress before this time."""
        return Ran([each for each in self.moves if each[0] < at_s], self.throttle_ms)

    def since(self, at_s: float) -> "Ran":
        """Return the progress from this time on, which becomes time 0."""
        later = [each for each in self.moves if each[0] >= at_s]
        return Ran([(now_s - at_s, total) for now_s, total in later], self.throttle_ms)


def _login(target: Target) -> list[str]:
    if not target.login_address:
        return []
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    return [
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=PLAIN",
        f'sasl.jaas.config={module} username="{USER}" password="{PASSWORD}";',
    ]


def produce(
    target: Target, topic: str, client_id: str, total_bytes: float, on_second: Callable[[float], object] | None = None
) -> Ran:
    """Run ProducerPerformance: records of a kilobyte, acks=1, the client's defaults, as fast as possible.

    Args:
        total_bytes: Bytes of all records.
        on_second: Called repeatedly with the seconds since the start.
    """
    count = int(total_bytes / RECORD_BYTES)
    properties = [f"bootstrap.servers={target.client_address}", "acks=1", f"client.id={client_id}"]
    arguments = ["--topic", topic, "--num-records", str(count), "--record-size", str(RECORD_BYTES)]
    arguments += ["--throughput", "-1", "--print-metrics", "--producer-props", *properties]
    new_topic(target, topic)
    start_offset = _end_offset(target, topic)
    moves: list[tuple[float, float]] = []
    begin_s = 0.0
    with (
        _config(_login(target)) as config,
        _Tool("org.apache.kafka.tools.ProducerPerformance", [*arguments, "--producer.config", config]) as tool,
    ):
        while True:
            time.sleep(_REPORT_S)
            total = (_end_offset(target, topic) - start_offset) * RECORD_BYTES
            now_s = time.monotonic()
            if total:
                begin_s = begin_s or now_s
                if not moves or total > moves[-1][1]:
                    moves.append((now_s - begin_s, total))
                if on_second is not None:
                    on_second(now_s - begin_s)
            if tool.has_ended():
                return Ran(moves, _throttle_ms(tool.lines()))


def consume(target: Target, topic: str, client_id: str, total_bytes: float) -> Ran:
    """Run ConsumerPerformance from the beginning of a topic that has at least this many bytes."""
    arguments = ["--bootstrap-server", target.client_address, "--topic", topic, "--hide-header"]
    arguments += ["--messages", str(int(total_bytes / RECORD_BYTES)), "--show-detailed-stats", "--print-metrics"]
    arguments += ["--reporting-interval", str(int(_REPORT_S * 1_000)), "--timeout", "60000"]
    moves: list[tuple[float, float]] = []
    lines = []
    begin_s = 0.0
    with (
        _config([f"client.id={client_id}", *_login(target)]) as config,
        _Tool("kafka.tools.ConsumerPerformance", [*arguments, "--consumer.config", config]) as tool,
    ):
        for line in tool.lines():
            lines.append(line)
            # time, thread, MB so far, MB/s, ...
            fields = [field.strip() for field in line.split(",")]
            if len(fields) > 8 and fields[1].isdecimal():
                now_s = time.monotonic()
                begin_s = begin_s or now_s
                moves.append((now_s - begin_s, float(fields[2]) * 1024 * 1024))
    return Ran(moves, _throttle_ms(lines))


@contextlib.contextmanager
def _config(lines: Iterable[str]) -> Iterator[str]:
    """Yield the path of a properties file: a value with "=" cannot be an argument."""
    with tempfile.NamedTemporaryFile("w", suffix=".properties") as config:
        config.write("".join(f"{line}\n" for line in lines))
        config.flush()
        yield config.name


class _Tool:
    """One of Kafka's tools, which is killed at the end of the context if it still runs."""

    def __init__(self, name: str, arguments: Sequence[str]) -> None:
        self._name = name
        self._process = subprocess.Popen(
            java_command(name, arguments, jvm_options=("-Xmx512m",)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=die_with_parent,
        )

    def __enter__(self) -> "_Tool":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def lines(self) -> Iterator[str]:
        """Yield its output lines to its end. Raises RuntimeError if it failed."""
        assert self._process.stdout is not None
        last = ""
        for line in self._process.stdout:
            yield line
            last = line
        if self._process.wait():
            raise RuntimeError(f"{self._name} failed: {last}")


def _throttle_ms(lines: Iterable[str]) -> float:
    found = [match for line in lines if (match := _THROTTLE.search(line))]
    return float(found[-1][1]) if found else 0.0


def _end_offset(target: Target, topic: str) -> int:
    """Return the end offset of partition 0, by ListOffsets v1."""
    name = struct.pack(">h", len(topic)) + topic.encode()
    body = struct.pack(">ii", -1, 1) + name + struct.pack(">iiq", 1, 0, -1)
    payload = struct.pack(">hhih", 2, 1, 1, -1) + body
    with connect(target.address) as connection:
        connection.sendall(struct.pack(">i", len(payload)) + payload)
        answer = receive(connection)
    (offset,) = struct.unpack_from(">q", answer, len(answer) - 8)
    return int(offset)
