"""Requests with very many names that their principal has no right to: others have their turns between the checks."""

import asyncio
from collections.abc import Callable
from itertools import pairwise

import pytest

from barnabas.broker.requests.context import ConnectionInfo, RequestContext
from barnabas.broker.requests.handlers import (
    add_partitions_to_txn,
    create_partitions,
    create_topics,
    delete_groups,
    delete_topics,
    describe_configs,
    describe_groups,
    facts,
    incremental_alter_configs,
    list_offsets,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    txn_offset_commit,
)
from barnabas.broker.requests.table import Handler
from barnabas.wire.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from barnabas.wire.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.wire.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.protocol.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.protocol.messages.facts import FactsRequest
from barnabas.wire.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.wire.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic
from barnabas.wire.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteRequestTopic
from barnabas.wire.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from barnabas.wire.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderTopic,
)
from barnabas.wire.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitRequestTopic
from barnabas.wire.protocol.wire import Message
from barnabas.wire.security.authorizer import ResourceType
from tests.unit.broker.controller.harness import Cluster
from tests.unit.broker.controller.test_admin_handlers import Client, play_with_client
from tests.unit.broker.requests.denying import Denies

pytestmark = pytest.mark.played(by=play_with_client)

NAMES = [f"x{number}" for number in range(1_000)]
MOST_IN_A_TURN = 200
TOPIC_RESOURCE = 2

CASES: list[tuple[Handler, int, Callable[[], Message]]] = [
    (create_topics.HANDLER, 5, lambda: CreateTopicsRequest([CreatableTopic(name, 1, 1) for name in NAMES], 0)),
    (
        create_partitions.HANDLER,
        1,
        lambda: CreatePartitionsRequest([CreatePartitionsTopic(name, 2, None) for name in NAMES], 0, False),
    ),
    (delete_topics.HANDLER, 3, lambda: DeleteTopicsRequest(NAMES, 0)),
    (
        describe_configs.HANDLER,
        2,
        lambda: DescribeConfigsRequest([DescribeConfigsResource(TOPIC_RESOURCE, name, None) for name in NAMES]),
    ),
    (
        incremental_alter_configs.HANDLER,
        1,
        lambda: IncrementalAlterConfigsRequest([AlterConfigsResource(TOPIC_RESOURCE, name, []) for name in NAMES]),
    ),
    (metadata.HANDLER, 5, lambda: MetadataRequest([MetadataRequestTopic(name=name) for name in NAMES])),
    (facts.HANDLER, 0, lambda: FactsRequest("ends", NAMES, -1)),
    (describe_groups.HANDLER, 5, lambda: DescribeGroupsRequest(NAMES)),
    (delete_groups.HANDLER, 1, lambda: DeleteGroupsRequest(NAMES)),
    (
        offset_fetch.HANDLER,
        0,
        lambda: OffsetFetchRequest("g", [OffsetFetchRequestTopic(name, [0]) for name in NAMES]),
    ),
    # These may name topics without partitions.
    (list_offsets.HANDLER, 4, lambda: ListOffsetsRequest(-1, 0, [ListOffsetsTopic(name, []) for name in NAMES])),
    (
        offset_for_leader_epoch.HANDLER,
        3,
        lambda: OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic(name, []) for name in NAMES]),
    ),
    (
        offset_commit.HANDLER,
        6,
        lambda: OffsetCommitRequest("g", topics=[OffsetCommitRequestTopic(name, []) for name in NAMES]),
    ),
    (
        offset_delete.HANDLER,
        0,
        lambda: OffsetDeleteRequest("g", [OffsetDeleteRequestTopic(name, []) for name in NAMES]),
    ),
    (
        txn_offset_commit.HANDLER,
        2,
        lambda: TxnOffsetCommitRequest(
            "tx", "g", 1, 0, topics=[TxnOffsetCommitRequestTopic(name, []) for name in NAMES]
        ),
    ),
    (
        add_partitions_to_txn.HANDLER,
        1,
        lambda: AddPartitionsToTxnRequest("tx", 1, 0, [AddPartitionsToTxnTopic(name, []) for name in NAMES]),
    ),
]


class DeniesNames(Denies):
    """Denies everything about `NAMES`; others are allowed what is logged if it is denied."""

    def may(self, principal, host, operation, resource_type, name, request=None) -> bool:
        return not name.startswith("x") or super().may(principal, host, operation, resource_type, name, request)

    def rights(self, principal, host, resource_type, name) -> int:
        if resource_type is not ResourceType.CLUSTER:
            self.denied.append(name)
        return 0


@pytest.mark.parametrize(
    ("handler", "version", "make"), CASES, ids=[each[0].request_class.SCHEMA_NAME for each in CASES]
)
async def test_denied_names_are_checked_in_many_turns(
    cluster: Cluster, client: Client, /, handler: Handler, version: int, make: Callable[[], Message]
) -> None:
    authorizer = client.services.authorizer = DeniesNames()
    ctx = RequestContext(client.services, ConnectionInfo("127.0.0.1", 5, "PLAINTEXT"), "client", version, 1)
    ctx.is_large = True
    handler.handle(ctx, make())
    counts = [0]
    while counts[-1] < len(NAMES):
        counts.append(len(authorizer.denied))
        await asyncio.sleep(0)
        assert len(counts) < 10 * len(NAMES), "not every name is checked"
    assert max(after - before for before, after in pairwise(counts)) <= MOST_IN_A_TURN
