"""/barnabas/kafka_version: the Kafka version that must be able to read this broker's writes.

    {"version":1,"kafka_version":"0.10.2-IV0","reason":"--kafka-version"}

`barnabas adopt` creates it, and the broker reads it at its start; without it everything is written as in Kafka 2.7.
"""

from typing import NamedTuple

from barnabas.wire.registry.znodes.payload import dump, load


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
