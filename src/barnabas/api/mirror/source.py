"""Where a stream's messages come from, and where their offsets are kept.

Invariant: `commit` is only ever told of what the target has acknowledged.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

Headers = list[tuple[str, bytes | None]]


class SourceMessage(NamedTuple):
    """One message of a source.

    Attributes:
        timestamp_ms: None: it has none (formats before 0.10).
        headers: In their order; names may be repeated.
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int | None = None
    headers: Headers | None = None


class Source(Protocol):
    """A member of a source cluster's group; used by one thread."""

    @property
    def name(self) -> str:
        """Return a name of the cluster for people."""
        ...

    def take(self, timeout_s: float) -> Sequence[SourceMessage]:
        """The next messages, in order for each partition; none when `timeout_s` passed.

        Raises:
            MirrorError: The source refuses.
        """
        ...

    def commit(self) -> None:
        """Store the offsets behind all that was taken. What can't be stored now is stored by a later call.

        Raises:
            MirrorError: It is refused for good.
        """
        ...

    def close(self) -> None:
        """Leave the group; what was taken and not committed will be taken again."""
        ...
