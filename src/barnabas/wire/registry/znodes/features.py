"""/feature: the features on which all brokers have agreed.

    {"version":1,"status":1,"features":{"name":{"min_version_level":1,"max_version_level":2}}}

Source: zookeeper.md, cluster and brokers; KIP-584.
"""

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.wire.registry.znodes.payload import dump, integer, load

_DISABLED, _ENABLED = 0, 1


class FeatureNode(NamedTuple):
    """The content of the node.

    Attributes:
        is_enabled: Whether there are features at all.
        features: Name to least and greatest level.
    """

    is_enabled: bool
    features: Mapping[str, tuple[int, int]]


def encode_features(node: FeatureNode) -> bytes:
    return dump(
        {
            "version": 1,
            "status": _ENABLED if node.is_enabled else _DISABLED,
            "features": {
                name: {"min_version_level": least, "max_version_level": most}
                for name, (least, most) in node.features.items()
            },
        }
    )


def decode_features(data: bytes | None) -> FeatureNode:
    """Decode the node; invalid parts count as no feature."""
    payload = load(data)
    listed = payload.get("features")
    features = {}
    for name, levels in listed.items() if isinstance(listed, dict) else ():
        if isinstance(levels, dict):
            features[name] = (integer(levels, "min_version_level", 1), integer(levels, "max_version_level", 1))
    return FeatureNode(integer(payload, "status", _DISABLED) == _ENABLED, features)
