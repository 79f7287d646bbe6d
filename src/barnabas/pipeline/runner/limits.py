"""How fast a run may read: limits in bytes, records, and records per partition, as offsets per trigger.

These are the run's own, beside the quotas that brokers have for it (`reading.py`). Spark's Kafka source paces itself by
`maxOffsetsPerTrigger`: so many offsets at each trigger, over all partitions of the source, shared out by how much each
has left. From that:

| limit | becomes |
| --- | --- |
| records/s | rate x trigger interval |
| bytes/s | rate x trigger interval / mean record size, as measured over the last batches |
| records/s per partition | one source per partition, each with rate x trigger interval |

The last is what DStreams' `spark.streaming.kafka.maxRatePerPartition` meant.
 Of several limits the strictest holds.
"""

from dataclasses import dataclass

# Of a record as the broker stores it, beside key and value: offsets, lengths, its share of the batch.
RECORD_OVERHEAD_BYTES = 12
# A query is started again with a new limit where the measured size has moved further than this from the assumed one.
_TOLERANCE = 0.25
# Weight of the newest batch in the mean.
_WEIGHT = 0.3


@dataclass(frozen=True, slots=True)
class Limits:
    """A run's own limits; 0 is none."""

    bytes_per_s: float = 0.0
    records_per_s: float = 0.0
    records_per_s_per_partition: float = 0.0

    def offsets_per_trigger(self, trigger_s: float, record_bytes: float, source_count: int) -> int | None:
        """Return the limit of one source; None where there is none.

        Args:
            trigger_s: Seconds between triggers.
            record_bytes: Mean size of a record, overhead included.
            source_count: How many sources there are: they share what is limited in all.
        """
        rates = [rate / source_count for rate in (self.records_per_s, self.bytes_per_s / record_bytes) if rate]
        if self.records_per_s_per_partition:
            rates.append(self.records_per_s_per_partition)
        return max(1, int(min(rates) * trigger_s)) if rates else None

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

    @property
    def is_per_partition(self) -> bool:
        """Whether each partition needs a source of its own."""
        return bool(self.records_per_s_per_partition)


class RecordSize:
    """The mean size of records, from batches as they come."""

    def __init__(self, first_guess_bytes: float) -> None:
        self.mean_bytes = first_guess_bytes
        self._assumed_bytes = first_guess_bytes
        self._has_measured = False

    def measure(self, record_count: int, payload_bytes: int) -> None:
        """Take in a batch: its records, and the bytes of their keys and values."""
        if record_count == 0:
            return
        size = payload_bytes / record_count + RECORD_OVERHEAD_BYTES
        self.mean_bytes = self.mean_bytes + _WEIGHT * (size - self.mean_bytes) if self._has_measured else size
        self._has_measured = True

    def assume(self) -> float:
        """Return the mean, as what a query is started with."""
        self._assumed_bytes = self.mean_bytes
        return self.mean_bytes

    @property
    def has_moved(self) -> bool:
        """Whether it is now so far from what was assumed that the limit is wrong."""
        return abs(self.mean_bytes - self._assumed_bytes) > _TOLERANCE * self._assumed_bytes
