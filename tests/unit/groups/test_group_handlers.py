"""The handlers of the group APIs: from a request in its version to the response as a client decodes it."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.cluster.image import ClusterView
from barnabas.core.error_code import ErrorCode
from barnabas.core.executor import InlineExecutor
from barnabas.core.pending import Pending, Spawner
from barnabas.protocol.api_keys import response_class
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.protocol.messages.leave_group import LeaveGroupRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from barnabas.protocol.wire import WireBuffer
from barnabas.registry.embedded import EmbeddedRegistry
from barnabas.registry.tree import Tree
from barnabas.requests.context import ConnectionInfo, RequestContext
from barnabas.requests.handlers import (
    describe_groups,
    find_coordinator,
    heartbeat,
    join_group,
    leave_group,
    list_groups,
    offset_commit,
    offset_fetch,
    sync_group,
)
from barnabas.requests.services import Services
from barnabas.security.authorizer import AllowAll
from tests.unit.turns import slices_of


class Client:
    """Sends requests to the handlers as the session would."""

    def __init__(self, service, registry=None, topics=None) -> None:
        self.service = service
        self.errors: list[BaseException] = []
        self._tasks: list[Callable[[], object]] = []
        self.services = Services(
            config=service.config,
            clock=service.clock,
            timers=service.clock,
            spawner=Spawner(self.errors.append),
            executor=InlineExecutor(),
            cluster=service.cluster,
            replicas=service.replicas,
            fetches=None,
            groups=service.groups,
            topics=topics,
            partitions=None,
            producer_ids=None,
            registry=registry,
            authorizer=AllowAll(),
            offered=[],
            slices=slices_of(service.clock, self._tasks.append),
        )

    def begin(self, module, version: int, request):
        """Handle a request; gives the response or a pending one, not encoded."""
        handler = module.HANDLER
        assert handler.min_version <= version <= handler.max_version
        out = WireBuffer()
        request.encode(version, out)
        decoded, _ = handler.request_class.decode(version, memoryview(bytes(out)))
        connection = ConnectionInfo("10.1.2.3", 5_000, "PLAINTEXT")
        return handler.handle(RequestContext(self.services, connection, "client", version, 1), decoded)

    def finish(self, module, version: int, response):
        """The response as the client decodes it."""
        if isinstance(response, Pending):
            assert response.is_done
            response = response.value
        out = WireBuffer()
        response.encode(version, out)
        decoded, end = response_class(module.HANDLER.api_key).decode(version, memoryview(bytes(out)))
        assert end == len(out)
        return decoded

    def ask(self, module, version: int, request):
        response = self.begin(module, version, request)
        self.service.clock.advance(0)
        return self.finish(module, version, response)

    async def ask_later(self, module, version: int, request):
        response = self.begin(module, version, request)
        if isinstance(response, Pending):
            response = await response.future()
        return self.finish(module, version, response)


@pytest.fixture
def client(service) -> Client:
    return Client(service)


def join_request(member_id="", **changes) -> JoinGroupRequest:
    values: dict[str, Any] = {
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "protocol_type": "consumer",
    } | changes
    return JoinGroupRequest("g", member_id=member_id, protocols=[JoinGroupRequestProtocol("range", b"m")], **values)


def become_member(client: Client) -> tuple[str, int]:
    """A consumer joins as a Java client does, and syncs."""
    given = client.ask(join_group, 4, join_request())
    assert given.error_code == ErrorCode.MEMBER_ID_REQUIRED
    joined = client.ask(join_group, 4, join_request(given.member_id))
    assignments = [SyncGroupRequestAssignment(given.member_id, b"all")]
    request = SyncGroupRequest("g", joined.generation_id, given.member_id, assignments=assignments)
    assert client.ask(sync_group, 2, request).assignment == b"all"
    return given.member_id, joined.generation_id


def commit_request(*partitions, member_id="", generation=-1, topic="t", **changes) -> OffsetCommitRequest:
    topics = [OffsetCommitRequestTopic(topic, partitions=list(partitions))]
    return OffsetCommitRequest("g", generation, member_id, topics=topics, **changes)


def commit_errors(response) -> list[int]:
    return [partition.error_code for topic in response.topics for partition in topic.partitions]


@pytest.mark.parametrize("version", range(5))
def test_join_in_every_version(client, version):
    response = client.ask(join_group, version, join_request())
    assert response.member_id.startswith("client-")
    if version >= 4:
        assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED
        assert (response.generation_id, response.protocol_name, response.leader) == (-1, "", "")
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


@pytest.mark.parametrize("version", range(3))
def test_heartbeat_sync_and_leave_in_every_version(client, version):
    member_id, generation = become_member(client)
    assert client.ask(heartbeat, version, HeartbeatRequest("g", generation, member_id)).error_code == 0
    assert client.ask(sync_group, version, SyncGroupRequest("g", generation, member_id)).assignment == b"all"
    stale = client.ask(heartbeat, version, HeartbeatRequest("g", generation + 1, member_id))
    assert stale.error_code == ErrorCode.ILLEGAL_GENERATION
    assert client.ask(leave_group, version, LeaveGroupRequest("g", member_id)).error_code == 0
    gone = client.ask(leave_group, version, LeaveGroupRequest("g", member_id))
    assert gone.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_join_answers_when_the_group_has_gathered(make_service, clock):
    client = Client(make_service(clock, group_initial_rebalance_delay_ms="3000"))
    response = client.begin(join_group, 3, join_request())
    assert not response.is_done
    clock.advance(3_000)
    assert client.finish(join_group, 3, response).generation_id == 1


@pytest.mark.parametrize("version", range(1, 7))
def test_commit_and_fetch_in_every_version(client, version):
    committed = OffsetCommitRequestPartition(0, 42, committed_metadata="note")
    if version >= 6:
        committed.committed_leader_epoch = 3
    assert commit_errors(client.ask(offset_commit, version, commit_request(committed))) == [0]
    request = OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0, 1])])
    (topic,) = client.ask(offset_fetch, version, request).topics
    found = [(each.committed_offset, each.metadata, each.error_code) for each in topic.partitions]
    assert found == [(42, "note", 0), (-1, "", 0)]
    if version >= 6:
        assert [each.committed_leader_epoch for each in topic.partitions] == [3, -1]


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


def test_fetch_of_stable_offsets_tells_what_is_on_its_way(client, service):
    service.replicas.is_slow = True
    client.begin(offset_commit, 5, commit_request(OffsetCommitRequestPartition(0, 42)))
    for require_stable, expected in [(True, ErrorCode.UNSTABLE_OFFSET_COMMIT), (False, ErrorCode.NONE)]:
        request = OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0])], require_stable=require_stable)
        (partition,) = client.ask(offset_fetch, 7, request).topics[0].partitions
        assert (partition.error_code, partition.committed_offset) == (expected, -1)


def test_commit_answers_each_partition(client):
    partitions = [
        OffsetCommitRequestPartition(0, 1),
        OffsetCommitRequestPartition(9, 1),
    ]
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
    [(1, 77, -1, (77, -1)), (1, -1, -1, (0, -1)), (2, -1, 500, (0, 500)), (4, -1, -1, (0, -1))],
)
def test_timestamps_of_a_commit(client, service, version, timestamp, retention_time_ms, expected):
    partition = OffsetCommitRequestPartition(0, 1, commit_timestamp=timestamp)
    client.ask(offset_commit, version, commit_request(partition, retention_time_ms=retention_time_ms))
    (committed,) = service.groups.fetch_offsets("g", None)[1].values()
    now_ms = service.clock.now_ms()
    commit_ms, expire_ms = expected
    assert committed.commit_timestamp_ms == (commit_ms or now_ms)
    assert committed.expire_timestamp_ms == (-1 if expire_ms == -1 else now_ms + expire_ms)


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


@pytest.mark.parametrize(
    ("key_type", "error_code"), [(1, ErrorCode.INVALID_REQUEST), (2, ErrorCode.UNKNOWN_SERVER_ERROR)]
)
def test_find_coordinator_of_something_else(client, key_type, error_code):
    response = client.ask(find_coordinator, 1, FindCoordinatorRequest("g", key_type))
    assert (response.error_code, response.node_id, response.host, response.port) == (error_code, -1, "", -1)
    assert response.error_message


class Topics:
    """Creates the internal topic by showing it in the view; or fails."""

    def __init__(self, view, ready_view=None):
        self.view = view
        self.ready_view = ready_view

    async def ensure_internal(self, name, timeout_ms=0):
        if self.ready_view is None:
            raise RuntimeError("the registry is closed")
        self.view.image = self.ready_view.image
        return ErrorCode.NONE


@pytest.mark.parametrize("is_created", [True, False])
def test_find_coordinator_creates_the_topic(service, is_created):
    async def story() -> None:
        ready = service.cluster
        view = ClusterView("cluster")
        client = Client(service, topics=Topics(view, ready if is_created else None))
        client.services.cluster = view
        response = await client.ask_later(find_coordinator, 1, FindCoordinatorRequest("g"))
        expected = ErrorCode.NONE if is_created else ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert response.error_code == expected
        assert bool(client.errors) != is_created

    asyncio.run(story())


def test_version_0_keeps_offsets_in_the_registry(service):
    async def story() -> None:
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

    asyncio.run(story())
