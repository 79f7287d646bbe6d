"""/log_dir_event_notification/log_dir_event_<seq>: the failure of a broker's log directory.

    {"version":1,"broker":0,"event":1}

The controller asks that broker for its remaining replicas, and deletes the node.

Source: zookeeper.md, admin requests through ZooKeeper; KIP-112.
"""

from barnabas.wire.registry.znodes.payload import dump, integer, load

_FAILED = 1


def encode_log_dir_event(broker_id: int) -> bytes:
    """Encode the failure of a broker's log directory."""
    return dump({"version": 1, "broker": broker_id, "event": _FAILED})


def decode_log_dir_event(data: bytes | None) -> int | None:
    """Return the broker with the failed directory; None: the node has another content."""
    payload = load(data)
    return integer(payload, "broker", -1) if integer(payload, "event", 0) == _FAILED else None
