"""Replication quotas: throttles for partitions that are being reassigned. Pure.

    leader.replication.throttled.rate        bytes/s that a leader sends to followers that are not in sync
    follower.replication.throttled.rate      bytes/s that a follower fetches of partitions in which it lags
    leader|follower.replication.throttled.replicas      of a topic: `*`, or `partition:broker,...`

A rate applies to the partitions listed for this broker only. All listed partitions are counted, in sync or not, so that
their sum stays within the rate; only those that are not in sync are throttled, and the caller knows which these are.
One answer may exceed the rate; the excess delays the next one.

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
    """Return the partitions that a topic's list of throttled replicas names for a broker.

    Args:
        replicas: As the setting is parsed: `*`, or each `partition:broker`; what is empty names nobody.
    """
    if replicas[:1] == [_ALL]:
        return ALL_PARTITIONS
    named = (replica.split(":") for replica in replicas if replica)
    return frozenset(int(partition) for partition, broker in named if int(broker) == broker_id)


def named_in_vain(replicas: Sequence[str], partitions: Collection[int], brokers: Collection[int]) -> list[str]:
    """Return the entries of a list of throttled replicas whose partition or broker does not exist.

    Args:
        partitions: Those of the topic.
        brokers: Those of the cluster, or of the topic's replicas: who is to get one is listed before he has it.
    """
    named = {replica: replica.split(":") for replica in replicas if replica not in ("", _ALL)}
    return [each for each, (part, broker) in named.items() if int(part) not in partitions or int(broker) not in brokers]


class ReplicationQuota:
    """The throttle of one role of this broker: of leader, or of follower.

    Attributes:
        is_any: Whether partitions are listed; where none are nothing else is to be asked.
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
        """Keep to another limit from now on.

        What was measured by the one before is forgotten: half the rate would else be none at all for seconds, and the
        whole one after that.
        """
        # differs from Kafka (throttle-changes): what was measured counts on.
        if limit != self.limit:
            self.limit = limit
            self._rate = SimpleRate(self._windows.window_ms, self._windows.sample_count)

    def set_partitions(self, topic: str, partitions: Collection[int]) -> bool:
        """Throttle these partitions of a topic, and no others of it; whether that may have changed something."""
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
        """Count bytes of partitions that are listed."""
        self._rate.record(now_ms, size_bytes)

    def wait_ms(self, now_ms: int) -> int:
        """Return for how long out-of-sync replicas are throttled, as of now; 0: not at all."""
        return self._rate.wait_ms(now_ms, self.limit)

    def rate_per_s(self, now_ms: int) -> float:
        """Return the recent rate in bytes per second."""
        return self._rate.rate_per_s(now_ms)
