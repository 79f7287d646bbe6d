"""Keys go where Kafka's producers put them: Java's hashes, worked out by hand from their definitions."""

import pytest

from barnabas.api.producer.errors import PartitionerError
from barnabas.api.producer.partitioners import DefaultPartitioner, Murmur2Partitioner, hash_code, new_partitioner
from barnabas.clients.partitioner import partition_for_key
from barnabas.core.errors import ConfigError


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("", 0),
        ("a", 97),
        ("ab", 97 * 31 + 98),
        ("hello", 99162322),
        ("polygenelubricants", 0x80000000),
        ("\U0001f600", (0xD83D * 31 + 0xDE00) & 0xFFFFFFFF),
        (b"", 1),
        (b"a", 31 + 97),
        (b"\xff", 31 - 1),
        (7, 7),
        (-1, 0xFFFFFFFF),
        (1 << 32, 1),
        ((1 << 32) + 5, 4),
    ],
)
def test_javas_hash(key: object, code: int) -> None:
    assert hash_code(key) == code


@pytest.mark.parametrize(
    ("key", "count", "partition"),
    [("hello", 10, 2), ("polygenelubricants", 7, 0), (-1, 10, 1), (-7, 4, 3), (b"a", 100, 28)],
)
def test_the_default_partition_is_the_hash_without_its_sign(key: object, count: int, partition: int) -> None:
    assert DefaultPartitioner().partition(key, count) == partition


# By Kafka 0.8.2.2's own DefaultPartitioner (text and numbers) and ByteArrayPartitioner.
OF_KAFKA = [
    ("", (0, 0, 0, 0, 0)),
    ("a", (1, 6, 7, 97, 97)),
    ("ab", (0, 4, 5, 5, 105)),
    ("hello", (1, 0, 2, 22, 322)),
    ("polygenelubricants", (0, 0, 0, 0, 0)),
    ("\U0001f600", (1, 2, 9, 99, 899)),
    (7, (1, 0, 7, 7, 7)),
    (-1, (1, 1, 1, 1, 1)),
    (-7, (1, 0, 7, 7, 7)),
    (1 << 32, (1, 1, 1, 1, 1)),
    ((1 << 32) + 5, (1, 4, 4, 4, 4)),
    (-(1 << 31), (0, 0, 0, 0, 0)),
    (-(1 << 63), (0, 0, 0, 0, 0)),
    (b"", (1, 1, 1, 1, 1)),
    (b"a", (2, 2, 8, 28, 128)),
    (b"\xff", (0, 2, 0, 30, 30)),
    (b"hello", (2, 5, 3, 73, 473)),
    (b"\x01\x02\x03\xc8", (2, 2, 1, 71, 271)),
]


@pytest.mark.parametrize(("key", "partitions"), OF_KAFKA)
def test_a_key_is_where_kafkas_producer_puts_it(key: object, partitions: tuple[int, ...]) -> None:
    assert tuple(DefaultPartitioner().partition(key, count) for count in (3, 7, 10, 100, 1_000)) == partitions


@pytest.mark.parametrize("key", [1.5, ("a",), object()])
def test_a_key_without_a_hash_that_lasts_is_refused(key: object) -> None:
    with pytest.raises(PartitionerError, match=r"partitioner\.class"):
        DefaultPartitioner().partition(key, 3)


def test_murmur2_is_that_of_todays_clients() -> None:
    partitioner = Murmur2Partitioner()
    for key in ("a", "key-17", "ü"):
        assert partitioner.partition(key, 12) == partition_for_key(key.encode(), 12)
        assert partitioner.partition(key.encode(), 12) == partition_for_key(key.encode(), 12)
    with pytest.raises(PartitionerError):
        partitioner.partition(7, 12)


def test_a_partitioner_is_named_by_path_by_javas_name_or_given() -> None:
    assert isinstance(new_partitioner("kafka.producer.DefaultPartitioner", {}), DefaultPartitioner)
    assert isinstance(new_partitioner("barnabas.api.producer.Murmur2Partitioner", {}), Murmur2Partitioner)
    given = Murmur2Partitioner()
    assert new_partitioner(given, {}) is given
    with pytest.raises(ConfigError, match="a partitioner must have"):
        new_partitioner("collections.OrderedDict", {})
