"""Asks the handlers of the group APIs as the session would, and reads the answers as a client of that version would."""

from collections.abc import Callable
from typing import Any

from barnabas.broker.requests.context import ConnectionInfo, RequestContext
from barnabas.broker.requests.handlers import join_group, sync_group
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending, Spawner
from barnabas.wire.protocol.api_keys import response_class
from barnabas.wire.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic
from barnabas.wire.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.unit.broker.handling import recoded, services_of


class Client:
    """Sends requests to the handlers as the session would."""

    def __init__(self, service, registry=None, topics=None) -> None:
        self.service = service
        self.errors: list[BaseException] = []
        self._tasks: list[Callable[[], object]] = []
        self.services = services_of(
            service.clock,
            self._tasks.append,
            config=service.config,
            spawner=Spawner(self.errors.append),
            cluster=service.cluster,
            replicas=service.replicas,
            groups=service.groups,
            topics=topics,
            registry=registry,
        )

    def begin(self, module, version: int, request):
        """Handle a request; gives the response or a pending one, not encoded."""
        handler = module.HANDLER
        assert handler.min_version <= version <= handler.max_version
        decoded = recoded(request, version, handler.request_class)
        connection = ConnectionInfo("10.1.2.3", 5_000, "PLAINTEXT")
        return handler.handle(RequestContext(self.services, connection, "client", version, 1), decoded)

    def finish(self, module, version: int, response):
        """The response as the client decodes it."""
        if isinstance(response, Pending):
            assert response.is_done
            response = response.value
        return recoded(response, version, response_class(module.HANDLER.api_key))

    def run_due(self) -> int:
        """Do what was put off to later turns of the loop; gives the number of turns."""
        turn_count = 0
        while self._tasks:
            self._tasks.pop(0)()
            turn_count += 1
        return turn_count

    def ask(self, module, version: int, request):
        response = self.begin(module, version, request)
        self.service.clock.advance(0)
        return self.finish(module, version, response)

    async def ask_later(self, module, version: int, request):
        response = self.begin(module, version, request)
        if isinstance(response, Pending):
            response = await response.future()
        return self.finish(module, version, response)


def join_request(member_id="", group_id="g", metadata=b"m", **changes) -> JoinGroupRequest:
    values: dict[str, Any] = {
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "protocol_type": "consumer",
    } | changes
    return JoinGroupRequest(
        group_id, member_id=member_id, protocols=[JoinGroupRequestProtocol("range", metadata)], **values
    )


def become_member(client: Client, group_id: str = "g") -> tuple[str, int]:
    """A consumer joins as a Java client does, and syncs."""
    given = client.ask(join_group, 4, join_request(group_id=group_id))
    assert given.error_code == ErrorCode.MEMBER_ID_REQUIRED
    joined = client.ask(join_group, 4, join_request(given.member_id, group_id))
    assignments = [SyncGroupRequestAssignment(given.member_id, b"all")]
    request = SyncGroupRequest(group_id, joined.generation_id, given.member_id, assignments=assignments)
    assert client.ask(sync_group, 2, request).assignment == b"all"
    return given.member_id, joined.generation_id


def commit_request(*partitions, member_id="", generation=-1, topic="t", **changes) -> OffsetCommitRequest:
    topics = [OffsetCommitRequestTopic(topic, partitions=list(partitions))]
    return OffsetCommitRequest("g", generation, member_id, topics=topics, **changes)


def commit_errors(response) -> list[int]:
    return [partition.error_code for topic in response.topics for partition in topic.partitions]
