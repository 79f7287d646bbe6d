"""The rules by which partitions are shared out: Kafka 0.8.2's, the remainder and the order of threads included."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.api.connector.assignment import (
    STRATEGIES,
    Threads,
    UnevenSubscriptionsError,
    _java_hash,
    assign_in_turn,
    assign_ranges,
)
from barnabas.core.types import TopicPartition
from barnabas.wire.registry.znodes.consumers import ConsumerThread, java_order


def threads(*names: str) -> list[ConsumerThread]:
    return [ConsumerThread(consumer, int(number)) for consumer, _, number in (name.rpartition("-") for name in names)]


def by_thread(owners: dict[TopicPartition, ConsumerThread]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for partition, thread in sorted(owners.items()):
        found.setdefault(str(thread), []).append(partition.partition)
    return found


def test_the_first_threads_get_the_remainder() -> None:
    owners = assign_ranges({"t": range(5)}, {"t": threads("b-0", "a-0", "a-1")})
    assert by_thread(owners) == {"a-0": [0, 1], "a-1": [2, 3], "b-0": [4]}


def test_threads_beyond_the_partitions_get_none() -> None:
    assert by_thread(assign_ranges({"t": [0, 1]}, {"t": threads("a-0", "b-0", "c-0")})) == {"a-0": [0], "b-0": [1]}


def test_the_tenth_thread_comes_before_the_second() -> None:
    names = [f"c-{number}" for number in range(11)]
    owners = assign_ranges({"t": range(11)}, {"t": threads(*names)})
    assert owners[TopicPartition("t", 2)] == ConsumerThread("c", 10)
    assert owners[TopicPartition("t", 3)] == ConsumerThread("c", 2)


def test_partitions_are_in_the_order_of_their_numbers_whatever_those_are() -> None:
    owners = assign_ranges({"t": [10, 9, 2]}, {"t": threads("a-0", "b-0")})
    assert by_thread(owners) == {"a-0": [2, 9], "b-0": [10]}


def test_each_topic_is_shared_out_by_itself() -> None:
    owners = assign_ranges({"t": range(3), "u": range(3)}, {"t": threads("a-0", "b-0"), "u": threads("b-0", "c-0")})
    assert by_thread({p: t for p, t in owners.items() if p.topic == "t"}) == {"a-0": [0, 1], "b-0": [2]}
    assert by_thread({p: t for p, t in owners.items() if p.topic == "u"}) == {"b-0": [0, 1], "c-0": [2]}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_without_partitions_or_threads_there_are_no_owners(strategy: str) -> None:
    assign = STRATEGIES[strategy]
    assert assign({}, {}) == {}
    assert assign({"t": [0]}, {"t": []}) == {}
    assert assign({}, {"t": threads("a-0")}) == {}


def test_roundrobin_deals_out_by_the_hash_of_the_names() -> None:
    # The hashes of "[t,9]" and "[t,10]" in Java: the second is the smaller one, as it has grown beyond 31 bits.
    assert (_java_hash("[t,9]"), _java_hash("[t,10]")) == (87540311, -1581226645)
    owners = assign_in_turn({"t": [9, 10]}, {"t": threads("b-0", "a-0")})
    assert by_thread(owners) == {"a-0": [10], "b-0": [9]}


@pytest.mark.parametrize(("text", "value"), [("", 0), ("a", 97), ("polygenelubricants", -(1 << 31))])
def test_the_hash_is_javas(text: str, value: int) -> None:
    assert _java_hash(text) == value


def test_roundrobin_needs_the_same_subscriptions() -> None:
    with pytest.raises(UnevenSubscriptionsError, match="same topics"):
        assign_in_turn({"t": [0], "u": [0]}, {"t": threads("a-0"), "u": threads("a-0", "b-0")})


NAMES = st.text(st.sampled_from("ab-\uffee\U0001f600"), min_size=1, max_size=3)
PARTITIONS = st.dictionaries(st.sampled_from("tuv"), st.sets(st.integers(0, 30)), min_size=1)


@given(PARTITIONS, st.dictionaries(NAMES, st.integers(1, 4), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_every_partition_has_one_owner_and_the_shares_differ_by_one_at_most(partitions, consumers, order) -> None:
    everyone = [ConsumerThread(name, number) for name, count in consumers.items() for number in range(count)]
    order.shuffle(everyone)
    group: Threads = dict.fromkeys(partitions, everyone)
    ranges, turns = assign_ranges(partitions, group), assign_in_turn(partitions, group)
    assert ranges.keys() == turns.keys() == {TopicPartition(t, p) for t, ps in partitions.items() for p in ps}
    assert _spread(Counter(turns.values()), everyone) <= 1
    for topic in partitions:
        of_topic = {p: t for p, t in ranges.items() if p.topic == topic}
        assert _spread(Counter(of_topic.values()), everyone) <= 1
        # In a row, in the order of the threads, who has more first.
        in_order = [java_order(str(thread)) for _, thread in sorted(of_topic.items())]
        assert in_order == sorted(in_order)
        counts = [Counter(of_topic.values())[t] for t in sorted(everyone, key=lambda t: java_order(str(t)))]
        assert counts == sorted(counts, reverse=True)


def _spread(counts: "Counter[ConsumerThread]", everyone: list[ConsumerThread]) -> int:
    sizes = [counts[thread] for thread in everyone]
    return max(sizes) - min(sizes)
