"""`barnabas quotas`: limits, throttling, usage and what-if results."""

import asyncio
import time
from typing import Annotated, Final

from barnabas.cli.connection import client_settings, connect
from barnabas.cli.options import (
    DEFAULT_SERVER,
    AsJson,
    BootstrapServer,
    CommandConfig,
    Option,
    TimeoutMs,
    flag,
    paragraphs,
    run_async,
    stop_on_signals,
)
from barnabas.cli.output import note, print_json, say
from barnabas.cli.quota_options import (
    ClientDefault,
    ClientId,
    User,
    UserDefault,
    changes_of,
    entity_of,
    kind_of,
    limited_of,
    show_limits,
)
from barnabas.cli.quota_views import PER_BROKER, show_explained, show_top
from barnabas.clients.admin_quota_states import QuotaStateAdmin
from barnabas.core.errors import BarnabasError
from barnabas.core.stopping import unless_stopped

HELP = paragraphs(
    """Set quotas; show throttling, usage and what-if results.

Limits, and the output of `explain`, `top` and `simulate`, are per broker. These three work only with Barnabas brokers.
Limits are Kafka's quotas, so kafka-configs can set them too.
"""
)
LIST_HELP = paragraphs(
    """List all limits in order of precedence: the first one that matches a client applies.

Example:

  barnabas quotas list
"""
)
SET_HELP = paragraphs(
    """Set limits of a user, a client id, or a user's client id; they take effect within a second.

`barnabas quotas simulate` with the same options shows their effect in advance.

Example:

  barnabas quotas set --user alice --client-id importer --set producer_byte_rate=1000000
"""
)
DELETE_HELP = paragraphs(
    """Delete all limits of a user, a client id, or a user's client id, or only those of --name.

Example:

  barnabas quotas delete --user alice --client-id importer --name producer_byte_rate
"""
)
EXPLAIN_HELP = paragraphs(
    """Show which limits throttle a user's clients with one client id, and why.

Shows all nine levels, the one that applies, the rate measured over the quota's windows, how long a request would be
throttled now, which clients share the limit, and whether clients would time out. Defaults to this command's own user
and client id; you need no rights to ask about your own user.

Example:

  barnabas quotas explain --user alice --client-id importer
"""
)
TOP_HELP = paragraphs(
    """Show the usage of clients, highest first, and refresh it until Ctrl-C.

Example:

  barnabas quotas top --once
"""
)
SIMULATE_HELP = paragraphs(
    """Show what a limit would have done with the last hour's traffic.

Shows which clients would have been throttled, how often and for how long. Nothing is changed. Limits that already
applied have shaped the recorded traffic: without them it may have been larger.

Example:

  barnabas quotas simulate --user alice --set producer_byte_rate=1000000
"""
)

_LONGEST_S: Final = 3_600

Setting = Annotated[
    list[str] | None,
    Option("--set", metavar="NAME=VALUE", help="Limit to set, as in kafka-configs. May be repeated."),
]


def list_limits(
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    settings = client_settings("barnabas-quotas", command_config, timeout)

    async def work() -> None:
        async with connect(bootstrap_server, settings, QuotaStateAdmin) as admin:
            limits = await admin.limits()
        show_limits(limits.items(), as_json)

    run_async(work())


def set_limits(
    setting: Setting = None,
    user: User = None,
    user_default: UserDefault = False,
    client_id: ClientId = None,
    client_default: ClientDefault = False,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    entity = entity_of(user, user_default, client_id, client_default)
    changes = changes_of(setting or [])
    settings = client_settings("barnabas-quotas", command_config, timeout)

    async def work() -> None:
        async with connect(bootstrap_server, settings, QuotaStateAdmin) as admin:
            await admin.alter_limits(limited_of(entity), {kind.key: limit for kind, limit in changes.items()})

    run_async(work())
    if as_json:
        print_json({"node": f"/config/{entity.path}", "set": {kind.key: limit for kind, limit in changes.items()}})
        return
    for kind, limit in changes.items():
        say(f"Set {kind.key}={kind.text(limit)} for {entity}.")
    note(PER_BROKER)


def delete_limits(
    user: User = None,
    user_default: UserDefault = False,
    client_id: ClientId = None,
    client_default: ClientDefault = False,
    name: Annotated[
        list[str] | None, Option("--name", metavar="NAME", help="Only this limit. May be repeated.")
    ] = None,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    entity = entity_of(user, user_default, client_id, client_default)
    names = [kind_of(each, "--name").key for each in name or []]
    settings = client_settings("barnabas-quotas", command_config, timeout)

    async def work() -> list[str]:
        async with connect(bootstrap_server, settings, QuotaStateAdmin) as admin:
            known = (await admin.limits()).get(limited_of(entity), {})
            found = [each for each in names or sorted(known) if each in known]
            if found:
                await admin.alter_limits(limited_of(entity), dict.fromkeys(found))
            return found

    deleted = run_async(work())
    if not deleted:
        raise BarnabasError(f"no such limit is set for {entity}; `barnabas quotas list` shows all limits")
    if as_json:
        print_json({"node": f"/config/{entity.path}", "deleted": deleted})
    else:
        say(f"Deleted {', '.join(deleted)} of {entity}.")


def explain(
    user: User = None,
    client_id: ClientId = None,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    settings = client_settings("barnabas-quotas", command_config, timeout)

    async def work() -> None:
        async with connect(bootstrap_server, settings, QuotaStateAdmin) as admin:
            told = await admin.explain(user, client_id)
        if as_json:
            print_json(told)
        else:
            show_explained(told)

    run_async(work())


def top(
    once: Annotated[bool, flag("--once", "Show the usage once and exit.")] = False,
    interval: Annotated[
        int, Option("--interval", min=1, max=_LONGEST_S, metavar="SECONDS", help="Interval between refreshes.")
    ] = 2,
    seconds: Annotated[
        int, Option("--seconds", min=1, max=_LONGEST_S, metavar="N", help="Average over the last N seconds.")
    ] = 10,
    count: Annotated[
        int, Option("--count", min=1, metavar="N", help="Number of clients to show for each broker.")
    ] = 20,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    settings = client_settings("barnabas-quotas", command_config, timeout)

    async def work() -> None:
        stopped = stop_on_signals()
        async with connect(bootstrap_server, settings, QuotaStateAdmin) as admin:
            while not stopped.is_set():
                told = await unless_stopped(admin.top(seconds), stopped)
                if told is None:
                    return
                if as_json:
                    print_json(told)
                else:
                    show_top(told, count, is_live=not once)
                if once:
                    return
                try:
                    await asyncio.wait_for(stopped.wait(), interval)
                except TimeoutError:
                    continue

    run_async(work())


def simulate(
    setting: Setting = None,
    user: User = None,
    user_default: UserDefault = False,
    client_id: ClientId = None,
    client_default: ClientDefault = False,
    minutes: Annotated[
        int,
        Option("--minutes", min=1, max=60, metavar="N", help="Use the traffic of the last N minutes (default: 60)."),
    ] = 60,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    # Imported late: the other subcommands do not need the windows.
    from barnabas.broker.quotas.simulation import simulated
    from barnabas.cli.quota_simulation import show_simulated

    entity = entity_of(user, user_default, client_id, client_default)
    changes = changes_of(setting or [])
    settings = client_settings("barnabas-quotas", command_config, timeout)

    async def work() -> None:
        async with connect(bootstrap_server, settings, QuotaStateAdmin) as admin:
            told = await admin.recorded(None, None, minutes * 60)
        begin_s = time.perf_counter()
        found = [simulated(each, entity, changes) for each in told]
        if as_json:
            print_json([each.as_dict() for each in found])
            return
        for each in found:
            show_simulated(each)
        note(f"Simulated in {time.perf_counter() - begin_s:.1f} s; nothing was changed.")

    run_async(work())


SUBCOMMANDS: Final = {
    "list": (list_limits, LIST_HELP),
    "set": (set_limits, SET_HELP),
    "delete": (delete_limits, DELETE_HELP),
    "explain": (explain, EXPLAIN_HELP),
    "top": (top, TOP_HELP),
    "simulate": (simulate, SIMULATE_HELP),
}
