"""/cluster/id, /controller, /controller_epoch, /latest_producer_id_block, /feature and /barnabas/kafka_version.

    /cluster/id                  {"version":"1","id":"<22 characters>"}
    /controller                  {"version":1,"brokerid":0,"timestamp":"<ms>"}
    /controller_epoch            decimal text
    /latest_producer_id_block    null, then {"version":1,"broker":0,"block_start":"0","block_end":"999"}
    /feature                     {"version":1,"status":1,
                                  "features":{"name":{"min_version_level":1,"max_version_level":2}}}
    /barnabas/kafka_version      {"version":1,"kafka_version":"0.10.2-IV0","reason":"--kafka-version"}

/feature has the features on which all brokers have agreed. /barnabas/kafka_version has the Kafka version that must be
able to read this broker's writes: `barnabas adopt` creates it, and the broker reads it at its start; without it
everything is written as in Kafka 2.7.

Source: zookeeper.md, cluster and brokers; KIP-584.
"""

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.wire.registry.znodes.payload import (
    MalformedError,
    decimal_int32,
    dump,
    integer,
    is_int32,
    load,
    load_strictly,
)

# Beyond it there is no room for a block of ids in 64 bits.
_MOST_PRODUCER_ID = (1 << 63) - (1 << 20)
INITIAL_CONTROLLER_EPOCH = b"0"


def encode_cluster_id(cluster_id: str) -> bytes:
    return dump({"version": "1", "id": cluster_id})


def decode_cluster_id(data: bytes | None) -> str | None:
    """Return the cluster id; None: the payload has none."""
    cluster_id = load(data).get("id")
    return cluster_id if isinstance(cluster_id, str) else None


def encode_controller(broker_id: int, timestamp_ms: int) -> bytes:
    return dump({"version": 1, "brokerid": broker_id, "timestamp": str(timestamp_ms)})


def decode_controller(data: bytes | None) -> int:
    """Return the controller's broker id; -1: unknown."""
    return integer(load(data), "brokerid", -1)


def encode_controller_epoch(epoch: int) -> bytes:
    return str(epoch).encode()


def decode_controller_epoch(data: bytes | None) -> int:
    """Return the epoch; 0 if there was none yet.

    Raises:
        MalformedError: It is no number that another one can follow.
    """
    epoch = decimal_int32(data.decode("ascii", "replace")) if data else 0
    # One more must be a number, too.
    if epoch is None or not is_int32(epoch + 1):
        raise MalformedError("no controller epoch")
    return epoch


class ProducerIdBlock(NamedTuple):
    """The producer ids that one broker may assign, `last` included."""

    broker_id: int
    first: int
    last: int


def encode_producer_id_block(block: ProducerIdBlock) -> bytes:
    return dump(
        {"version": 1, "broker": block.broker_id, "block_start": str(block.first), "block_end": str(block.last)}
    )


def decode_producer_id_block(data: bytes | None) -> ProducerIdBlock | None:
    """Return the last assigned block; None: there was none.

    Raises:
        MalformedError: The assigned ids cannot be determined.
    """
    if not data:
        return None
    payload = load_strictly(data)
    last = integer(payload, "block_end", -1)
    if not 0 <= last < _MOST_PRODUCER_ID:
        raise MalformedError("no end of a block")
    return ProducerIdBlock(integer(payload, "broker", -1), integer(payload, "block_start", 0), last)


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


class KafkaVersionNode(NamedTuple):
    """Attributes:
    name: As inter.broker.protocol.version takes it.
    reason: How it was found out, for a person.
    """

    name: str
    reason: str


def encode_kafka_version(node: KafkaVersionNode) -> bytes:
    return dump({"version": 1, "kafka_version": node.name, "reason": node.reason})


def decode_kafka_version(data: bytes | None) -> KafkaVersionNode | None:
    """Decode the node; None: it does not exist."""
    payload = load(data)
    if "kafka_version" not in payload:
        return None
    return KafkaVersionNode(str(payload["kafka_version"]), str(payload.get("reason", "")))
