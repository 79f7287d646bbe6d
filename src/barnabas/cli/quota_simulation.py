"""Output of `barnabas quotas simulate`: a broker's recent traffic under hypothetical limits."""

from collections.abc import Sequence

from barnabas.broker.quotas.explain import UNITS
from barnabas.broker.quotas.simulation import LEAST_TIMEOUT_MS, Simulated
from barnabas.broker.quotas.traffic_replay import Sender
from barnabas.cli.output import Cell, note, print_table, say
from barnabas.explain.formatting import amount, duration
from barnabas.wire.quotas.limits import QuotaKind


def show_simulated(found: Simulated) -> None:
    """Print the result of a simulation as tables."""
    limits = ", ".join(f"{kind.key}={kind.text(limit)}" for kind, limit in found.changes.items())
    say(f"Broker {found.broker_id}: {duration(found.seconds * 1_000)} of traffic, with {limits} for {found.entity}")
    for kind in found.changes:
        senders = found.senders(kind)
        if not senders:
            note(f"{kind.key}: the limit would have applied to no active client.")
            continue
        columns = [
            "user",
            "client id",
            "average",
            "peak",
            "throttled",
            "throttle time",
            "longest",
            "late by",
            "left waiting",
        ]
        print_table(columns, [_row(kind, each, found.seconds) for each in senders])
        for text in _verdict(kind, senders, found):
            note(text)


def _row(kind: QuotaKind, sender: Sender, seconds: int) -> list[Cell]:
    unit = UNITS[kind]
    total_unit = unit.removesuffix("/s") if unit.endswith("/s") else "percent"
    throttled_part = sender.throttled_ms / (seconds * 1_000) if seconds else 0
    return [
        sender.client.user,
        sender.client.client_id or None,
        amount(sender.offered / seconds if seconds else 0, unit),
        amount(sender.peak, unit),
        f"{sender.throttle_count:,} times" if sender.throttle_count else None,
        f"{duration(sender.throttled_ms)} ({throttled_part:.0%})" if sender.throttle_count else None,
        duration(sender.longest_throttle_ms) if sender.throttle_count else None,
        duration(sender.latest_ms) if sender.throttle_count else None,
        amount(sender.left, total_unit) if sender.left else None,
    ]


def _verdict(kind: QuotaKind, senders: Sequence[Sender], found: Simulated) -> list[str]:
    throttled = [each for each in senders if each.throttle_count]
    if throttled:
        texts = [f"{kind.key}: {len(throttled)} of {len(senders)} clients would have been throttled."]
    else:
        texts = [f"{kind.key}: none of {len(senders)} clients would have been throttled."]
    longest_ms = max((each.longest_throttle_ms for each in senders), default=0)
    if longest_ms >= LEAST_TIMEOUT_MS:
        texts.append(f"The longest throttle time, {duration(longest_ms)}, exceeds the request.timeout.ms of clients.")
    if any(each.left for each in senders):
        texts.append("Data left waiting was not sent by the end of the simulation: the limit is below the demand.")
    if found.unknown[kind] > 0.01:
        texts.append(f"{found.unknown[kind]:.0%} was used by many small clients that are not recorded individually.")
    return texts
