"""The in-sync replicas (ISR) of a partition, and the high watermark that follows from them. Pure.

Each fetch reports a follower's progress: its fetch offset is its log end offset. The follower's caught-up time is the
last time at which it had all records of the leader:

| its fetch offset is at least | caught-up time |
| --- | --- |
| the leader's log end offset now | now |
| the leader's log end offset at its previous fetch | the time of that fetch |
| neither | unchanged |

A change of the ISR is proposed first, and committed once the partition's state is written:

| | committed: `isr` | maximal: `maximal_isr` |
| --- | --- | --- |
| no proposal | the last committed ISR | the same |
| an expansion is proposed | unchanged | with the new member |
| a shrink is proposed | unchanged | the same |

The committed ISR is used for appends (min.insync.replicas), throttles and metrics, and as the base of the next change.
The maximal ISR contains every replica that may be elected next: the high watermark waits for all of them.

Invariants:

- One change is pending at a time. It is pending until its outcome is known, or another leader epoch begins: a write
  that was refused or lost may still have succeeded, and its members may be elected.
- The candidate for the high watermark is never above the known log end offset of a member of the maximal ISR. A fetch
  offset lower than the previous one is accepted: a member may restart without the records that were not on disk. Until
  the first fetch after such a restart the leader uses the old offset.
- Members keep their order.

Source: design page, replication; semantics, replication; Kafka 2.7.2, kafka.cluster.Partition and Replica.
"""

from collections.abc import Callable
from typing import Final

UNKNOWN_OFFSET: Final = -1
"""A replica's offset before its first fetch from this leader."""
_PASSED_OFFSET: Final = -2
# Earlier than any time: a monotonic clock may start at 0.
_NEVER_MS: Final = -(1 << 62)


class FollowerProgress:
    """The progress of one follower, from its fetches.

    Attributes:
        end_offset: Its log end offset; -1: unknown.
        first_offset: The offset of its first fetch in this leader epoch, while it fetches from there; -1 before that
            fetch, -2 once it has fetched from another offset.
        log_start_offset: Its log start offset; -1: unknown.
        caught_up_ms: The last time at which it had all records of the leader.
        leader_end_offset: The leader's log end offset at its last fetch.
        fetch_ms: The time of its last fetch.
    """

    __slots__ = ("caught_up_ms", "end_offset", "fetch_ms", "first_offset", "leader_end_offset", "log_start_offset")

    def __init__(self) -> None:
        self.end_offset = UNKNOWN_OFFSET
        self.first_offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET
        self.caught_up_ms = _NEVER_MS
        self.leader_end_offset = UNKNOWN_OFFSET
        self.fetch_ms = _NEVER_MS


class ReplicaSet:
    """The replicas of a partition that this broker leads: their progress, the ISR, and the proposed change.

    Times are milliseconds of one monotonic clock. Attributes are read-only for other modules.

    Attributes:
        replicas: All assigned replicas, the preferred leader first.
        isr: The committed in-sync replicas.
        maximal_isr: The ISR and the member that may have been added.
        zk_version: The version of the partition's state with this `isr`.
        leader_epoch: The current leader epoch.
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
        """Begin a leader epoch with the controller's state, and drop the pending change.

        Args:
            was_leader: This broker was also the leader in the previous epoch: the followers' known offsets are kept.
        """
        self.replicas = replicas
        self.zk_version = zk_version
        self.leader_epoch = leader_epoch
        self.epoch_start_offset = log_end_offset
        self._commit(isr)
        known = self.followers if was_leader else {}
        self.followers = {each: known.get(each) or FollowerProgress() for each in replicas if each != self.broker_id}
        for replica_id, follower in self.followers.items():
            follower.first_offset = UNKNOWN_OFFSET
            follower.leader_end_offset = log_end_offset
            follower.fetch_ms = now_ms
            follower.caught_up_ms = now_ms if replica_id in isr else _NEVER_MS

    def note_fetch(
        self, replica_id: int, fetch_offset: int, log_start_offset: int, leader_end_offset: int, now_ms: int
    ) -> bool:
        """Record the progress of a follower after a successful fetch; unknown replicas are ignored.

        Args:
            replica_id: The fetching replica.
            fetch_offset: The follower's fetch offset.
            log_start_offset: The follower's log start offset.
            leader_end_offset: The leader's log end offset before the read.

        Returns:
            Whether the follower's log end offset changed; then the high watermark may change.
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
        if follower.first_offset == UNKNOWN_OFFSET:
            follower.first_offset = fetch_offset
        if fetch_offset == follower.end_offset:
            return False
        follower.end_offset = fetch_offset
        if fetch_offset != follower.first_offset:
            follower.first_offset = _PASSED_OFFSET
        return True

    def expansion(self, replica_id: int, high_watermark: int) -> tuple[int, ...] | None:
        """Return the ISR to propose with a follower that has caught up; None: it has not, or a change is pending.

        To be called after each of its fetches, even if its offset did not change.
        """
        # hot path: every partition of every follower's fetch
        if replica_id in self.isr or self.proposed is not None:
            return None
        follower = self.followers.get(replica_id)
        if follower is None or follower.end_offset < high_watermark or follower.end_offset < self.epoch_start_offset:
            return None
        return (*self.isr, replica_id)

    def shrink(self, leader_end_offset: int, now_ms: int, max_lag_ms: int) -> tuple[int, ...] | None:
        """Return the ISR to propose without lagging or removed replicas; None: none found, or a change is pending.

        To be called at intervals of half of `max_lag_ms`.

        Args:
            max_lag_ms: replica.lag.time.max.ms.
        """
        return self._without(
            lambda each: each.end_offset != leader_end_offset and now_ms - each.caught_up_ms > max_lag_ms
        )

    def expulsion(self, high_watermark: int) -> tuple[int, ...] | None:
        """Return the ISR to propose without replicas that fetch from below the high watermark; None: none found, or a
        change is pending.

        If followers truncate by leader epochs, a member has all records below the high watermark, unless it lost them:
        by a power failure or a replaced directory. If it were elected, acknowledged records would be lost. Other
        brokers see an ordinary ISR change.

        A follower with an older message format than the leader's keeps no epochs. At each new leader epoch it truncates
        to its own high watermark, which is one answer behind the leader's, and its next fetch reads the rest again. So
        the first fetch in an epoch is no proof of a loss. A replica that later fetches from another offset below the
        high watermark has lost records. Not to be called if fetches have no leader epoch: then the first fetch may be
        from before that truncation.

        To be called after a fetch from below the high watermark, after a change was committed, and with `shrink`.
        """
        # differs from Kafka (lost-tail): in Kafka it stays in sync until it lags for too long.
        return self._without(
            lambda each: UNKNOWN_OFFSET < each.end_offset < high_watermark and each.end_offset != each.first_offset
        )

    def propose(self, isr: tuple[int, ...]) -> None:
        """Set the pending change.

        Raises:
            RuntimeError: A change is already pending.
        """
        if self.proposed is not None:
            raise RuntimeError(f"a change to {self.proposed} is pending")
        self.proposed = isr
        self.maximal_isr = (*self.isr, *(each for each in isr if each not in self.isr))

    def committed(self, isr: tuple[int, ...], zk_version: int) -> int:
        """Apply the written state as the committed ISR, and end the pending change.

        The high watermark may rise now: it no longer waits for removed members, or for a follower that was proposed but
        not added. Such a follower is shutting down or gone, and may never fetch again.

        Returns:
            The number of added members; negative: the number of removed ones.
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
        """Return the candidate for the high watermark, which itself never decreases; -1: an offset is unknown.

        It is the lowest log end offset of the maximal ISR and of followers that caught up within `max_lag_ms`.
        """
        # hot path: every append to a replicated partition, every fetch that advances a follower
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
        # differs from Kafka (ghost-in-sync): in Kafka a broker that is no longer a replica stays in the ISR for ever.
        # A leader may propose such a broker if it does not know yet that a reassignment was replaced by another one.
        out = {each for each in self.isr if (known := self.followers.get(each)) is None or is_out(known)}
        out.discard(self.broker_id)
        return tuple(each for each in self.isr if each not in out) if out else None
