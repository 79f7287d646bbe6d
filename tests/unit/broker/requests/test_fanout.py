"""The refusals that stand before any other: who may not, what is not there."""

import pytest

from barnabas.broker.requests.handlers import delete_records, offset_for_leader_epoch, produce
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from barnabas.wire.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.security.authorizer import Operation, ResourceType
from barnabas.wire.security.principals import ANONYMOUS
from tests.unit.broker.requests.conftest import batch


class OnlyMay:
    """Allows one operation on topics, and notes what it is asked."""

    allows_everything = False

    def __init__(self, allowed: Operation | None) -> None:
        self.allowed = allowed
        self.asked: list[tuple[object, ...]] = []

    def may(self, principal, host, operation, resource_type, name, request="") -> bool:
        self.asked.append((principal, host, operation, resource_type, name))
        return operation is self.allowed

    def rights(self, principal, host, resource_type, name) -> int:
        return 0 if self.allowed is None else 1 << self.allowed


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


@pytest.mark.parametrize("is_large", [False, True])
def test_who_produces_with_a_producer_id_needs_a_right_to_that(data_path, is_large):
    data_path.create("t")
    authorizer = data_path.services.authorizer = OnlyMay(Operation.WRITE)

    def produce_with(**producer: int) -> int:
        data = [TopicProduceData("t", [PartitionProduceData(0, bytes(batch(**producer)))])]
        request = ProduceRequest(None, 1, 1_000, data)
        pending = data_path.begin(produce.HANDLER, 8, request, is_large=is_large)
        return data_path.finish(produce.HANDLER, 8, pending).responses[0].partition_responses[0].error_code

    assert produce_with() == ErrorCode.NONE
    assert (Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER) not in [asked[2:4] for asked in authorizer.asked]
    with_id = {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0}
    assert produce_with(**with_id) == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert authorizer.asked[-1][2:4] == (Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER)


def test_who_produces_in_a_transaction_needs_a_right_to_its_id(data_path):
    data_path.create("t")
    transactional = {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0, "is_transactional": True}

    def produced(transactional_id):
        return data_path.produce("t", batch(**transactional), transactional_id=transactional_id).error_code

    data_path.services.authorizer = OnlyMay(Operation.READ)
    assert produced("tx") == produced(None) == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    authorizer = data_path.services.authorizer = OnlyMay(Operation.WRITE)
    # Nobody has a right to a transaction without a name.
    assert produced(None) == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert produced("tx") == ErrorCode.NONE
    assert (Operation.WRITE, ResourceType.TRANSACTIONAL_ID, "tx") in [asked[2:] for asked in authorizer.asked]
