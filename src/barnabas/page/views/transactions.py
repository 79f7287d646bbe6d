"""Transactions: open ones and their producers, hanging ones, recent ends with reasons, and all ids."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.clients.transaction_log import TransactionState
from barnabas.core.internal_topics import TRANSACTION_STATE_TOPIC
from barnabas.core.types import TopicPartition
from barnabas.explain.finding import Finding
from barnabas.explain.questions import QUESTIONS
from barnabas.explain.rules.transaction import why_aborted
from barnabas.explain.snapshot import Snapshot
from barnabas.page.view import Asked, RowRange, View, ViewKind, known, select_rows


class OpenRow(NamedTuple):
    """An open transaction in a partition.

    Attributes:
        ends_ms: The time when its coordinator will abort it; None if it is hanging or its outcome is decided.
    """

    partition: TopicPartition
    first_offset: int
    transactional_id: str
    producer_id: int
    producer_epoch: int
    began_ms: int
    ends_ms: int | None
    is_hanging: bool


class EndRow(NamedTuple):
    """Transactions of one id that ended in the same way; `markers_owed` counts markers not written yet."""

    transactional_id: str
    outcome: str
    reason: str
    transaction_count: int
    first_ms: int
    last_ms: int
    took_ms: int
    client_id: str
    host: str
    markers_owed: int


class IdRow(NamedTuple):
    """The last logged state of a transactional id; `coordinator_id` is None if its partition has no leader."""

    name: str
    coordinator_id: int | None
    producer_id: int
    producer_epoch: int
    state: str
    partition_count: int
    updated_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Transactions(View):
    """All transactions, or the search results by id; `open` always has all open ones."""

    findings: tuple[Finding, ...]
    open: tuple[OpenRow, ...]
    ended: tuple[EndRow, ...]
    ids: RowRange[IdRow]


async def build(asked: Asked) -> Transactions:
    """Read open and ended transactions and all ids. Raises KafkaError."""
    question = QUESTIONS["transaction"]
    snapshot = await asked.cluster.collect(question)
    first = asked._replace(query={"find": asked.query.get("find", "")})
    ended = sorted(end_rows(snapshot), key=lambda row: -row.last_ms)
    return Transactions(
        **known(snapshot)._asdict(),
        findings=tuple(each for each in question.rule(snapshot) if each.severity)[:20],
        open=tuple(sorted(open_rows(snapshot), key=lambda row: row.began_ms)),
        ended=select_rows(ended, first, lambda row: row.transactional_id).rows,
        ids=select_rows(list(id_rows(snapshot)), asked, lambda row: row.name),
    )


def open_rows(snapshot: Snapshot) -> Iterator[OpenRow]:
    """Yield, for each partition, the open transaction at its last stable offset."""
    by_producer = {each.producer_id: each for each in snapshot.transactional_ids.values()}
    for each in snapshot.open_transactions:
        state = None if each.is_hanging else by_producer.get(each.producer_id)
        began_ms = state.started_ms if state is not None and state.started_ms >= 0 else each.started_ms
        yield OpenRow(
            each.partition,
            each.first_offset,
            "" if state is None else state.transactional_id,
            each.producer_id,
            each.producer_epoch,
            began_ms,
            None if state is None or state.status.is_decided else began_ms + state.timeout_ms,
            each.is_hanging,
        )


def end_rows(snapshot: Snapshot) -> Iterator[EndRow]:
    """Yield the aborted transactions of the last hour, and those whose markers are still missing."""
    for row in snapshot.rows("transactions"):
        if row["outcome"] != "open" and row["at_ms"] >= snapshot.since_ms:
            yield EndRow(
                row["transactional_id"],
                row["outcome"],
                why_aborted(row)
                if row["outcome"] == "aborted"
                else "its producer committed it, and markers are still missing",
                row["count"],
                row["first_ms"],
                row["at_ms"],
                max(row["at_ms"] - row["began_ms"], 0),
                row["client_id"] or "",
                row["host"] or "",
                row["markers_owed"],
            )


def id_rows(snapshot: Snapshot) -> Iterator[IdRow]:
    """Yield all transactional ids, by name."""
    partitions = snapshot.partitions
    for state in snapshot.transactional_ids.values():
        log = partitions.get(TopicPartition(TRANSACTION_STATE_TOPIC, state.log_partition))
        yield _id(state, -1 if log is None else log.leader_id)


def _id(state: TransactionState, leader_id: int) -> IdRow:
    return IdRow(
        state.transactional_id,
        leader_id if leader_id >= 0 else None,
        state.producer_id,
        state.producer_epoch,
        state.status.name,
        len(state.partitions),
        state.updated_ms,
    )


VIEW = ViewKind("/transactions", "Transactions", "transactions.html.jinja", build, 10, "/transactions")
