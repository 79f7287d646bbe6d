"""Consumer groups and their offsets, asked for and changed.

Source: protocol guide, ListGroups, DescribeGroups, OffsetFetch, OffsetCommit.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from barnabas.clients.admin_calls import AdminCalls, grouped, raise_for
from barnabas.clients.consumer_protocol import PROTOCOL_TYPE, decode_assignment
from barnabas.core.types import TopicPartition
from barnabas.protocol.messages.describe_groups import (
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from barnabas.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic, OffsetFetchResponse


@dataclass(slots=True)
class GroupMemberDescription:
    """One member of a group and what it was assigned."""

    member_id: str
    client_id: str
    host: str
    assignment: list[TopicPartition]


@dataclass(slots=True)
class GroupDescription:
    """A group as its coordinator tells it; `state` is Dead when there is no such group."""

    group_id: str
    state: str
    protocol_type: str
    assignor: str
    coordinator: str
    members: list[GroupMemberDescription]


class GroupAdmin(AdminCalls):
    """Administration of groups."""

    async def groups(self) -> dict[str, tuple[str, str]]:
        """All groups of the cluster in order: (state, protocol type) by name; the state is "" from old brokers."""

        async def attempt() -> dict[str, tuple[str, str]]:
            metadata = await self.pool.metadata([])
            groups: dict[str, tuple[str, str]] = {}
            for node_id in metadata.brokers:
                channel = await self.pool.broker(node_id)
                response = await channel.send(ListGroupsRequest(), ListGroupsResponse)
                raise_for(response.error_code, f"broker {node_id} cannot list its groups now")
                groups |= {group.group_id: (group.group_state, group.protocol_type) for group in response.groups}
            return dict(sorted(groups.items()))

        return await self.retry(attempt)

    async def describe_group(self, group_id: str) -> GroupDescription:
        """A group, its state and its members. Raises KafkaError."""

        async def attempt() -> GroupDescription:
            channel = await self.pool.coordinator(group_id)
            response = await channel.send(DescribeGroupsRequest([group_id]), DescribeGroupsResponse)
            group = response.groups[0]
            self.check_coordinator(group_id, group.error_code)
            return GroupDescription(
                group_id,
                group.group_state,
                group.protocol_type,
                group.protocol_data,
                f"{channel.host}:{channel.port}",
                [_described_member(member, group.protocol_type) for member in group.members],
            )

        return await self.retry(attempt)

    async def committed_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, int]:
        """A group's committed offsets; of all partitions that have one when `partitions` is None. Raises KafkaError."""
        topics = None if partitions is None else [OffsetFetchRequestTopic(t, ps) for t, ps in grouped(partitions)]
        request = OffsetFetchRequest(group_id, topics)

        async def attempt() -> dict[TopicPartition, int]:
            channel = await self.pool.coordinator(group_id)
            response = await channel.send(request, OffsetFetchResponse)
            self.check_coordinator(group_id, response.error_code)
            committed: dict[TopicPartition, int] = {}
            for topic in response.topics:
                for part in topic.partitions:
                    self.check_coordinator(group_id, part.error_code)
                    if part.committed_offset >= 0:
                        committed[TopicPartition(topic.name, part.partition_index)] = part.committed_offset
            return committed

        return await self.retry(attempt)

    async def commit_offsets(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Set the offsets of a group that has no members. Raises KafkaError (UNKNOWN_MEMBER_ID when it has some)."""
        topics = [
            OffsetCommitRequestTopic(
                topic,
                partitions=[
                    OffsetCommitRequestPartition(index, offsets[TopicPartition(topic, index)]) for index in indexes
                ],
            )
            for topic, indexes in grouped(offsets)
        ]
        request = OffsetCommitRequest(group_id, topics=topics)

        async def attempt() -> None:
            channel = await self.pool.coordinator(group_id)
            response = await channel.send(request, OffsetCommitResponse)
            for topic in response.topics:
                for part in topic.partitions:
                    self.check_coordinator(group_id, part.error_code)

        await self.retry(attempt)


def _described_member(member: DescribedGroupMember, protocol_type: str) -> GroupMemberDescription:
    assignment = decode_assignment(member.member_assignment) if protocol_type == PROTOCOL_TYPE else []
    return GroupMemberDescription(member.member_id, member.client_id, member.client_host, sorted(assignment))
