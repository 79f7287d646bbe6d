"""The handlers of the group APIs: from a request in its version to the response as a client decodes it."""

import json
from typing import Any

import pytest

from barnabas.broker.cluster.image import ClusterView
from barnabas.broker.diagnostics.store import DiagnosticStore
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.broker.registry.tree import Tree
from barnabas.broker.requests.context import ConnectionInfo, RequestContext
from barnabas.broker.requests.handlers import (
    delete_groups,
    describe_groups,
    find_coordinator,
    heartbeat,
    join_group,
    leave_group,
    list_groups,
    offset_commit,
    offset_delete,
    offset_fetch,
    sync_group,
    txn_offset_commit,
)
from barnabas.core.error_code import ErrorCode
from barnabas.core.executor import InlineExecutor
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.wire.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.protocol.messages.list_groups import ListGroupsRequest
from barnabas.wire.protocol.messages.offset_commit import OffsetCommitRequestPartition
from barnabas.wire.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas.wire.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from barnabas.wire.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from barnabas.wire.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.unit.broker.groups.asking import Client, become_member, commit_errors, commit_request, join_request
from tests.unit.broker.groups.conftest import MOST_BYTES
from tests.unit.broker.handling import recoded


def test_who_finds_a_group_full_is_told_of_by_facts(client):
    kept = client.services.diagnostics = DiagnosticStore(25_000_000, 0)
    for group_id in ("g", "full"):
        request = join_request(group_id=group_id)
        request.protocols[0].metadata = bytes(MOST_BYTES // 10)
        client.begin(join_group, 3, request)
        assert len(kept.refusals.lines()) == 0
    assert client.ask(join_group, 3, request).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    (row,) = map(json.loads, kept.refusals.lines())
    assert (row["kind"], row["client_id"], row["reason"], row["name"]) == ("limit", "client", "group.max.size", "full")


@pytest.mark.parametrize("version", range(8))
def test_join_in_every_version(client, version):
    response = client.ask(join_group, version, join_request())
    assert response.member_id.startswith("client-")
    if version >= 4:
        assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED
        no_name = None if version >= 7 else ""
        assert (response.generation_id, response.protocol_name, response.leader) == (-1, no_name, "")
        response = client.ask(join_group, version, join_request(response.member_id))
    assert (response.error_code, response.generation_id, response.protocol_name) == (0, 1, "range")
    assert response.leader == response.member_id
    assert [(each.member_id, each.metadata) for each in response.members] == [(response.member_id, b"m")]


def test_version_0_waits_as_long_as_a_session_lasts(client, service):
    request = join_request(rebalance_timeout_ms=-1)
    member_id = client.ask(join_group, 0, request).member_id
    _, group = service.groups.describe("g")
    assert group.members[member_id].rebalance_timeout_ms == 10_000
    assert group.members[member_id].client_host == "/10.1.2.3"


@pytest.mark.parametrize("version", range(5))
def test_heartbeat_sync_and_leave_in_every_version(client, version):
    member_id, generation = become_member(client)
    assert client.ask(heartbeat, version, HeartbeatRequest("g", generation, member_id)).error_code == 0
    assert client.ask(sync_group, version, SyncGroupRequest("g", generation, member_id)).assignment == b"all"
    stale = client.ask(heartbeat, version, HeartbeatRequest("g", generation + 1, member_id))
    assert stale.error_code == ErrorCode.ILLEGAL_GENERATION
    if version < 3:
        assert client.ask(leave_group, version, LeaveGroupRequest("g", member_id)).error_code == 0
        gone = client.ask(leave_group, version, LeaveGroupRequest("g", member_id))
        assert gone.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    else:
        leaves = LeaveGroupRequest("g", members=[MemberIdentity(member_id), MemberIdentity("stranger", "i")])
        answer = client.ask(leave_group, version, leaves)
        assert answer.error_code == 0
        assert [(each.member_id, each.group_instance_id, each.error_code) for each in answer.members] == [
            (member_id, None, ErrorCode.NONE),
            ("stranger", "i", ErrorCode.UNKNOWN_MEMBER_ID),
        ]


@pytest.mark.parametrize("version", range(3, 5))
def test_a_group_error_stands_for_all_who_leave(client, service, version):
    leaves = LeaveGroupRequest("g", members=[MemberIdentity("m1"), MemberIdentity("", "i")])
    unknown = client.ask(leave_group, version, leaves)
    assert [each.error_code for each in unknown.members] == [ErrorCode.UNKNOWN_MEMBER_ID] * 2
    service.groups.close()
    refused = client.ask(leave_group, version, leaves)
    assert (refused.error_code, refused.members) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, [])


@pytest.mark.parametrize(
    ("protocol_type", "protocol_name", "error_code"),
    [
        ("consumer", "range", ErrorCode.NONE),
        (None, "range", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ("consumer", None, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ("connect", "range", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ("consumer", "sticky", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_a_sync_names_the_protocol_that_it_takes_part_in(client, protocol_type, protocol_name, error_code):
    member_id, generation = become_member(client)
    request = SyncGroupRequest("g", generation, member_id, protocol_type=protocol_type, protocol_name=protocol_name)
    answer = client.ask(sync_group, 5, request)
    is_refused = error_code is not ErrorCode.NONE
    assert (answer.error_code, answer.assignment) == (error_code, b"" if is_refused else b"all")
    expected = (None, None) if is_refused else ("consumer", "range")
    assert (answer.protocol_type, answer.protocol_name) == expected


def test_a_waiting_sync_keeps_no_assignments(client, service):
    """Its request is kept until the answer, and the leader decides when that is."""
    member_id = client.ask(join_group, 0, join_request()).member_id
    waiting = client.begin(join_group, 0, join_request())
    client.ask(join_group, 0, join_request(member_id))
    follower = client.finish(join_group, 0, waiting)
    assignments = [SyncGroupRequestAssignment(follower.member_id, bytes(1_000))]
    request = SyncGroupRequest("g", follower.generation_id, follower.member_id, assignments=assignments)
    ctx = RequestContext(client.services, ConnectionInfo("10.1.2.3", 5_000, "PLAINTEXT"), "client", 2, 1)
    pending = sync_group.HANDLER.handle(ctx, request)
    assert isinstance(pending, Pending)
    assert not pending.is_done
    assert request.assignments == []


@pytest.mark.parametrize("version", range(5, 8))
def test_a_static_member_joins_at_once_and_is_shown(client, version):
    joined = client.ask(join_group, version, join_request(group_instance_id="i"))
    assert (joined.error_code, joined.generation_id) == (ErrorCode.NONE, 1)
    assert joined.member_id.startswith("i-")
    assert [each.group_instance_id for each in joined.members] == ["i"]
    request = SyncGroupRequest(
        "g", 1, joined.member_id, protocol_type="consumer", protocol_name="range", group_instance_id="i"
    )
    assert client.ask(sync_group, 5, request).error_code == ErrorCode.NONE
    for describing in range(6):
        (found,) = client.ask(describe_groups, describing, DescribeGroupsRequest(["g"])).groups
        assert [each.group_instance_id for each in found.members] == ["i" if describing >= 4 else None]
    stranger = HeartbeatRequest("g", 1, "someone", group_instance_id="i")
    assert client.ask(heartbeat, 3, stranger).error_code == ErrorCode.FENCED_INSTANCE_ID
    commit = commit_request(OffsetCommitRequestPartition(0, 1), member_id="someone", generation=1)
    commit.group_instance_id = "i"
    assert commit_errors(client.ask(offset_commit, 7, commit)) == [ErrorCode.FENCED_INSTANCE_ID]


def test_static_members_wait_for_brokers_that_know_them(make_service, clock):
    client = Client(make_service(clock, inter_broker_protocol_version="2.2"))
    joined = client.ask(join_group, 5, join_request(group_instance_id="i"))
    assert (joined.error_code, joined.member_id) == (ErrorCode.UNSUPPORTED_VERSION, "")
    request = HeartbeatRequest("g", 1, "m", group_instance_id="i")
    assert client.ask(heartbeat, 3, request).error_code == ErrorCode.UNSUPPORTED_VERSION
    synced = client.ask(sync_group, 3, SyncGroupRequest("g", 1, "m", group_instance_id="i"))
    assert synced.error_code == ErrorCode.UNSUPPORTED_VERSION
    commit = commit_request(OffsetCommitRequestPartition(0, 1), group_instance_id="i")
    assert commit_errors(client.ask(offset_commit, 7, commit)) == [ErrorCode.UNSUPPORTED_VERSION]


def test_join_answers_when_the_group_has_gathered(make_service, clock):
    client = Client(make_service(clock, group_initial_rebalance_delay_ms="3000"))
    response = client.begin(join_group, 3, join_request())
    assert not response.is_done
    clock.advance(3_000)
    assert client.finish(join_group, 3, response).generation_id == 1


@pytest.mark.parametrize("version", range(1, 9))
def test_commit_and_fetch_in_every_version(client, version):
    committed = OffsetCommitRequestPartition(0, 42, committed_metadata="note")
    if version >= 6:
        committed.committed_leader_epoch = 3
    assert commit_errors(client.ask(offset_commit, version, commit_request(committed))) == [0]
    request = OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0, 1])])
    (topic,) = client.ask(offset_fetch, min(version, 7), request).topics
    found = [(each.committed_offset, each.metadata, each.error_code) for each in topic.partitions]
    assert found == [(42, "note", 0), (-1, "", 0)]
    if version >= 6:
        assert [each.committed_leader_epoch for each in topic.partitions] == [3, -1]


@pytest.mark.parametrize("version", [1, 7])
@pytest.mark.parametrize("is_coordinator", [True, False])
def test_a_fetch_answers_a_repeated_partition_once(client, service, version, is_coordinator):
    client.ask(offset_commit, 5, commit_request(OffsetCommitRequestPartition(0, 42)))
    if not is_coordinator:
        service.groups.close()
    topics = [
        OffsetFetchRequestTopic(name, partitions) for name, partitions in (("t", [1, 0, 1]), ("u", [0]), ("t", [0, 2]))
    ]
    found = client.ask(offset_fetch, version, OffsetFetchRequest("g", topics)).topics
    if not is_coordinator and version == 7:
        assert found == []
    else:
        indexes = {topic.name: [each.partition_index for each in topic.partitions] for topic in found}
        assert (len(found), indexes) == (2, {"t": [1, 0, 2], "u": [0]})


@pytest.mark.parametrize("version", range(2, 8))
def test_fetch_of_all_offsets(client, version):
    client.ask(offset_commit, 5, commit_request(OffsetCommitRequestPartition(0, 42)))
    response = client.ask(offset_fetch, version, OffsetFetchRequest("g", None))
    assert [(topic.name, len(topic.partitions)) for topic in response.topics] == [("t", 1)]
    assert client.ask(offset_fetch, version, OffsetFetchRequest("unknown", None)).topics == []


@pytest.mark.parametrize(("version", "is_at_top"), [(1, False), (2, True), (7, True)])
def test_group_error_of_a_fetch(client, service, version, is_at_top):
    service.groups.close()
    request = OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0])])
    response = client.ask(offset_fetch, version, request)
    expected = ErrorCode.COORDINATOR_NOT_AVAILABLE
    if is_at_top:
        assert (response.error_code, response.topics) == (expected, [])
    else:
        assert [each.error_code for each in response.topics[0].partitions] == [expected]


def test_a_fetch_of_stable_offsets_waits_for_transactions_alone(client, service):
    client.ask(offset_commit, 5, commit_request(OffsetCommitRequestPartition(0, 41)))
    service.replicas.is_slow = True
    client.begin(offset_commit, 5, commit_request(OffsetCommitRequestPartition(0, 42)))
    assert fetched(client, require_stable=True) == (ErrorCode.NONE, 41)
    service.replicas.is_slow = False
    in_transaction = txn_commit_request(TxnOffsetCommitRequestPartition(0, 43))
    assert commit_errors(client.ask(txn_offset_commit, 3, in_transaction)) == [ErrorCode.NONE]
    assert fetched(client, require_stable=True) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
    assert fetched(client, require_stable=False) == (ErrorCode.NONE, 41)


def fetched(client, require_stable):
    request = OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0])], require_stable=require_stable)
    (partition,) = client.ask(offset_fetch, 7, request).topics[0].partitions
    return partition.error_code, partition.committed_offset


def txn_commit_request(*partitions, topic="t", **changes) -> TxnOffsetCommitRequest:
    values: dict[str, Any] = {"transactional_id": "x", "group_id": "g", "producer_id": 7, "producer_epoch": 0} | changes
    return TxnOffsetCommitRequest(topics=[TxnOffsetCommitRequestTopic(topic, list(partitions))], **values)


@pytest.mark.parametrize("version", range(4))
def test_offsets_of_a_transaction_in_every_version(client, service, version):
    partition = TxnOffsetCommitRequestPartition(0, 42, committed_metadata="note")
    if version >= 2:
        partition.committed_leader_epoch = 3
    partitions = [partition, TxnOffsetCommitRequestPartition(9, 1)]
    errors = commit_errors(client.ask(txn_offset_commit, version, txn_commit_request(*partitions)))
    assert errors == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert fetched(client, require_stable=False) == (ErrorCode.NONE, -1)
    service.groups.transaction_ended(7, service.groups.partition_for("g"), True)
    assert fetched(client, require_stable=True) == (ErrorCode.NONE, 42)
    unknown = txn_commit_request(TxnOffsetCommitRequestPartition(0, 1), topic="unknown", group_id="")
    assert commit_errors(client.ask(txn_offset_commit, version, unknown)) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    too_long = TxnOffsetCommitRequestPartition(0, 1, committed_metadata="m" * 4_097)
    refused = client.ask(txn_offset_commit, version, txn_commit_request(too_long))
    assert commit_errors(refused) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]


@pytest.mark.parametrize(
    ("changes", "error_code"),
    [
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation_id": 5}, ErrorCode.ILLEGAL_GENERATION),
        ({"group_instance_id": "i"}, ErrorCode.FENCED_INSTANCE_ID),
        ({"member_id": "stranger", "group_instance_id": "i"}, ErrorCode.FENCED_INSTANCE_ID),
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({}, ErrorCode.NONE),
    ],
)
def test_who_may_commit_in_a_transaction(client, changes, error_code):
    client.ask(join_group, 5, join_request(group_instance_id="i"))
    request = txn_commit_request(TxnOffsetCommitRequestPartition(0, 1), **changes)
    assert commit_errors(client.ask(txn_offset_commit, 3, request)) == [error_code]


@pytest.mark.parametrize(
    ("version", "error_code"),
    [
        (0, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (1, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (2, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (3, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_old_producers_are_not_told_of_a_load(client, version, error_code):
    request = txn_commit_request(TxnOffsetCommitRequestPartition(0, 1))
    ctx = RequestContext(client.services, ConnectionInfo("h", 1, "PLAINTEXT"), "client", version, 1)
    answer = txn_offset_commit.refuse(ctx, recoded(request, version), ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert commit_errors(answer) == [error_code]


@pytest.mark.parametrize("version", range(3))
def test_delete_groups_in_every_version(client, service, version):
    client.ask(offset_commit, 5, commit_request(OffsetCommitRequestPartition(0, 42)))
    become_member(client, "busy")
    answer = client.ask(delete_groups, version, DeleteGroupsRequest(["g", "busy", "unknown", "g"]))
    assert {each.group_id: each.error_code for each in answer.results} == {
        "g": ErrorCode.NONE,
        "busy": ErrorCode.NON_EMPTY_GROUP,
        "unknown": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    assert fetched(client, require_stable=False) == (ErrorCode.NONE, -1)
    assert service.restart().describe("g") == (ErrorCode.NONE, None)


def test_delete_offsets(client, service):
    def ask(*indexes, group_id="g", topic="t"):
        partitions = [OffsetDeleteRequestPartition(index) for index in indexes]
        request = OffsetDeleteRequest(group_id, [OffsetDeleteRequestTopic(topic, partitions)])
        answer = client.ask(offset_delete, 0, request)
        return answer.error_code, [each.error_code for topic in answer.topics for each in topic.partitions]

    assert ask(0) == (ErrorCode.GROUP_ID_NOT_FOUND, [])
    assert ask(0, group_id="") == (ErrorCode.INVALID_GROUP_ID, [])
    client.ask(offset_commit, 5, commit_request(OffsetCommitRequestPartition(0, 42)))
    assert ask(1, 0) == (ErrorCode.NONE, [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NONE])
    # It had nothing else, so it is gone.
    assert ask(0) == (ErrorCode.GROUP_ID_NOT_FOUND, [])
    assert service.restart().describe("g") == (ErrorCode.NONE, None)


def test_commit_answers_each_partition(client):
    partitions = [OffsetCommitRequestPartition(0, 1), OffsetCommitRequestPartition(9, 1)]
    response = client.ask(offset_commit, 2, commit_request(*partitions))
    assert commit_errors(response) == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    response = client.ask(offset_commit, 2, commit_request(*partitions, member_id="stranger", generation=5))
    assert commit_errors(response) == [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    response = client.ask(offset_commit, 2, commit_request(OffsetCommitRequestPartition(0, 1), topic="unknown"))
    assert commit_errors(response) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


@pytest.mark.parametrize(
    ("metadata", "error_code"),
    [
        ("m" * 4_096, ErrorCode.NONE),
        ("m" * 4_097, ErrorCode.OFFSET_METADATA_TOO_LARGE),
        ("\U0001f600" * 2_048, ErrorCode.NONE),
        ("\U0001f600" * 2_049, ErrorCode.OFFSET_METADATA_TOO_LARGE),
        (None, ErrorCode.NONE),
    ],
)
def test_metadata_has_a_limit_in_javas_characters(client, metadata, error_code):
    request = commit_request(OffsetCommitRequestPartition(0, 1, committed_metadata=metadata))
    assert commit_errors(client.ask(offset_commit, 2, request)) == [error_code]


@pytest.mark.parametrize(
    ("version", "timestamp", "retention_time_ms", "expected"),
    [
        (1, 77, -1, (77, -1)),
        (1, -1, -1, (0, -1)),
        (2, -1, 500, (0, 500)),
        (4, -1, -1, (0, -1)),
        (4, -1, 2**63 - 1, (0, 2**63 - 1)),
    ],
)
def test_timestamps_of_a_commit(client, service, version, timestamp, retention_time_ms, expected):
    partition = OffsetCommitRequestPartition(0, 1, commit_timestamp=timestamp)
    response = client.ask(offset_commit, version, commit_request(partition, retention_time_ms=retention_time_ms))
    assert commit_errors(response) == [ErrorCode.NONE]
    (committed,) = service.groups.fetch_offsets("g", None)[1].values()
    now_ms = service.clock.now_ms()
    commit_ms, expire_ms = expected
    assert committed.commit_timestamp_ms == (commit_ms or now_ms)
    assert committed.expire_timestamp_ms == (-1 if expire_ms == -1 else min(now_ms + expire_ms, 2**63 - 1))


@pytest.mark.parametrize("version", range(6))
def test_describe_in_every_version(client, version):
    member_id, _ = become_member(client)
    response = client.ask(describe_groups, version, DescribeGroupsRequest(["g", "unknown"]))
    found, unknown = response.groups
    assert (found.error_code, found.group_state, found.protocol_type, found.protocol_data) == (
        0,
        "Stable",
        "consumer",
        "range",
    )
    (member,) = found.members
    assert (member.member_id, member.client_id, member.client_host) == (member_id, "client", "/10.1.2.3")
    assert (member.member_metadata, member.member_assignment) == (b"m", b"all")
    assert (unknown.error_code, unknown.group_state, unknown.members) == (0, "Dead", [])


@pytest.mark.parametrize("version", [0, 5])
def test_describe_answers_a_repeated_group_once(client, service, version):
    become_member(client)
    asked = DescribeGroupsRequest(["unknown", "g", "g", "unknown", "g"])
    found = client.ask(describe_groups, version, asked).groups
    assert [(each.group_id, each.group_state) for each in found] == [("unknown", "Dead"), ("g", "Stable")]
    ctx = RequestContext(client.services, ConnectionInfo("10.1.2.3", 5_000, "PLAINTEXT"), "client", version, 1)
    refused = describe_groups.refuse(ctx, asked, ErrorCode.UNKNOWN_SERVER_ERROR).groups
    assert [each.group_id for each in refused] == ["unknown", "g"]


@pytest.mark.parametrize(("metadata_bytes", "is_large"), [(100_000, False), (400_000, True)])
def test_a_description_with_much_metadata_is_encoded_as_a_large_answer(client, metadata_bytes, is_large):
    joined = client.ask(join_group, 0, join_request(metadata=bytes(metadata_bytes)))
    assert client.ask(sync_group, 0, SyncGroupRequest("g", joined.generation_id, joined.member_id)).error_code == 0
    answer = client.begin(describe_groups, 5, DescribeGroupsRequest(["g"]))
    assert isinstance(answer, Pending) == is_large


def test_describe_tells_little_of_a_group_that_gathers(client):
    become_member(client)
    client.begin(join_group, 3, join_request())
    (found,) = client.ask(describe_groups, 5, DescribeGroupsRequest(["g"], True)).groups
    assert (found.group_state, found.protocol_data) == ("PreparingRebalance", "")
    assert {(member.member_metadata, member.member_assignment) for member in found.members} == {(b"", b"")}
    assert found.authorized_operations == 328


def test_describe_without_a_coordinator(client, service):
    service.groups.close()
    (found,) = client.ask(describe_groups, 5, DescribeGroupsRequest(["g"], True)).groups
    assert (found.error_code, found.group_state) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, "")
    assert found.authorized_operations == -(2**31)


@pytest.mark.parametrize("version", range(5))
def test_list_in_every_version(client, version):
    become_member(client)
    response = client.ask(list_groups, version, ListGroupsRequest())
    assert [(each.group_id, each.protocol_type) for each in response.groups] == [("g", "consumer")]
    if version >= 4:
        assert response.groups[0].group_state == "Stable"
        assert client.ask(list_groups, version, ListGroupsRequest(["Empty"])).groups == []


@pytest.mark.parametrize("version", range(4))
def test_find_coordinator_in_every_version(client, version):
    response = client.ask(find_coordinator, version, FindCoordinatorRequest("g"))
    assert (response.error_code, response.node_id, response.host, response.port) == (0, 0, "broker.example", 9092)
    if version >= 1:
        assert response.error_message == "NONE"


def test_find_coordinator_of_something_else(client):
    response = client.ask(find_coordinator, 1, FindCoordinatorRequest("g", 2))
    expected = (ErrorCode.UNKNOWN_SERVER_ERROR, -1, "", -1)
    assert (response.error_code, response.node_id, response.host, response.port) == expected
    assert response.error_message


class Topics:
    """Creates the internal topic by showing it in the view; or fails."""

    def __init__(self, view, ready_view=None):
        self.view = view
        self.ready_view = ready_view

    async def create_internal(self, name):
        if self.ready_view is None:
            raise RuntimeError("the registry is closed")
        self.view.image = self.ready_view.image


@pytest.mark.parametrize("is_created", [True, False])
async def test_find_coordinator_creates_the_topic_and_lets_the_caller_ask_again(service, is_created):
    ready = service.cluster
    view = ClusterView("cluster")
    client = Client(service, topics=Topics(view, ready if is_created else None))
    client.services.cluster = view
    response = await client.ask_later(find_coordinator, 1, FindCoordinatorRequest("g"))
    assert response.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert bool(client.errors) != is_created
    again = client.begin(find_coordinator, 1, FindCoordinatorRequest("g"))
    if is_created:
        assert again.error_code == ErrorCode.NONE
    else:
        assert (await again.future()).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_version_0_keeps_offsets_in_the_registry(service):
    registry = EmbeddedRegistry(Tree(), None, service.clock, InlineExecutor())
    client = Client(service, registry)
    for offset in (41, 42):
        commit = commit_request(OffsetCommitRequestPartition(0, offset), OffsetCommitRequestPartition(5, 1))
        response = await client.ask_later(offset_commit, 0, commit)
        assert commit_errors(response) == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    data, _ = await registry.get("/consumers/g/offsets/t/0")
    assert data == b"42"
    request = OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0, 5])])
    (topic,) = (await client.ask_later(offset_fetch, 0, request)).topics
    assert [(each.committed_offset, each.error_code) for each in topic.partitions] == [
        (42, ErrorCode.NONE),
        (-1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    request = OffsetFetchRequest("other", [OffsetFetchRequestTopic("t", [0])])
    (topic,) = (await client.ask_later(offset_fetch, 0, request)).topics
    assert topic.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    await registry.set("/consumers/g/offsets/t/0", b"no number")
    request = OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0])])
    (topic,) = (await client.ask_later(offset_fetch, 0, request)).topics
    assert topic.partitions[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
