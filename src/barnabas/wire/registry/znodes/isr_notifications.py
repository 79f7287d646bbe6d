"""/isr_change_notification/isr_change_<seq>: partitions whose in-sync replicas their leaders wrote themselves.

    {"version":1,"partitions":[{"topic":"t","partition":0}]}

The controller reads their states, tells all brokers, and deletes the node.

Source: zookeeper.md, ISR change notifications.
"""

from collections.abc import Iterable

from barnabas.core.types import TopicPartition
from barnabas.wire.registry.znodes.admin_requests import decode_election
from barnabas.wire.registry.znodes.payload import dump


def encode_isr_notification(partitions: Iterable[TopicPartition]) -> bytes:
    return dump({"version": 1, "partitions": [{"topic": topic, "partition": index} for topic, index in partitions]})


decode_isr_notification = decode_election
"""The form is that of an election: the partitions, each once."""
