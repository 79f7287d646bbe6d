"""Measure how much of a quota jobs use: `python -m benchmarks.pipeline.pacing`, `--kafka`, `--jobs 2`.

One or more jobs share a `consumer_byte_rate` on their user and client id; the limit changes twice. Their topic has more
records than they can read meanwhile. Both figures come from the broker: the bytes that it sent (BytesOutPerSec), and
how long it throttled fetches (Barnabas: ExplainQuotas; Kafka: ThrottleTimeMs of FetchConsumer). The benchmark prints
each second. At the end it prints the rate under each limit, without the limit's first window, beside the limit.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from barnabas.clients import Admin, Pool, Producer
from barnabas.clients.admin import NewTopic
from barnabas.clients.admin_quota_states import Limited, QuotaStateAdmin
from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.events.encode import encode_json
from barnabas.pipeline.job import Job, TableOutput, TopicInput
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.plan import RunPlan
from barnabas.pipeline.runner.run_metrics import Metrics
from barnabas.pipeline.runner.supervisor import run_jobs
from barnabas.pipeline.spark.session import spark_session
from barnabas.testing import Broker
from tools.kafka.server import BROKER_JVM_OPTIONS, ONE_BROKER, KafkaServer, free_port

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLIENT_ID, USER, TOPIC = "paced", "ANONYMOUS", "views"
KEY = "consumer_byte_rate"
RECORD_BYTES = 1_000
WINDOW_S = 11.0
# Options for a JVM that runs for minutes: its optimizing compiler would use a whole core.
_SHORT_LIVED = {
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.scheduler.mode": "FAIR",
}
_WARM_UP_S = 25.0
_EVENT = EVENT_TYPES["page_view"]
JOB = Job(
    "views",
    "keeps views",
    (TopicInput("views", _EVENT, TOPIC),),
    (TableOutput("facts"),),
    lambda inputs, parameters: {"facts": inputs["views"].select("id", "page", "_topic", "_partition", "_offset")},
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A broker's counters at one time: sent bytes, and milliseconds for which fetches were throttled."""

    at_s: float
    sent_bytes: float
    held_ms: float


class Target:
    """A broker, its quotas and its figures."""

    def __init__(self, address: str, read: Callable[[Target], tuple[float, float]]) -> None:
        self.address = address
        self._read = read
        self._runner = asyncio.Runner()

    def ask(self, call: Callable[[Pool], Any]) -> Any:
        async def asked() -> Any:
            async with Pool(self.address, "meter") as pool:
                return await call(pool)

        return self._runner.run(asked())

    def limit(self, value: float) -> None:
        """Set the quota of the jobs' user and client id."""
        self.ask(lambda pool: QuotaStateAdmin(pool).alter_limits(Limited(USER, CLIENT_ID), {KEY: value}))

    def now(self) -> Reading:
        """Read the broker's figures."""
        return Reading(time.monotonic(), *self._read(self))


@contextlib.contextmanager
def barnabas() -> Iterator[Target]:
    """Barnabas, with its figures by HTTP and ExplainQuotas."""
    port = free_port()

    def read(target: Target) -> tuple[float, float]:
        (told,) = target.ask(lambda pool: QuotaStateAdmin(pool).explain(USER, CLIENT_ID))
        entry = next(each for each in told["quotas"] if each["key"] == KEY)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
            lines = page.read().decode().splitlines()
        name = "kafka_server_brokertopicmetrics_bytesout_total"
        sent = sum(float(line.split()[-1]) for line in lines if line.startswith(name) and "topic=" not in line)
        return sent, float(entry.get("throttle_total_ms", 0))

    with Broker(config={**ONE_BROKER, "barnabas.http.listeners": str(port)}) as broker:
        yield Target(broker.bootstrap_servers, read)


@contextlib.contextmanager
def kafka(spark: SparkSession) -> Iterator[Target]:
    """Kafka 2.7.2, with its figures by JMX from Spark's JVM."""
    port = free_port()
    jmx = "com.sun.management.jmxremote"
    options = {"port": port, "rmi.port": port, "authenticate": "false", "ssl": "false", "local.only": "true"}
    jvm_options = [f"-D{jmx}", *(f"-D{jmx}.{name}={value}" for name, value in options.items())]
    jvm_options.append("-Djava.rmi.server.hostname=127.0.0.1")
    jvm: Any = spark.sparkContext._jvm
    connections: list[Any] = []

    def read(target: Target) -> tuple[float, float]:
        if not connections:
            url = jvm.javax.management.remote.JMXServiceURL(f"service:jmx:rmi:///jndi/rmi://127.0.0.1:{port}/jmxrmi")
            connector = jvm.javax.management.remote.JMXConnectorFactory.connect(url)
            connections.append(connector.getMBeanServerConnection())

        def attribute(bean: str, name: str) -> float:
            return float(connections[0].getAttribute(jvm.javax.management.ObjectName(bean), name))

        fetches = "kafka.network:type=RequestMetrics,name=ThrottleTimeMs,request=FetchConsumer"
        held_ms = attribute(fetches, "Mean") * attribute(fetches, "Count")
        return attribute("kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec", "Count"), held_ms

    with KafkaServer(jvm_options=(*BROKER_JVM_OPTIONS, *jvm_options), config=ONE_BROKER) as broker:
        yield Target(broker.bootstrap_servers, read)


def fill(target: Target, count: int, compression: str) -> None:
    """Write records of a kilobyte that hardly compress."""
    dice = Random(12)
    moment = datetime(2026, 3, 6, 19, tzinfo=UTC)

    async def fill(pool: Pool) -> None:
        await Admin(pool).create_topic(NewTopic(TOPIC, 2, 1, {"retention.ms": "-1", "compression.type": compression}))
        producer = Producer(pool, batch_size_bytes=65_536, linger_ms=50)
        for number in range(count):
            page = "/" + dice.randbytes(RECORD_BYTES // 2 - 100).hex()
            event = {"id": str(number), "time": moment, "address": "192.0.2.1", "method": "GET", "page": page}
            await producer.send(TOPIC, encode_json(_EVENT, {**event, "status": 200}))
        await producer.close()

    target.ask(fill)


def plans(target: Target, directory: Path, job_count: int, trigger_s: float | None) -> list[RunPlan]:
    """Plan jobs that share the quota, each with a table of its own."""
    return [
        RunPlan(
            JOB,
            KafkaOptions(target.address, {"client.id": CLIENT_ID}),
            str(directory / f"tables-{number}"),
            "parquet",
            str(directory / "checkpoints"),
            f"views-{number}",
            trigger_s=trigger_s,
        )
        for number in range(job_count)
    ]


def watch(target: Target, phases: list[tuple[float, float]], is_over: threading.Event) -> list[list[Reading]]:
    """Change the limit from phase to phase, and read the broker's figures each second; return them by phase."""
    found = []
    print("| s | limit, bytes/s | rate, bytes/s | held, ms |\n| --- | --- | --- | --- |", flush=True)
    began_s = time.monotonic()
    for seconds, limit in phases:
        target.limit(limit)
        readings = [target.now()]
        while readings[-1].at_s - readings[0].at_s < seconds:
            time.sleep(1.0)
            last, now = readings[-1], target.now()
            readings.append(now)
            rate = (now.sent_bytes - last.sent_bytes) / (now.at_s - last.at_s)
            held_ms = now.held_ms - last.held_ms
            print(f"| {now.at_s - began_s:.0f} | {limit:,.0f} | {rate:,.0f} | {held_ms:,.0f} |", flush=True)
        found.append(readings)
    is_over.set()
    return found


def tell(phases: list[tuple[float, float]], found: list[list[Reading]]) -> None:
    """Print a line for each limit: its use and the throttle time, after the first window and within it."""
    print("\n| limit, bytes/s | rate, bytes/s | of the limit | held, ms | held in the first window, ms |")
    print("| --- | --- | --- | --- | --- |")
    for (_, limit), readings in zip(phases, found, strict=True):
        first = next(each for each in readings if each.at_s - readings[0].at_s >= WINDOW_S)
        last = readings[-1]
        rate = (last.sent_bytes - first.sent_bytes) / (last.at_s - first.at_s)
        held_ms, first_ms = last.held_ms - first.held_ms, first.held_ms - readings[0].held_ms
        print(f"| {limit:,.0f} | {rate:,.0f} | {rate / limit:.1%} | {held_ms:,.0f} | {first_ms:,.0f} |", flush=True)


def main() -> None:
    """Measure one broker."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kafka", action="store_true", help="Kafka 2.7.2 instead of Barnabas")
    parser.add_argument("--jobs", type=int, default=1, help="number of jobs that share the quota (%(default)s)")
    parser.add_argument("--limit", type=float, default=1_000_000, help="bytes/s; then 0.5x, then 2x (%(default)s)")
    parser.add_argument("--seconds", type=float, default=60, help="seconds for each limit (%(default)s)")
    parser.add_argument("--trigger", type=float, help="seconds between batches, as in `pipeline run`")
    parser.add_argument("--compression", default="producer", help="topic's codec: gzip, zstd, ... (%(default)s)")
    arguments = parser.parse_args()
    phases = [(arguments.seconds, arguments.limit * times) for times in (1, 0.5, 2)]
    # More than the limits allow in all phases, including bursts.
    total = 1.2 * (_WARM_UP_S * arguments.limit + sum((seconds + WINDOW_S) * limit for seconds, limit in phases))
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        directory = Path(name)
        spark = stack.enter_context(
            spark_session(
                "benchmark",
                scratch=directory / "spark",
                settings={**_SHORT_LIVED, "spark.master": f"local[{2 * arguments.jobs}]"},
                log=directory / "log",
            )
        )
        target = stack.enter_context(kafka(spark) if arguments.kafka else barnabas())
        fill(target, int(total / RECORD_BYTES), arguments.compression)
        target.limit(arguments.limit)
        is_over = threading.Event()
        found: list[list[Reading]] = []
        begun = threading.Event()

        def work() -> None:
            begun.wait()
            time.sleep(_WARM_UP_S)
            found.extend(watch(target, phases, is_over))

        thread = threading.Thread(target=work)
        thread.start()
        runs = run_jobs(
            spark,
            plans(target, directory, arguments.jobs, arguments.trigger),
            Metrics(),
            lambda figures: (begun.set(), print(figures.line(), file=sys.stderr))[0],
            lambda text: print(text, file=sys.stderr),
            is_over.is_set,
        )
        thread.join()
        tell(phases, found)
        print(", ".join(f"{run.plan.run} read {run.figures.record_count:,} records" for run in runs))


if __name__ == "__main__":
    main()
