"""What a run does when records are gone that it has not read, and jobs that keep state over several runs."""

import pytest

from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.job import Job, Mode, TableOutput, TopicInput
from barnabas.pipeline.runner.losses import DataLossError
from barnabas.pipeline.runner.plan import Bound, OnDataLoss
from barnabas.pipeline.runner.supervisor import RunFailedError
from tests.pipeline.site import Site
from tests.pipeline.test_runner import VIEWS, fill, ids, view
from tests.spark import forgets_sockets

pytestmark = forgets_sockets


def test_lost_ranges_are_told_exactly_and_stop_the_run(site: Site):
    fill(site, 20, partition_count=1)
    site.run(VIEWS)
    fill(site, 20, start=20)
    delete_records(site, 33)
    with pytest.raises(DataLossError) as caught:
        site.run(VIEWS)
    (loss,) = caught.value.losses
    assert (loss.start_offset, loss.end_offset) == (20, 33)
    assert "offsets 20 to 32 (13 records): deleted by retention" in str(caught.value)
    assert "--on-data-loss continue" in str(caught.value)
    assert ids(site) == list(range(20))


def test_lost_ranges_are_kept_in_a_table_when_the_run_is_to_go_on(site: Site):
    fill(site, 20, partition_count=1)
    site.run(VIEWS)
    fill(site, 20, start=20)
    delete_records(site, 33)
    site.run(VIEWS, on_data_loss=OnDataLoss.CONTINUE)
    assert ids(site) == [*range(20), *range(33, 40)]
    columns = ("topic", "partition", "start_offset", "end_offset", "resume_offset")
    assert site.rows(VIEWS, "lost_ranges", *columns) == [(site.topic("page_view"), 0, 20, 33, 33)]
    # It is told once.
    site.run(VIEWS)
    assert len(site.rows(VIEWS, "lost_ranges")) == 1


@pytest.mark.parametrize("count", [5, 40])
def test_a_topic_that_was_made_anew_is_noticed(site: Site, count: int):
    fill(site, 20, partition_count=1)
    site.run(VIEWS)
    make_anew(site)
    site.send_events("page_view", [view(n, "/other") for n in range(100, 100 + count)])
    with pytest.raises(DataLossError, match="made anew"):
        site.run(VIEWS)
    site.run(VIEWS, on_data_loss=OnDataLoss.CONTINUE)
    assert ids(site) == [*range(20), *range(100, 100 + count)]


def test_a_cluster_that_was_replaced_is_noticed(site: Site, start_broker, site_of):
    fill(site, 20, partition_count=1)
    site.run(VIEWS)
    other = site_of(start_broker())
    fill(other, 30, partition_count=1)
    with pytest.raises(DataLossError, match="the cluster is another one"):
        other.run(VIEWS)
    other.run(VIEWS, on_data_loss=OnDataLoss.CONTINUE)
    assert ids(site) == sorted([*range(20), *range(30)])


def test_a_broker_that_is_away_is_waited_for(site_of, start_broker):
    broker = start_broker()
    site = site_of(broker)
    fill(site, 10)
    site.run(VIEWS)
    fill(site, 10, start=10)
    broker.kill()
    with pytest.raises(RunFailedError):
        site.run(VIEWS, give_up_s=0.0)
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
    cluster = Cluster(site.spark, plan.kafka)
    try:
        told = JobRun(site.spark, plan, cluster, site.metrics, print, print).rewind(is_dry=True)
        assert told == [f"table facts: {topic}-0 goes back from offset 20 to 8"]
        assert len(ids(site)) == 20
        told = JobRun(site.spark, plan, cluster, site.metrics, print, print).rewind(is_dry=False)
        assert told[-1] == "table facts: 12 rows taken away"
    finally:
        cluster.close()
    assert ids(site) == list(range(8))
    done = site.run(VIEWS)
    assert done.figures.record_count == 12
    assert ids(site) == list(range(20))


def per_minute(inputs, parameters):
    from pyspark.sql import functions as F

    minutes = inputs["views"].groupBy(F.window("time", "1 minute"), "page").count()
    return {"minutes": minutes.selectExpr("window.start AS minute", "page", "count")}


def windows(mode: Mode) -> Job:
    return Job(
        f"minutes-{mode.value}",
        "counts by the minute",
        (TopicInput("views", EVENT_TYPES["page_view"], watermark_s=60),),
        (TableOutput("minutes", mode, key=("minute", "page")),),
        per_minute,
        keeps_state=True,
    )


@pytest.mark.parametrize("mode", [Mode.APPEND, Mode.UPDATE])
def test_a_job_with_state_counts_windows_over_several_runs(site: Site, mode: Mode):
    job = windows(mode)
    fill(site, 90, partition_count=1)
    site.send(site.topic("page_view"), [(None, b"broken")])
    site.run(job)
    fill(site, 300, start=90)
    done = site.run(job)
    rows = [(row[0].minute, row[2]) for row in site.rows(job, "minutes")]
    # The last event is 389 s after the start: what is open is told by updates alone.
    whole = [(minute, 60) for minute in range(6)]
    assert rows == (whole[:5] if mode is Mode.APPEND else [*whole, (6, 30)])
    assert [headers["offset"] for _, _, headers in site.records(f"{site.topic('page_view')}.dlq")] == ["90"]
    assert done.figures.dead_letter_count == 0
    assert done.figures.lag_count == 0


def test_a_job_with_state_goes_on_behind_what_was_lost(site: Site):
    job = windows(Mode.UPDATE)
    fill(site, 90, partition_count=1)
    site.run(job)
    fill(site, 90, start=90)
    delete_records(site, 150)
    with pytest.raises(DataLossError, match="offsets 90 to 149"):
        site.run(job)
    site.run(job, on_data_loss=OnDataLoss.CONTINUE)
    rows = [(row[0].minute, row[2]) for row in site.rows(job, "minutes")]
    assert rows == [(0, 60), (1, 30), (2, 30)]


def delete_records(site: Site, before_offset: int) -> None:
    """Do at once what retention does in time."""
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": site.kafka.bootstrap_servers})
    for outcome in admin.delete_records([TopicPartition(site.topic("page_view"), 0, before_offset)]).values():
        outcome.result()


def make_anew(site: Site) -> None:
    """Delete the topic and create it again; brokers say that it is gone a moment before it is."""
    import time

    from barnabas.core.errors import KafkaError
    from tests.patience import PATIENCE_S

    site.delete(site.topic("page_view"))
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            site.create(site.topic("page_view"), 1)
        except KafkaError as error:
            if "ALREADY_EXISTS" not in str(error) or time.monotonic() > deadline:
                raise
        else:
            return
