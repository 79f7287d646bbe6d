"""Search for open transactions, which keep a last stable offset below a partition's end."""

from collections.abc import Iterable
from contextlib import aclosing
from typing import Final

from barnabas.clients.admin_calls import AdminCalls
from barnabas.clients.admin_transactions import TransactionAdmin
from barnabas.clients.batch_reader import read_batches
from barnabas.core.types import TopicPartition
from barnabas.explain.asking import MOST_READ, Asking, some_at_once
from barnabas.explain.snapshot import Log, Open

# Whatever the limit, a broker returns at least one batch.
_FIRST_BATCH_BYTES: Final = 4_096


async def see_transactions(asking: Asking, where: Iterable[TopicPartition], *, with_ids: bool) -> None:
    """Find open transactions at last stable offsets, and hanging ones among them."""
    snapshot = asking.snapshot
    missing = {each for each in where if each not in snapshot.logs}
    logs = {**snapshot.logs, **(await asking.logs(missing) if missing else {})}
    unstable = {name: log for name, log in logs.items() if log.stable_offset < log.end_offset}
    found = await some_at_once(
        lambda each: asking.of_leader(each[0], _first_open(asking, *each)), list(unstable.items())[:MOST_READ]
    )
    opened = [each for each in found if each is not None]
    if not opened and not with_ids:
        return
    told = await asking.attempt("transactional ids", asking.admin(TransactionAdmin).coordinated())
    snapshot.transactional_ids = told or {}
    known = {
        (state.producer_id, partition)
        for state in snapshot.transactional_ids.values()
        if state.status.is_open
        for partition in state.partitions
    }
    suspects = [each for each in opened if told is not None and (each.producer_id, each.partition) not in known]
    # A transaction that ended during the query to its coordinator has its marker now.
    again = await asking.logs({each.partition for each in suspects}) if suspects else {}
    for each in opened:
        is_suspect = each in suspects
        if not is_suspect:
            snapshot.open_transactions.append(each)
        elif each.partition in again and again[each.partition].stable_offset == each.first_offset:
            snapshot.open_transactions.append(each._replace(is_hanging=True))


async def _first_open(asking: Asking, name: TopicPartition, log: Log) -> Open | None:
    """Read the first batch at a last stable offset, which belongs to the transaction that is open there."""
    reading = read_batches(asking.admin(AdminCalls), name, log.stable_offset, log.end_offset, _FIRST_BATCH_BYTES)
    async with aclosing(reading) as batches:
        async for header, _ in batches:
            if not header.is_transactional or header.is_control:
                return None
            began_ms = header.max_timestamp_ms if header.is_log_append_time else header.base_timestamp_ms
            return Open(name, header.producer_id, header.producer_epoch, header.base_offset, began_ms, False)
    return None
