"""What a run does when records are gone that it has not read, and jobs that keep state over several runs."""

from contextlib import closing
from dataclasses import replace
from functools import reduce
from typing import Any

import pytest
from pyspark.sql import DataFrame

from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.events.encode import encode_json
from barnabas.pipeline.ingest.source import ReadError
from barnabas.pipeline.job import Job, TableOutput, TopicInput
from barnabas.pipeline.runner.data_loss import DataLossError
from barnabas.pipeline.runner.plan import Bound, OnDataLoss
from barnabas.pipeline.runner.supervisor import RunFailedError
from tests.pipeline.site import Site
from tests.pipeline.test_runner import VIEWS, fill, ids, view

# So that what is lost is lost three times in one run: a topic whose first records are gone, and two made anew.
THREE = Job(
    "three",
    "keeps views of three topics",
    tuple(TopicInput(name, EVENT_TYPES["page_view"]) for name in ("cut", "fewer", "more")),
    (TableOutput("facts"),),
    lambda inputs, parameters: {
        "facts": reduce(DataFrame.unionByName, inputs.values()).select("id", "page", "_topic", "_partition", "_offset")
    },
)


def test_what_is_lost_is_told_exactly_and_stops_the_run_or_is_kept_in_a_table(site: Site):
    topics = {declared.name: f"{site.name}-{declared.name}" for declared in THREE.inputs}

    def send(name: str, numbers: range) -> None:
        event = EVENT_TYPES["page_view"]
        values = [encode_json(event, {"type": event.name, "version": 1, **view(number)}) for number in numbers]
        site.send(topics[name], [(None, value) for value in values], partition=0)

    def run(**fields: Any) -> None:
        site.run(THREE, topics=topics, **fields)

    for place, topic in enumerate(topics.items()):
        # The topics have one partition when they are made anew.
        site.create(topic[1], 2 if topic[0] == "fewer" else 1)
        send(topic[0], range(100 * place, 100 * place + 20))
    run()
    before = [*range(20), *range(100, 120), *range(200, 220)]
    send("cut", range(20, 40))
    delete_records(site, 33, topics["cut"])
    for name, numbers in {"fewer": range(300, 305), "more": range(400, 440)}.items():
        make_anew(site, topics[name])
        send(name, numbers)

    with pytest.raises(DataLossError) as caught:
        run()
    (loss,) = [loss for loss in caught.value.losses if loss.topic == topics["cut"]]
    assert (loss.start_offset, loss.end_offset) == (20, 33)
    said = str(caught.value)
    assert "offsets 20 to 32 (13 records): deleted by retention" in said
    assert "--on-data-loss continue" in said
    for name, partitions in {"fewer": [0, 1], "more": [0]}.items():
        losses = [loss for loss in caught.value.losses if loss.topic == topics[name]]
        assert [loss.partition for loss in losses] == partitions
        assert "made anew" in str(losses[0])
    assert ids(site, THREE) == before

    run(on_data_loss=OnDataLoss.CONTINUE)
    assert ids(site, THREE) == sorted([*before, *range(33, 40), *range(300, 305), *range(400, 440)])
    columns = ("topic", "partition", "start_offset", "end_offset", "resume_offset")
    lost = site.rows(THREE, "lost_ranges", *columns)
    assert (topics["cut"], 0, 20, 33, 33) in lost
    assert {row[0] for row in lost} == set(topics.values())
    # It is told once.
    run()
    assert site.rows(THREE, "lost_ranges", *columns) == lost


def test_a_topic_that_is_created_again_between_two_batches_fails_the_next_one(site: Site):
    from barnabas.pipeline.runner.cluster import Cluster
    from barnabas.pipeline.runner.job_run import JobRun

    fill(site, 20, partition_count=1)
    site.run(VIEWS)
    plan = site.plan(VIEWS, is_once=False)
    with closing(Cluster(plan.kafka)) as cluster:
        run = JobRun(site.spark, plan, cluster, site.metrics, print, print)
        run._begin()
        starts = run.figures.positions
        fill(site, 10, start=20)
        run._take(run._do_batch(starts, run._next_ends(starts)))
        starts = run.figures.positions
        assert starts == {site.topic("page_view"): {0: 30}}
        make_anew(site, site.topic("page_view"))
        fill(site, 50, start=30)
        with pytest.raises(ReadError, match="offset 29: the topic was created again"):
            run._do_batch(starts, run._next_ends(starts))
    assert ids(site) == list(range(30))
    with pytest.raises(DataLossError, match="made anew"):
        site.run(VIEWS)


def test_a_cluster_that_was_replaced_is_noticed(site: Site, start_broker, site_of):
    fill(site, 20, partition_count=1)
    site.run(VIEWS)
    other = site_of(start_broker())
    fill(other, 30, partition_count=1)
    with pytest.raises(DataLossError, match="the cluster is another one"):
        other.run(VIEWS)
    other.run(VIEWS, on_data_loss=OnDataLoss.CONTINUE)
    assert ids(site) == sorted([*range(20), *range(30)])


@pytest.mark.whole
def test_a_broker_that_is_away_is_waited_for(site_of, start_broker):
    broker = start_broker()
    site = site_of(broker)
    fill(site, 10)
    site.run(VIEWS)
    fill(site, 10, start=10)
    broker.kill()
    impatience = {"default.api.timeout.ms": "1000", "request.timeout.ms": "500"}
    impatient = replace(site.kafka, options={**site.kafka.options, **impatience})
    with pytest.raises(RunFailedError):
        site.run(VIEWS, give_up_s=0.0, kafka=impatient)
    broker.restart()
    site.run(VIEWS)
    assert ids(site) == list(range(20))


def test_rewinding_cuts_the_table_and_the_next_run_reads_again(site: Site):
    fill(site, 20, partition_count=1)
    site.run(VIEWS)
    topic = site.topic("page_view")
    from barnabas.pipeline.runner.cluster import Cluster
    from barnabas.pipeline.runner.job_run import JobRun

    plan = site.plan(VIEWS, start=Bound(offsets={topic: {0: 8}}))
    with closing(Cluster(plan.kafka)) as cluster:
        told = JobRun(site.spark, plan, cluster, site.metrics, print, print).rewind(is_dry=True)
        assert told == [f"table facts: {topic}-0 goes back from offset 20 to 8"]
        assert len(ids(site)) == 20
        told = JobRun(site.spark, plan, cluster, site.metrics, print, print).rewind(is_dry=False)
        assert told[-1] == "table facts: 12 rows taken away"
    assert ids(site) == list(range(8))
    done = site.run(VIEWS)
    assert done.figures.record_count == 12
    assert ids(site) == list(range(20))


def test_rewinding_leaves_rows_of_other_runs_and_partitions(site: Site):
    from barnabas.pipeline.runner.cluster import Cluster
    from barnabas.pipeline.runner.job_run import JobRun

    fill(site, 20, partition_count=2)
    topic = site.topic("page_view")
    between = Bound(offsets={topic: {0: 3, 1: 3}})
    site.run(VIEWS, start=between)
    site.run(VIEWS, run="backfill", until=between, is_once=False, trigger_s=0.1)
    plan = site.plan(VIEWS, run="backfill", start=Bound(offsets={topic: {0: 1}}))
    with closing(Cluster(plan.kafka)) as cluster:
        told = JobRun(site.spark, plan, cluster, site.metrics, print, print).rewind(is_dry=False)
    assert told == [f"table facts: {topic}-0 goes back from offset 3 to 1", "table facts: 2 rows taken away"]
    assert len(ids(site)) == 18
    site.run(VIEWS, run="backfill", until=between, is_once=False, trigger_s=0.1)
    assert ids(site) == list(range(20))


def delete_records(site: Site, before_offset: int, topic: str) -> None:
    """Do at once what retention does in time."""
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": site.kafka.bootstrap_servers})
    for outcome in admin.delete_records([TopicPartition(topic, 0, before_offset)]).values():
        outcome.result()


def make_anew(site: Site, topic: str) -> None:
    """Delete the topic and create it again; brokers say that it is gone a moment before it is."""
    import time

    from barnabas.core.errors import KafkaError
    from tests.patience import PATIENCE_S

    site.delete(topic)
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            site.create(topic, 1)
        except KafkaError as error:
            if "ALREADY_EXISTS" not in str(error) or time.monotonic() > deadline:
                raise
        else:
            return
