"""Runs under a quota: brokers hold them to it, batches are sized by it, and limits that change count.

How close to a limit they come is told by `benchmarks/pipeline/pacing.py`.
"""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from barnabas.clients import Pool
from barnabas.clients.admin_quota_states import Limited, QuotaStateAdmin
from barnabas.clients.positions import offset_count
from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.job import Frames, Job, Mode, Parameters, TableOutput, TopicInput, TopicOutput
from barnabas.pipeline.runner import quota_client
from barnabas.pipeline.runner.batch_size import BatchSizer
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.quota import READ, WRITE
from barnabas.pipeline.runner.quota_client import QuotaClient
from barnabas.pipeline.tables.table import Offsets
from barnabas.testing import Broker
from barnabas.wire.quotas.limits import QuotaKind
from tests.compat.conftest import TARGET, RunningBroker, started
from tests.patience import PATIENCE_S, until
from tests.pipeline.site import Site
from tests.pipeline.test_runner import view

USER, CLIENT_ID = "ANONYMOUS", "barnabas-tests"
# Ten seconds' worth may come at once: what is read is more.
LIMIT, RECORD_COUNT, RECORD_BYTES = 100_000.0, 1_300, 1_000

READS = Job(
    "reads",
    "keeps views",
    (TopicInput("views", EVENT_TYPES["page_view"]),),
    (TableOutput("facts"),),
    lambda inputs, parameters: {"facts": inputs["views"].select("id", "_topic", "_partition", "_offset")},
)
WRITES = Job(
    "writes",
    "keeps views, and writes them on",
    (TopicInput("views", EVENT_TYPES["page_view"]),),
    (TableOutput("facts"), TableOutput("all", Mode.REPLACE), TopicOutput("out", ("id",), rows="all")),
    lambda inputs, parameters: {"facts": inputs["views"].select("id", "page", "_topic", "_partition", "_offset")},
    refresh=lambda tables, parameters: {"all": tables["facts"].select("id", "page")},
)


class Quotas:
    """The quotas of a broker of the test's own."""

    def __init__(self, broker: RunningBroker | Broker) -> None:
        self.broker = broker

    def ask(self, call: Callable[[QuotaStateAdmin], Any]) -> Any:
        async def asked() -> Any:
            async with Pool(self.broker.bootstrap_servers, "observer") as pool:
                return await call(QuotaStateAdmin(pool))

        return asyncio.run(asked())

    def limit(self, client_id: str = CLIENT_ID, **limits: float | None) -> None:
        self.ask(lambda admin: admin.alter_limits(Limited(None, client_id), limits))

    def held_ms(self, key: str, client_id: str = CLIENT_ID) -> float:
        """For how long the broker has held a client."""
        (told,) = self.ask(lambda admin: admin.explain(USER, client_id))
        return next(each.get("throttle_total_ms", 0) for each in told["quotas"] if each["key"] == key)

    def client(self, *peers: str, warn: Callable[[str], None] = print) -> QuotaClient:
        return QuotaClient(KafkaOptions(self.broker.bootstrap_servers, {"client.id": CLIENT_ID}), warn, peers)


@pytest.fixture
def quotas() -> Iterator[Quotas]:
    # One for each test: a broker counts a run for seconds after its end among those that share a limit.
    with started({}) as running:
        yield Quotas(running)


def await_rate(client: QuotaClient, rate: float | None, kind: QuotaKind = READ) -> None:
    """Wait until what a run may use is told: Kafka takes a quota over a moment after its answer."""

    def is_told() -> bool:
        client.ask()
        return client.rate(kind) == rate

    until(is_told)


def filled(quotas: Quotas, site_of: Callable[..., Site], record_count: int) -> Site:
    site = site_of(quotas.broker)
    site.create(site.topic("page_view"), 2)
    page = "/" + "x" * (RECORD_BYTES - 250)
    site.send_events("page_view", [view(number, page) for number in range(record_count)])
    return site


def test_a_run_takes_what_its_quota_gives_and_tells_which_it_is(quotas: Quotas, site_of: Callable[..., Site]) -> None:
    site = filled(quotas, site_of, RECORD_COUNT)
    quotas.limit(consumer_byte_rate=LIMIT)
    limited_by: set[str] = set()

    def noted() -> bool:
        # Figures are one object, which changes.
        limited_by.update(each.limited_by for each in site.figures)
        return False

    began_s = time.monotonic()
    done = site.run(READS, noted, table_format="parquet")
    # Ten seconds' worth may come at once, and eleven are the longest that a broker looks at.
    assert time.monotonic() - began_s > RECORD_COUNT * RECORD_BYTES / LIMIT - 11.0
    assert len(site.rows(READS, "facts", table_format="parquet")) == RECORD_COUNT
    # Ten seconds' worth each; without a quota all of it is one batch.
    assert done.figures.batch_count >= 2
    limit = f"quota consumer_byte_rate 100,000 B/s of client id '{CLIENT_ID}' at broker 0"
    assert limit in limited_by
    assert json.loads(done.figures.to_json())["limited_by"] in ("nothing", limit)


def test_a_run_that_ignores_quotas_plans_all_as_one_batch(
    quotas: Quotas, site_of: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The quota allows 1,000 at once. The broker throttles the run for what is above that, so it is little.
    record_count = 1_050
    site = filled(quotas, site_of, record_count)
    quotas.limit(consumer_byte_rate=LIMIT)
    planned: list[int] = []
    next_ends = BatchSizer.next_ends

    def noted(self: BatchSizer, starts: Offsets, ends: Offsets, core_count: int) -> Offsets:
        found = next_ends(self, starts, ends, core_count)
        planned.append(offset_count(starts, found))
        return found

    monkeypatch.setattr(BatchSizer, "next_ends", noted)
    done = site.run(READS, keeps_quotas=False, table_format="parquet")
    # The broker holds it all the same, and a task ends after some seconds: what is left is the next batch.
    assert planned[0] == done.figures.record_count == record_count
    assert len(site.rows(READS, "facts", table_format="parquet")) == record_count
    assert done.figures.limited_by == "nothing"


@pytest.mark.whole
def test_a_limit_that_falls_while_a_batch_is_read_is_the_next_one_s_and_no_row_is_there_twice(
    quotas: Quotas, site_of: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = filled(quotas, site_of, RECORD_COUNT)
    quotas.limit(consumer_byte_rate=LIMIT)
    # It is asked for when a batch is planned, however short the one before was.
    monkeypatch.setattr(quota_client, "_EVERY_S", 0.0)
    is_written, may_be_written = threading.Event(), threading.Event()
    limited_by: set[str] = set()

    def transform(inputs: Frames, parameters: Parameters) -> Frames:
        is_written.set()
        assert may_be_written.wait(PATIENCE_S)
        return READS.transform(inputs, parameters)

    def changed() -> bool:
        limited_by.update(each.limited_by for each in site.figures)
        if is_written.is_set() and not may_be_written.is_set():
            quotas.limit(consumer_byte_rate=0.2 * LIMIT)
            with quotas.client() as client:
                await_rate(client, 0.2 * LIMIT)
            may_be_written.set()
        return False

    done = site.run(replace(READS, transform=transform), changed, table_format="parquet")
    rows = site.rows(READS, "facts", table_format="parquet")
    assert (len(rows), len(set(rows))) == (RECORD_COUNT, RECORD_COUNT)
    # Some 1,000, then by 200.
    assert done.figures.batch_count >= 3
    assert any("consumer_byte_rate 20,000 B/s" in each for each in limited_by)


def test_a_limit_that_is_changed_or_taken_away_is_told(quotas: Quotas) -> None:
    with quotas.client() as client:
        for change in (1_000.0, 1_000_000.0, None):
            quotas.limit(consumer_byte_rate=change)
            await_rate(client, change)
            assert client.of(WRITE) == []


def test_an_answer_of_a_moment_ago_is_as_good_as_a_new_one(quotas: Quotas) -> None:
    quotas.limit(consumer_byte_rate=1_000)
    with quotas.client() as client:
        await_rate(client, 1_000)
        told = client.of(READ)[0]
        client.ask(again=True)
        assert client.of(READ)[0] is told


def test_runs_of_two_processes_or_of_one_share_a_quota(quotas: Quotas) -> None:
    quotas.limit(consumer_byte_rate=100_000)
    with quotas.client(CLIENT_ID, CLIENT_ID) as one, quotas.client(CLIENT_ID, CLIENT_ID) as other:
        # Both say that they are there before they use anything.
        one.ask()
        await_rate(other, 50_000)
        await_rate(one, 50_000)
        (quota,) = one.of(READ)
        assert str(quota).endswith("shared by 2 runs")


def test_a_quota_so_small_that_a_batch_of_records_never_comes_is_warned_of_once(quotas: Quotas) -> None:
    warnings: list[str] = []
    with quotas.client(warn=warnings.append) as client:
        for limit in (20_000.0, 200_000.0):
            quotas.limit(consumer_byte_rate=limit)
            await_rate(client, limit)
            client.ask()
    (warning,) = warnings
    assert "a batch of records of more than 200,000 bytes is never sent by it" in warning


def test_a_refresh_is_written_at_the_rate_of_the_producer_s_quota(quotas: Quotas, site_of: Callable[..., Site]) -> None:
    # Of each record some 900 bytes are written on, and ten seconds' worth may come at once.
    site = filled(quotas, site_of, 300)
    quotas.limit(producer_byte_rate=20_000)
    done = site.run(WRITES, table_format="parquet", topics={**site.plan(WRITES).topics, "out": f"{site.name}-out"})
    assert len(site.records(f"{site.name}-out")) == 300
    assert done.figures.limited_by.startswith("quota producer_byte_rate 20,000 B/s")
    if TARGET != "kafka":
        assert quotas.held_ms("producer_byte_rate") > 0


def test_options_that_do_not_fit_are_told_once_and_nothing_is_limited(quotas: Quotas) -> None:
    warnings: list[str] = []
    options = {"client.id": CLIENT_ID, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    with QuotaClient(KafkaOptions(quotas.broker.bootstrap_servers, options), warnings.append) as client:
        client.ask()
        client.ask()
        assert client.rate(READ) is None
    assert warnings == [
        "quotas can't be asked for with these options: sasl.jaas.config is missing: it must contain the credentials"
    ]


def test_what_was_told_last_holds_on_while_the_cluster_is_away() -> None:
    warnings: list[str] = []
    limit = 2_000_000.0
    with ExitStack() as stack:
        broker = stack.enter_context(Broker())
        kafka = KafkaOptions(broker.bootstrap_servers, {"client.id": CLIENT_ID})
        client = stack.enter_context(QuotaClient(kafka, warnings.append))
        client.ask()
        assert client.rate(READ) is None
        Quotas(broker).limit(consumer_byte_rate=limit)
        await_rate(client, limit)
        broker.stop()
        client.ask()
        assert client.rate(READ) == limit
    assert warnings == []


def test_two_threads_may_ask_at_the_same_time(quotas: Quotas) -> None:
    quotas.limit(consumer_byte_rate=1_000)
    with quotas.client() as client:
        await_rate(client, 1_000)
        answers: list[float | None] = []

        def ask() -> None:
            for _ in range(20):
                client.ask()
                answers.append(client.rate(READ))

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(PATIENCE_S)
        assert answers == [1_000] * 40
