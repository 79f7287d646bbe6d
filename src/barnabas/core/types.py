"""Types of the numbers and keys used in the whole broker.

Source: design page, terminology.
"""

from typing import NamedTuple

NO_OFFSET = -1
NO_EPOCH = -1
NO_TIMESTAMP = -1
MOST_TIMESTAMP_MS = 2**63 - 1
"""The largest timestamp that fits into Kafka's messages and records."""
NO_PRODUCER_ID = -1
NO_SEQUENCE = -1


MOST_TOPIC_NAME_CHARACTERS = 249


def is_topic_name(name: str) -> bool:
    """Return whether a name is valid for a topic."""
    characters = name.replace(".", "").replace("_", "").replace("-", "")
    return (
        0 < len(name) <= MOST_TOPIC_NAME_CHARACTERS
        and name not in (".", "..")
        and name.isascii()
        and (not characters or characters.isalnum())
    )


class TopicPartition(NamedTuple):
    """One partition of one topic; the key of every log, leader and offset."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
