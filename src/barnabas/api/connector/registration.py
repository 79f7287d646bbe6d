"""A consumer's node below ids, which also fences what it does in the registry.

Its version says which of the consumer's sessions made it: 0 in the first, 1 in the second. A transaction that checks it
changes nothing where it was decided on in a session that is gone, however long it waited for a connection. Who else
reads the node looks at its data alone.

Source: zookeeper.md, old consumers; ZooKeeper programmer's guide, sessions.
"""

from barnabas.wire.registry import paths
from barnabas.wire.registry.store import CheckOp, CreateOp, Op, SetOp

# Nothing waits for as many sessions as this.
_VERSION_COUNT = 32


class Registration:
    """One consumer's.

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
        """Return the operation that makes a transaction void in the next session."""
        return CheckOp(self.path, self.epoch % _VERSION_COUNT)

    def ops(self, data: bytes) -> list[Op]:
        """The transaction that makes the node."""
        sets = [SetOp(self.path, data) for _ in range(self.epoch % _VERSION_COUNT)]
        return [CreateOp(self.path, data, is_ephemeral=True), *sets]
