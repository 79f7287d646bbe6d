"""`barnabas quotas simulate`: an hour of a broker's traffic under limits that are not set."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.explain import REQUEST_TIMEOUTS_MS, UNITS
from barnabas.broker.quotas.history import Name
from barnabas.broker.quotas.simulate import Outcome, Sender, simulate
from barnabas.cli.output import Cell, note, print_table, say
from barnabas.explain.words import amount, duration
from barnabas.wire.quotas.entities import Entity, entity_of_path
from barnabas.wire.quotas.levels import Limits
from barnabas.wire.quotas.limits import QuotaKind

# Of microseconds of the broker's time in a second, for each of its threads.
_PERCENT_PER_US: Final = 100 / 1_000_000
_LEAST_TIMEOUT_MS: Final = min(REQUEST_TIMEOUTS_MS.values())


class Simulated(NamedTuple):
    """What would have become of one broker's clients.

    Attributes:
        seconds: Of how many anything is known.
        unknown: Which part of the traffic was of clients that have no history of their own, for each kind.
    """

    broker_id: int
    entity: Entity
    changes: dict[QuotaKind, float]
    seconds: int
    outcomes: list[Outcome]
    unknown: dict[QuotaKind, float]

    def as_dict(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "broker_id": self.broker_id,
            "entity": f"/config/{self.entity.path}",
            "set": {kind.key: limit for kind, limit in self.changes.items()},
            "seconds": self.seconds,
            "clients": [
                {
                    "key": outcome.kind.key,
                    "limit": outcome.resolution.limit,
                    "user": sender.client.user,
                    "client_id": sender.client.client_id,
                    "used": sender.offered,
                    "peak": sender.peak,
                    "hold_count": sender.hold_count,
                    "held_ms": sender.held_ms,
                    "longest_hold_ms": sender.longest_hold_ms,
                    "latest_ms": sender.latest_ms,
                    "left": sender.left,
                }
                for outcome in self.outcomes
                for sender in outcome.senders
            ],
            "unknown_part": {kind.key: part for kind, part in self.unknown.items()},
        }


def simulated(told: dict[str, Any], entity: Entity, changes: dict[QuotaKind, float]) -> Simulated:
    """Send what a broker recorded through its limits with these changes.

    Args:
        told: As `QuotaStateAdmin.recorded` has it.
    """
    rings = told["rings"]
    first = min((_first_used(ring["values"]) for ring in rings), default=0)
    seconds = max((len(ring["values"]) for ring in rings), default=0) - first
    windows = Windows(told["window_count"], told["window_ms"])
    outcomes, unknown = [], {}
    for kind, limit in changes.items():
        limits = _limits(told["limits"], kind)
        limits.set(entity, limit)
        unit = _PERCENT_PER_US * told["thread_count"] if kind is QuotaKind.REQUEST else 1
        own = [ring for ring in rings if ring["key"] == kind.key]
        traffic = [
            (Name(ring["user"], ring["client_id"]), [value * unit for value in ring["values"][first:]])
            for ring in own
            if ring["user"] is not None
        ]
        total = sum(sum(ring["values"]) for ring in own)
        others = sum(sum(ring["values"]) for ring in own if ring["user"] is None)
        unknown[kind] = others / total if total else 0.0
        found = simulate(kind, limits, traffic, windows)
        # Those whom the change is about, not what other limits go on doing.
        outcomes += [each for each in found if each.resolution.entity == entity]
    return Simulated(told["broker_id"], entity, changes, seconds, outcomes, unknown)


def _first_used(values: Sequence[int]) -> int:
    return next((index for index, value in enumerate(values) if value), len(values))


def _limits(told: Sequence[dict[str, Any]], kind: QuotaKind) -> Limits:
    own = [each for each in told if each["key"] == kind.key]
    limits = Limits(next((each["limit"] for each in own if each["path"] is None), None))
    for each in own:
        entity = None if each["path"] is None else entity_of_path(each["path"])
        if entity is not None:
            limits.set(entity, each["limit"])
    return limits


def show_simulated(found: Simulated) -> None:
    """Show a simulation's outcome to people."""
    limits = ", ".join(f"{kind.key}={kind.text(limit)}" for kind, limit in found.changes.items())
    say(f"Broker {found.broker_id}: {duration(found.seconds * 1_000)} of traffic, with {limits} for {found.entity}")
    for kind in found.changes:
        senders = [each for outcome in found.outcomes if outcome.kind is kind for each in outcome.senders]
        if not senders:
            note(f"{kind.key}: it would have been in force for nobody who used anything.")
            continue
        senders.sort(key=lambda each: (-each.held_ms, -each.offered))
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
    if longest_ms >= _LEAST_TIMEOUT_MS:
        texts.append(f"The longest hold, {duration(longest_ms)}, is longer than clients wait (request.timeout.ms).")
    if any(each.left for each in senders):
        texts.append("What is left waiting had not been sent at the end: the limit is below what is used.")
    if found.unknown[kind] > 0.01:
        texts.append(f"{found.unknown[kind]:.0%} was used by many small clients that are not remembered one by one.")
    return texts
