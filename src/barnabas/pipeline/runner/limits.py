"""How fast a run may read: its own limits in bytes, records, and records per partition.

They apply in addition to the brokers' quotas (`batch_size.py`): the strictest limit decides. A batch has at most the
records that they allow in one trigger interval. The limit per partition is that of DStreams,
`spark.streaming.kafka.maxRatePerPartition`.
"""

from dataclasses import dataclass
from math import inf

# Of a record as the broker stores it, beside key and value: offsets, lengths, its share of the batch.
RECORD_OVERHEAD_BYTES = 12
# Weight of the newest batch in the mean.
_WEIGHT = 0.3


@dataclass(frozen=True, slots=True)
class Limits:
    """A run's own limits; 0 is none."""

    bytes_per_s: float = 0.0
    records_per_s: float = 0.0
    records_per_s_per_partition: float = 0.0

    def rate(self, record_bytes: float) -> float:
        """Return the records/s that all partitions together may have, where a record has so many bytes."""
        return min((rate for rate in (self.records_per_s, self.bytes_per_s / record_bytes) if rate), default=inf)

    def strictest(self, record_bytes: float) -> str:
        """Name the limit of those in all that holds, as its option; of a partition where there is none in all."""
        in_all = {
            f"--max-messages-per-s {self.records_per_s:,.0f}": self.records_per_s,
            f"--max-bytes-per-s {self.bytes_per_s:,.0f}": self.bytes_per_s / record_bytes,
        }
        named = {text: rate for text, rate in in_all.items() if rate}
        if named:
            return min(named, key=lambda text: named[text])
        rate = self.records_per_s_per_partition
        return f"--max-rate-per-partition {rate:,.0f}" if rate else ""


class RecordSize:
    """The mean size of records, from batches as they come."""

    def __init__(self, first_guess_bytes: float) -> None:
        self.mean_bytes = first_guess_bytes
        self._has_measured = False

    def measure(self, record_count: int, payload_bytes: int) -> None:
        """Take in a batch: its records, and the bytes of their keys and values."""
        if record_count == 0:
            return
        size = payload_bytes / record_count + RECORD_OVERHEAD_BYTES
        self.mean_bytes = self.mean_bytes + _WEIGHT * (size - self.mean_bytes) if self._has_measured else size
        self._has_measured = True
