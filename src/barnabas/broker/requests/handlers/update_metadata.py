"""UpdateMetadata (API key 6, v0-6): the controller describes the cluster.

Source: protocol guide, UpdateMetadata; replication facts; KIP-380.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType


def update_metadata(
    ctx: RequestContext, request: UpdateMetadataRequest
) -> Pending[UpdateMetadataResponse] | UpdateMetadataResponse:
    """Apply live brokers and leaders to the cluster image."""
    if not ctx.may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER):
        return refuse(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return ctx.services.control.update_metadata(request)


def refuse(ctx: RequestContext, request: UpdateMetadataRequest, error_code: ErrorCode) -> UpdateMetadataResponse:
    """Return the error response: the request failed as a whole."""
    return UpdateMetadataResponse(error_code)


HANDLER = Handler(UpdateMetadataRequest, 0, 6, update_metadata, refuse, goes_on=True)
