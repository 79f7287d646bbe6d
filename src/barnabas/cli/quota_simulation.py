"""`barnabas quotas simulate`: an hour of a broker's traffic under limits that are not set, for people."""

from collections.abc import Sequence

from barnabas.broker.quotas.explain import UNITS
from barnabas.broker.quotas.simulate import Sender
from barnabas.broker.quotas.what_if import LEAST_TIMEOUT_MS, Simulated
from barnabas.cli.output import Cell, note, print_table, say
from barnabas.explain.words import amount, duration
from barnabas.wire.quotas.limits import QuotaKind


def show_simulated(found: Simulated) -> None:
    """Show a simulation's outcome to people."""
    limits = ", ".join(f"{kind.key}={kind.text(limit)}" for kind, limit in found.changes.items())
    say(f"Broker {found.broker_id}: {duration(found.seconds * 1_000)} of traffic, with {limits} for {found.entity}")
    for kind in found.changes:
        senders = found.senders(kind)
        if not senders:
            note(f"{kind.key}: it would have been in force for nobody who used anything.")
            continue
        columns = ["user", "client id", "average", "peak", "held", "held in all", "longest", "late by", "left waiting"]
        print_table(columns, [_row(kind, each, found.seconds) for each in senders])
        for text in _verdict(kind, senders, found):
            note(text)


def _row(kind: QuotaKind, sender: Sender, seconds: int) -> list[Cell]:
    unit = UNITS[kind]
    total_unit = unit.removesuffix("/s") if unit.endswith("/s") else "percent"
    held_part = sender.held_ms / (seconds * 1_000) if seconds else 0
    return [
        sender.client.user,
        sender.client.client_id or None,
        amount(sender.offered / seconds if seconds else 0, unit),
        amount(sender.peak, unit),
        f"{sender.hold_count:,} times" if sender.hold_count else None,
        f"{duration(sender.held_ms)} ({held_part:.0%})" if sender.hold_count else None,
        duration(sender.longest_hold_ms) if sender.hold_count else None,
        duration(sender.latest_ms) if sender.hold_count else None,
        amount(sender.left, total_unit) if sender.left else None,
    ]


def _verdict(kind: QuotaKind, senders: Sequence[Sender], found: Simulated) -> list[str]:
    held = [each for each in senders if each.hold_count]
    if held:
        texts = [f"{kind.key}: {len(held)} of {len(senders)} clients would have been held."]
    else:
        texts = [f"{kind.key}: none of {len(senders)} clients would have been held."]
    longest_ms = max((each.longest_hold_ms for each in senders), default=0)
    if longest_ms >= LEAST_TIMEOUT_MS:
        texts.append(f"The longest hold, {duration(longest_ms)}, is longer than clients wait (request.timeout.ms).")
    if any(each.left for each in senders):
        texts.append("What is left waiting had not been sent at the end: the limit is below what is used.")
    if found.unknown[kind] > 0.01:
        texts.append(f"{found.unknown[kind]:.0%} was used by many small clients that are not remembered one by one.")
    return texts
