"""Limits as offsets per trigger, and the size of records that they are converted with."""

from barnabas.pipeline.runner.limits import RECORD_OVERHEAD_BYTES, Limits, RecordSize


def test_no_limit_is_none():
    assert Limits().offsets_per_trigger(1.0, 100.0, 1) is None


def test_records_and_bytes_per_second_become_offsets_per_trigger():
    assert Limits(records_per_s=500).offsets_per_trigger(2.0, 100.0, 1) == 1_000
    assert Limits(bytes_per_s=10_000).offsets_per_trigger(2.0, 100.0, 1) == 200


def test_the_strictest_limit_holds():
    limits = Limits(bytes_per_s=10_000, records_per_s=500)
    assert limits.offsets_per_trigger(1.0, 100.0, 1) == 100
    assert limits.offsets_per_trigger(1.0, 10.0, 1) == 500


def test_a_rate_per_partition_is_each_ones_own_and_the_others_are_shared():
    limits = Limits(records_per_s=900, records_per_s_per_partition=400)
    assert limits.is_per_partition
    assert limits.offsets_per_trigger(1.0, 100.0, 3) == 300
    assert limits.offsets_per_trigger(1.0, 100.0, 1) == 400


def test_a_limit_below_one_record_lets_one_pass():
    assert Limits(records_per_s=0.1).offsets_per_trigger(1.0, 100.0, 1) == 1


def test_the_size_of_records_is_measured_over_the_last_batches():
    size = RecordSize(300.0)
    assert size.assume() == 300.0
    size.measure(0, 0)
    assert not size.has_moved
    size.measure(100, 100 * 1_000)
    assert size.mean_bytes == 1_000 + RECORD_OVERHEAD_BYTES
    assert size.has_moved
    size.assume()
    size.measure(100, 100 * 1_100)
    assert 1_000 < size.mean_bytes < 1_100
    assert not size.has_moved


def test_the_limit_that_holds_is_named_as_its_option():
    limits = Limits(bytes_per_s=10_000, records_per_s=500)
    assert limits.strictest(100.0) == "--max-bytes-per-s 10,000"
    assert limits.strictest(10.0) == "--max-messages-per-s 500"
    assert Limits(records_per_s_per_partition=1_200).strictest(100.0) == "--max-rate-per-partition 1,200"
    assert Limits().strictest(100.0) == ""
