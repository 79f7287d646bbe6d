"""WriteTxnMarkers over real logs: what a marker in the committed offsets tells the groups."""

from types import SimpleNamespace

import pytest

from barnabas.broker.requests.handlers import write_txn_markers
from barnabas.core.error_code import ErrorCode
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC
from barnabas.wire.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

PRODUCER = 7


@pytest.fixture
def ended(data_path):
    """What the groups are told: producer, partition of the offsets, and whether it committed."""
    told = []
    data_path.services.groups = SimpleNamespace(transaction_ended=lambda *outcome: told.append(outcome))
    for topic in ("t", GROUP_OFFSETS_TOPIC):
        data_path.create(topic)
    return told


def mark(data_path, topic, *, epoch=0, is_commit=True):
    marker = WritableTxnMarker(PRODUCER, epoch, is_commit, [WritableTxnMarkerTopic(topic, [0])], 0)
    answer = data_path.call(write_txn_markers.HANDLER, 0, WriteTxnMarkersRequest([marker]))
    return answer.markers[0].topics[0].partitions[0].error_code


@pytest.mark.parametrize("is_commit", [True, False])
def test_offsets_of_a_transaction_are_settled_when_its_marker_is_in_the_log(data_path, ended, is_commit):
    assert mark(data_path, GROUP_OFFSETS_TOPIC, is_commit=is_commit) == ErrorCode.NONE
    assert ended == [(PRODUCER, 0, is_commit)]


def test_a_marker_of_other_topics_is_no_business_of_groups(data_path, ended):
    assert mark(data_path, "t") == ErrorCode.NONE
    assert ended == []


def test_a_refused_marker_settles_nothing(data_path, ended):
    assert mark(data_path, GROUP_OFFSETS_TOPIC, epoch=5) == ErrorCode.NONE
    assert mark(data_path, GROUP_OFFSETS_TOPIC, epoch=4, is_commit=False) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert ended == [(PRODUCER, 0, True)]
