"""A run's own read limits: bytes, records, and records per partition, per second.

They apply in addition to the brokers' quotas (`batch_size.py`): the strictest limit decides. A batch has at most the
records that they allow in one trigger interval. The limit per partition corresponds to
`spark.streaming.kafka.maxRatePerPartition` of DStreams.
"""

from dataclasses import dataclass
from math import inf

# Size of a stored record without key and value: offsets, lengths, its share of the batch.
RECORD_OVERHEAD_BYTES = 12
# Weight of the newest batch in the mean.
_WEIGHT = 0.3


@dataclass(frozen=True, slots=True)
class Limits:
    """A run's own limits; 0: no limit."""

    bytes_per_s: float = 0.0
    records_per_s: float = 0.0
    records_per_s_per_partition: float = 0.0

    def rate(self, record_bytes: float) -> float:
        """Return the allowed records/s of all partitions together, for records of `record_bytes`."""
        return min((rate for rate in (self.records_per_s, self.bytes_per_s / record_bytes) if rate), default=inf)

    def strictest(self, record_bytes: float) -> str:
        """Return the strictest total limit as its option; if there is none, the limit per partition, or ""."""
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
    """The mean size of records, weighted towards the latest batches."""

    def __init__(self, first_guess_bytes: float) -> None:
        self.mean_bytes = first_guess_bytes
        self._has_measured = False

    def measure(self, record_count: int, payload_bytes: int) -> None:
        """Update the mean with a batch: its records, and the bytes of their keys and values."""
        if record_count == 0:
            return
        size = payload_bytes / record_count + RECORD_OVERHEAD_BYTES
        self.mean_bytes = self.mean_bytes + _WEIGHT * (size - self.mean_bytes) if self._has_measured else size
        self._has_measured = True
