"""CreateAcls (API key 30, v0-2): create access rules.

Source: protocol guide, CreateAcls; semantics, ACLs; checked against Kafka 2.7.2.
"""

from barnabas.broker.administration.acls import AclAdmin, AskedAcl
from barnabas.broker.requests.acl_messages import WITHOUT_AUTHORIZER, acl_admin
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError, ProtocolError
from barnabas.core.pending import Pending
from barnabas.core.time_slices import in_time_slices
from barnabas.wire.protocol.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType

_UNKNOWN = 0


def create_acls(ctx: RequestContext, request: CreateAclsRequest) -> CreateAclsResponse | Pending[CreateAclsResponse]:
    """Create each valid rule.

    Raises:
        ProtocolError: A rule contains the code UNKNOWN (0): to Kafka such a request is malformed.
    """
    if any(map(_has_unknown, request.creations)):
        raise ProtocolError("CreateAcls request with an unknown resource type, pattern, operation or permission")
    if not ctx.may(Operation.ALTER, ResourceType.CLUSTER, CLUSTER):
        return _same(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ctx.not_authorized())
    admin = acl_admin(ctx)
    if admin is None:
        return _same(request, ErrorCode.SECURITY_DISABLED, f"{WITHOUT_AUTHORIZER}.")
    return ctx.services.spawner.spawn(_create(admin, request))


async def _create(admin: AclAdmin, request: CreateAclsRequest) -> CreateAclsResponse:
    asked = [
        AskedAcl(
            each.resource_type,
            each.resource_name,
            each.resource_pattern_type,
            each.principal,
            each.host,
            each.operation,
            each.permission_type,
        )
        async for each in in_time_slices(request.creations)
    ]
    try:
        errors = await admin.create(asked)
    except KafkaError as error:
        return _same(request, error.code, None)
    return CreateAclsResponse(
        results=[
            AclCreationResult()
            if error is None
            # As in Kafka, an unexpected error has no message.
            else AclCreationResult(error.code, None if error.code is ErrorCode.UNKNOWN_SERVER_ERROR else error.message)
            async for error in in_time_slices(errors)
        ]
    )


def _has_unknown(creation: AclCreation) -> bool:
    return _UNKNOWN in (
        creation.resource_type,
        creation.resource_pattern_type,
        creation.operation,
        creation.permission_type,
    )


def _same(request: CreateAclsRequest, error_code: ErrorCode, message: str | None) -> CreateAclsResponse:
    return CreateAclsResponse(results=[AclCreationResult(error_code, message)] * len(request.creations))


def refuse(ctx: RequestContext, request: CreateAclsRequest, error_code: ErrorCode) -> CreateAclsResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return _same(request, error_code, None)


HANDLER = Handler(CreateAclsRequest, 0, 2, create_acls, refuse, goes_on=True)
