"""What the stories need of a client: produce, consume, commit, rebalance, resume, and a little administration."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

SESSION_TIMEOUT_MS = 30_000
HEARTBEAT_INTERVAL_MS = 500
# What a client asks for behind a fetch waits for its answer; by default half a second.
FETCH_WAIT_MS = 50


class Message(NamedTuple):
    """A record to produce; partition None leaves the choice to the client, timestamp None to the client's clock."""

    value: bytes | None
    key: bytes | None = None
    partition: int | None = None
    timestamp_ms: int | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class Record(NamedTuple):
    """A record as it was consumed."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class Consumer(Protocol):
    """A member of a group, which begins at the committed offset or else at the earliest, and commits only when told."""

    def poll(self, timeout_ms: int) -> list[Record]: ...

    def commit(self) -> None:
        """Commit the position after everything that was polled, and wait for the answer."""

    def assignment(self) -> set[int]:
        """Return the partitions of the topic that this member holds now."""

    def offset_for_time(self, partition: int, timestamp_ms: int) -> int:
        """Return the first offset at or after a time, or -1; a group member asks this of its broker at any time."""

    def end_offset(self, partition: int) -> int: ...

    def close(self) -> None:
        """Leave the group."""


class Client(Protocol):
    """One client library, bound to a cluster."""

    def produce(
        self,
        topic: str,
        messages: Sequence[Message],
        *,
        acks: str = "all",
        codec: str = "none",
        is_idempotent: bool = False,
    ) -> list[tuple[int, int]]:
        """Produce, wait until all is answered, and return each message's partition and offset (-1 with acks=0)."""

    def consumer(
        self, topic: str, group: str, *, instance: str | None = None, is_cooperative: bool = False
    ) -> Consumer:
        """Join a group.

        Args:
            instance: `group.instance.id` of a static member.
            is_cooperative: Give partitions up one after the other (KIP-429); aiokafka can't.
        """

    def create_topic(self, topic: str, partition_count: int, config: dict[str, str]) -> None: ...

    def topics(self) -> set[str]: ...

    def topic_config(self, topic: str, name: str) -> str: ...

    def delete_topic(self, topic: str) -> None: ...

    def group_state(self, group: str) -> tuple[str, int]:
        """Return a group's state in lower case and how many members it has."""

    def group_offset(self, group: str, topic: str, partition: int) -> int:
        """Return the committed offset as an administrator sees it."""

    def close(self) -> None: ...
