"""Simulates quotas that are not set yet, with the traffic that a broker recorded in the last hour. Pure.

    ExplainQuotas: rings of seconds, all limits ─ with the changes ─► simulate ─► clients that the changes affect

Source: docs/quotas.md, "Try a limit before it is set".
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.explain import REQUEST_TIMEOUTS_MS
from barnabas.broker.quotas.history import Name
from barnabas.broker.quotas.traffic_replay import Outcome, Sender, simulate
from barnabas.wire.quotas.entities import Entity, entity_of_path
from barnabas.wire.quotas.levels import Limits
from barnabas.wire.quotas.limits import QuotaKind

# Percent per microsecond of broker time in a second, for each of the broker's threads.
_PERCENT_PER_US: Final = 100 / 1_000_000
# The shortest default timeout of clients.
LEAST_TIMEOUT_MS: Final = min(REQUEST_TIMEOUTS_MS.values())


class Simulated(NamedTuple):
    """The simulated result for one broker's clients.

    Attributes:
        seconds: The length of the recorded traffic, from the first use.
        unknown: For each kind, the part of the traffic from clients without a history of their own.
    """

    broker_id: int
    entity: Entity
    changes: dict[QuotaKind, float]
    seconds: int
    outcomes: list[Outcome]
    unknown: dict[QuotaKind, float]

    def senders(self, kind: QuotaKind) -> list[Sender]:
        """Return the senders that a limit would have applied to, the longest throttled first."""
        found = [each for outcome in self.outcomes if outcome.kind is kind for each in outcome.senders]
        return sorted(found, key=lambda each: (-each.throttled_ms, -each.offered))

    def as_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
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
                    "hold_count": sender.throttle_count,
                    "held_ms": sender.throttled_ms,
                    "longest_hold_ms": sender.longest_throttle_ms,
                    "latest_ms": sender.latest_ms,
                    "left": sender.left,
                }
                for outcome in self.outcomes
                for sender in outcome.senders
            ],
            "unknown_part": {kind.key: part for kind, part in self.unknown.items()},
        }


def simulated(told: dict[str, Any], entity: Entity, changes: dict[QuotaKind, float]) -> Simulated:
    """Simulate the recorded traffic of a broker under its limits with these changes.

    Args:
        told: The result of `QuotaStateAdmin.recorded`.
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
        # Only clients that the changed limit applies to, not those throttled by other limits.
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
