"""/cluster/id, /controller, /controller_epoch and /latest_producer_id_block.

    /cluster/id                  {"version":"1","id":"<22 characters>"}
    /controller                  {"version":1,"brokerid":0,"timestamp":"<ms>"}
    /controller_epoch            decimal text
    /latest_producer_id_block    null, then {"version":1,"broker":0,"block_start":"0","block_end":"999"}

Source: zookeeper.md, cluster and brokers.
"""

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
