"""Explains why a client is throttled or not: all levels, the measured use, and clients sharing a limit. Pure.

An explanation covers one broker. Limits are per broker, as in Kafka, so on N brokers a client may use N times as much.

Source: semantics, quotas; docs/quotas.md.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, TypeAlias

from barnabas.broker.quotas.bucket import Bucket, Windows
from barnabas.broker.quotas.history import History, Name, Recorded
from barnabas.broker.quotas.manager import Client, Quotas
from barnabas.wire.quotas.entities import Level, kept_name
from barnabas.wire.quotas.levels import LevelLimit, Tags
from barnabas.wire.quotas.limits import QuotaKind

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

UNITS: Final = {
    QuotaKind.PRODUCE: "bytes/s",
    QuotaKind.FETCH: "bytes/s",
    QuotaKind.REQUEST: "percent",
    QuotaKind.CONTROLLER_MUTATION: "partitions/s",
}
# Kafka's default maximum of a producer's request, and of a consumer's fetch from one partition.
LARGE_REQUEST_BYTES: Final = 1_048_576
# How long clients wait for an answer, by default, before they give up and retry.
REQUEST_TIMEOUTS_MS: Final = {
    "Java clients, kafka-python's producer, librdkafka (request.timeout.ms)": 30_000,
    "librdkafka (socket.timeout.ms)": 60_000,
    "Java producer, a record with all its tries (delivery.timeout.ms)": 120_000,
}
RATE_SECONDS: Final = 10
# Maximum number of clients sharing a bucket that are checked, and that are named.
_MOST_LOOKED_AT, _MOST_NAMED = 1_000, 20
_NS_PER_US: Final = 1_000


def explain(
    quotas: Quotas,
    history: History | None,
    user: str,
    client_id: str,
    now_ms: int,
    only_user: str | None = None,
    kinds: Iterable[QuotaKind] = QuotaKind,
) -> dict[str, Json]:
    """Explain all limits that throttle, or could throttle, the clients with a user and client id.

    Args:
        history: The recorded use; None without a history.
        now_ms: The time by the buckets' clock.
        only_user: Clients of other users are counted but not named, and measurements that include them are omitted.
        kinds: The kinds of limits to explain.
    """
    user, client_id = kept_name(user), kept_name(client_id)
    rates = {} if history is None else history.rates(RATE_SECONDS)
    told = [_explain_kind(quotas, kind, user, client_id, now_ms, rates, only_user) for kind in kinds]
    return {
        "user": user,
        "client_id": client_id,
        "window_count": quotas.windows.sample_count,
        "window_ms": quotas.windows.window_ms,
        "quotas": [*told],
    }


def _explain_kind(
    quotas: Quotas,
    kind: QuotaKind,
    user: str,
    client_id: str,
    now_ms: int,
    rates: dict[Name | None, tuple[float, ...]],
    only_user: str | None,
) -> dict[str, Json]:
    resolution = quotas.resolve(kind, user, client_id)
    levels = quotas.levels(kind, user, client_id)
    sharers = list(islice(_sharers(quotas, kind, resolution.tags), _MOST_LOOKED_AT + 1))
    named: list[Json] = [
        {"user": each.user, "client_id": each.client_id, "rate": _lately(quotas, kind, each, rates)}
        for each in sorted(sharers, key=lambda each: -_lately(quotas, kind, each, rates))
        if only_user in (None, each.user)
    ]
    is_told = only_user in (None, resolution.tags.user) or (
        len(sharers) <= _MOST_LOOKED_AT and all(each.user == only_user for each in sharers)
    )
    told: dict[str, Json] = {
        "key": kind.key,
        "unit": UNITS[kind],
        "limit": resolution.limit,
        "level": None if resolution.level is None else int(resolution.level),
        "why": _why(levels, resolution.level),
        "levels": [_level(each) for each in levels],
        "shared_by": {"user": resolution.tags.user, "client_id": resolution.tags.client_id},
        "sharer_count": min(len(sharers), _MOST_LOOKED_AT),
        "is_sharer_count_complete": len(sharers) <= _MOST_LOOKED_AT,
        "sharers": named[:_MOST_NAMED],
        "pacer_count": quotas.pacer_count(kind, resolution.tags, now_ms),
        "is_use_told": is_told,
        "used_total": in_unit(quotas, kind, sum(_used(kind, each) for each in sharers)) if is_told else None,
    }
    bucket = quotas.bucket_of(kind, user, client_id) if quotas.is_enabled[kind] and is_told else None
    return told | _measured(bucket, now_ms)


def _measured(bucket: Bucket | None, now_ms: int) -> dict[str, Json]:
    if bucket is None:
        return {"is_measured": False, "rate": 0.0, "throttle_ms": 0, "held_count": 0}
    rate, measured_ms = bucket.rate_per_s(now_ms), bucket.measured_ms(now_ms)
    throttle_ms = bucket.excess_ms(now_ms)
    told: dict[str, Json] = {
        "is_measured": True,
        "rate": rate,
        "measured_ms": measured_ms,
        "throttle_ms": throttle_ms,
        "throttle_average_ms": bucket.throttle_average_ms(now_ms),
        "throttle_count": bucket.throttle_count,
        "throttle_total_ms": bucket.throttle_total_ms,
        "held_count": bucket.throttled_connection_count,
        "tokens": bucket.tokens(now_ms),
    }
    longest_ms = throttle_ms
    if bucket.limit is not None and bucket.kind in (QuotaKind.PRODUCE, QuotaKind.FETCH):
        longest_ms = told["large_request_hold_ms"] = _large_request_throttle_ms(bucket.limit, rate, measured_ms)
    told["exceeds"] = [name for name, timeout_ms in REQUEST_TIMEOUTS_MS.items() if longest_ms >= timeout_ms]
    return told


def _large_request_throttle_ms(limit: float, rate: float, measured_ms: int) -> int:
    """Return for how long a request of 1 MiB would be throttled now, using the formula of `WindowedRate`."""
    if not measured_ms:
        return 0
    total = rate * measured_ms / 1_000 + LARGE_REQUEST_BYTES
    return max(0, round(total / limit * 1_000 - measured_ms))


def _why(levels: list[LevelLimit], in_force: Level | None) -> str:
    """Explain in one sentence why this level applies."""
    named = {each.level: each for each in levels}
    if in_force is None:
        others = [each for each in levels if each.limit is not None]
        if others:
            return f"none is in force: level {int(others[0].level)} does not count for clients without an id"
        return "no limit is set on any of the nine levels"
    text = _name(named[in_force])
    skipped = [each for each in levels if each.level > in_force and each.limit is not None]
    also = ", ".join(str(int(each.level)) for each in skipped)
    above = "nothing is set above it" if in_force > 1 else "no level is above it"
    return f"level {int(in_force)} ({text}): {above}" + (
        f"; level {also} is set too, and counts for nothing" * bool(also)
    )


def _level(each: LevelLimit) -> dict[str, Json]:
    return {
        "level": int(each.level),
        "path": None if each.entity is None else f"/config/{each.entity.path}",
        "name": _name(each),
        "limit": each.limit,
    }


def _name(each: LevelLimit) -> str:
    return "quota.*.default of the broker's file" if each.entity is None else str(each.entity)


def _sharers(quotas: Quotas, kind: QuotaKind, tags: Tags) -> Iterator[Client]:
    """Yield the known clients whose use is counted in one bucket."""
    for (user, client_id), client in quotas.clients.items():
        if tags.user not in ("", user) or tags.client_id not in ("", client_id):
            continue
        if quotas.resolve(kind, user, client_id).tags == tags:
            yield client


def _used(kind: QuotaKind, client: Client) -> int:
    """Return a client's total use of a kind since the broker first saw the client."""
    match kind:
        case QuotaKind.PRODUCE:
            return client.produced_bytes
        case QuotaKind.FETCH:
            return client.fetched_bytes
        case QuotaKind.REQUEST:
            return client.request_ns
        case QuotaKind.CONTROLLER_MUTATION:
            return client.mutation_count


def _lately(quotas: Quotas, kind: QuotaKind, client: Client, rates: dict[Name | None, tuple[float, ...]]) -> float:
    found = rates.get(Name(client.user, client.client_id))
    return 0.0 if found is None else in_unit(quotas, kind, found[kind])


def in_unit(quotas: Quotas, kind: QuotaKind, value: float) -> float:
    """Convert an amount recorded in one second to the unit of the kind's limits."""
    return quotas.percent_of(round(value * _NS_PER_US)) if kind is QuotaKind.REQUEST else value


def top(quotas: Quotas, history: History, now_ms: int, last_s: int) -> dict[str, Json]:
    """List clients by use, the largest first.

    Args:
        last_s: The number of seconds over which rates are averaged.

    Returns:
        For each client: its own rates, and the use of each limit by all sharing clients, over the quota's windows.
    """
    rows: list[Json] = []
    rates = history.rates(last_s)
    for client in sorted(rates, key=lambda each: -_share(rates[each])):
        used = [in_unit(quotas, kind, rates[client][kind]) for kind in QuotaKind]
        row: dict[str, Json] = {
            "user": None if client is None else client.user,
            "client_id": None if client is None else client.client_id,
            "rates": dict(zip((kind.key for kind in QuotaKind), used, strict=True)),
        }
        if client is not None:
            limits: dict[str, Json] = {}
            parts: dict[str, Json] = {}
            throttle_ms, throttled_count = 0, 0
            for kind in QuotaKind:
                resolution = quotas.resolve(kind, *client)
                bucket = quotas.bucket_of(kind, *client) if resolution.limit is not None else None
                if resolution.limit is not None:
                    limits[kind.key] = resolution.limit
                if bucket is not None and resolution.limit is not None:
                    parts[kind.key] = bucket.rate_per_s(now_ms) / resolution.limit
                    throttle_ms = max(throttle_ms, bucket.excess_ms(now_ms))
                    throttled_count += bucket.throttled_connection_count
            row |= {"limits": limits, "parts_of_limits": parts}
            row |= {"throttle_ms": throttle_ms, "held_count": throttled_count}
        rows.append(row)
    return {"last_s": last_s, "second": history.second, "clients": rows}


def _share(rates: tuple[float, ...]) -> float:
    return rates[QuotaKind.PRODUCE] + rates[QuotaKind.FETCH] + 100 * rates[QuotaKind.REQUEST]


def recorded(
    windows: Windows,
    thread_count: int,
    second: int,
    rings: list[Recorded],
    user: str | None,
    client_id: str | None,
) -> dict[str, Json]:
    """Return the traffic of the last hour, for `barnabas quotas simulate`, which also needs all limits.

    Args:
        windows, thread_count: As in `Quotas`.
        second: The last second of the rings.
        user, client_id: The clients to include; None for all.
    """
    return {
        "second": second,
        "window_count": windows.sample_count,
        "window_ms": windows.window_ms,
        "thread_count": thread_count,
        "rings": [
            {"user": name and name.user, "client_id": name and name.client_id, "key": kind.key, "values": [*values]}
            for name, kind, values in rings
            if name is None or (_is_meant(user, name.user) and _is_meant(client_id, name.client_id))
        ],
    }


def _is_meant(wanted: str | None, name: str) -> bool:
    return wanted is None or kept_name(wanted) == name


def limits_of(quotas: Quotas) -> list[Json]:
    """Return all limits with their znodes' paths; the path is None for a limit from the broker's file."""
    told: list[Json] = []
    for kind in QuotaKind:
        for entity, limit in quotas.overrides(kind).items():
            told.append({"key": kind.key, "path": entity.path, "limit": limit})
        static = quotas.levels(kind, "", "")[-1].limit
        if static is not None:
            told.append({"key": kind.key, "path": None, "limit": static})
    return told
