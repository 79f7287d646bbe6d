"""The text is one that Prometheus' own parser reads as what was meant."""

import math

import pytest
from prometheus_client.parser import text_string_to_metric_families

from barnabas.broker.metrics.exposition import exposition
from barnabas.broker.metrics.snapshot import NOTHING, Distribution, Snapshot
from barnabas.core.histogram import index_of, new_buckets

TIMES = "kafka_network_requestmetrics_totaltimems"
SIZE = "kafka_log_log_size"


def parsed(snapshot):
    families = text_string_to_metric_families(exposition(snapshot).decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def distribution(*values):
    buckets = new_buckets()
    for value in values:
        if value:
            buckets[index_of(value)] += 1
    return Distribution(buckets, len(values), len(values), sum(values) / 1_000_000, 1_000_000)


def test_an_empty_snapshot_is_an_empty_text():
    assert exposition(Snapshot()) == b""


@pytest.mark.parametrize("name", ["plain", 'a"quote', "a\\backslash", "two\nlines", "ünïcode", "{}"])
def test_labels_come_back_as_they_were(name):
    snapshot = Snapshot()
    snapshot.put(SIZE, 7, name, "0")
    assert parsed(snapshot) == {(SIZE, (("partition", "0"), ("topic", name))): 7}


def test_a_label_without_a_value_is_left_out():
    snapshot = Snapshot()
    snapshot.put("kafka_server_quota_byte_rate", 1.5, "Produce", "", "c")
    assert list(parsed(snapshot)) == [("kafka_server_quota_byte_rate", (("clientId", "c"), ("resource", "Produce")))]


def test_what_is_counted_says_so_and_what_it_means():
    snapshot = Snapshot()
    snapshot.put("kafka_server_brokertopicmetrics_bytesin_total", 10**18 + 1)
    text = exposition(snapshot).decode()
    assert "# TYPE kafka_server_brokertopicmetrics_bytesin_total counter\n" in text
    assert text.startswith("# HELP kafka_server_brokertopicmetrics_bytesin_total Bytes ")
    # A float would be another number.
    assert text.endswith(f"kafka_server_brokertopicmetrics_bytesin_total {10**18 + 1}\n")


def test_a_distribution_is_quantiles_of_late_and_sums_since_ever():
    before = distribution(*[1_000_000] * 100)
    now = distribution(*[1_000_000] * 100, *[16_000_000] * 98, *[64_000_000] * 2)
    snapshot = Snapshot()
    snapshot.put_distribution(TIMES, now, before, "Produce")
    found = parsed(snapshot)

    def quantile(share):
        return found[TIMES, (("quantile", share), ("request", "Produce"))]

    assert quantile("0.5") == pytest.approx(16, rel=0.07)
    assert quantile("0.99") == pytest.approx(64, rel=0.07)
    assert found[f"{TIMES}_count", (("request", "Produce"),)] == 200
    assert found[f"{TIMES}_sum", (("request", "Produce"),)] == 100 + 98 * 16 + 2 * 64


def test_what_took_no_time_counts_in_quantiles():
    snapshot = Snapshot()
    snapshot.put_distribution(TIMES, distribution(*[0] * 90, *[5_000_000] * 10), NOTHING, "Produce")
    found = parsed(snapshot)
    assert found[TIMES, (("quantile", "0.75"), ("request", "Produce"))] == 0
    assert found[TIMES, (("quantile", "0.95"), ("request", "Produce"))] == pytest.approx(5, rel=0.07)


def test_where_nothing_came_of_late_there_is_no_quantile():
    before = distribution(1_000_000)
    snapshot = Snapshot()
    snapshot.put_distribution(TIMES, before, before, "Produce")
    assert math.isnan(parsed(snapshot)[TIMES, (("quantile", "0.99"), ("request", "Produce"))])
