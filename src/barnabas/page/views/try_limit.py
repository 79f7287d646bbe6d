"""Simulation of a quota with the last hour's traffic: throttled clients, how often and how long."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from barnabas.broker.quotas.simulation import LEAST_TIMEOUT_MS, Simulated, simulated
from barnabas.clients.admin_quota_states import QuotaStateAdmin
from barnabas.core.errors import BarnabasError
from barnabas.page.view import MOST_ROWS, Asked, View, ViewKind, reason
from barnabas.wire.quotas.entities import DEFAULT, Entity
from barnabas.wire.quotas.limits import KINDS_BY_KEY, QuotaKind

_LAST_S: Final = 3_600


class SenderRow(NamedTuple):
    """The simulated effect on one user's clients with one id: average and peak usage, throttling, delay, backlog."""

    user: str
    client_id: str
    average: float
    peak: float
    hold_count: int
    held_ms: int
    held_part: float
    longest_ms: int
    latest_ms: int
    left: float


class BrokerTry(NamedTuple):
    """The simulated effect on one broker's clients.

    Attributes:
        seconds: Length of the recorded history.
        held_count, sender_count: The number of throttled clients, and of clients under the quota.
        is_longer_than_clients_wait: Whether a delay exceeds the clients' timeout.
        unknown_part: The part of the traffic that came from clients without a history of their own.
        senders: The clients, in descending order of throttling; at most `MOST_ROWS`.
    """

    broker_id: int
    seconds: int
    held_count: int
    sender_count: int
    is_longer_than_clients_wait: bool
    unknown_part: float
    senders: tuple[SenderRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TryLimit(View):
    """A quota and its simulated effect; `problem` is the reason if the simulation is impossible."""

    asked: Mapping[str, str]
    names: tuple[str, ...]
    whom: str
    problem: str
    brokers: tuple[BrokerTry, ...]


async def build(asked: Asked) -> TryLimit:
    """Simulate the quota `?name=` and `?value=` for `?user=`, `?client_id=` and their defaults."""
    whom, problem = "", ""
    brokers: tuple[BrokerTry, ...] = ()
    if "value" in asked.query:
        try:
            entity, kind, limit = _wanted(asked.query)
            whom = str(entity)
            told = await asked.cluster.admin(QuotaStateAdmin).recorded(None, None, _LAST_S)
            # In a thread, so that the event loop can process other requests.
            found = await asyncio.to_thread(lambda: [simulated(each, entity, {kind: limit}) for each in told])
            brokers = tuple(broker_try(each, kind) for each in found)
        except BarnabasError as error:
            problem = reason(error)
    now_ms = asked.cluster.pool.env.clock.now_ms()
    names = tuple(KINDS_BY_KEY)
    return TryLimit(
        now_ms=now_ms,
        silent={},
        not_told=(),
        asked=asked.query,
        names=names,
        whom=whom,
        problem=problem,
        brokers=brokers,
    )


def _wanted(query: Mapping[str, str]) -> tuple[Entity, QuotaKind, float]:
    """Return the entity, kind and value of the quota. Raises BarnabasError."""
    user = DEFAULT if "other_users" in query else query.get("user") or None
    client_id = DEFAULT if "other_clients" in query else query.get("client_id") or None
    if user is None and client_id is None:
        raise BarnabasError("name a user, a client id, or both")
    kind = KINDS_BY_KEY.get(query.get("name", ""))
    if kind is None:
        raise BarnabasError(f"the quota does not exist; use one of {', '.join(KINDS_BY_KEY)}")
    try:
        return Entity(user, client_id).kept(), kind, kind.parse(query["value"])
    except ValueError as error:
        raise BarnabasError(str(error)) from None


def broker_try(found: Simulated, kind: QuotaKind) -> BrokerTry:
    """Return the effect of a quota of this kind."""
    senders = found.senders(kind)
    longest_ms = max((each.longest_throttle_ms for each in senders), default=0)
    return BrokerTry(
        found.broker_id,
        found.seconds,
        sum(bool(each.throttle_count) for each in senders),
        len(senders),
        longest_ms >= LEAST_TIMEOUT_MS,
        found.unknown[kind],
        tuple(_rows(found, kind))[:MOST_ROWS],
    )


def _rows(found: Simulated, kind: QuotaKind) -> Iterator[SenderRow]:
    seconds = max(found.seconds, 1)
    for each in found.senders(kind):
        yield SenderRow(
            each.client.user,
            each.client.client_id,
            each.offered / seconds,
            each.peak,
            each.throttle_count,
            each.throttled_ms,
            each.throttled_ms / (seconds * 1_000),
            each.longest_throttle_ms,
            each.latest_ms,
            each.left,
        )


VIEW = ViewKind("/clients/try", "Try a limit", "try_limit.html.jinja", build, 60, "/clients")
