"""Followers that a leader's replication quota throttles, and when to resume their fetches.

Source: facts of replication, Leader; Kafka 2.7.2's `ReplicaManager.shouldLeaderThrottle`.
"""

from typing import Final

from barnabas.broker.quotas.replication import ReplicationQuota
from barnabas.broker.replicas.partition import Partition
from barnabas.core.clock import Clock
from barnabas.core.purgatory import Purgatory
from barnabas.core.timers import Timers

# Followers should not resume for very small answers.
_LEAST_THROTTLE_MS: Final = 20


class ThrottledFollowers:
    """Throttles fetches of throttled partitions. Owned by the event loop."""

    def __init__(self, quota: ReplicationQuota, fetches: Purgatory, clock: Clock, timers: Timers) -> None:
        """Args:
        fetches: Notified when throttled followers may continue.
        """
        self._quota = quota
        self._fetches = fetches
        self._clock = clock
        self._timers = timers
        # The keys of partitions whose fetches the timer resumes; it runs while there are any.
        self._keys: dict[tuple[str, int, str], None] = {}

    def is_throttled(self, partition: Partition, replica_id: int) -> bool:
        """Return whether a throttled partition's follower gets nothing: it is not in sync, and the quota is used up."""
        if replica_id in partition.in_sync_replicas:
            return False
        wait_ms = self._quota.wait_ms(self._clock.monotonic_ms())
        if not wait_ms:
            return False
        # differs from Kafka (throttled-followers): Kafka's followers wait their full time, and then get much at once.
        if not self._keys:
            self._timers.call_later(max(wait_ms, _LEAST_THROTTLE_MS), self._notify)
        self._keys[partition.end_key] = None
        return True

    def record(self, size_bytes: int) -> None:
        """Count the bytes of throttled partitions in an answer."""
        self._quota.record(self._clock.monotonic_ms(), size_bytes)

    def _notify(self) -> None:
        keys, self._keys = self._keys, {}
        for key in keys:
            self._fetches.notify(key)
