"""Transactions that nobody ended: readers of committed records get nothing from the first offset of the earliest on.

There is no transaction coordinator here, so a transaction that is open when a log is opened was left so by a Kafka that
died, and stays so as long as the log is here. It is told at every start, as nothing else shows it: such a reader waits
as if nothing had been written. Kafka's coordinator ends it once the log is Kafka's again.

Source: KIP-98; semantics facts, Fetch, last stable offset.
"""

import logging
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC
from barnabas.records.batch import BatchHeader

if TYPE_CHECKING:
    from barnabas.log.partition_log import PartitionLog

MOST_WARNINGS = 10
"""So many partitions are named at a start; one transaction may be open in hundreds."""

_UNKNOWN_MS = -1

_logger = logging.getLogger(__name__)


class OpenTransaction(NamedTuple):
    """A transaction that has begun in a partition and not ended.

    Attributes:
        first_offset: Of its first record there.
        since_ms: That record's timestamp; -1: not known, its batch is gone.
    """

    producer_id: int
    producer_epoch: int
    first_offset: int
    since_ms: int = _UNKNOWN_MS

    @property
    def since(self) -> str | None:
        """When it began, for a person; None: not known."""
        if self.since_ms < 0:
            return None
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self.since_ms / 1000))


def begin_ms(header: BatchHeader) -> int:
    """The timestamp of a batch's first record."""
    return header.max_timestamp_ms if header.is_log_append_time else header.base_timestamp_ms


def open_transactions(log: "PartitionLog") -> list[OpenTransaction]:
    """Those of a log, the earliest first. Blocks, as it may read a batch's header for each of them."""
    found = []
    for producer_id, first_offset in log.producers.open_transactions():
        entry = log.producers.get(producer_id)
        epoch = -1 if entry is None else entry.epoch
        found.append(OpenTransaction(producer_id, epoch, first_offset, _since_ms(log, first_offset)))
    return found


def _since_ms(log: "PartitionLog", offset: int) -> int:
    for segment in reversed(log.segments):
        if segment.base_offset <= offset:
            located = segment.locate(offset)
            if located is not None and isinstance(located[1], BatchHeader):
                return begin_ms(located[1])
            break
    return _UNKNOWN_MS


def warn_of_open_transactions(logs: Iterable["PartitionLog"]) -> None:
    """Log one line for each partition that has any, up to `MOST_WARNINGS`, and one for the rest. Blocks."""
    affected = sorted(
        (log for log in logs if any(True for _ in log.producers.open_transactions())),
        key=lambda log: log.topic_partition,
    )
    for log in affected[:MOST_WARNINGS]:
        first, *others = open_transactions(log)
        _logger.warning(
            "%s: %s: producer %d (epoch %d) has a transaction open since %s%s; this version can't end it, Kafka can "
            "(docs/moving.md, open transactions)",
            log.directory.name,
            effect(log.topic_partition.topic, first),
            first.producer_id,
            first.producer_epoch,
            first.since or "an unknown time",
            f", and {len(others)} more producers have" if others else "",
        )
    if len(affected) > MOST_WARNINGS:
        _logger.warning(
            "%d more partitions have open transactions: `barnabas log verify` names them",
            len(affected) - MOST_WARNINGS,
        )


def effect(topic: str, earliest: OpenTransaction) -> str:
    """What the open transactions of a partition mean to those who read it."""
    if topic == GROUP_OFFSETS_TOPIC:
        return "the offsets that were committed in it do not count"
    return f"readers with isolation.level=read_committed get nothing from offset {earliest.first_offset} on"
