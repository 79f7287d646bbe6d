"""What one member of a group has to do next: it registers, rebalances, and backs off where that failed.

What happens is told by its name, at any time and in any order; `next_step` says what is to be done now. Pure: the
shell that talks to the registry is in `membership.py`.

    away          there is no session: nothing can be done
    unregistered  the node below ids has to be made, first of all and after a session expired
    stale         something has changed since the member last began to look: it has to rebalance
    settled       nothing has to be done

Invariant: whatever changes while the member rebalances leads to another rebalance; a change is never forgotten.

Source: implementation document, distribution; Kafka 0.8.2.2, ZookeeperConsumerConnector, syncedRebalance.
"""

from enum import Enum


class Step(Enum):
    """The next action of a consumer."""

    NOTHING = "nothing"
    REGISTER = "register"
    REBALANCE = "rebalance"
    BACK_OFF = "back off"


class MemberState:
    """One member.

    Attributes:
        epoch: Which session it is, counted from 0. What was begun in one is void in the next.
    """

    def __init__(self, max_retries: int) -> None:
        """Args:
        max_retries: How often a rebalance is tried before it counts as failed (rebalance.max.retries); above 0.
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
        """Whether it owns what it should, as far as it knows."""
        return self._is_connected and not self._is_rebalancing and self.next_step is Step.NOTHING

    def note_change(self) -> None:
        """Something that the rule depends on may have changed."""
        self._is_stale = True

    def note_suspended(self) -> None:
        """There is no connection; the session may live on."""
        self._is_connected = False

    def note_expired(self) -> None:
        """The session is gone, and with it its nodes."""
        self.epoch += 1
        self._is_registered = False
        self._is_stale = True

    def note_connected(self) -> None:
        """There is a connection again. Watches went with the one before, so anything may have changed."""
        self._is_connected = True
        self._is_stale = True

    def note_registered(self, epoch: int) -> None:
        """The node below ids is made, in this session."""
        self._is_registered = epoch == self.epoch

    def begin_rebalance(self) -> None:
        """From here on changes are new ones."""
        self._is_stale = False
        self._is_rebalancing = True

    def note_rebalanced(self, epoch: int) -> None:
        """Note that the rebalance begun in this session succeeded."""
        self._is_rebalancing = False
        if epoch == self.epoch:
            self._failed_count = 0

    def note_failed(self, epoch: int) -> bool:
        """Registering or rebalancing failed, which was begun in this session.

        Returns:
            Whether that was once too often. It is begun again all the same, and counted anew.
        """
        self._is_stale = True
        self._is_rebalancing = False
        if epoch != self.epoch or not self._is_connected:
            # Of course: it is no failure of the group's.
            return False
        self._is_backing_off = True
        self._failed_count += 1
        if self._failed_count < self._max_retries:
            return False
        self._failed_count = 0
        return True

    def note_backed_off(self) -> None:
        """The back-off is over."""
        self._is_backing_off = False
