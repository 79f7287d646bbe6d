"""Replication quotas: throttles for partitions that are being reassigned. Pure.

    leader.replication.throttled.rate        bytes/s that a leader sends to followers that are not in sync
    follower.replication.throttled.rate      bytes/s that a follower fetches for partitions that are not in sync
    leader|follower.replication.throttled.replicas      per topic: `*`, or `partition:broker,...`

A rate applies only to the partitions listed for this broker. All listed partitions are counted, in sync or not, so that
their sum stays within the rate. Only those that are not in sync are throttled; the caller knows which these are. One
answer may exceed the rate; the excess delays the next one.

Source: semantics, quotas; facts of replication, Leader and Follower; KIP-73; Kafka 2.7.2, ReplicationQuotaManager.
"""

from collections.abc import Collection, Sequence
from typing import Final

from barnabas.broker.quotas.bucket import Windows
from barnabas.core.types import TopicPartition
from barnabas.core.windowed_rate import SimpleRate

NO_LIMIT: Final = (1 << 63) - 1
ALL_PARTITIONS: Final[Collection[int]] = range(1 << 31)
_ALL: Final = "*"


def throttled_partitions(replicas: Sequence[str], broker_id: int) -> Collection[int]:
    """Return a broker's partitions in a topic's list of throttled replicas.

    Args:
        replicas: The parsed setting: `*`, or each `partition:broker`; empty entries are ignored.
    """
    if replicas[:1] == [_ALL]:
        return ALL_PARTITIONS
    named = (replica.split(":") for replica in replicas if replica)
    return frozenset(int(partition) for partition, broker in named if int(broker) == broker_id)


def named_in_vain(replicas: Sequence[str], partitions: Collection[int], brokers: Collection[int]) -> list[str]:
    """Return the entries of a list of throttled replicas whose partition or broker does not exist.

    Args:
        partitions: The topic's partitions.
        brokers: The cluster's brokers and the topic's replicas: a broker may be listed before it has a replica.
    """
    named = {replica: replica.split(":") for replica in replicas if replica not in ("", _ALL)}
    return [each for each, (part, broker) in named.items() if int(part) not in partitions or int(broker) not in brokers]


class ReplicationQuota:
    """The throttle of this broker in one role: leader or follower.

    Attributes:
        is_any: Whether partitions are listed; if not, nothing else needs to be checked.
        limit: Bytes per second.
    """

    __slots__ = ("_listed", "_rate", "_windows", "is_any", "limit")

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._rate = SimpleRate(windows.window_ms, windows.sample_count)
        self._listed: dict[str, Collection[int]] = {}
        self.is_any = False
        self.limit = NO_LIMIT

    def set_limit(self, limit: int) -> None:
        """Set another limit and discard the measured use.

        Otherwise a lower limit would stop replication for seconds, because use under the old limit exceeds it.
        """
        # differs from Kafka (throttle-changes): Kafka keeps the measured use.
        if limit != self.limit:
            self.limit = limit
            self._rate = SimpleRate(self._windows.window_ms, self._windows.sample_count)

    def set_partitions(self, topic: str, partitions: Collection[int]) -> bool:
        """Throttle only these partitions of a topic; return whether that may have changed anything."""
        if partitions:
            self._listed[topic] = partitions
            is_changed = True
        else:
            is_changed = self._listed.pop(topic, None) is not None
        self.is_any = bool(self._listed)
        return is_changed

    def is_throttled(self, partition: TopicPartition) -> bool:
        """Return whether a partition is listed."""
        listed = self._listed.get(partition.topic)
        return listed is not None and partition.partition in listed

    def record(self, now_ms: int, size_bytes: int) -> None:
        """Count bytes of listed partitions."""
        self._rate.record(now_ms, size_bytes)

    def wait_ms(self, now_ms: int) -> int:
        """Return for how long replicas that are not in sync are throttled, as of now; 0: they are not."""
        return self._rate.wait_ms(now_ms, self.limit)

    def rate_per_s(self, now_ms: int) -> float:
        """Return the recent rate in bytes per second."""
        return self._rate.rate_per_s(now_ms)
