"""Which partitions `barnabas topics --describe` picks: the rules of Kafka's own tool."""

import pytest

from barnabas.cli.topics_describe import Filters, _as_dict, _Described, is_wanted
from barnabas.clients.admin_replicas import Reassignment
from barnabas.clients.pool import PartitionMetadata, TopicMetadata
from barnabas.core.error_code import ErrorCode


def picks(leader_id, replicas, isr, *, min_isr=1, moving=None, live=(1, 2, 3)):
    """The filters that want such a partition."""
    part = PartitionMetadata(0, leader_id, replicas, isr, ErrorCode.NONE)
    topic = TopicMetadata("t", ErrorCode.NONE, False, {0: part})
    described = _Described(topic, {}, min_isr, {0: moving} if moving else {})
    names = ("under_replicated", "unavailable", "under_min_isr", "at_min_isr")
    return {name for name in names if is_wanted(part, described, Filters(**{name: True}), set(live))}


@pytest.mark.parametrize(
    ("leader_id", "replicas", "isr", "min_isr", "expected"),
    [
        (1, [1, 2, 3], [1, 2, 3], 2, set()),
        (1, [1, 2, 3], [1, 2], 1, {"under_replicated"}),
        (1, [1, 2, 3], [1, 2], 2, {"under_replicated", "at_min_isr"}),
        (1, [1, 2, 3], [1], 2, {"under_replicated", "under_min_isr"}),
        (-1, [1, 2, 3], [1, 2, 3], 1, {"unavailable", "under_min_isr"}),
        (4, [4, 1], [4, 1], 1, {"unavailable"}),
        (1, [1], [1], None, set()),
    ],
)
def test_what_a_partitions_state_is_called(leader_id, replicas, isr, min_isr, expected):
    assert picks(leader_id, replicas, isr, min_isr=min_isr) == expected


def test_replicas_that_a_reassignment_adds_are_not_missed_yet():
    moving = Reassignment([2, 3, 1], [2, 3], [1])
    assert picks(1, [2, 3, 1], [1], moving=moving) == {"at_min_isr"}
    assert picks(1, [2, 3, 1], [], moving=moving) == {"under_replicated", "under_min_isr"}


def test_without_a_filter_every_partition_is_wanted():
    part = PartitionMetadata(0, 1, [1], [1], ErrorCode.NONE)
    topic = TopicMetadata("t", ErrorCode.NONE, False, {0: part})
    assert is_wanted(part, _Described(topic, {}, 1, {}), Filters(), {1})


def test_replicas_that_a_reassignment_adds_do_not_count_as_replicas_yet() -> None:
    parts = {n: PartitionMetadata(n, 1, [3, 1, 2][n:], [1, 2], ErrorCode.NONE) for n in (0, 1)}
    topic = TopicMetadata("t", ErrorCode.NONE, False, parts)
    described = _Described(topic, {}, 1, {0: Reassignment([3, 1, 2], [3], [2])})
    assert _as_dict(described, [])["replication_factor"] == 2
