"""Figures of a run: the line, the status, the metrics."""

import json
from dataclasses import replace
from math import isnan

import pytest

from barnabas.core.errors import StartupError
from barnabas.pipeline.runner.batch import BatchReport
from barnabas.pipeline.runner.run_metrics import Figures, Metrics

REPORT = BatchReport(1_000, 3, 200_000, 0.5, {"t": {0: 1_000}})


def test_a_run_is_said_in_a_line():
    figures = Figures("load")
    figures.add(REPORT)
    figures.lag = {"t": {0: 5, 1: 7}}
    assert figures.line() == (
        "load: 1,000 records in 1 batch, 3 dead letters; the last took 0.5 s (2,000 records/s); lag 12; "
        "limited by nothing"
    )
    figures = Figures("load")
    figures.add(replace(REPORT, record_count=1, dead_letter_count=1))
    assert figures.line().startswith("load: 1 record in 1 batch, 1 dead letter; ")
    figures.add(REPORT)
    assert figures.line().startswith("load: 1,001 records in 2 batches, 4 dead letters; ")
    figures.fresh_p50_s, figures.fresh_p99_s = 1.25, 3.0
    assert "; lag 0; rows after 1.2 s (p50), 3.0 s (p99); limited" in figures.line()
    assert json.loads(figures.to_json())["fresh_p99_s"] == 3.0


def test_the_status_holds_positions_and_lag():
    figures = Figures("load", positions={"t": {0: 9}}, lag={"t": {0: 1}})
    status = json.loads(figures.to_json())
    assert (status["run"], status["positions"], status["lag"]) == ("load", {"t": {"0": 9}}, {"t": {"0": 1}})


def test_metrics_are_what_prometheus_reads():
    metrics = Metrics()
    metrics.batch("load", REPORT)
    metrics.batch("load", REPORT)
    metrics.late("load", 2)
    metrics.restart("load")
    metrics.refresh("load", 1.0)
    metrics.lag("load", {"t": {0: 5}})
    metrics.fresh("load", 2.0, None)

    def sample(name, **labels):
        return metrics.registry.get_sample_value(f"barnabas_pipeline_{name}", {"run": "load", **labels})

    assert sample("records_total") == 2_000
    assert sample("bytes_total") == 400_000
    assert sample("dead_letters_total") == 6
    assert sample("batches_total") == 2
    assert sample("batch_seconds_count") == 2
    assert sample("late_rows_total") == 2
    assert sample("restarts_total") == 1
    assert sample("refresh_seconds_sum") == 1.0
    assert sample("lag_records", topic="t", partition="0") == 5
    assert sample("fresh_seconds", quantile="0.5") == 2.0
    assert isnan(sample("fresh_seconds", quantile="0.99"))
    assert sample("last_batch_timestamp_seconds") > 0


def test_deleted_topics_and_partitions_have_no_lag():
    metrics = Metrics()
    metrics.lag("load", {"gone": {0: 700}, "t": {0: 5, 1: 9}})
    metrics.lag("feed", {"gone": {0: 3}})
    metrics.lag("load", {"t": {0: 4}})
    (lag,) = (family for family in metrics.registry.collect() if family.name == "barnabas_pipeline_lag_records")
    assert {tuple(sample.labels.values()): sample.value for sample in lag.samples} == {
        ("load", "t", "0"): 4,
        ("feed", "gone", "0"): 3,
    }


def test_a_port_that_is_in_use_is_named():
    port = Metrics().serve(0)
    with pytest.raises(StartupError, match=f"--metrics-port {port}: .* in use; choose another port"):
        Metrics().serve(port)
