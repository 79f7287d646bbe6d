"""DescribeGroups (API key 15, v0-5): the state of groups and their members.

Source: protocol guide, DescribeGroups; semantics, group coordinator.
"""

from barnabas.broker.groups.group import Group, Phase
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import in_slices
from barnabas.broker.requests.slices import MORE, MOST_ELEMENTS_AT_ONCE, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from barnabas.wire.security.authorizer import OPERATIONS_OF, Operation, ResourceType

_OPERATIONS_NOT_ASKED_FOR = -(1 << 31)
# The event loop encodes at most this much metadata and assignments at once.
_MOST_BYTES_AT_ONCE = 256 * 1024


@in_slices
def describe_groups(ctx: RequestContext, request: DescribeGroupsRequest) -> Steps[DescribeGroupsResponse]:
    """Describe each group independently."""
    described = []
    member_count = size_bytes = 0
    # differs from Kafka (describe-groups-twice): a repeated group is answered once. An answer is far larger than its
    # request, and this bounds it by the groups that exist.
    for group_id in dict.fromkeys(request.groups):
        group = _describe(ctx, group_id, request.include_authorized_operations)
        described.append(group)
        member_count += len(group.members)
        size_bytes += sum(len(each.member_metadata) + len(each.member_assignment) for each in group.members)
        if member_count > MOST_ELEMENTS_AT_ONCE or size_bytes > _MOST_BYTES_AT_ONCE:
            ctx.is_large = True
        if ctx.is_large:
            yield MORE
    yield DescribeGroupsResponse(groups=described)


def _describe(ctx: RequestContext, group_id: str, includes_operations: bool) -> DescribedGroup:
    if not ctx.may(Operation.DESCRIBE, ResourceType.GROUP, group_id):
        return DescribedGroup(ErrorCode.GROUP_AUTHORIZATION_FAILED, group_id)
    error_code, group = ctx.services.groups.describe(group_id)
    if error_code is not ErrorCode.NONE:
        return DescribedGroup(error_code, group_id)
    operations = _OPERATIONS_NOT_ASKED_FOR
    if includes_operations:
        operations = ctx.rights(ResourceType.GROUP, group_id) & OPERATIONS_OF[ResourceType.GROUP]
    if group is None:
        return DescribedGroup(ErrorCode.NONE, group_id, Phase.DEAD.value, "", "", [], operations)
    protocol_name = (group.protocol_name or "") if group.phase is Phase.STABLE else ""
    return DescribedGroup(
        ErrorCode.NONE,
        group_id,
        group.phase.value,
        group.protocol_type or "",
        protocol_name,
        _members(group),
        operations,
    )


def _members(group: Group) -> list[DescribedGroupMember]:
    """Return the members; their metadata and assignments only while the group is stable."""
    is_stable = group.phase is Phase.STABLE
    return [
        DescribedGroupMember(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            member.metadata(group.protocol_name) if is_stable else b"",
            member.assignment if is_stable else b"",
        )
        for member in group.members.values()
    ]


def refuse(ctx: RequestContext, request: DescribeGroupsRequest, error_code: ErrorCode) -> DescribeGroupsResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    groups = dict.fromkeys(request.groups)
    return DescribeGroupsResponse(groups=[DescribedGroup(error_code, group_id) for group_id in groups])


HANDLER = Handler(DescribeGroupsRequest, 0, 5, describe_groups, refuse)
