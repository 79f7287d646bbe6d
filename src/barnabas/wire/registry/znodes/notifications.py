"""Notifications of the controller, which reads each node and then deletes it.

    /isr_change_notification/isr_change_<seq>    {"version":1,"partitions":[{"topic":"t","partition":0}]}
    /log_dir_event_notification/log_dir_event_<seq>    {"version":1,"broker":1,"event":1}

The first names partitions whose in-sync replicas were written by their leaders. The second names a broker with a failed
log directory.

Source: zookeeper.md, ISR change notifications, admin requests through ZooKeeper; KIP-112.
"""

from collections.abc import Iterable

from barnabas.core.types import TopicPartition
from barnabas.wire.registry.znodes.admin_requests import decode_election
from barnabas.wire.registry.znodes.payload import dump, integer, load


def encode_isr_notification(partitions: Iterable[TopicPartition]) -> bytes:
    return dump({"version": 1, "partitions": [{"topic": topic, "partition": index} for topic, index in partitions]})


decode_isr_notification = decode_election
"""The form is that of an election: the partitions, each once."""


_FAILED = 1


def encode_log_dir_event(broker_id: int) -> bytes:
    """Encode the failure of a broker's log directory."""
    return dump({"version": 1, "broker": broker_id, "event": _FAILED})


def decode_log_dir_event(data: bytes | None) -> int | None:
    """Return the broker with the failed directory; None: the node has another content."""
    payload = load(data)
    return integer(payload, "broker", -1) if integer(payload, "event", 0) == _FAILED else None
