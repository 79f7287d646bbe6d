"""Splits many operations into transactions within ZooKeeper's packet limit. Pure.

ZooKeeper closes the connection on a packet of more than jute.maxbuffer, 1 MB by default. Half of that leaves room for a
long chroot and the access list of each node.

Source: ZooKeeper administrator's guide, jute.maxbuffer.
"""

from collections.abc import Iterable, Iterator

from barnabas.wire.registry.store import CreateOp, Op, SetOp

MOST_OPS = 500
MOST_BYTES = 400_000
_OP_BYTES = 64


def in_packets(ops: Iterable[Op], most_ops: int = MOST_OPS, most_bytes: int = MOST_BYTES) -> Iterator[list[Op]]:
    """Yield the operations in order, as many at a time as fit; an oversized one comes alone."""
    packet: list[Op] = []
    size = 0
    for op in ops:
        op_bytes = size_of(op)
        if packet and (len(packet) == most_ops or size + op_bytes > most_bytes):
            yield packet
            packet, size = [], 0
        packet.append(op)
        size += op_bytes
    if packet:
        yield packet


def size_of(op: Op) -> int:
    """Estimate an operation's bytes in a packet."""
    data = op.data if isinstance(op, CreateOp | SetOp) else None
    return _OP_BYTES + len(op.path.encode(errors="replace")) + len(data or b"")
