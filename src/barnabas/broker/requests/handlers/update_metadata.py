"""UpdateMetadata (API key 6, v0-6): the controller says what the cluster looks like.

Source: protocol guide, UpdateMetadata; replication facts; KIP-380.
"""

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.update_metadata import (
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState2,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
    UpdateMetadataTopicState,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType

_FIRST_VERSION_WITH_LISTENERS = 3
# By the numbers that stand for them.
_SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


def update_metadata(
    ctx: RequestContext, request: UpdateMetadataRequest
) -> Pending[UpdateMetadataResponse] | UpdateMetadataResponse:
    """Take over who is alive and who leads what."""
    if not ctx.may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER):
        return refuse(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if ctx.api_version < _FIRST_VERSION_WITH_LISTENERS:
        _name_listeners(request, ctx.api_version)
    return ctx.services.control.update_metadata(_grouped(request))


def _grouped(request: UpdateMetadataRequest) -> UpdateMetadataRequest:
    """Return a request of v0-4 in the shape of later ones, by topic; a later one as it is."""
    if not request.ungrouped_partition_states:
        return request
    topics: dict[str, UpdateMetadataTopicState] = {}
    for each in request.ungrouped_partition_states:
        topic = topics.get(each.topic_name)
        if topic is None:
            topic = topics[each.topic_name] = UpdateMetadataTopicState(each.topic_name)
        topic.partition_states.append(
            UpdateMetadataPartitionState2(
                each.partition_index,
                each.controller_epoch,
                each.leader,
                each.leader_epoch,
                each.isr,
                each.zk_version,
                each.replicas,
                each.offline_replicas,
            )
        )
    return UpdateMetadataRequest(
        request.controller_id,
        request.controller_epoch,
        broker_epoch=request.broker_epoch,
        topic_states=list(topics.values()),
        live_brokers=request.live_brokers,
    )


def _name_listeners(request: UpdateMetadataRequest, api_version: int) -> None:
    """Name listeners as brokers did before they had names: by their protocols."""
    for broker in request.live_brokers:
        if not api_version:
            broker.endpoints = [UpdateMetadataEndpoint(broker.v0_port, broker.v0_host)]
        for endpoint in broker.endpoints:
            if 0 <= endpoint.security_protocol < len(_SECURITY_PROTOCOLS):
                endpoint.listener = _SECURITY_PROTOCOLS[endpoint.security_protocol]


def refuse(ctx: RequestContext, request: UpdateMetadataRequest, error_code: ErrorCode) -> UpdateMetadataResponse:
    """The answer that the request failed as a whole."""
    return UpdateMetadataResponse(error_code)


HANDLER = Handler(UpdateMetadataRequest, 0, 6, update_metadata, refuse, goes_on=True)
