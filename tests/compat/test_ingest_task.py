"""A task of the pipeline that reads for several jobs: each gets its own part of what is read and parsed once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.pipeline.events.encode import encode_json
from barnabas.pipeline.events.read import EventReader
from barnabas.pipeline.events.types import FOLLOW
from barnabas.pipeline.ingest.parse import RecordParser, event_parser
from barnabas.pipeline.ingest.source import OffsetRange, close_consumers
from barnabas.pipeline.ingest.task import Result, Task, TopicTask, run_task
from barnabas.pipeline.tables.data_files import FileSink
from tests.patience import PATIENCE_S


@pytest.fixture
def topic(cluster, name: str) -> Iterator[str]:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result()
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for number in range(40):
        fields = {"id": f"{number}", "time": datetime(2026, 3, 6, 19, tzinfo=UTC), "user": "ann", "followee": "bert"}
        event = {"type": "follow", "version": 1, **fields, "is_following": True}
        value = b"no event" if number == 20 else encode_json(FOLLOW, event)
        producer.produce(name, value, partition=number % 2)
    producer.flush(PATIENCE_S)
    yield name
    close_consumers()


def numbers(directory: Path, result: Result) -> list[int]:
    files = [pq.read_table(directory / file.path) for file in result.files["rows"]]
    return sorted(map(int, pa.concat_tables(files)["id"].to_pylist()))


def test_each_job_gets_its_own_part_of_what_is_read_once(cluster, topic: str, tmp_path: Path):
    def without_33(rows: pa.Table) -> pa.Table:
        if "33" in rows["id"].to_pylist():
            raise ValueError("33 is too much")
        return rows.filter(pc.not_equal(rows["id"], "35"))

    starts = [{topic: {0: 0, 1: 0}}, {topic: {0: 15, 1: 0}}, {topic: {0: 20, 1: 12}}]
    directories = [tmp_path / f"{number}" for number in range(3)]
    parser = event_parser(FOLLOW, "json")
    topics = []
    for directory, convert in zip(directories, (None, None, without_33), strict=True):
        directory.mkdir()
        topics.append({topic: TopicTask(parser, "rows", FileSink(str(directory), {}), convert)})
    ranges = tuple(OffsetRange(topic, number, 0, 18) for number in range(2))
    results = run_task(Task({"bootstrap.servers": cluster.bootstrap_servers}, ranges, topics, starts))
    wanted = [
        [number for number in range(36) if number != 20],
        [number for number in range(36) if number % 2 or number >= 30],
        [25, 27, 29, 31],
    ]
    assert [numbers(*each) for each in zip(directories, results, strict=True)] == wanted
    assert [result.record_count for result in results] == [36, 21, 6]
    assert [result.ends[topic] for result in results] == [{0: 18, 1: 18}, {0: 18, 1: 18}, {0: 20, 1: 18}]
    assert [[(each.partition, each.offset) for each in result.refused] for result in results] == [
        [(0, 10)],
        [],
        [(1, 16)],
    ]
    assert "33 is too much" in results[2].refused[0].reason
    assert results[2].marks[topic].keys() == {1}
    # A job's own counts are as if it had read alone.
    alone = Task({"bootstrap.servers": cluster.bootstrap_servers}, ranges[1:], topics[2:], [{topic: {1: 12}}])
    (again,) = run_task(alone)
    assert (again.record_count, again.payload_bytes) == (results[2].record_count, results[2].payload_bytes)


def test_a_record_that_breaks_the_reader_is_refused_for_the_jobs_that_want_it(cluster, topic: str, tmp_path: Path):
    class Broken(EventReader):
        def read(self, values):
            if any(b'"24"' in value for value in values):
                raise RecursionError("24 is too deep")
            return super().read(values)

    parser = RecordParser(Broken(FOLLOW, "json"))
    starts = [{topic: {0: 0}}, {topic: {0: 11}}, {topic: {0: 13}}]
    topics = []
    for number in range(3):
        (tmp_path / f"{number}").mkdir()
        topics.append({topic: TopicTask(parser, "rows", FileSink(str(tmp_path / f"{number}"), {}))})
    servers = {"bootstrap.servers": cluster.bootstrap_servers}
    results = run_task(Task(servers, (OffsetRange(topic, 0, 0, 20),), topics, starts))
    assert [[each.offset for each in result.refused] for result in results] == [[10, 12], [12], []]
    assert numbers(tmp_path / "1", results[1]) == [22, *range(26, 40, 2)]
