"""`barnabas reassign`: where replicas shall be, with the options of kafka-reassign-partitions."""

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
)
from barnabas.cli.output import note, print_json, print_table, say
from barnabas.cli.reassign_plan import Plan, current_plan, read_plan
from barnabas.cli.reassign_steps import cancel_moves, execute_plan, verify_plan
from barnabas.clients.admin_replicas import ReplicaAdmin
from barnabas.core.errors import BarnabasError

HELP = paragraphs(
    """Move replicas to other brokers and to other log directories.

One of --list, --execute, --verify and --cancel says what to do; all but --list need a file:
{"version":1,"partitions":[{"topic":"views","partition":0,"replicas":[1],"log_dirs":["any"]}]}. A log directory is
named by its path; "any" leaves a replica where it is. --execute prints what is now, for the way back.

Examples:

  barnabas reassign --list

  barnabas reassign --verify --reassignment-json-file moves.json
"""
)

_ACTIONS: Final = ("--list", "--execute", "--verify", "--cancel")


def reassign(
    list_: Annotated[bool, flag("--list", "Show all partitions that move.")] = False,
    execute: Annotated[bool, flag("--execute", "Begin to move replicas.")] = False,
    verify: Annotated[bool, flag("--verify", "Show how far it is.")] = False,
    cancel: Annotated[bool, flag("--cancel", "Stop moving, and go back to the replicas of before.")] = False,
    reassignment_json_file: Annotated[
        str | None,
        Option("--reassignment-json-file", metavar="FILE", help="Which replicas each partition shall have."),
    ] = None,
    additional: Annotated[
        bool, flag("--additional", "With --execute: although other partitions are moving already.")
    ] = False,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    if list_ + execute + verify + cancel != 1:
        raise BarnabasError(f"say what to do: one of {', '.join(_ACTIONS)}")
    if list_ == (reassignment_json_file is not None):
        raise BarnabasError("--reassignment-json-file FILE goes with --execute, --verify and --cancel, which need it")
    plan = read_plan(reassignment_json_file) if reassignment_json_file is not None else {}
    settings = client_settings("barnabas-reassign", command_config, timeout)

    async def work() -> None:
        async with connect(bootstrap_server, settings, ReplicaAdmin) as admin:
            if list_:
                await _list(admin, as_json)
            elif execute:
                before = await current_plan(admin, plan)
                await execute_plan(admin, plan, additional=additional)
                _show_begun(plan, before, as_json)
            elif verify:
                await _verify(admin, plan, as_json)
            else:
                await _cancel(admin, plan, as_json)

    run_async(work())


async def _list(admin: ReplicaAdmin, as_json: bool) -> None:
    moving = sorted((await admin.reassignments()).items())
    if as_json:
        print_json(
            [
                {
                    "topic": part.topic,
                    "partition": part.partition,
                    "replicas": move.replicas,
                    "adding_replicas": move.adding,
                    "removing_replicas": move.removing,
                }
                for part, move in moving
            ]
        )
    elif moving:
        print_table(
            ["topic", "partition", "replicas", "adding", "removing"],
            [[*part, _ids(move.replicas), _ids(move.adding), _ids(move.removing)] for part, move in moving],
        )
    else:
        say("No partition reassignments found.")


def _show_begun(plan: Plan, before: dict[str, object], as_json: bool) -> None:
    if as_json:
        print_json({"started": [str(part) for part in plan], "before": before})
        return
    note("What was before, for --reassignment-json-file on the way back:")
    print_json(before)
    names = ", ".join(map(str, plan))
    note(f"Successfully started partition reassignment{'' if len(plan) == 1 else 's'} for {names}")


async def _verify(admin: ReplicaAdmin, plan: Plan, as_json: bool) -> None:
    states = await verify_plan(admin, plan)
    if as_json:
        print_json([{"what": each.what, "state": each.state, "detail": each.detail or None} for each in states])
    else:
        for each in states:
            say(f"Reassignment of {each.what} {each.text}")
    wrong = [each.what for each in states if each.state == "wrong"]
    if wrong:
        raise BarnabasError(f"not where the file wants them, and not moving: {', '.join(wrong)}")


async def _cancel(admin: ReplicaAdmin, plan: Plan, as_json: bool) -> None:
    cancelled = await cancel_moves(admin, plan)
    if as_json:
        print_json({"cancelled": cancelled})
    elif cancelled:
        plural = "" if len(cancelled) == 1 else "s"
        say(f"Successfully cancelled partition reassignment{plural} for: {', '.join(cancelled)}")
    else:
        say("None of the specified partition reassignments are active.")


def _ids(ids: list[int]) -> str | None:
    return ",".join(map(str, ids)) or None
