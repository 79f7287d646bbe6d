"""The fields of one batch of a run that the indexes need.

Source: log-format facts, index rule.
"""


class Mark:
    """One batch of a run.

    Attributes:
        position: Its position in the run.
        number: Number of batches before it.
        last_offset: Its last offset.
        max_timestamp_ms: The largest timestamp in the run up to its end; -1 if there is none.
        timestamp_offset: The last offset of the batch with that timestamp.
    """

    __slots__ = ("last_offset", "max_timestamp_ms", "number", "position", "timestamp_offset")

    def __init__(
        self, position: int, number: int, last_offset: int, max_timestamp_ms: int, timestamp_offset: int
    ) -> None:
        self.position = position
        self.number = number
        self.last_offset = last_offset
        self.max_timestamp_ms = max_timestamp_ms
        self.timestamp_offset = timestamp_offset
