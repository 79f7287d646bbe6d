"""`barnabas pipeline limits`: show the limits of enforcement, their times and reasons; lift limits manually.

Without an option it shows the active limits, with the broker's value if that was changed since.
"""

import argparse
import asyncio
from collections.abc import Sequence

from barnabas.clients import Pool
from barnabas.clients.admin_quota_states import Limited, QuotaStateAdmin
from barnabas.core.peer_text import on_one_line, to_json
from barnabas.pipeline.commands.enforcement import add_audit_option, line_of
from barnabas.pipeline.commands.options import Options, add_cluster_options, feeder_security
from barnabas.pipeline.enforcement.audit import AuditTopic
from barnabas.pipeline.enforcement.decision import holding, lift
from barnabas.pipeline.enforcement.enforcer import Enforcer
from barnabas.pipeline.enforcement.entry import Entity, Entry, Step, parse_entity
from barnabas.pipeline.enforcement.policy import Policy
from barnabas.pipeline.runner.plan import PlanError

_CLIENT_ID = "barnabas-limits"
_ALL = "all"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_cluster_options(parser)
    options = Options(parser)
    add_audit_option(options)
    what = Options(parser.add_mutually_exclusive_group())
    what.flag("--history", "show all past steps, including dry runs")
    what.values(
        "--lift",
        "ENTITY",
        f"lift limits now, and do not set them again for the same verdict: user=NAME, client-id=NAME, or {_ALL}",
    )
    what.flag("--lift-expired", "lift limits that expired while no run could lift them")
    options.flag("--json", "print one JSON object per line, with the evidence")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; raise PlanError if an argument of --lift is not an entity, or not limited by enforcement."""
    return asyncio.run(_run(arguments))


async def _run(arguments: argparse.Namespace) -> int:
    security = feeder_security(arguments)
    async with Pool(arguments.bootstrap_server, _CLIENT_ID, security=security) as pool:
        audit = AuditTopic(pool, arguments.audit_topic)
        entries = await audit.read()
        if arguments.history:
            for entry in entries:
                print(to_json(entry.to_json()) if arguments.json else _text(entry))
            return 0
        limited = holding({entry.entity: entry for entry in entries if not entry.is_dry})
        found = await QuotaStateAdmin(pool).limits() if limited else {}
        now_ms = pool.env.clock.now_ms()
        if arguments.lift:
            lifted, then, note = _named(arguments.lift, limited), Step.PARDONED, "by hand"
        elif arguments.lift_expired:
            lifted = {entity: entry for entity, entry in limited.items() if now_ms >= entry.until_ms}
            then, note = Step.LIFTED, "expired"
        else:
            _show(arguments, limited, found, now_ms)
            return 0
        enforcer = Enforcer(pool, audit, Policy(is_dry=False), _CLIENT_ID, lambda entry: print(_text(entry)))
        acts = [
            lift(entry, found.get(entity.limited, {}), entry.then or then, now_ms, note)
            for entity, entry in lifted.items()
        ]
        if not await enforcer.do(acts):
            raise PlanError("limits changed at the same time: run the command again")
        print(f"{len(acts)} lifted")
        return 0


def _named(wanted: Sequence[str], limited: dict[Entity, Entry]) -> dict[Entity, Entry]:
    if _ALL in wanted:
        return limited
    found = {}
    for text in wanted:
        try:
            entity = parse_entity(text)
        except ValueError as error:
            raise PlanError(f"{error}, or {_ALL}") from None
        if entity not in limited:
            raise PlanError(f"{entity} is not limited by enforcement; barnabas quotas list shows all limits")
        found[entity] = limited[entity]
    return found


def _show(
    arguments: argparse.Namespace,
    limited: dict[Entity, Entry],
    found: dict[Limited, dict[str, float]],
    now_ms: int,
) -> None:
    if arguments.json:
        for entity, entry in sorted(limited.items()):
            fields = {**entry.to_json(), "at_the_broker": found.get(entity.limited, {})}
            print(to_json(fields))
        return
    if not limited:
        print("no limits are set by enforcement")
        return
    for entity, entry in sorted(limited.items()):
        fields, limits = entry.to_json(), found.get(entity.limited, {})
        texts = [
            f"{name}={value:.15g}" + ("" if limits.get(name) == value else f" (now {limits.get(name, 'not set')})")
            for name, value in sorted(entry.limits.items())
        ]
        expired = " (expired: a run or --lift-expired lifts it)" if now_ms >= entry.until_ms else ""
        print(on_one_line(f"{entity}: {', '.join(texts)}"))
        print(f"    since {fields['since']} until {fields['until']}{expired}, by run {entry.run}")
        print(on_one_line(f"    {entry.verdict.what} {entry.verdict.subject}: {entry.verdict.why}"))


def _text(entry: Entry) -> str:
    return on_one_line(f"{entry.to_json()['time']} {line_of(entry)}")
