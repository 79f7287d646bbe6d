"""The protocols that coordinators require of the replica manager and its partitions (structural types)."""

from collections.abc import Iterator
from typing import Protocol

from barnabas.broker.log.append_result import AppendResult
from barnabas.core.pending import Pending
from barnabas.core.types import TopicPartition


class StateLog(Protocol):
    """The log of one partition of an internal topic."""

    @property
    def log_start_offset(self) -> int: ...

    @property
    def log_end_offset(self) -> int: ...

    def batches(self, start_offset: int, end_offset: int, /) -> Iterator[memoryview]:
        """Return the batches of a range; call it on the event loop, iterate in another thread."""
        ...


class StatePartition(Protocol):
    """One hosted partition of an internal topic."""

    @property
    def log(self) -> StateLog: ...


class Replicas(Protocol):
    """The replica manager, as the store of the internal topic's records."""

    def partition(self, topic_partition: TopicPartition, /) -> StatePartition | None: ...

    def append(
        self, topic_partition: TopicPartition, records: bytearray, required_acks: int, timeout_ms: int, /
    ) -> Pending[AppendResult]:
        """Append a batch; complete when it is as durable as `required_acks` demands."""
        ...
