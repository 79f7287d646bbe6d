"""A run's own limits as a rate, and the size of records that they are converted with."""

from math import inf

from barnabas.pipeline.runner.limits import RECORD_OVERHEAD_BYTES, Limits, RecordSize


def test_no_limit_is_none():
    assert Limits().rate(100.0) == inf


def test_the_strictest_limit_holds():
    assert Limits(records_per_s=500).rate(100.0) == 500
    limits = Limits(bytes_per_s=10_000, records_per_s=500)
    assert limits.rate(100.0) == 100
    assert limits.rate(10.0) == 500


def test_the_size_of_records_is_measured_over_the_last_batches():
    size = RecordSize(300.0)
    assert size.mean_bytes == 300.0
    size.measure(0, 0)
    assert size.mean_bytes == 300.0
    size.measure(100, 100 * 1_000)
    assert size.mean_bytes == 1_000 + RECORD_OVERHEAD_BYTES
    size.measure(100, 100 * 1_100)
    assert 1_000 + RECORD_OVERHEAD_BYTES < size.mean_bytes < 1_100


def test_the_limit_that_holds_is_named_as_its_option():
    limits = Limits(bytes_per_s=10_000, records_per_s=500)
    assert limits.strictest(100.0) == "--max-bytes-per-s 10,000"
    assert limits.strictest(10.0) == "--max-messages-per-s 500"
    assert Limits(records_per_s_per_partition=1_200).strictest(100.0) == "--max-rate-per-partition 1,200"
    assert Limits().strictest(100.0) == ""
