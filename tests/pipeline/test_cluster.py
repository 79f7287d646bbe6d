"""A job on a cluster of three, of which one broker is killed in the middle: each record is there once.

And its pace is that of the brokers that are left.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.job import Job, Mode, TableOutput, TopicInput, TopicOutput
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.limits import Limits
from barnabas.pipeline.runner.quota_client import QuotaClient
from barnabas.testing import Broker
from tests.clusters import Member, Members, cluster_of, leader_of, servers_of, wait_for_in_sync
from tests.pipeline.exactly_once import records_of
from tests.pipeline.site import Site
from tests.pipeline.test_pacing import CLIENT_ID, Quotas, await_rate
from tests.pipeline.test_runner import view
from tests.replicas import wait_for_equal_replicas
from tests.spark import forgets_sockets, shared_session
from tools.kafka.server import free_port

pytestmark = forgets_sockets

# Before the kill and after it; of the first at most a half in a batch.
_COUNT, _PARTITION_COUNT = 400, 3

KEEPS = Job(
    "keeps",
    "keeps views, and writes them on",
    (TopicInput("views", EVENT_TYPES["page_view"]),),
    (TableOutput("facts"), TableOutput("all", Mode.REPLACE), TopicOutput("out", ("id",), rows="all")),
    lambda inputs, parameters: {"facts": inputs["views"].select("_partition", "_offset", "id", "page", "_topic")},
    refresh=lambda tables, parameters: {"all": tables["facts"].select("id", "page")},
)


@contextmanager
def three_brokers(directory: Path) -> Iterator[Members]:
    port = free_port()
    with (
        Broker(config={"barnabas.registry.listeners": f":{port}"}),
        cluster_of(("barnabas",) * 3, directory / "brokers", f"127.0.0.1:{port}/keeps") as members,
    ):
        yield members


def test_a_run_paces_itself_by_the_quotas_of_the_brokers_that_are_there(tmp_path: Path) -> None:
    with three_brokers(tmp_path) as members:
        quotas = Quotas(members[1])
        # It holds on each broker for itself.
        quotas.limit(consumer_byte_rate=1_000)
        kafka = KafkaOptions(servers_of(members), {"client.id": CLIENT_ID})
        with QuotaClient(kafka, print) as client:
            await_rate(client, 3_000)
            members[3].kill()
            await_rate(client, 2_000)
            quotas.limit(consumer_byte_rate=2_000)
            await_rate(client, 4_000)
            members[3].restart()
            await_rate(client, 6_000)


def test_a_broker_that_is_killed_in_mid_run_loses_and_doubles_nothing(name: str, tmp_path: Path) -> None:
    with (
        three_brokers(tmp_path) as members,
        Site(shared_session(), lambda: servers_of(members), name, tmp_path) as site,
    ):
        views, out = site.topic("page_view"), f"{name}-out"
        run: dict[str, Any] = {"topics": {"views": views, "out": out}, "table_format": "parquet"}
        site.create(views, _PARTITION_COUNT)
        site.send_events("page_view", [view(number) for number in range(_COUNT)])
        killed: list[Member] = []

        def look() -> bool:
            if not killed and site.figures:
                killed.append(members[asyncio.run(leader_of(members, views, 0))])
                killed[0].kill()
                site.send_events("page_view", [view(number) for number in range(_COUNT, 2 * _COUNT)])
            # At its end the run makes a topic: of three replicas, where two brokers are left.
            if any("larger than available brokers: 2" in each for each in site.warnings):
                killed[0].restart()
                site.warnings.clear()
            return False

        done = site.run(KEEPS, look, limits=Limits(records_per_s=_COUNT / 2), **run)
        assert killed
        # What it was to do last was done when it could be.
        assert done.figures.batch_count >= 2
        assert done.figures.refresh_count == 1
        assert len(site.latest(out)) == _COUNT
        # What was sent after the run had looked where it ends.
        site.run(KEEPS, **run)
        sent = sorted(records_of(site, views))
        assert sorted(each[2] for each in sent) == sorted(f"view:{number}" for number in range(2 * _COUNT))
        rows = site.rows(KEEPS, "facts", "_partition", "_offset", "id", "page", table_format="parquet")
        assert rows == sent
        pages = {key: value["page"] for key, value in site.latest(out).items()}
        assert pages == {f"view:{number}": "/" for number in range(2 * _COUNT)}
        for topic in (views, out):
            wait_for_in_sync(members, topic)
        data_dirs = {each: member.data_dir for each, member in members.items()}
        wait_for_equal_replicas(data_dirs, views, _PARTITION_COUNT)
