"""Output of `barnabas quotas explain` and `top`."""

import sys
import time
from collections.abc import Sequence
from typing import Any, Final

from barnabas.cli.output import Cell, clear_screen, note, print_table, say
from barnabas.explain.formatting import amount, duration

QuotaReport = dict[str, Any]

PER_BROKER: Final = "Limits are per broker: on N brokers a client may use N times as much in total."
_MOST_SHARERS: Final = 5


def named(user: str, client_id: str) -> str:
    """Describe the clients that share a quota."""
    if user and client_id:
        return f"user {user!r} with client id {client_id!r}"
    if user:
        return f"all clients of user {user!r}"
    if client_id:
        return f"all clients with client id {client_id!r}, of any user"
    return "all clients without a client id"


# --- explain


def show_explained(brokers: Sequence[QuotaReport]) -> None:
    """Print the limits and throttling of a user's clients with one id, for each broker."""
    for index, told in enumerate(brokers):
        if index:
            say()
        client = f"client id {told['client_id']!r}" if told["client_id"] else "no client id"
        say(f"Broker {told['broker_id']}: user {told['user']!r}, {client}")
        for quota in told["quotas"]:
            if quota["limit"] is not None:
                say()
            for line in _explained(quota):
                say(line)
        say()
        say("Levels; the first one that is set applies (*):")
        _show_levels(told["quotas"])
    note(PER_BROKER)


def _explained(quota: QuotaReport) -> list[str]:
    unit, limit = quota["unit"], quota["limit"]
    if limit is None:
        is_set = any(each["limit"] is not None for each in quota["levels"])
        text = f"no limit: {quota['why']}" if is_set else "no limit"
        measured = f"; measured {amount(quota['rate'], unit)}" if quota["rate"] else ""
        return [f"{quota['key']}: {text}{measured}"]
    exact = f" ({limit:,.0f} bytes)" if unit.startswith("bytes") else ""
    lines = [f"{quota['key']}: at most {amount(limit, unit)}{exact}, {_state(quota)}"]
    lines.append(f"  why        {quota['why']}")
    lines.append(f"  measured   {_measured(quota, unit, limit)}")
    if quota.get("throttle_count"):
        average = quota["throttle_average_ms"]
        lately = "" if average is None else f"; lately {duration(average)} each"
        times = "once" if quota["throttle_count"] == 1 else f"{quota['throttle_count']:,} times"
        lines.append(f"  throttled  {times}, {duration(quota['throttle_total_ms'])} in total{lately}")
    if quota.get("large_request_hold_ms") is not None:
        throttle_ms = quota["large_request_hold_ms"]
        text = "would not be throttled" if not throttle_ms else f"would be throttled for {duration(throttle_ms)}"
        lines.append(f"  next       a request of 1 MiB {text}")
    lines += [f"  WARNING    that exceeds the client setting {name}" for name in quota.get("exceeds", ())]
    lines.append(f"  shared by  {_sharers(quota, unit)}")
    return lines


def _state(quota: QuotaReport) -> str:
    count = quota["held_count"]
    if count:
        connections = "1 connection is" if count == 1 else f"{count} connections are"
        return f"{connections} throttled now"
    if quota["throttle_ms"]:
        return f"a request now is throttled for {duration(quota['throttle_ms'])}"
    return "no client is throttled"


def _measured(quota: QuotaReport, unit: str, limit: float) -> str:
    if not quota.get("is_use_told", True):
        return "shared with other users: DESCRIBE_CONFIGS on the cluster is needed to see it"
    if not quota["is_measured"]:
        return "nothing yet"
    text = (
        f"{amount(quota['rate'], unit)} over {duration(quota['measured_ms'])}, {quota['rate'] / limit:.0%} of the limit"
    )
    tokens = quota.get("tokens")
    return text if tokens is None else f"{text}; {tokens:.3g} partitions may be created or deleted at once"


def _sharers(quota: QuotaReport, unit: str) -> str:
    who = named(quota["shared_by"]["user"], quota["shared_by"]["client_id"])
    count = f"{quota['sharer_count']}{'' if quota['is_sharer_count_complete'] else ' or more'}"
    listed = [
        f"{each['user']}/{each['client_id'] or '-'} {amount(each['rate'], unit)}"
        for each in quota["sharers"][:_MOST_SHARERS]
        if each["rate"]
    ]
    return f"{who}; {count} seen" + (f", lately {', '.join(listed)}" if listed else "")


def _show_levels(quotas: Sequence[QuotaReport]) -> None:
    limited = [quota for quota in quotas if any(level["limit"] is not None for level in quota["levels"])]
    rows: list[list[Cell]] = []
    for index, level in enumerate(quotas[0]["levels"]):
        limits = [_limit(quota, index) for quota in limited]
        rows.append([level["level"], level["name"], level["path"], *limits])
    print_table(["level", "for", "node", *(quota["key"] for quota in limited)], rows)


def _limit(quota: QuotaReport, index: int) -> str | None:
    level = quota["levels"][index]
    if level["limit"] is None:
        return None
    return f"{level['limit']:,.10g}{' *' if level['level'] == quota['level'] else ''}"


# --- top


def show_top(brokers: Sequence[QuotaReport], count: int, *, is_live: bool) -> None:
    """Print the usage of each client, for each broker."""
    if is_live and sys.stdout.isatty():
        clear_screen()
    for index, told in enumerate(brokers):
        if index:
            say()
        if told["second"] < 0:
            note(f"Broker {told['broker_id']} has just started: its first second has no figures yet.")
            continue
        moment = time.strftime("%H:%M:%S", time.gmtime(told["second"] + 1))
        seconds = "second" if told["last_s"] == 1 else f"{told['last_s']} seconds"
        say(f"Broker {told['broker_id']}, the {seconds} before {moment} UTC")
        clients = told["clients"]
        if clients:
            columns = ["user", "client id", "produced", "of limit", "fetched", "of limit", "time", "of limit"]
            print_table([*columns, "partitions", "of limit", "throttled"], [_top_row(each) for each in clients[:count]])
        else:
            note("No client was active.")
        if len(clients) > count:
            note(f"{len(clients) - count} more clients: --count N shows them.")


_TOP_UNITS: Final = {
    "producer_byte_rate": "bytes/s",
    "consumer_byte_rate": "bytes/s",
    "request_percentage": "percent",
    "controller_mutation_rate": "/s",
}


def _top_row(row: QuotaReport) -> list[Cell]:
    is_all_others = row["user"] is None
    cells: list[Cell] = ["(all others)", None] if is_all_others else [row["user"], row["client_id"] or None]
    limits, parts = row.get("limits", {}), row.get("parts_of_limits", {})
    for key, unit in _TOP_UNITS.items():
        rate = row["rates"][key]
        cells.append(amount(rate, unit) if rate else None)
        cells.append(f"{parts.get(key, 0):.0%}" if key in limits else None)
    cells.append(_throttled(row))
    return cells


def _throttled(row: QuotaReport) -> str | None:
    if row.get("held_count"):
        return f"{row['held_count']} now"
    if row.get("throttle_ms"):
        return f"for {duration(row['throttle_ms'])}"
    return None
