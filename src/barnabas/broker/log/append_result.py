"""The result of an append.

Source: protocol guide, Produce response; semantics facts, Produce.
"""

from dataclasses import dataclass

from barnabas.broker.log.producers.producer_state import ProducerBatch
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_OFFSET, NO_TIMESTAMP
from barnabas.wire.records.record_rules import RecordRefusal


@dataclass(slots=True, init=False)
class AppendResult:
    """The result for one partition.

    An error from before or during the append has no offsets. An error from afterwards, while the append waits for
    followers, has the offsets of the append: its records are in the log, and readers get them once they are replicated.

    Attributes:
        error_code: NONE when the records are in the log, and acknowledged as the producer requires.
        base_offset: Offset of the first record, or -1. For a duplicate, the offset from its first append.
        last_offset: Offset of the last record, or -1.
        append_time_ms: The append time; -1 with create time. For a duplicate, the largest timestamp of the batch.
        log_start_offset: -1 for errors for which Kafka does not report it.
        is_duplicate: Whether the batch was in the log already, so that nothing was appended.
        is_flush_due: Whether flush.messages requires a flush before the append is acknowledged.
        message: The message about a refused record in a Produce answer; None for other refusals.
        record_errors: Index in the batch and reason, for each refused record.
    """

    error_code: ErrorCode
    base_offset: int
    last_offset: int
    append_time_ms: int
    log_start_offset: int
    is_duplicate: bool
    is_flush_due: bool
    message: str | None
    record_errors: tuple[tuple[int, str | None], ...]

    def __init__(
        self,
        error_code: ErrorCode,
        base_offset: int = NO_OFFSET,
        last_offset: int = NO_OFFSET,
        append_time_ms: int = NO_TIMESTAMP,
        log_start_offset: int = NO_OFFSET,
        is_duplicate: bool = False,
        message: str | None = None,
        record_errors: tuple[tuple[int, str | None], ...] = (),
        is_flush_due: bool = False,
    ) -> None:
        # hot path: benchmarks/load (every append). Written out because the method that dataclass generates is not
        # compiled.
        self.error_code = error_code
        self.base_offset = base_offset
        self.last_offset = last_offset
        self.append_time_ms = append_time_ms
        self.log_start_offset = log_start_offset
        self.is_duplicate = is_duplicate
        self.is_flush_due = is_flush_due
        self.message = message
        self.record_errors = record_errors

    def failed(self, error_code: ErrorCode) -> "AppendResult":
        """Return the result of this append after an error while it waited for followers."""
        return AppendResult(
            error_code,
            self.base_offset,
            self.last_offset,
            self.append_time_ms,
            self.log_start_offset,
            is_duplicate=self.is_duplicate,
        )


def refused(refusal: RecordRefusal, log_start_offset: int) -> AppendResult:
    """Return the result of an append that was refused."""
    result = AppendResult(refusal.error_code, record_errors=refusal.record_errors)
    if refusal.record_errors:
        result.message = refusal.reason
    if not refusal.is_before_log:
        result.log_start_offset = log_start_offset
    return result


def repeated(duplicate: ProducerBatch, log_start_offset: int, is_flush_due: bool) -> AppendResult:
    """Return the result for a batch of an idempotent producer that the log already has."""
    return AppendResult(
        ErrorCode.NONE,
        duplicate.first_offset,
        duplicate.last_offset,
        duplicate.timestamp_ms,
        log_start_offset,
        is_duplicate=True,
        is_flush_due=is_flush_due,
    )
