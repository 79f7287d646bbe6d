"""Administration of consumer groups and their offsets.

FindCoordinator creates `__consumer_offsets` if the topic does not exist. Without the topic no group exists, so only
consumers and `commit_offsets` send FindCoordinator then.

Source: protocol guide, ListGroups, DescribeGroups, DeleteGroups, OffsetFetch, OffsetCommit, OffsetDelete.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from barnabas.clients.admin_calls import AdminCalls, grouped, raise_for
from barnabas.clients.channel import Channel
from barnabas.clients.consumer_protocol import PROTOCOL_TYPE, decode_assignment
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError, ProtocolError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from barnabas.wire.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from barnabas.wire.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)

_FIRST_WITH_STATES = 4
# Number of groups whose offsets are requested at the same time.
_OFFSETS_AT_ONCE = 20


@dataclass(slots=True)
class GroupMemberDescription:
    """One member of a group and its assignment."""

    member_id: str
    client_id: str
    host: str
    assignment: list[TopicPartition]
    group_instance_id: str | None = None


@dataclass(slots=True)
class GroupDescription:
    """A group as described by its coordinator; `state` is Dead if the group does not exist."""

    group_id: str
    state: str
    protocol_type: str
    assignor: str
    coordinator: str
    members: list[GroupMemberDescription]


class GroupAdmin(AdminCalls):
    """Administration of groups."""

    async def groups(self, states: Collection[str] = ()) -> dict[str, tuple[str, str]]:
        """Return the cluster's groups in order: (state, protocol type) by name; old brokers report "" as state.

        Args:
            states: Only groups in one of these states; empty: all.

        Raises:
            KafkaError: UNSUPPORTED_VERSION: `states` is set and a broker is older than 2.6.
        """

        async def attempt() -> dict[str, tuple[str, str]]:
            metadata = await self.pool.metadata([])
            groups: dict[str, tuple[str, str]] = {}
            for node_id in metadata.brokers:
                channel = await self.pool.broker(node_id)
                if states and channel.version_of(ListGroupsRequest.API_KEY) < _FIRST_WITH_STATES:
                    raise KafkaError(
                        ErrorCode.UNSUPPORTED_VERSION, "the broker does not report the states of its groups"
                    )
                response = await channel.send(ListGroupsRequest(list(states)), ListGroupsResponse)
                raise_for(response.error_code, f"broker {node_id} cannot list its groups now")
                groups |= {group.group_id: (group.group_state, group.protocol_type) for group in response.groups}
            return dict(sorted(groups.items()))

        return await self.retry(attempt)

    async def delete_group(self, group_id: str) -> None:
        """Delete a group and its offsets. Raises KafkaError (NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND, ...)."""
        from barnabas.wire.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse

        async def attempt() -> None:
            channel = await self._existing_coordinator(group_id)
            response = await channel.send(DeleteGroupsRequest([group_id]), DeleteGroupsResponse)
            for result in response.results:
                self.check_coordinator(group_id, result.error_code)

        await self.retry(attempt)

    async def delete_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Delete a group's offsets of partitions; offsets of topics to which its members subscribe are kept.

        Returns:
            NONE or an error (GROUP_SUBSCRIBED_TO_TOPIC, UNKNOWN_TOPIC_OR_PARTITION) by partition.

        Raises:
            KafkaError: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, ...
        """
        from barnabas.wire.protocol.messages.offset_delete import (
            OffsetDeleteRequest,
            OffsetDeleteRequestPartition,
            OffsetDeleteRequestTopic,
            OffsetDeleteResponse,
        )

        topics = [
            OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(index) for index in indexes])
            for topic, indexes in grouped(partitions)
        ]

        async def attempt() -> dict[TopicPartition, ErrorCode]:
            channel = await self._existing_coordinator(group_id)
            response = await channel.send(OffsetDeleteRequest(group_id, topics), OffsetDeleteResponse)
            self.check_coordinator(group_id, response.error_code)
            return {
                TopicPartition(topic.name, part.partition_index): ErrorCode(part.error_code)
                for topic in response.topics
                for part in topic.partitions
            }

        return await self.retry(attempt)

    async def describe_group(self, group_id: str) -> GroupDescription:
        """Return a group with its state and members. Raises KafkaError."""

        async def attempt() -> GroupDescription:
            channel = await self.pool.existing_coordinator(group_id)
            if channel is None:
                return GroupDescription(group_id, "Dead", "", "", "", [])
            response = await channel.send(DescribeGroupsRequest([group_id]), DescribeGroupsResponse)
            self.check_coordinator(group_id, response.groups[0].error_code)
            return _described(response.groups[0], channel)

        return await self.retry(attempt)

    async def coordinated_by(
        self, broker_id: int, names: Collection[str] | None = None
    ) -> list[tuple[GroupDescription, dict[TopicPartition, int]]]:
        """Return a broker's coordinated groups, filtered by `names` (None: all), with their committed offsets.

        All requests use one connection, so the number of groups may be large. Groups that are moving to another
        coordinator, and groups that you may not describe, are left out.

        Raises:
            KafkaError: The broker is unreachable, or cannot list its groups now.
        """

        async def attempt() -> list[tuple[GroupDescription, dict[TopicPartition, int]]]:
            channel = await self.pool.broker(broker_id)
            listed = await channel.send(ListGroupsRequest(), ListGroupsResponse)
            raise_for(listed.error_code, f"broker {broker_id} cannot list its groups now")
            wanted = sorted(each.group_id for each in listed.groups if names is None or each.group_id in names)
            found: list[tuple[GroupDescription, dict[TopicPartition, int]]] = []
            if not wanted:
                return found
            groups = (await channel.send(DescribeGroupsRequest(wanted), DescribeGroupsResponse)).groups
            for begin in range(0, len(groups), _OFFSETS_AT_ONCE):
                some = groups[begin : begin + _OFFSETS_AT_ONCE]
                asking = (channel.send(OffsetFetchRequest(each.group_id, None), OffsetFetchResponse) for each in some)
                for group, offsets in zip(some, await asyncio.gather(*asking), strict=True):
                    if not group.error_code and not offsets.error_code:
                        found.append((_described(group, channel), _committed(offsets)))
            return found

        return await self.retry(attempt)

    async def committed_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        allow_auto_topic_creation: bool = False,
    ) -> dict[TopicPartition, int]:
        """Return a group's committed offsets.

        Args:
            partitions: None: all partitions with a committed offset.
            allow_auto_topic_creation: Look for a coordinator, as a consumer does, even if the cluster has never had a
                group. Brokers then create `__consumer_offsets`.

        Raises:
            KafkaError: The coordinator did not return the offsets.
        """
        topics = None if partitions is None else [OffsetFetchRequestTopic(t, ps) for t, ps in grouped(partitions)]
        request = OffsetFetchRequest(group_id, topics)

        async def attempt() -> dict[TopicPartition, int]:
            find = self.pool.coordinator if allow_auto_topic_creation else self.pool.existing_coordinator
            channel = await find(group_id)
            if channel is None:
                return {}
            response = await channel.send(request, OffsetFetchResponse)
            self.check_coordinator(group_id, response.error_code)
            for topic in response.topics:
                for part in topic.partitions:
                    self.check_coordinator(group_id, part.error_code)
            return _committed(response)

        return await self.retry(attempt)

    async def commit_offsets(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Set the offsets of a group without members.

        Raises KafkaError (UNKNOWN_MEMBER_ID if the group has members).
        """
        from barnabas.wire.protocol.messages.offset_commit import (
            OffsetCommitRequest,
            OffsetCommitRequestPartition,
            OffsetCommitRequestTopic,
            OffsetCommitResponse,
        )

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

    async def _existing_coordinator(self, group_id: str) -> Channel:
        """Return a connection to a group's coordinator, without creating the offsets topic.

        Raises:
            KafkaError: GROUP_ID_NOT_FOUND; or as from `Pool.coordinator`.
        """
        channel = await self.pool.existing_coordinator(group_id)
        if channel is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group_id} does not exist")
        return channel


def _committed(response: OffsetFetchResponse) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic.name, part.partition_index): part.committed_offset
        for topic in response.topics
        for part in topic.partitions
        if part.committed_offset >= 0 and not part.error_code
    }


def _described(group: DescribedGroup, channel: Channel) -> GroupDescription:
    members = [_described_member(member, group.protocol_type) for member in group.members]
    coordinator = f"{channel.host}:{channel.port}"
    return GroupDescription(
        group.group_id, group.group_state, group.protocol_type, group.protocol_data, coordinator, members
    )


def _described_member(member: DescribedGroupMember, protocol_type: str) -> GroupMemberDescription:
    assignment: list[TopicPartition] = []
    if protocol_type == PROTOCOL_TYPE:
        # Clients may send any bytes: they must not fail the description of all groups.
        with suppress(ProtocolError):
            assignment = decode_assignment(member.member_assignment)
    return GroupMemberDescription(
        member.member_id, member.client_id, member.client_host, sorted(assignment), member.group_instance_id
    )
