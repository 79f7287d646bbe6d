"""A run's requests to a cluster; and a job on a cluster of three brokers, one of which is killed.

Each record is there once, and the run's pace is that of the brokers that are left.
"""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from confluent_kafka import Producer

from barnabas.clients.positions import Extent, PlanError
from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.job import Job, Mode, TableOutput, TopicInput, TopicOutput
from barnabas.pipeline.runner.cluster import Cluster, ClusterUnavailableError, KafkaOptions
from barnabas.pipeline.runner.limits import Limits
from barnabas.pipeline.runner.quota_client import QuotaClient
from barnabas.pipeline.tables.table import Mark
from tests.clusters import Member, Members, leader_of, servers_of, three_brokers, wait_for_in_sync
from tests.pipeline.exactly_once import records_of
from tests.pipeline.site import Site
from tests.pipeline.test_pacing import CLIENT_ID, Quotas, await_rate
from tests.pipeline.test_runner import view
from tests.replicas import wait_for_equal_replicas
from tests.spark import shared_session

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


@pytest.fixture
def asked(cluster) -> Iterator[Cluster]:
    with closing(Cluster(KafkaOptions(cluster.bootstrap_servers, {"client.id": CLIENT_ID}))) as asked:
        yield asked


def send(asked: Cluster, topic: str, *records: tuple[int, bytes | None, bytes | None, int]) -> None:
    """Write records: partition, key, value, timestamp."""
    producer = Producer(asked.options.for_producer())
    for number, key, value, timestamp_ms in records:
        producer.produce(topic, value, key, number, timestamp=timestamp_ms)
    assert producer.flush(30) == 0


def test_topics_their_offsets_and_the_records_at_them(asked: Cluster, name: str) -> None:
    assert asked.partitions([name]) == {}
    asked.create_topic(name, {"retention.ms": "-1", "max.message.bytes": "5000"})
    asked.create_topic(name, {})
    assert name in asked.topics()
    assert not any(topic.startswith("__") for topic in asked.topics())
    assert asked.cluster_id() == asked.cluster_id() != ""
    (count,) = (len(numbers) for numbers in asked.partitions([name, f"{name}-not-there"]).values())
    assert asked.max_message_bytes(name) == 5_000
    send(asked, name, (0, b"k", b"one", 1_000), (0, b"k", None, 2_000), (0, None, b"v" * 4_000, 3_000))
    extents = asked.extents([name, f"{name}-not-there"])
    assert extents == {name: {0: Extent(0, 3), **{number: Extent(0, 0) for number in range(1, count)}}}
    assert asked.offsets_at([name], 1_500)[name] == {0: 1, **dict.fromkeys(range(1, count), 0)}
    assert asked.offsets_at([name], 9_000)[name][0] == 3
    marks = [Mark(0, 1_000, crc32(b"kone")), Mark(1, 2_000, crc32(b"k")), Mark(2, 3_000, crc32(b"v" * 4_000))]
    for mark in marks:
        assert asked.found_marks({name: {0: Mark(mark.offset, 0, 0)}}) == {name: {0: mark}}


def test_a_committed_reader_ends_before_an_open_transaction(asked: Cluster, name: str) -> None:
    asked.create_topic(name, {"retention.ms": "-1"})
    send(asked, name, (0, b"k", b"v", 1_000))
    producer = Producer({**asked.options.for_producer(), "transactional.id": name, "transaction.timeout.ms": 10_000})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(name, b"open", partition=0)
    producer.flush(30)
    assert asked.ends({name: [0]}) == {name: {0: 1}}
    assert asked.log_ends({name: [0]}) == {name: {0: 2}}
    with closing(Cluster(replace(asked.options, options={"isolation.level": "read_uncommitted"}))) as uncommitted:
        assert uncommitted.ends({name: [0]}) == {name: {0: 2}}
        assert uncommitted.found_marks({name: {0: Mark(1, 0, 0)}})[name][0].checksum == crc32(b"open")
    producer.abort_transaction(30)
    # The marker comes after the answer.
    while asked.ends({name: [0]}) != {name: {0: 3}}:
        pass
    # There is no record at the mark for a reader of committed records.
    assert asked.found_marks({name: {0: Mark(1, 0, 0)}}) == {}


def test_a_cluster_that_does_not_answer_and_a_refused_request_say_why(asked: Cluster, name: str) -> None:
    away = KafkaOptions("127.0.0.1:1", {"default.api.timeout.ms": "500"})
    with closing(Cluster(away)) as cluster, pytest.raises(ClusterUnavailableError, match=r"127\.0\.0\.1:1: .*refused"):
        cluster.ends({"views": [0]})
    with pytest.raises(ClusterUnavailableError, match="bogus"):
        asked.create_topic(name, {"cleanup.policy": "bogus"})
    wrong = KafkaOptions("127.0.0.1:1", {"connections.max.idle.ms": "soon"})
    with closing(Cluster(wrong)) as cluster, pytest.raises(PlanError, match=r"connections\.max\.idle\.ms"):
        cluster.topics()


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Members]:
    """Three brokers; a test leaves all of them running."""
    with three_brokers(tmp_path_factory.mktemp("brokers")) as members:
        yield members


def test_a_run_paces_itself_by_the_quotas_of_the_brokers_that_are_there(members: Members) -> None:
    quotas = Quotas(members[1])
    # It holds on each broker for itself.
    quotas.limit("paced", consumer_byte_rate=1_000)
    kafka = KafkaOptions(servers_of(members), {"client.id": "paced"})
    with QuotaClient(kafka, print) as client:
        await_rate(client, 3_000)
        members[3].kill()
        await_rate(client, 2_000)
        quotas.limit("paced", consumer_byte_rate=2_000)
        await_rate(client, 4_000)
        members[3].restart()
        await_rate(client, 6_000)


def test_a_broker_that_is_killed_in_mid_run_loses_and_doubles_nothing(
    members: Members, name: str, tmp_path: Path
) -> None:
    with Site(shared_session(), lambda: servers_of(members), name, tmp_path) as site:
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
