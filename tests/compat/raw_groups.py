"""A group of a broker, asked by bytes: what no client library would send."""

import zlib
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from barnabas.broker.coordination.partitioning import partition_of
from barnabas.core.error_code import ErrorCode
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC
from barnabas.wire.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.wire.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from barnabas.wire.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from barnabas.wire.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from barnabas.wire.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.compat.raw import ask
from tests.patience import until


class HasAddress(Protocol):
    """A broker."""

    @property
    def bootstrap_servers(self) -> str: ...


RANGE = {"range": b"\0\0\0\0\0\0\xff\xff\xff\xff"}


class Group:
    """One group of a broker, asked by bytes."""

    def __init__(self, broker: HasAddress, group_id: str, executor: ThreadPoolExecutor) -> None:
        self.group_id = group_id
        # Groups share partitions of the offsets topic, where a producer's epochs are remembered: to each its own.
        self.producer_id = zlib.crc32(group_id.encode()) * 10
        self._servers = broker.bootstrap_servers
        self._executor = executor
        self.wait_for_coordinator()

    def ask(self, request: Any, version: int) -> Any:
        return ask(self._servers, request, version)

    def wait_for_coordinator(self) -> None:
        until(lambda: not (self.ask(FindCoordinatorRequest(self.group_id, 0), 2).error_code or self.is_loading()))

    def is_loading(self) -> bool:
        answer = self.ask(OffsetFetchRequest(self.group_id, []), 5)
        return answer.error_code in (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)

    def join_request(
        self,
        member_id: str = "",
        instance: str | None = None,
        protocols: dict[str, bytes] = RANGE,
        protocol_type: str = "consumer",
        session_timeout_ms: int = 60_000,
        group_id: str | None = None,
    ) -> JoinGroupRequest:
        return JoinGroupRequest(
            self.group_id if group_id is None else group_id,
            session_timeout_ms,
            60_000,
            member_id,
            instance,
            protocol_type,
            [JoinGroupRequestProtocol(name, metadata) for name, metadata in protocols.items()],
        )

    def join(self, *args: Any, version: int = 7, **changes: Any) -> Any:
        return self.ask(self.join_request(*args, **changes), version)

    def join_later(self, *args: Any, **changes: Any) -> "Future[Any]":
        return self._executor.submit(self.join, *args, **changes)

    def sync(self, member_id: str, generation: int = 1, version: int = 5, **changes: Any) -> Any:
        values: dict[str, Any] = {"group_instance_id": None, "protocol_type": "consumer", "protocol_name": "range"}
        assignments = [SyncGroupRequestAssignment(each, each.encode()) for each in changes.pop("assigned", ())]
        if version < 5:
            values = {"group_instance_id": None}
        request = SyncGroupRequest(
            changes.pop("group_id", self.group_id), generation, member_id, assignments=assignments, **values | changes
        )
        return self.ask(request, version)

    def sync_later(self, *args: Any, **changes: Any) -> "Future[Any]":
        return self._executor.submit(self.sync, *args, **changes)

    def heartbeat(
        self, member_id: str, generation: int = 1, instance: str | None = None, group_id: str | None = None
    ) -> int:
        request = HeartbeatRequest(self.group_id if group_id is None else group_id, generation, member_id, instance)
        return int(self.ask(request, 4).error_code)

    def leave_request(self, *members: tuple[str, str | None]) -> LeaveGroupRequest:
        return LeaveGroupRequest(self.group_id, members=[MemberIdentity(*member) for member in members])

    def leave(self, *members: tuple[str, str | None], group_id: str | None = None) -> tuple[int, list[int]]:
        identities = [MemberIdentity(*member) for member in members]
        answer = self.ask(LeaveGroupRequest(group_id or self.group_id, members=identities), 4)
        assert [(each.member_id, each.group_instance_id) for each in answer.members] == list(members)
        return answer.error_code, [each.error_code for each in answer.members]

    def commit(
        self, topic: str, offset: int = 1, member_id: str = "", generation: int = -1, version: int = 8, **changes: Any
    ) -> list[int]:
        metadata = changes.pop("metadata", "")
        partitions = [
            OffsetCommitRequestPartition(index, offset, committed_metadata=metadata)
            for index in changes.pop("partitions", [0])
        ]
        group_id = changes.pop("group_id", self.group_id)
        topics = [OffsetCommitRequestTopic(topic, partitions=partitions)]
        request = OffsetCommitRequest(group_id, generation, member_id, topics=topics, **changes)
        return [each.error_code for topic in self.ask(request, version).topics for each in topic.partitions]

    def txn_commit(
        self, topic: str, offset: int = 1, producer_id: int | None = None, epoch: int = 0, **changes: Any
    ) -> Any:
        partitions = [
            TxnOffsetCommitRequestPartition(index, offset, committed_metadata=changes.pop("metadata", ""))
            for index in changes.pop("partitions", [0])
        ]
        version = changes.pop("version", 3)
        topics = [TxnOffsetCommitRequestTopic(topic, partitions)]
        request = TxnOffsetCommitRequest(
            self.group_id + "-x",
            changes.pop("group_id", self.group_id),
            self.producer_id if producer_id is None else producer_id,
            epoch,
            topics=topics,
            **changes,
        )
        (answered,) = self.ask(request, version).topics
        # Kafka answers them in any order.
        return [each.error_code for each in sorted(answered.partitions, key=lambda each: each.partition_index)]

    def end_transaction(self, is_committed: bool, producer_id: int | None = None, epoch: int = 0) -> None:
        """Write a marker where the group is kept, as a transaction coordinator does."""
        metadata = self.ask(MetadataRequest([MetadataRequestTopic(name=GROUP_OFFSETS_TOPIC)], False), 4)
        partition = partition_of(self.group_id, len(metadata.topics[0].partitions))
        topics = [WritableTxnMarkerTopic(GROUP_OFFSETS_TOPIC, [partition])]
        ended = self.producer_id if producer_id is None else producer_id
        marker = WritableTxnMarker(ended, epoch, is_committed, topics, 0)
        (answer,) = self.ask(WriteTxnMarkersRequest([marker]), 0).markers
        assert [each.error_code for each in answer.topics[0].partitions] == [0]

    def wait_for_offset(self, topic: str, offset: int) -> None:
        """Kafka answers for a marker before it has looked at the offsets that it decides."""
        until(lambda: self.fetch(topic, require_stable=True) == (ErrorCode.NONE, offset))

    def fetch(self, topic: str, version: int = 7, require_stable: bool = False) -> tuple[int, int]:
        request = OffsetFetchRequest(self.group_id, [OffsetFetchRequestTopic(topic, [0])], require_stable)
        (partition,) = self.ask(request, version).topics[0].partitions
        return partition.error_code, partition.committed_offset

    def describe(self, version: int = 5) -> Any:
        (found,) = self.ask(DescribeGroupsRequest([self.group_id]), version).groups
        return found

    def wait_for(self, state: str) -> None:
        until(lambda: self.describe().group_state == state)

    def become_member(self, instance: str | None = None, **changes: Any) -> str:
        """The only member of a stable group of generation 1."""
        given = self.join(instance=instance, **changes)
        if given.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            given = self.join(given.member_id, **changes)
        assert (given.error_code, given.generation_id) == (0, 1)
        answer = self.sync(given.member_id, assigned=[given.member_id], group_instance_id=instance)
        assert (answer.error_code, answer.assignment) == (0, given.member_id.encode())
        return str(given.member_id)
