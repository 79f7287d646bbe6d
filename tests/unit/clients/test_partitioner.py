import random

import pytest
from kafka.partitioner.default import murmur2 as kafka_python_murmur2

from barnabas.clients.partitioner import StickyPartition, murmur2, partition_for_key
from barnabas.clients.pool import PartitionMetadata
from barnabas.core.error_code import ErrorCode


def partitions(*leader_ids):
    return {index: PartitionMetadata(index, leader, [], [], ErrorCode.NONE) for index, leader in enumerate(leader_ids)}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        # What Java's client gives, as signed numbers.
        (b"", 275646681),
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_hash_is_javas(data, expected):
    assert murmur2(data) == expected % (1 << 32)


def test_hash_agrees_with_another_client():
    source = random.Random(7)
    for length in range(70):
        data = source.randbytes(length)
        assert murmur2(data) == kafka_python_murmur2(data)


def test_a_key_always_goes_to_one_partition():
    assert [partition_for_key(b"foobar", count) for count in (1, 3, 10)] == [0, 1357151166 % 3, 1357151166 % 10]


def test_records_without_a_key_stay_until_a_batch_is_full():
    sticky = StickyPartition(random.Random(1))
    first = sticky.choose(partitions(0, 0, 0))
    assert {sticky.choose(partitions(0, 0, 0)) for _ in range(20)} == {first}
    sticky.move_on()
    assert sticky.choose(partitions(0, 0, 0)) != first


@pytest.mark.parametrize(
    ("leader_ids", "expected"),
    [
        ((0,), {0}),
        ((0, -1, 1), {0, 2}),
        ((-1, 5, -1), {1}),
        # Without any leader, each may get one first.
        ((-1, -1), {0, 1}),
    ],
)
def test_records_without_a_key_go_to_partitions_with_a_leader(leader_ids, expected):
    sticky, chosen = StickyPartition(random.Random(1)), set()
    for _ in range(20):
        chosen.add(sticky.choose(partitions(*leader_ids)))
        sticky.move_on()
    assert chosen == expected


def test_a_partition_that_no_longer_exists_is_left():
    sticky = StickyPartition(random.Random(1))
    while sticky.choose(partitions(0, 0)) == 0:
        sticky.move_on()
    assert sticky.choose(partitions(0)) == 0
