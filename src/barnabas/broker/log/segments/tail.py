"""Positions of a log's newest batches, so that a read at the tail needs no index lookup on disk.

Invariant: the batches are consecutive in the active segment's file, and the last is the log's last batch.

Source: design page, section 3.
"""

from bisect import bisect_right

KEPT_BATCHES = 64


class BatchTail:
    """Base offsets and positions of the last 64 to 128 batches of the active segment."""

    __slots__ = ("_offsets", "_positions")

    def __init__(self) -> None:
        self._offsets: list[int] = []
        self._positions: list[int] = []

    def append(self, base_offset: int, position: int) -> None:
        """Note a batch that was appended."""
        offsets = self._offsets
        offsets.append(base_offset)
        self._positions.append(position)
        if len(offsets) > 2 * KEPT_BATCHES:
            del offsets[:-KEPT_BATCHES], self._positions[:-KEPT_BATCHES]

    def find(self, offset: int, end_position: int) -> tuple[int, int] | None:
        """Return the batch with the largest base offset at or below `offset`.

        Args:
            offset: At or below the log end offset.
            end_position: The end of the file.

        Returns:
            The batch's start and end position; None if the batch is older than all batches here. For the log end
            offset, the position of the last batch, which does not contain it.
        """
        index = bisect_right(self._offsets, offset) - 1
        if index < 0:
            return None
        positions = self._positions
        return positions[index], positions[index + 1] if index + 1 < len(positions) else end_position

    def clear(self) -> None:
        """Remove all batches, after the active segment was replaced or truncated."""
        self._offsets.clear()
        self._positions.clear()
