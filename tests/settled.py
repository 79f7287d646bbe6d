"""Waits for what a transaction's end sets off: it is answered once it is decided, and its markers come after that."""

from confluent_kafka import Consumer, TopicPartition

from tests.patience import PATIENCE_S, until


def await_markers(servers: str, topic: str, partition: int = 0) -> None:
    """Wait until a read_committed reader of a partition is kept from nothing; no transaction may be open there."""
    until(
        lambda: (
            _end(servers, topic, partition, "read_committed") >= _end(servers, topic, partition, "read_uncommitted")
        ),
        lambda: f"{topic}-{partition}: a transaction is still open",
    )


def _end(servers: str, topic: str, partition: int, isolation_level: str) -> int:
    reader = Consumer({"bootstrap.servers": servers, "group.id": "tests", "isolation.level": isolation_level})
    try:
        _, end = reader.get_watermark_offsets(TopicPartition(topic, partition), PATIENCE_S)
        return int(end)
    finally:
        reader.close()
