"""Counts bytes and records per topic for appends and reads; Kafka's BrokerTopicMetrics.

The counts are integers that only grow. When the broker no longer hosts any partition of a topic, the topic's counts are
removed; the totals of all topics keep them.

Source: metrics facts, BrokerTopicMetrics; Kafka 2.7.2, `ReplicaManager.appendToLocalLog`.
"""

from barnabas.core.error_code import ErrorCode

# Errors of the client or of another broker: Kafka does not count these as failed requests.
_NO_FAILURES = frozenset(
    [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    ]
)


class TopicCounts:
    """The counts of one topic, or of all.

    Attributes:
        partition_count: Number of hosted partitions.
        bytes_in, messages_in: Appended bytes and messages.
        bytes_out, replication_bytes_out: Bytes sent to consumers and to followers.
        bytes_rejected: Bytes of appends refused as too large.
        produce_requests, fetch_requests: Number of partitions in produce and fetch requests.
        failed_produce_requests: Number of failed appends.
        invalid_crc: Batches with a wrong checksum or header.
    """

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "bytes_rejected",
        "failed_produce_requests",
        "fetch_requests",
        "invalid_crc",
        "messages_in",
        "partition_count",
        "produce_requests",
        "replication_bytes_out",
    )

    def __init__(self) -> None:
        self.bytes_in = self.bytes_out = self.bytes_rejected = self.messages_in = self.replication_bytes_out = 0
        self.produce_requests = self.fetch_requests = self.failed_produce_requests = 0
        self.invalid_crc = 0
        self.partition_count = 0

    def note_refused(self, error_code: ErrorCode, size_bytes: int) -> None:
        """Count a refused append and its bytes."""
        if error_code not in _NO_FAILURES:
            self.failed_produce_requests += 1
        elif error_code is ErrorCode.MESSAGE_TOO_LARGE:
            self.bytes_rejected += size_bytes
        elif error_code is ErrorCode.CORRUPT_MESSAGE:
            self.invalid_crc += 1

    def add(self, other: "TopicCounts") -> None:
        """Add another topic's counts."""
        self.bytes_in += other.bytes_in
        self.bytes_out += other.bytes_out
        self.replication_bytes_out += other.replication_bytes_out
        self.bytes_rejected += other.bytes_rejected
        self.messages_in += other.messages_in
        self.produce_requests += other.produce_requests
        self.fetch_requests += other.fetch_requests
        self.failed_produce_requests += other.failed_produce_requests
        self.invalid_crc += other.invalid_crc
        self.partition_count += other.partition_count


class TopicTable:
    """The counts of all hosted topics. Owned by the event loop."""

    __slots__ = ("_gone", "by_topic")

    def __init__(self) -> None:
        self.by_topic: dict[str, TopicCounts] = {}
        self._gone = TopicCounts()

    def begin(self, topic: str) -> TopicCounts:
        """Return the counts of a topic, for a partition that is hosted from now on."""
        counts = self.by_topic.get(topic)
        if counts is None:
            counts = self.by_topic[topic] = TopicCounts()
        counts.partition_count += 1
        return counts

    def end(self, topic: str) -> None:
        """Note that a partition of the topic is no longer hosted."""
        counts = self.by_topic[topic]
        counts.partition_count -= 1
        if not counts.partition_count:
            self._gone.add(self.by_topic.pop(topic))

    def parts(self) -> list[TopicCounts]:
        """Return the counts whose sum is the total: one per topic, and one for all removed topics."""
        return [self._gone, *self.by_topic.values()]
