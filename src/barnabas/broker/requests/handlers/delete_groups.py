"""DeleteGroups (API key 42, v0-2): delete empty groups with their committed offsets.

Source: protocol guide, DeleteGroups; semantics, group coordinator; KIP-229.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import in_slices
from barnabas.broker.requests.slices import MORE, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from barnabas.wire.security.authorizer import Operation, ResourceType


@in_slices
def delete_groups(ctx: RequestContext, request: DeleteGroupsRequest) -> Steps[DeleteGroupsResponse]:
    """Delete each group independently; a group that is named twice is answered once."""
    results = []
    for group_id in dict.fromkeys(request.groups_names):
        error_code = ErrorCode.GROUP_AUTHORIZATION_FAILED
        if ctx.may(Operation.DELETE, ResourceType.GROUP, group_id):
            error_code = ctx.services.groups.delete(group_id)
        results.append(DeletableGroupResult(group_id, error_code))
        if ctx.is_large:
            yield MORE
    yield DeleteGroupsResponse(results=results)


def refuse(ctx: RequestContext, request: DeleteGroupsRequest, error_code: ErrorCode) -> DeleteGroupsResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return DeleteGroupsResponse(
        results=[DeletableGroupResult(group_id, error_code) for group_id in dict.fromkeys(request.groups_names)]
    )


HANDLER = Handler(DeleteGroupsRequest, 0, 2, delete_groups, refuse, goes_on=True)
