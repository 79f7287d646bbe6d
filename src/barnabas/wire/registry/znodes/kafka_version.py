"""/barnabas/kafka_version: which Kafka must be able to read what this broker writes.

    {"version":1,"kafka_version":"0.10.2-IV0","reason":"--kafka-version"}

`barnabas adopt` makes it, and the broker reads it at its start; without it everything is written as Kafka 2.7 does.
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
    """The node; None: there is none."""
    payload = load(data)
    if "kafka_version" not in payload:
        return None
    return KafkaVersionNode(str(payload["kafka_version"]), str(payload.get("reason", "")))
