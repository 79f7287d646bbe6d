"""ApiVersions (API key 18, v0-3): the APIs that this broker supports.

A client sends it first, in the newest version it knows. If that is too new, the answer is in version 0 and contains
only the range of this API, and the client sends another request.

Source: protocol guide, ApiVersions; KIP-35, KIP-511; semantics, ApiVersions.
"""

import re

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse

MIN_VERSION, MAX_VERSION = 0, 3
_SOFTWARE_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_FIRST_VERSION_WITH_SOFTWARE_NAME = 3
# The name is stored with the connection.
_LONGEST_NAME = 40


def api_versions(ctx: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """Return the APIs that have a handler, with their supported versions."""
    if ctx.api_version >= _FIRST_VERSION_WITH_SOFTWARE_NAME:
        name, version = request.client_software_name, request.client_software_version
        if not (_SOFTWARE_NAME.fullmatch(name) and _SOFTWARE_NAME.fullmatch(version)):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        ctx.connection.software = f"{name[:_LONGEST_NAME]} {version[:_LONGEST_NAME]}"
    # differs from Kafka (finalized-features-epoch): Kafka's controller stores that no feature is finalized.
    response = ApiVersionsResponse(api_keys=[ApiVersion(*each) for each in ctx.services.offered])
    if ctx.services.finalized_features is not None:
        response.finalized_features_epoch = ctx.services.finalized_features.epoch
    return response


def unsupported_version(ctx: RequestContext, request: None) -> ApiVersionsResponse:
    """Return the supported versions of ApiVersions to a newer client, without decoding its request."""
    own = ApiVersion(ApiVersionsRequest.API_KEY, MIN_VERSION, MAX_VERSION)
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[own])


def refuse(ctx: RequestContext, request: ApiVersionsRequest, error_code: ErrorCode) -> ApiVersionsResponse:
    """Return the error response: the request failed as a whole."""
    return ApiVersionsResponse(error_code=error_code)


HANDLER = Handler(ApiVersionsRequest, MIN_VERSION, MAX_VERSION, api_versions, refuse)
