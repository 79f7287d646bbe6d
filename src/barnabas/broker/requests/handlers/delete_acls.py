"""DeleteAcls (API key 31, v0-2): delete the access rules that filters select.

Source: protocol guide, DeleteAcls; semantics, ACLs; checked against Kafka 2.7.2.
"""

from barnabas.broker.administration.acls import AclAdmin
from barnabas.broker.requests.acl_messages import WITHOUT_AUTHORIZER, acl_admin, filter_of
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.slices import MOST_ELEMENTS_AT_ONCE
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.pending import Pending
from barnabas.core.time_slices import in_time_slices
from barnabas.wire.protocol.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from barnabas.wire.security.acls import Binding
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType


def delete_acls(ctx: RequestContext, request: DeleteAclsRequest) -> DeleteAclsResponse | Pending[DeleteAclsResponse]:
    """Delete the rules that the filters select; a rule is returned for the first filter that selects it."""
    if not ctx.may(Operation.ALTER, ResourceType.CLUSTER, CLUSTER):
        return _same(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ctx.not_authorized())
    admin = acl_admin(ctx)
    if admin is None:
        return _same(request, ErrorCode.SECURITY_DISABLED, f"{WITHOUT_AUTHORIZER}.")
    return ctx.services.spawner.spawn(_delete(ctx, admin, request))


async def _delete(ctx: RequestContext, admin: AclAdmin, request: DeleteAclsRequest) -> DeleteAclsResponse:
    filters = [filter_of(each) async for each in in_time_slices(request.filters)]
    deleted = iter(await admin.delete([each for each in filters if each is not None]))
    results = []
    async for each in in_time_slices(filters):
        gone = [] if each is None else next(deleted)
        if len(gone) > MOST_ELEMENTS_AT_ONCE:
            ctx.is_large = True
        told = [_matching_acl(*result) async for result in in_time_slices(gone)]
        results.append(DeleteAclsFilterResult(ErrorCode.NONE, None, told))
    return DeleteAclsResponse(filter_results=results)


def _matching_acl(binding: Binding, error: KafkaError | None) -> DeleteAclsMatchingAcl:
    (resource_type, name, pattern_type), entry = binding
    return DeleteAclsMatchingAcl(
        ErrorCode.NONE if error is None else error.code,
        None,
        resource_type,
        name,
        pattern_type,
        str(entry.principal),
        entry.host,
        entry.operation,
        entry.permission,
    )


def _same(request: DeleteAclsRequest, error_code: ErrorCode, message: str | None) -> DeleteAclsResponse:
    return DeleteAclsResponse(filter_results=[DeleteAclsFilterResult(error_code, message)] * len(request.filters))


def refuse(ctx: RequestContext, request: DeleteAclsRequest, error_code: ErrorCode) -> DeleteAclsResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return _same(request, error_code, None)


HANDLER = Handler(DeleteAclsRequest, 0, 2, delete_acls, refuse, goes_on=True)
