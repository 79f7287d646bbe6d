"""UpdateFeatures (API key 57, v0): finalize features of the cluster. This version of Kafka has no features.

Source: protocol guide, UpdateFeatures; replication facts; KIP-584.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.update_features import (
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType


def update_features(
    ctx: RequestContext, request: UpdateFeaturesRequest
) -> Pending[UpdateFeaturesResponse] | UpdateFeaturesResponse:
    """Finalize the features of a request, one by one."""
    if not ctx.may(Operation.ALTER, ResourceType.CLUSTER, CLUSTER):
        return refuse(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    controller = ctx.services.controller
    if controller is None:
        return refuse(ctx, request, ErrorCode.NOT_CONTROLLER)
    return controller.update_features(request)


def refuse(ctx: RequestContext, request: UpdateFeaturesRequest, error_code: ErrorCode) -> UpdateFeaturesResponse:
    """Return the error response: the request failed as a whole."""
    is_denied = error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    message = "Cluster authorization failed." if is_denied else ""
    return UpdateFeaturesResponse(ctx.throttle_time_ms, error_code, message)


HANDLER = Handler(UpdateFeaturesRequest, 0, 0, update_features, refuse)
