"""The in-sync replicas (ISR) of a partition, and the high watermark that follows from them. Pure.

Each fetch reports a follower's progress: its fetch offset is its log end offset. A follower is caught up as of the last
moment at which it had all records that the leader had then:

| its fetch offset is at least | caught up as of |
| --- | --- |
| the leader's log end offset now | now |
| the leader's log end offset at its previous fetch | that fetch |
| neither | as before |

A change of the ISR is proposed, and counts once the owner of the partition's state has written it:

| | committed: `isr` | maximal: `maximal_isr` |
| --- | --- | --- |
| no proposal | the last committed ISR | the same |
| an expansion is proposed | as before | with the new member |
| a shrink is proposed | as before | the same |

The committed ISR is used for appends (min.insync.replicas), throttles and metrics, and as the base of the next change.
The maximal ISR has every replica that may be elected next: the high watermark waits for all of them.

Invariants:

- One change is pending at a time. It stays pending until its outcome is known, or another leader epoch begins: a write
  that was refused or lost may have succeeded all the same, and its members may be elected.
- The candidate for the high watermark is never above the log end offset of a member of the maximal ISR, as far as the
  leader knows it. A member that returns with fewer records (it lost those not on disk) counts with these from its first
  fetch on: a fetch offset is accepted even if it is lower than the previous one. The leader cannot see the time
  between: it uses the old offset until that fetch.
- Members keep their order.

Source: design page, replication; semantics, replication; Kafka 2.7.2, kafka.cluster.Partition and Replica.
"""

from collections.abc import Callable
from typing import Final

UNKNOWN_OFFSET: Final = -1
"""A replica's offset before its first fetch from this leader."""
# Before every other time: clocks that count from their start begin at 0.
_NEVER_MS: Final = -(1 << 62)


class FollowerProgress:
    """The progress of one follower, from its fetches.

    Attributes:
        end_offset: Its log end offset; -1: unknown.
        log_start_offset: -1: unknown.
        caught_up_ms: When it had all that the leader had.
        leader_end_offset: The leader's log end offset at its last fetch.
        fetch_ms: The time of its last fetch.
    """

    __slots__ = ("caught_up_ms", "end_offset", "fetch_ms", "leader_end_offset", "log_start_offset")

    def __init__(self) -> None:
        self.end_offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET
        self.caught_up_ms = _NEVER_MS
        self.leader_end_offset = UNKNOWN_OFFSET
        self.fetch_ms = _NEVER_MS


class ReplicaSet:
    """The replicas of a partition that this broker leads: their progress, the ISR, and the proposed change.

    Times are milliseconds of one clock that never goes back. Attributes are for others to read.

    Attributes:
        replicas: All that are assigned, the preferred leader first.
        isr: The committed in-sync replicas.
        maximal_isr: The ISR and the member that may have been added.
        zk_version: The version of the partition's state with this `isr`.
        leader_epoch: Since when this broker leads.
        epoch_start_offset: The log end offset at which this epoch began.
        proposed: The in-sync replicas that were proposed; None: no change is pending.
        followers: All replicas but this broker.
    """

    __slots__ = (
        "broker_id",
        "epoch_start_offset",
        "followers",
        "isr",
        "leader_epoch",
        "maximal_isr",
        "proposed",
        "replicas",
        "zk_version",
    )

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.replicas: tuple[int, ...] = ()
        self.isr: tuple[int, ...] = ()
        self.maximal_isr: tuple[int, ...] = ()
        self.zk_version = -1
        self.leader_epoch = -1
        self.epoch_start_offset = UNKNOWN_OFFSET
        self.proposed: tuple[int, ...] | None = None
        self.followers: dict[int, FollowerProgress] = {}

    def lead(
        self,
        replicas: tuple[int, ...],
        isr: tuple[int, ...],
        zk_version: int,
        leader_epoch: int,
        log_end_offset: int,
        now_ms: int,
        was_leader: bool,
    ) -> None:
        """Begin a leader epoch with the controller's state; a pending change is forgotten.

        Args:
            was_leader: This broker led the epoch before, too: what is known of the followers' offsets stays.
        """
        self.replicas = replicas
        self.zk_version = zk_version
        self.leader_epoch = leader_epoch
        self.epoch_start_offset = log_end_offset
        self._commit(isr)
        known = self.followers if was_leader else {}
        self.followers = {each: known.get(each) or FollowerProgress() for each in replicas if each != self.broker_id}
        for replica_id, follower in self.followers.items():
            follower.leader_end_offset = log_end_offset
            follower.fetch_ms = now_ms
            follower.caught_up_ms = now_ms if replica_id in isr else _NEVER_MS

    def note_fetch(
        self, replica_id: int, fetch_offset: int, log_start_offset: int, leader_end_offset: int, now_ms: int
    ) -> bool:
        """Record the progress of a follower after a successful fetch; unknown replicas are ignored.

        Args:
            replica_id: The fetching replica.
            fetch_offset: Its fetch offset.
            log_start_offset: The follower's log start offset.
            leader_end_offset: As it was before the read.

        Returns:
            Whether its log end offset changed: then the high watermark may.
        """
        # hot path: every partition of every follower's fetch
        follower = self.followers.get(replica_id)
        if follower is None:
            return False
        if fetch_offset >= leader_end_offset:
            if now_ms > follower.caught_up_ms:
                follower.caught_up_ms = now_ms
        elif fetch_offset >= follower.leader_end_offset and follower.fetch_ms > follower.caught_up_ms:
            follower.caught_up_ms = follower.fetch_ms
        follower.leader_end_offset = leader_end_offset
        follower.fetch_ms = now_ms
        follower.log_start_offset = log_start_offset
        if fetch_offset == follower.end_offset:
            return False
        follower.end_offset = fetch_offset
        return True

    def expansion(self, replica_id: int, high_watermark: int) -> tuple[int, ...] | None:
        """Return the ISR to propose with a follower that has caught up; None: it has not, or a change is pending.

        To be asked after each of its fetches, also where its offset did not change.
        """
        # hot path: every partition of every follower's fetch
        if replica_id in self.isr or self.proposed is not None:
            return None
        follower = self.followers.get(replica_id)
        if follower is None or follower.end_offset < high_watermark or follower.end_offset < self.epoch_start_offset:
            return None
        return (*self.isr, replica_id)

    def shrink(self, leader_end_offset: int, now_ms: int, max_lag_ms: int) -> tuple[int, ...] | None:
        """Return the ISR to propose without lagging or removed replicas; None: there are none, or a change is pending.

        To be asked every half of `max_lag_ms`.

        Args:
            max_lag_ms: replica.lag.time.max.ms.
        """
        return self._without(
            lambda each: each.end_offset != leader_end_offset and now_ms - each.caught_up_ms > max_lag_ms
        )

    def expulsion(self, high_watermark: int) -> tuple[int, ...] | None:
        """Return the ISR to propose without replicas that fetch from below the high watermark; None: there are none, or
        a change is pending.

        Where followers truncate by leader epochs a member has all below the high watermark, or has lost it: its
        machine stood without power, or its directory is a new one. Were it elected, what was acknowledged would be
        lost. Kafka leaves it in until it lags for too long; others see an ordinary change. Not to be asked where
        followers truncate to their own high watermark: they are expected back.

        To be asked after a fetch from below the high watermark, after a change was committed, and with `shrink`.
        """
        # differs from Kafka (lost-tail): there it stays in sync until it lags for too long.
        return self._without(lambda each: UNKNOWN_OFFSET < each.end_offset < high_watermark)

    def propose(self, isr: tuple[int, ...]) -> None:
        """Set the pending change.

        Raises:
            RuntimeError: One is already.
        """
        if self.proposed is not None:
            raise RuntimeError(f"a change to {self.proposed} is pending")
        self.proposed = isr
        self.maximal_isr = (*self.isr, *(each for each in isr if each not in self.isr))

    def committed(self, isr: tuple[int, ...], zk_version: int) -> int:
        """Apply the written state as the committed ISR; the pending change is over.

        The high watermark may rise now: a shrink no longer holds it, nor does a follower that was proposed and not
        taken in. That one is gone, or about to go, and may never fetch again.

        Returns:
            How many members more there are than before; negative: less.
        """
        gained = len(isr) - len(self.isr)
        proposed = self.proposed or ()
        for replica_id, follower in self.followers.items():
            if replica_id in proposed and replica_id not in isr:
                follower.caught_up_ms = _NEVER_MS
        self.zk_version = zk_version
        self._commit(isr)
        return gained

    def high_watermark(self, leader_end_offset: int, now_ms: int, max_lag_ms: int) -> int:
        """Return the end of the records that all replicas have that are, may be, or were just now in sync; a candidate,
        as the high watermark itself never decreases.

        -1 where one of them is unknown.
        """
        # hot path: every append to a replicated partition, every fetch of a follower that got on
        candidate = leader_end_offset
        for replica_id, follower in self.followers.items():
            if follower.end_offset < candidate and (
                replica_id in self.maximal_isr or now_ms - follower.caught_up_ms <= max_lag_ms
            ):
                candidate = follower.end_offset
        return candidate

    def low_watermark(self, leader_log_start_offset: int, is_alive: Callable[[int], bool]) -> int:
        """Return the lowest log start offset of the replicas on live brokers; -1 if one is unknown."""
        offsets = (each.log_start_offset for replica_id, each in self.followers.items() if is_alive(replica_id))
        return min(leader_log_start_offset, min(offsets, default=leader_log_start_offset))

    def _commit(self, isr: tuple[int, ...]) -> None:
        self.isr = self.maximal_isr = isr
        self.proposed = None

    def _without(self, is_out: Callable[[FollowerProgress], bool]) -> tuple[int, ...] | None:
        if self.proposed is not None:
            return None
        # differs from Kafka (ghost-in-sync): who is no replica any more stays for ever, and counts. A leader proposed
        # it, not having heard of the reassignment in place of the one by which it was to become a replica.
        out = {each for each in self.isr if (known := self.followers.get(each)) is None or is_out(known)}
        out.discard(self.broker_id)
        return tuple(each for each in self.isr if each not in out) if out else None
