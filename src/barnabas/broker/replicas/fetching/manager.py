"""All fetchers of a broker: one per leader and fetcher number. Kafka's hash assigns the partitions.

    number = abs(31 * hash(topic) + partition) % num.replica.fetchers

A partition belongs to one fetcher, or has failed, or is not followed by this broker. A fetcher is closed some time
after its last partition was removed: meanwhile it reports this to the leader, which ends the session.

Source: facts of replication, Follower; Kafka 2.7.2, AbstractFetcherManager.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from barnabas.broker.interbroker.channels import BrokerChannels
from barnabas.broker.quotas.replication import ReplicationQuota
from barnabas.broker.replicas.fetching.fetch_state import Progress
from barnabas.broker.replicas.fetching.fetcher import Fetcher
from barnabas.broker.replicas.fetching.follower_replica import FollowerReplica
from barnabas.core.clock import Clock
from barnabas.core.config import BrokerConfig
from barnabas.core.java_hash import as_int32, java_hash_code, kafka_abs
from barnabas.core.timers import Timers
from barnabas.core.types import TopicPartition

_IDLE_MS: Final = 1_000


class Fetchers:
    """The fetchers of a broker. Owned by the event loop; see `fetcher.Surroundings`.

    Attributes:
        fetchers: By leader and number.
    """

    __slots__ = (
        "_bytes_before",
        "_failed",
        "_is_closed",
        "_places",
        "broker_id",
        "busy",
        "channels",
        "clock",
        "config",
        "fetchers",
        "quota",
        "timers",
    )

    def __init__(
        self,
        broker_id: int,
        config: BrokerConfig,
        channels: BrokerChannels,
        quota: ReplicationQuota,
        timers: Timers,
        clock: Clock,
    ) -> None:
        self.broker_id = broker_id
        self.config = config
        self.channels = channels
        self.quota = quota
        self.timers = timers
        self.clock = clock
        self.busy: set[TopicPartition] = set()
        self.fetchers: dict[tuple[int, int], Fetcher] = {}
        self._places: dict[TopicPartition, Fetcher] = {}
        self._failed: set[TopicPartition] = set()
        self._is_closed = False
        # Bytes received by fetchers that are closed.
        self._bytes_before = 0

    def follow(self, partitions: Sequence[tuple[FollowerReplica, int, int]]) -> None:
        """Fetch partitions from their leaders; a partition already fetched from that leader in that epoch continues.

        Args:
            partitions: Each with its leader and the leader's epoch.
        """
        self._add([(followed, leader, epoch, followed.high_watermark) for followed, leader, epoch in partitions])

    def _add(self, partitions: Iterable[tuple[FollowerReplica, int, int, int]]) -> None:
        if self._is_closed:
            return
        begun: dict[Fetcher, None] = {}
        for followed, leader, leader_epoch, offset in partitions:
            key = followed.topic_partition
            self._failed.discard(key)
            place = self._places.get(key)
            if place is not None:
                if place.leader == leader and place.leader_epoch_of(key) == leader_epoch:
                    continue
                self._take_out(key)
            fetcher = self._fetcher_of(key, leader)
            fetcher.add(followed, leader_epoch, offset)
            self._places[key] = fetcher
            begun[fetcher] = None
        for fetcher in begun:
            fetcher.check_address()
            fetcher.hurry()

    def forget(self, keys: Iterable[TopicPartition]) -> None:
        """Stop fetching partitions; partitions that are not fetched are ignored."""
        for key in keys:
            self._failed.discard(key)
            if key in self._places:
                self._take_out(key)

    def go_on(self) -> None:
        """Apply a changed quota: throttled partitions may resume, and others may be throttled."""
        for fetcher in self.fetchers.values():
            fetcher.go_on()

    def resize(self) -> None:
        """Apply a changed num.replica.fetchers."""
        partitions = []
        for fetcher in self.fetchers.values():
            for key, progress in list(fetcher.state.partitions.items()):
                partitions.append((fetcher.remove(key), fetcher.leader, progress.leader_epoch, progress.offset))
            self._close(fetcher)
        self.fetchers.clear()
        self._places.clear()
        self._add(partitions)

    def close(self) -> None:
        """Stop all fetchers."""
        self._is_closed = True
        for fetcher in self.fetchers.values():
            fetcher.close()
        self.fetchers.clear()
        self._places.clear()

    # --- calls from the fetchers

    def is_free(self, key: TopicPartition) -> None:
        place = self._places.get(key)
        if place is not None:
            place.state.changed[key] = None
            place.hurry()

    def has_failed(self, key: TopicPartition) -> None:
        self._take_out(key)
        self._failed.add(key)

    def is_gone(self, key: TopicPartition) -> None:
        self._take_out(key)

    # --- metrics, by Kafka's names

    @property
    def failed_count(self) -> int:
        """FailedPartitionsCount."""
        return len(self._failed)

    @property
    def byte_count(self) -> int:
        """The number of bytes of records received from leaders."""
        return self._bytes_before + sum(each.byte_count for each in self.fetchers.values())

    @property
    def max_lag(self) -> int:
        """MaxLag over all partitions, except those without a response yet."""
        return max(0, max((each.lag for _, each in self.progress()), default=0))

    def progress(self) -> Iterator[tuple[Fetcher, Progress]]:
        """Iterate over all fetched partitions; consume the iterator at once, because the partitions may change."""
        for fetcher in self.fetchers.values():
            for each in fetcher.state.partitions.values():
                yield fetcher, each

    # --- assignment to fetchers

    def _take_out(self, key: TopicPartition) -> None:
        fetcher = self._places.pop(key)
        fetcher.remove(key)
        if not fetcher:
            self.timers.call_later(_IDLE_MS, self._close_if_idle, fetcher)

    def _close_if_idle(self, fetcher: Fetcher) -> None:
        place = fetcher.leader, fetcher.number
        if not fetcher and self.fetchers.get(place) is fetcher:
            del self.fetchers[place]
            self._close(fetcher)

    def _close(self, fetcher: Fetcher) -> None:
        self._bytes_before += fetcher.byte_count
        fetcher.close()

    def _fetcher_of(self, key: TopicPartition, leader: int) -> Fetcher:
        number = fetcher_number(key, self.config.num_replica_fetchers)
        fetcher = self.fetchers.get((leader, number))
        if fetcher is None:
            fetcher = self.fetchers[leader, number] = Fetcher(self, leader, number)
        return fetcher


def fetcher_number(key: TopicPartition, fetcher_count: int) -> int:
    """Return the number of the fetcher to which a partition is assigned."""
    return kafka_abs(as_int32(31 * java_hash_code(key.topic) + key.partition)) % fetcher_count
