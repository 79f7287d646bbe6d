"""/feature: the features that all brokers support. Kafka 2.7 has none.

    {"version":1,"status":1,"features":{"name":{"min_version_level":1,"max_version_level":2}}}

Status is 1 from inter.broker.protocol.version 2.7-IV0 on. Below that version it is 0: features are disabled.

Source: replication.md, failover, UpdateFeatures; zookeeper.md, cluster and brokers; KIP-584.
"""

import logging

from barnabas.broker.controller.context import ControllerContext
from barnabas.core.config.versions import kafka_version
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import NodeExistsError, NoNodeError
from barnabas.wire.registry.znodes.cluster import FeatureNode, decode_features, encode_features

log = logging.getLogger(__name__)

_FEATURES_SINCE = kafka_version("2.7-IV0")


async def settle_features(context: ControllerContext) -> None:
    """Write whether features are enabled, if the node differs; at the start of a controller epoch."""
    is_enabled = kafka_version(context.protocol) >= _FEATURES_SINCE
    wanted = encode_features(FeatureNode(is_enabled, {}))
    try:
        data, _ = await context.registry.get(paths.FEATURES)
    except NoNodeError:
        try:
            await context.registry.create(paths.FEATURES, wanted)
        except NodeExistsError:
            log.info("%s was written by another controller", paths.FEATURES)
        return
    if decode_features(data).is_enabled != is_enabled:
        await context.registry.set(paths.FEATURES, wanted)


async def update_features(context: ControllerContext, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    """Reject every update, as Kafka 2.7 does: no broker supports any feature."""
    try:
        data, _ = await context.registry.get(paths.FEATURES)
        finalized = decode_features(data)
    except NoNodeError:
        # The node does not exist if no Kafka brokers share the tree (`keeps_features`).
        finalized = FeatureNode(False, {})
    results = [
        UpdatableFeatureResult(update.feature, ErrorCode.INVALID_REQUEST, _refusal(update, finalized))
        for update in request.feature_updates
    ]
    return UpdateFeaturesResponse(results=results)


def _refusal(update: FeatureUpdateKey, finalized: FeatureNode) -> str:
    # differs from Kafka (feature-messages): Kafka's messages are worded differently.
    level, known = update.max_version_level, finalized.features.get(update.feature)
    if not update.feature:
        return "Feature name can not be empty."
    if level < 1 and update.allow_downgrade:
        if known is None:
            return "Can not delete non-existing finalized feature."
        return "Could not apply finalized feature update because the provided feature is not supported."
    if level < 1:
        return f"Can not provide maxVersionLevel: {level} less than 1 without setting the allowDowngrade flag to true."
    if known is not None:
        least, most = known
        asked = f"maxVersionLevel:{level} is asked for and {most} is finalized"
        if level == most:
            return f"Can not change a finalized feature to the same value: {asked}."
        if level < most and not update.allow_downgrade:
            return f"Can not downgrade finalized feature without setting the allowDowngrade flag to true: {asked}."
        if level > most and update.allow_downgrade:
            return f"Can not upgrade finalized feature with the allowDowngrade flag set to true: {asked}."
        if level < least:
            return f"Can not downgrade finalized feature below its existing minVersionLevel:{least}: {asked}."
    return "Could not apply finalized feature update because the provided feature is not supported."
