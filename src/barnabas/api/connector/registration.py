"""A consumer's node below ids, which also fences the consumer's writes to the registry.

The node's version identifies the consumer's session: 0 for the first, 1 for the second. A transaction that checks the
version changes nothing if it was decided in an expired session, however long it waited for a connection. Other readers
of the node use only its data.

Source: zookeeper.md, old consumers; ZooKeeper programmer's guide, sessions.
"""

from barnabas.wire.registry import paths
from barnabas.wire.registry.store import CheckOp, CreateOp, Op, SetOp

# Nothing waits for as many sessions as this.
_VERSION_COUNT = 32


class Registration:
    """The registration of one consumer.

    Attributes:
        path: Of the node.
        epoch: Which session it is, counted from 0.
    """

    __slots__ = ("epoch", "path")

    def __init__(self, group_id: str, consumer: str) -> None:
        self.path = paths.consumer_id(group_id, consumer)
        self.epoch = 0

    @property
    def fence(self) -> CheckOp:
        """Return the operation that makes a transaction fail in a later session."""
        return CheckOp(self.path, self.epoch % _VERSION_COUNT)

    def ops(self, data: bytes) -> list[Op]:
        """Return the transaction that creates the node."""
        sets = [SetOp(self.path, data) for _ in range(self.epoch % _VERSION_COUNT)]
        return [CreateOp(self.path, data, is_ephemeral=True), *sets]
