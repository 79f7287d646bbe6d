"""From brokers to an alert: what `barnabas pipeline collect --broker-metrics` finds out, of our broker and of Kafka."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from barnabas.clients import Admin, Pool, Producer
from barnabas.clients.admin import LATEST
from barnabas.clients.admin_quota_states import Limited, QuotaStateAdmin
from barnabas.core.types import TopicPartition
from barnabas.pipeline.commands.main import main
from barnabas.pipeline.jobs.operations import JOB
from barnabas.pipeline.sources.broker import AskedBrokers, BrokerLook
from barnabas.pipeline.sources.broker_metrics import clients_near_limits
from tests.compat.conftest import TARGET, RunningBroker, StartBroker
from tests.patience import PATIENCE_S, until
from tests.pipeline.site import Site
from tools.kafka.server import free_port

CLIENT_ID = "crawler-7"
LIMIT = 20_000.0


def ask(broker: RunningBroker, story: Callable[[Pool], Awaitable[object]], client_id: str = "barnabas-tests") -> None:
    async def run() -> None:
        async with Pool(broker.bootstrap_servers, client_id) as pool:
            await story(pool)

    asyncio.run(run())


async def produce(pool: Pool, topic: str, count: int) -> None:
    # All at once: who sends a little at a time is held in between.
    producer = Producer(pool, batch_size_bytes=2_000 * count, linger_ms=60_000)
    sent = [await producer.send(topic, bytes(1_000), partition=0) for _ in range(count)]
    await producer.flush()
    await asyncio.gather(*sent)
    await producer.close()


@contextmanager
def collecting(directory: Path, *words: str) -> Iterator[None]:
    """A collector in a process of its own; it is told to stop at the end."""
    log = directory / "collect.log"
    with log.open("w") as file:
        command = [sys.executable, "-m", "barnabas.pipeline", "collect", "--interval", "0.2", *words]
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
    try:
        yield
    finally:
        process.terminate()
        assert process.wait(PATIENCE_S) == 0, log.read_text()
    assert log.read_text().startswith("done: "), log.read_text()


@pytest.mark.skipif(TARGET == "kafka", reason="Kafka does not explain quotas")
def test_alert_names_the_client_that_is_held_and_the_limit(
    start_broker: StartBroker, site_of: Callable[..., Site], tmp_path: Path
) -> None:
    http = f"127.0.0.1:{free_port()}"
    broker = start_broker(**{"barnabas.http.listeners": http})
    status = tmp_path / "checkpoints" / "ranking" / "status.json"
    status.parent.mkdir(parents=True)
    status.write_text('{"run": "ranking", "state": "stopped", "lag": {"t": {"0": 3, "1": 4}}}')
    site = site_of(broker)
    site.create("t")
    host_topic, broker_topic = site.topic("host_metric"), site.topic("broker_metric")

    # 300 kB at once, where 200 are ten seconds' worth.
    ask(
        broker, lambda pool: QuotaStateAdmin(pool).alter_limits(Limited(None, CLIENT_ID), {"producer_byte_rate": LIMIT})
    )
    ask(broker, lambda pool: produce(pool, "t", 300), CLIENT_ID)
    with closing(AskedBrokers(broker.bootstrap_servers)) as brokers:
        until(lambda: bool(clients_near_limits(brokers.quotas_in_use() or ())))
        topics = ("--topic", host_topic, "--broker-topic", broker_topic)
        at = ("--bootstrap-server", broker.bootstrap_servers, "--broker-metrics", f"http://{http}/metrics")
        with collecting(tmp_path, *at, *topics, "--partitions", "1", "--runs", str(tmp_path / "checkpoints")):
            until(lambda: broker_topic in brokers.topics())
            # More than two ticks give, so that there are differences among them.
            until(lambda: sum(brokers.ends([TopicPartition(broker_topic, 0)]).values()) > 40)
    later = datetime.now(UTC) + timedelta(minutes=2)
    site.send_events("host_metric", [{"id": "l", "time": later, "host": "h", "metric": "load", "value": 1.0}])

    # Of the other topics none is there, and what is not read takes Spark no time.
    job = replace(JOB, inputs=tuple(each for each in JOB.inputs if each.name in ("host_metric", "broker_metric")))
    site.run(job, parameters={"throttled_minutes": 1})
    ((subject, state, sentence),) = site.rows(JOB, "alerts", "subject", "state", "sentence")
    assert (subject, state) == (f"client {CLIENT_ID} of user ANONYMOUS at broker 0", "firing")
    assert f"{subject} was throttled " in sentence
    assert " ms a request by producer_byte_rate of 20,000 bytes/s in /config/clients/crawler-7 (level 7)" in sentence
    assert {each["subject"] for each in site.latest("alerts").values()} == {subject}
    told = {(row[0], row[1]) for row in site.rows(JOB, "figures_per_minute", "subject", "figure")}
    assert told >= {("broker 0", "loop_stalled_ms"), ("broker 0", "busy_percent"), ("cluster", "offline_partitions")}
    assert told >= {("run ranking", "lag"), ("run ranking", "silent_s")}


def test_lag_and_partitions_are_told_of_any_cluster(cluster: RunningBroker, name: str) -> None:
    async def fall_behind(pool: Pool) -> None:
        await produce(pool, name, 30)
        await Admin(pool).commit_offsets(name, {TopicPartition(name, 0): 10})
        assert await Admin(pool).offsets([TopicPartition(name, 0)], LATEST) == {TopicPartition(name, 0): 30}

    warnings: list[str] = []
    with closing(AskedBrokers(cluster.bootstrap_servers)) as brokers:
        ask(cluster, fall_behind)
        look = BrokerLook(brokers, [], warnings.append)
        for _ in range(4):
            told = {what: fields["value"] for _, what, fields in look()}
            assert told[f"cluster:lag:{name}:{name}"] == 20
            assert {"cluster:offline_partitions", "cluster:under_replicated_partitions"} <= told.keys()
    # Kafka is asked about quotas no more than is needed to know that it does not tell.
    assert len(warnings) == (TARGET == "kafka"), warnings


def test_brokers_that_are_away_are_told_of_in_a_line() -> None:
    warnings: list[str] = []
    port = free_port()
    with closing(AskedBrokers(f"127.0.0.1:{port}")) as brokers:
        look = BrokerLook(brokers, [f"http://127.0.0.1:{port}/metrics"], warnings.append)
        assert {what: fields["value"] for _, what, fields in look()} == {"cluster:clients_left_out": 0}
    assert len(warnings) == 3
    assert all("\n" not in each and "efused" in each for each in warnings), warnings


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--broker-metrics", "127.0.0.1:9644"], "must be http://HOST:PORT/metrics"),
        (["--runs", "hdfs://h/c"], "--runs hdfs://h/c: must be a directory on this machine"),
        (["--runs", "--interval", "60"], "--interval 60: must be at most 30 with --runs"),
        (["--broker-metrics", "--interval", "60"], "--interval 60: must be at most 30 with --broker-metrics"),
    ],
)
def test_what_can_not_be_is_refused(words: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collect", *words]) == 2
    assert reason in capsys.readouterr().err
