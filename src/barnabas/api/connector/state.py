"""Next steps of a group member: it registers, rebalances, and backs off after a failure.

Events are noted at any time and in any order; `next_step` returns the next action. Pure: the shell that uses the
registry is in `membership.py`.

    away          no session exists: nothing can be done
    unregistered  the node below ids must be created, at the start and after a session expired
    stale         a change came after the member last began to read the group: it must rebalance
    settled       no action is needed

The version of the node below ids identifies the session: 0 for the first, 1 for the second. A transaction that checks
the version changes nothing if it was decided in an expired session, however long it waited for a connection. Other
readers of the node use only its data.

Invariant: a change during a rebalance leads to another rebalance; no change is lost.

Source: implementation document, distribution; Kafka 0.8.2.2, ZookeeperConsumerConnector, syncedRebalance; zookeeper.md,
old consumers; ZooKeeper programmer's guide, sessions.
"""

from enum import Enum

from barnabas.wire.registry import paths
from barnabas.wire.registry.store import CheckOp, CreateOp, Op, SetOp


class Step(Enum):
    """The next action of a consumer."""

    NOTHING = "nothing"
    REGISTER = "register"
    REBALANCE = "rebalance"
    BACK_OFF = "back off"


class MemberState:
    """The state of one member.

    Attributes:
        epoch: The number of the session, from 0. Work begun in one session is void in the next.
    """

    def __init__(self, max_retries: int) -> None:
        """Args:
        max_retries: Number of attempts before a rebalance counts as failed (rebalance.max.retries); above 0.
        """
        self.epoch = 0
        self._max_retries = max_retries
        self._failed_count = 0
        self._is_connected = True
        self._is_registered = False
        self._is_stale = True
        self._is_rebalancing = False
        self._is_backing_off = False

    @property
    def next_step(self) -> Step:
        if not self._is_connected:
            return Step.NOTHING
        if self._is_backing_off:
            return Step.BACK_OFF
        if not self._is_registered:
            return Step.REGISTER
        return Step.REBALANCE if self._is_stale else Step.NOTHING

    @property
    def is_connected(self) -> bool:
        return self._is_connected

    @property
    def is_settled(self) -> bool:
        """Return whether the member owns its share, as far as it knows."""
        return self._is_connected and not self._is_rebalancing and self.next_step is Step.NOTHING

    def note_change(self) -> None:
        """Note that an input of the assignment may have changed."""
        self._is_stale = True

    def note_suspended(self) -> None:
        """Note that the connection is lost; the session may survive."""
        self._is_connected = False

    def note_expired(self) -> None:
        """Note that the session has expired, and its nodes are deleted."""
        self.epoch += 1
        self._is_registered = False
        self._is_stale = True

    def note_connected(self) -> None:
        """Note that the connection is back. Its watches are lost, so anything may have changed."""
        self._is_connected = True
        self._is_stale = True

    def note_registered(self, epoch: int) -> None:
        """Note that the node below ids was created in this session."""
        self._is_registered = epoch == self.epoch

    def begin_rebalance(self) -> None:
        """Begin a rebalance: later changes require another one."""
        self._is_stale = False
        self._is_rebalancing = True

    def note_rebalanced(self, epoch: int) -> None:
        """Note that the rebalance begun in this session succeeded."""
        self._is_rebalancing = False
        if epoch == self.epoch:
            self._failed_count = 0

    def note_failed(self, epoch: int) -> bool:
        """Note that a registration or rebalance begun in this session failed.

        Returns:
            Whether the retries are used up. The step is tried again anyway, with a new count.
        """
        self._is_stale = True
        self._is_rebalancing = False
        if epoch != self.epoch or not self._is_connected:
            # Expected after a lost connection or session; it does not count as a failed attempt.
            return False
        self._is_backing_off = True
        self._failed_count += 1
        if self._failed_count < self._max_retries:
            return False
        self._failed_count = 0
        return True

    def note_backed_off(self) -> None:
        """Note that the back-off is over."""
        self._is_backing_off = False


# Node versions repeat after this many sessions; no request waits that long.
_VERSION_COUNT = 32


class Registration:
    """The registration of one consumer, which also fences the consumer's writes to the registry.

    Attributes:
        path: The node's path.
        epoch: The number of the session, from 0.
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
