import pytest

from barnabas.clients.group import assign_range
from barnabas.core.types import TopicPartition


def parts(topic, *indexes):
    return [TopicPartition(topic, index) for index in indexes]


@pytest.mark.parametrize(
    ("subscriptions", "counts", "expected"),
    [
        ({"m1": ["t"]}, {"t": 3}, {"m1": parts("t", 0, 1, 2)}),
        ({"m2": ["t"], "m1": ["t"]}, {"t": 3}, {"m1": parts("t", 0, 1), "m2": parts("t", 2)}),
        ({"m1": ["t"], "m2": ["t"]}, {"t": 1}, {"m1": parts("t", 0), "m2": []}),
        (
            {"m1": ["a", "b"], "m2": ["b"]},
            {"a": 2, "b": 3},
            {"m1": parts("a", 0, 1) + parts("b", 0, 1), "m2": parts("b", 2)},
        ),
        ({"m1": ["gone"]}, {"gone": 0}, {"m1": []}),
        ({"m1": []}, {"t": 3}, {"m1": []}),
    ],
)
def test_partitions_are_divided_in_ranges(subscriptions, counts, expected):
    assert assign_range(subscriptions, counts) == expected
