"""The refusals that stand before any other: who may not, what is not there."""

import pytest

from barnabas.core.error_code import ErrorCode
from barnabas.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from barnabas.requests.handlers import delete_records, offset_for_leader_epoch
from barnabas.security.authorizer import Operation, ResourceType
from barnabas.security.principals import ANONYMOUS
from tests.unit.requests.test_produce import batch


class OnlyMay:
    """Allows one operation on topics, and notes what it is asked."""

    allows_everything = False

    def __init__(self, allowed: Operation | None) -> None:
        self.allowed = allowed
        self.asked: list[tuple[object, ...]] = []

    def may(self, principal, host, operation, resource_type, name) -> bool:
        self.asked.append((principal, host, operation, resource_type, name))
        return operation is self.allowed


def ask(data_path, name):
    if name == "produce":
        return data_path.produce("t", batch())
    if name == "fetch":
        return data_path.fetch("t")
    if name == "list_offsets":
        return data_path.list_offsets("t", -1)
    if name == "delete_records":
        request = DeleteRecordsRequest([DeleteRecordsTopic("t", [DeleteRecordsPartition(0, 0)])])
        return data_path.call(delete_records.HANDLER, 2, request).topics[0].partitions[0]
    epochs = OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic("t", [OffsetForLeaderPartition(0, -1, 0)])])
    return data_path.call(offset_for_leader_epoch.HANDLER, 3, epochs).topics[0].partitions[0]


NEEDED = {
    "produce": Operation.WRITE,
    "fetch": Operation.READ,
    "list_offsets": Operation.DESCRIBE,
    "delete_records": Operation.DELETE,
    "offset_for_leader_epoch": Operation.DESCRIBE,
}


@pytest.mark.parametrize("name", NEEDED)
def test_who_may_not_is_refused_before_anything_is_looked_at(data_path, name):
    data_path.create("t")
    data_path.services.authorizer = authorizer = OnlyMay(None)
    assert ask(data_path, name).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert authorizer.asked == [(ANONYMOUS, "10.1.2.3", NEEDED[name], ResourceType.TOPIC, "t")]
    assert data_path.log("t").log_end_offset == 0


@pytest.mark.parametrize("name", NEEDED)
def test_who_may_is_served(data_path, name):
    data_path.create("t")
    data_path.services.authorizer = OnlyMay(NEEDED[name])
    assert ask(data_path, name).error_code == ErrorCode.NONE


@pytest.mark.parametrize("name", NEEDED)
def test_a_partition_that_is_not_there_is_unknown(data_path, name):
    assert ask(data_path, name).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
