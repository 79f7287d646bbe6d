"""Index of the groups with pending offsets, by partition and producer; used to apply transaction markers.

Invariants: every group with pending offsets of a producer is listed under its partition and that producer; a marker
that arrives while its partition is being loaded is kept until all its groups are loaded.

Source: semantics, WriteTxnMarkers.
"""

from typing import NamedTuple


class LateMarker(NamedTuple):
    """A marker that was written while its partition was being loaded."""

    producer_id: int
    is_committed: bool


class OpenTransactions:
    """The open transactions of all groups of a broker. Owned by the event loop."""

    __slots__ = ("_group_ids", "_late")

    def __init__(self) -> None:
        self._group_ids: dict[int, dict[int, set[str]]] = {}
        self._late: dict[int, list[LateMarker]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._group_ids.values()))

    def add(self, partition: int, producer_id: int, group_id: str) -> None:
        """Note that a group has pending offsets of a producer."""
        self._group_ids.setdefault(partition, {}).setdefault(producer_id, set()).add(group_id)

    def discard(self, partition: int, producer_id: int, group_id: str) -> None:
        """Note that a group no longer has pending offsets of a producer."""
        producers = self._group_ids.get(partition, {})
        group_ids = producers.get(producer_id, set())
        group_ids.discard(group_id)
        if not group_ids:
            producers.pop(producer_id, None)

    def end(self, partition: int, producer_id: int) -> list[str]:
        """Remove a producer's transaction on a partition; return the groups with offsets in it."""
        return sorted(self._group_ids.get(partition, {}).pop(producer_id, ()))

    def keep(self, partition: int, marker: LateMarker) -> None:
        """Keep a marker until its partition is loaded."""
        self._late.setdefault(partition, []).append(marker)

    def take_late(self, partition: int) -> list[LateMarker]:
        """Return the markers kept for a partition, in order."""
        return self._late.pop(partition, [])

    def drop(self, partition: int) -> None:
        """Remove all entries of a partition that another broker coordinates now."""
        self._group_ids.pop(partition, None)
        self._late.pop(partition, None)
