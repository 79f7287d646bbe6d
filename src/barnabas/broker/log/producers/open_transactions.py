"""Hanging transactions: read_committed consumers get no records from the first offset of the earliest one on.

If a transaction is open when a log is opened, its coordinator finds it in `__transaction_state` and ends it: it resends
decided outcomes, and aborts transactions that exceed their timeout. A transaction without a record there is hanging: it
stays open permanently. Each start logs it, because its only other symptom is that read_committed consumers wait as if
nothing had been written. A broker that hosts only some partitions of `__transaction_state` cannot recognise it.

Source: KIP-98; semantics facts, Fetch, last stable offset.
"""

import logging
import time
from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from barnabas.core.errors import StorageError
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC
from barnabas.core.types import TopicPartition
from barnabas.wire.records.batch import BatchHeader
from barnabas.wire.records.errors import CorruptRecordsError

if TYPE_CHECKING:
    from barnabas.broker.log.partition_log import PartitionLog

MOST_WARNINGS = 10
"""Maximum number of partitions named at a start; one transaction may be open in hundreds."""

_UNKNOWN_MS = -1

_logger = logging.getLogger(__name__)


class OpenTransaction(NamedTuple):
    """An unfinished transaction in a partition.

    Attributes:
        first_offset: Offset of its first record in the partition.
        since_ms: That record's timestamp; -1 if unknown because its batch was removed or cannot be read.
    """

    producer_id: int
    producer_epoch: int
    first_offset: int
    since_ms: int = _UNKNOWN_MS

    @property
    def since(self) -> str | None:
        """The time of its beginning as text; None if unknown."""
        if self.since_ms < 0:
            return None
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self.since_ms / 1000))


def begin_ms(header: BatchHeader) -> int:
    """Return the timestamp of a batch's first record."""
    return header.max_timestamp_ms if header.is_log_append_time else header.base_timestamp_ms


def open_transactions(log: "PartitionLog") -> list[OpenTransaction]:
    """Return the open transactions of a log, the earliest first. Blocks: it may read a batch header for each."""
    found = []
    for producer_id, first_offset in log.producers.open_transactions():
        entry = log.producers.get(producer_id)
        epoch = -1 if entry is None else entry.epoch
        found.append(OpenTransaction(producer_id, epoch, first_offset, _since_ms(log, first_offset)))
    return found


def _since_ms(log: "PartitionLog", offset: int) -> int:
    for segment in reversed(log.segments):
        if segment.base_offset <= offset:
            try:
                located = segment.locate(offset)
            except (StorageError, CorruptRecordsError) as error:
                # The warning is worth less than a start: the other logs are not affected.
                _logger.warning("the first batch of a transaction cannot be read: %s", error)
                break
            if located is not None and isinstance(located[1], BatchHeader):
                return begin_ms(located[1])
            break
    return _UNKNOWN_MS


Coordinated: TypeAlias = Container[tuple[int, TopicPartition]]
"""Producer id and partition of each transaction that a coordinator will end."""


def with_open_transactions(logs: Iterable["PartitionLog"]) -> list["PartitionLog"]:
    """Return the logs with open transactions."""
    return [log for log in logs if any(True for _ in log.producers.open_transactions())]


def warn_of_open_transactions(
    affected: Sequence["PartitionLog"],
    state_logs: Sequence["PartitionLog"],
    read_coordinated: Callable[[Sequence["PartitionLog"]], Coordinated],
    state_partition_count: int,
) -> None:
    """Log a line for each partition with hanging transactions, and one line for those above `MOST_WARNINGS`.

    Blocks.

    Args:
        affected: The logs with open transactions.
        state_logs: The logs of `__transaction_state`.
        read_coordinated: Reads them.
        state_partition_count: Number of partitions of `__transaction_state` in the cluster; 0 if it does not exist.
    """
    if len(state_logs) < state_partition_count:
        _logger.info(
            "%d partitions have open transactions: `barnabas transactions hanging` lists those that no coordinator "
            "will end",
            len(affected),
        )
        return
    coordinated = read_coordinated(state_logs)
    hanging = []
    for log in sorted(affected, key=lambda log: log.topic_partition):
        left = [each for each in open_transactions(log) if (each.producer_id, log.topic_partition) not in coordinated]
        if left:
            hanging.append((log, left))
    if len(hanging) < len(affected):
        _logger.info(
            "%d partitions have open transactions, which their coordinators will end",
            len(affected) - len(hanging),
        )
    for log, (first, *others) in hanging[:MOST_WARNINGS]:
        _logger.warning(
            "%s: %s: producer %d (epoch %d) has a hanging transaction, open since %s%s; no coordinator knows it: "
            "end it with `barnabas transactions abort` (docs/moving.md, open transactions)",
            log.directory.name,
            effect(log.topic_partition.topic, first),
            first.producer_id,
            first.producer_epoch,
            first.since or "an unknown time",
            f", and {len(others)} more producers have" if others else "",
        )
    if len(hanging) > MOST_WARNINGS:
        _logger.warning(
            "%d more partitions have hanging transactions, which no coordinator knows: list them with "
            "`barnabas transactions hanging`",
            len(hanging) - MOST_WARNINGS,
        )


def effect(topic: str, earliest: OpenTransaction) -> str:
    """Describe the effect of open transactions on the consumers of a partition."""
    if topic == GROUP_OFFSETS_TOPIC:
        return "the offsets that were committed in it do not count"
    return f"readers with isolation.level=read_committed get nothing from offset {earliest.first_offset} on"
