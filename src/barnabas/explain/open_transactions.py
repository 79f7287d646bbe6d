"""Search for open transactions, which keep a last stable offset below a partition's end."""

from collections.abc import Iterable
from contextlib import aclosing
from typing import Final

from barnabas.clients.admin_calls import AdminCalls
from barnabas.clients.admin_transactions import TransactionAdmin
from barnabas.clients.batch_reader import read_batches
from barnabas.core.types import TopicPartition
from barnabas.explain.queries import MOST_READ, Queries, some_at_once
from barnabas.explain.snapshot import Log, OpenTransaction

# Whatever the limit, a broker returns at least one batch.
_FIRST_BATCH_BYTES: Final = 4_096


async def find_open_transactions(queries: Queries, where: Iterable[TopicPartition], *, with_ids: bool) -> None:
    """Find open transactions at last stable offsets, and hanging ones among them."""
    snapshot = queries.snapshot
    missing = {each for each in where if each not in snapshot.logs}
    logs = {**snapshot.logs, **(await queries.logs(missing) if missing else {})}
    unstable = {name: log for name, log in logs.items() if log.stable_offset < log.end_offset}
    found = await some_at_once(
        lambda each: queries.of_leader(each[0], _first_open(queries, *each)), list(unstable.items())[:MOST_READ]
    )
    opened = [each for each in found if each is not None]
    if not opened and not with_ids:
        return
    answer = await queries.attempt("transactional ids", queries.admin(TransactionAdmin).coordinated())
    snapshot.transactional_ids = answer or {}
    known = {
        (state.producer_id, partition)
        for state in snapshot.transactional_ids.values()
        if state.status.is_open
        for partition in state.partitions
    }
    suspects = [each for each in opened if answer is not None and (each.producer_id, each.partition) not in known]
    # A transaction that ended during the query to its coordinator has its marker now.
    again = await queries.logs({each.partition for each in suspects}) if suspects else {}
    for each in opened:
        is_suspect = each in suspects
        if not is_suspect:
            snapshot.open_transactions.append(each)
        elif each.partition in again and again[each.partition].stable_offset == each.first_offset:
            snapshot.open_transactions.append(each._replace(is_hanging=True))


async def _first_open(queries: Queries, name: TopicPartition, log: Log) -> OpenTransaction | None:
    """Read the first batch at a last stable offset, which belongs to the transaction that is open there."""
    reading = read_batches(queries.admin(AdminCalls), name, log.stable_offset, log.end_offset, _FIRST_BATCH_BYTES)
    async with aclosing(reading) as batches:
        async for header, _ in batches:
            if not header.is_transactional or header.is_control:
                return None
            began_ms = header.max_timestamp_ms if header.is_log_append_time else header.base_timestamp_ms
            return OpenTransaction(name, header.producer_id, header.producer_epoch, header.base_offset, began_ms, False)
    return None
