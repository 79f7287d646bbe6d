"""State of transactions: open ones and their producers, hanging ones, and the reasons of aborts."""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Final

from barnabas.clients.transaction_log import TransactionState
from barnabas.core.advised_commands import command
from barnabas.core.types import TopicPartition
from barnabas.explain.finding import Certainty, Figure, Finding, Severity, worst_first
from barnabas.explain.formatting import count, duration, times
from barnabas.explain.snapshot import OpenTransaction, Row, Snapshot

# A transaction open for this long is a problem; producers usually commit about every second.
_LONG_MS: Final = 60_000
_REASONS: Final = {
    "producer": "its producer aborted it",
    "timeout": "its producer did not end it within transaction.timeout.ms",
    "newer_producer": "a newer producer took its transactional id",
}


def explain_transaction(snapshot: Snapshot) -> list[Finding]:
    """Explain open and aborted transactions; only the id's if the scope has a transactional id."""
    wanted = snapshot.scope.name
    found = [*of_open(snapshot, None, None), *_aborted(snapshot)]
    for state in snapshot.transactional_ids.values():
        if wanted == state.transactional_id and not state.status.is_open:
            found.append(_state(snapshot, state))
    if wanted is not None:
        found = [each for each in found if each.subject == _subject(wanted)]
        if not found:
            text = f"no transaction of {wanted} is known: its coordinator has forgotten the id, or never knew it"
            found.append(Finding(_subject(wanted), "not-known", text, certainty=Certainty.UNKNOWN))
    return worst_first(found)


def _subject(transactional_id: str) -> str:
    return f"transactional id {transactional_id}"


def of_open(
    snapshot: Snapshot, partitions: Collection[TopicPartition] | None, producer_id: int | None
) -> list[Finding]:
    """Return findings about open transactions, with their producers and end times.

    Args:
        snapshot: The snapshot.
        partitions: The partitions; None: all.
        producer_id: The producer; None: any.
    """
    by_producer: dict[int, list[OpenTransaction]] = {}
    for each in snapshot.open_transactions:
        if (partitions is None or each.partition in partitions) and producer_id in (None, each.producer_id):
            by_producer.setdefault(each.producer_id, []).append(each)
    return worst_first(_open(snapshot, *each) for each in by_producer.items())


def _open(snapshot: Snapshot, producer_id: int, opened: list[OpenTransaction]) -> Finding:
    first = min(opened, key=lambda each: each.started_ms)
    state = next((each for each in snapshot.transactional_ids.values() if each.producer_id == producer_id), None)
    began_ms = state.started_ms if state is not None and state.started_ms >= 0 else first.started_ms
    age_ms = max(snapshot.now_ms - began_ms, 0)
    figures: dict[str, Figure] = {
        "producer_id": producer_id,
        "producer_epoch": first.producer_epoch,
        "first_offset": first.first_offset,
        "open_ms": age_ms,
        "partitions": [str(each.partition) for each in opened[:20]],
    }
    where = f"{first.partition} from offset {first.first_offset} on"
    if first.is_hanging:
        place = (("--topic", first.partition.topic), ("--partition", first.partition.partition))
        text = (
            f"the transaction of producer {producer_id} in {where} hangs for {duration(age_ms)}: no coordinator knows "
            "it, so it never ends"
        )
        commands = (
            command("transactions", "hanging", *place),
            command("transactions", "abort", *place, ("--start-offset", first.first_offset)),
        )
        subject = f"partition {first.partition}"
        return Finding(subject, "hanging", text, Severity.URGENT, since_ms=began_ms, figures=figures, commands=commands)
    if state is None:
        text = f"a transaction of producer {producer_id} is open in {where} for {duration(age_ms)}; its id is unknown"
        severity = Severity.PROBLEM if age_ms >= _LONG_MS else Severity.FINE
        subject = f"partition {first.partition}"
        return Finding(subject, "open", text, severity, Certainty.UNKNOWN, began_ms, figures)
    left_ms = state.timeout_ms - age_ms
    figures |= {"transactional_id": state.transactional_id, "timeout_ms": state.timeout_ms}
    who = next(snapshot.rows("transactions", transactional_id=state.transactional_id, outcome="open"), None)
    of_client = f" of {who['client_id']} at {who['host']}" if who is not None and who["client_id"] else ""
    text = (
        f"transactional id {state.transactional_id}{of_client} has a transaction open for {duration(age_ms)} in {where}"
        + (f" and {len(opened) - 1} more" if len(opened) > 1 else "")
    )
    text += f"; it is {state.status.name}" if state.status.name != "Ongoing" else ""
    if state.status.is_decided:
        text += ", so its outcome is decided: its coordinator writes the missing markers as soon as the partitions "
        text += "accept them"
    else:
        figures["ends_in_ms"] = left_ms
        text += (
            f"; unless it ends before, its coordinator aborts it in {duration(left_ms)} (transaction.timeout.ms)"
            if left_ms > 0
            else "; its timeout is over, and its coordinator is about to end it"
        )
    severity = Severity.PROBLEM if age_ms >= _LONG_MS else Severity.FINE
    next_step = command("transactions", "describe", ("--transactional-id", state.transactional_id))
    return Finding(
        _subject(state.transactional_id),
        "open",
        text,
        severity,
        since_ms=began_ms,
        figures=figures,
        commands=(next_step,),
    )


def _state(snapshot: Snapshot, state: TransactionState) -> Finding:
    """Return a finding about the last logged state of a transactional id."""
    rows = list(snapshot.rows("transactions", transactional_id=state.transactional_id))
    text = (
        f"transactional id {state.transactional_id} is {state.status.name} for "
        f"{duration(max(snapshot.now_ms - state.updated_ms, 0))}, with producer {state.producer_id} of epoch "
        f"{state.producer_epoch}"
    )
    figures: dict[str, Figure] = {
        "state": state.status.name,
        "producer_id": state.producer_id,
        "producer_epoch": state.producer_epoch,
        "timeout_ms": state.timeout_ms,
    }
    causes: tuple[Finding, ...] = ()
    if not rows and state.status.name == "CompleteAbort":
        unknown = "why it was aborted is unknown: its coordinator records no reasons, or has dropped this one"
        causes = (Finding(_subject(state.transactional_id), "unknown", unknown, certainty=Certainty.UNKNOWN),)
    return Finding(
        _subject(state.transactional_id), "last-state", text, since_ms=state.updated_ms, figures=figures, causes=causes
    )


def why_aborted(row: Row) -> str:
    """Describe why the transactions of a row were aborted."""
    return str(_REASONS.get(row["reason"], row["reason"] or "for an unknown reason"))


def _aborted(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield for each id the number of its aborted transactions, and the reason of the last abort."""
    by_id: dict[str, list[Row]] = {}
    for row in snapshot.rows("transactions", outcome="aborted"):
        if row["at_ms"] >= snapshot.since_ms:
            by_id.setdefault(row["transactional_id"], []).append(row)
    for transactional_id, rows in by_id.items():
        last = max(rows, key=lambda row: int(row["at_ms"]))
        reasons: Counter[str] = Counter()
        for row in rows:
            reasons[str(row["reason"])] += int(row["count"])
        why = why_aborted(last)
        who = f" by {last['client_id']} at {last['host']}" if last["client_id"] else ""
        text = f"a transaction of {transactional_id} was aborted {times(reasons.total())}; the last time {why}{who}, "
        text += f"{duration(max(last['at_ms'] - last['began_ms'], 0))} after it began"
        owed = int(last.get("markers_owed") or 0)
        if owed:
            text += f"; {count(owed, 'marker')} of it could not be written yet"
        figures: dict[str, Figure] = {f"{name}_count": number for name, number in reasons.items()}
        is_forced = set(reasons) - {"producer"}
        severity = Severity.PROBLEM if owed else Severity.NOTICE if is_forced else Severity.FINE
        yield Finding(
            _subject(transactional_id),
            f"aborted-{str(last['reason']).replace('_', '-')}",
            text,
            severity,
            since_ms=last["at_ms"],
            figures=figures | {"markers_owed": owed},
            commands=(command("transactions", "describe", ("--transactional-id", transactional_id)),),
        )
