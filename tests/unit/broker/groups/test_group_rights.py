"""What rights requests of groups need, and what they tell who has some of them alone."""

import pytest

from barnabas.broker.requests.handlers import list_groups, offset_commit, offset_fetch, txn_offset_commit
from barnabas.broker.requests.slices import MOST_ELEMENTS_AT_ONCE, SLICE_STEPS
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.list_groups import ListGroupsRequest
from barnabas.wire.protocol.messages.offset_commit import OffsetCommitRequestPartition
from barnabas.wire.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from barnabas.wire.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType
from tests.unit.broker.groups.asking import commit_errors, commit_request

WRITE_ID = (Operation.WRITE, ResourceType.TRANSACTIONAL_ID, "x")
READ_GROUP = (Operation.READ, ResourceType.GROUP, "g")
DESCRIBE_GROUP = (Operation.DESCRIBE, ResourceType.GROUP, "g")
READ_TOPIC = (Operation.READ, ResourceType.TOPIC, "t")
DESCRIBE_TOPIC = (Operation.DESCRIBE, ResourceType.TOPIC, "t")


class Allows:
    """Allows these operations on these resources."""

    allows_everything = False

    def __init__(self, *rights) -> None:
        self._rights = rights

    def may(self, principal, host, operation, resource_type, name, request=None) -> bool:
        return (operation, resource_type, name) in self._rights

    def rights(self, principal, host, resource_type, name) -> int:
        return sum(1 << right[0] for right in self._rights if right[1:] == (resource_type, name))


@pytest.mark.parametrize(
    ("rights", "error_code"),
    [
        ([], ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ([READ_GROUP, READ_TOPIC], ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ([WRITE_ID, READ_TOPIC], ErrorCode.GROUP_AUTHORIZATION_FAILED),
        ([WRITE_ID, READ_GROUP], ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        ([WRITE_ID, READ_GROUP, READ_TOPIC], ErrorCode.NONE),
    ],
)
def test_a_commit_in_a_transaction_needs_its_id_the_group_and_the_topic(client, rights, error_code):
    client.services.authorizer = Allows(*rights)
    topics = [TxnOffsetCommitRequestTopic("t", [TxnOffsetCommitRequestPartition(0, 1)])]
    request = TxnOffsetCommitRequest("x", "g", 7, 0, topics=topics)
    assert commit_errors(client.ask(txn_offset_commit, 3, request)) == [error_code]


@pytest.mark.parametrize("may_describe_topic", [True, False])
def test_who_asks_for_all_offsets_is_told_of_topics_that_he_may_describe(client, may_describe_topic):
    client.ask(offset_commit, 5, commit_request(OffsetCommitRequestPartition(0, 41)))
    client.services.authorizer = Allows(DESCRIBE_GROUP, *([DESCRIBE_TOPIC] if may_describe_topic else []))
    topics = client.ask(offset_fetch, 7, OffsetFetchRequest("g", None)).topics
    assert [topic.name for topic in topics] == (["t"] if may_describe_topic else [])
    # One that is asked for by name is refused by name.
    request = OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0])])
    (partition,) = client.ask(offset_fetch, 7, request).topics[0].partitions
    assert partition.error_code == (ErrorCode.NONE if may_describe_topic else ErrorCode.TOPIC_AUTHORIZATION_FAILED)


@pytest.mark.parametrize(
    ("right", "listed_count"),
    [(DESCRIBE_GROUP, 1), ((Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER), 1 + MOST_ELEMENTS_AT_ONCE)],
)
def test_very_many_groups_are_listed_in_many_turns(client, right, listed_count):
    request = commit_request(OffsetCommitRequestPartition(0, 41))
    for group_id in ("g", *map(str, range(MOST_ELEMENTS_AT_ONCE))):
        request.group_id = group_id
        assert commit_errors(client.ask(offset_commit, 5, request)) == [ErrorCode.NONE]
    client.services.authorizer = Allows(right)
    answer = client.begin(list_groups, 4, ListGroupsRequest())
    assert client.run_due() > MOST_ELEMENTS_AT_ONCE // SLICE_STEPS
    groups = client.finish(list_groups, 4, answer).groups
    assert (len(groups), groups[0].group_id) == (listed_count, "g")
