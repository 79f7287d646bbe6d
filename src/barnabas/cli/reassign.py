"""`barnabas reassign`: moves replicas, with the options of kafka-reassign-partitions."""

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
    parse_broker_list,
    run_async,
)
from barnabas.cli.output import note, print_json, print_table, say
from barnabas.cli.partition_files import read_topics
from barnabas.cli.reassign_plan import Plan, as_plan, current_plan, read_plan
from barnabas.cli.reassign_steps import MoveState, cancel_moves, execute_plan, verify_plan
from barnabas.cli.reassign_throttles import MOST_RATE, NO_THROTTLES, Cleared, Throttles, clear_throttles
from barnabas.clients.admin_replicas import ReplicaAdmin
from barnabas.core.errors import BarnabasError
from barnabas.core.peer_text import to_json

HELP = paragraphs(
    """Move replicas to other brokers and to other log directories.

Use one of --list, --generate, --execute, --verify and --cancel. --execute, --verify and --cancel need a file:
{"version":1,"partitions":[{"topic":"views","partition":0,"replicas":[1],"log_dirs":["any"]}]}. A log directory is given
by its path; "any" keeps the present one. --generate proposes such a file, for the topics of another file
({"version":1,"topics":[{"topic":"views"}]}) and the brokers of --broker-list. --execute prints the present assignment,
so that you can restore it.

--throttle and --replica-alter-log-dirs-throttle limit the copy rate; run --execute again with --additional and the same
file to change them during the move. In-sync replicas are not throttled. --verify shows the progress, the rate and the
remaining time, and removes the throttles once all moves are complete.

Examples:

  barnabas reassign --list

  barnabas reassign --verify --reassignment-json-file moves.json
"""
)

_ACTIONS: Final = ("--list", "--generate", "--execute", "--verify", "--cancel")


def reassign(
    list_: Annotated[bool, flag("--list", "Show all reassignments in progress.")] = False,
    generate: Annotated[bool, flag("--generate", "Propose an assignment, without starting it.")] = False,
    execute: Annotated[bool, flag("--execute", "Start to move replicas.")] = False,
    verify: Annotated[bool, flag("--verify", "Show the progress; remove the throttles after the last move.")] = False,
    cancel: Annotated[bool, flag("--cancel", "Cancel moves, and return to the former replicas.")] = False,
    reassignment_json_file: Annotated[
        str | None,
        Option("--reassignment-json-file", metavar="FILE", help="JSON file with the replicas of each partition."),
    ] = None,
    topics_to_move_json_file: Annotated[
        str | None,
        Option("--topics-to-move-json-file", metavar="FILE", help="With --generate: JSON file with the topics."),
    ] = None,
    broker_list: Annotated[
        str | None,
        Option("--broker-list", metavar="ID,...", help="With --generate: brokers to spread the replicas over."),
    ] = None,
    disable_rack_aware: Annotated[bool, flag("--disable-rack-aware", "With --generate: ignore racks.")] = False,
    throttle: Annotated[
        int | None,
        Option(
            "--throttle",
            metavar="BYTES",
            min=1,
            max=MOST_RATE,
            help="With --execute: replication limit per broker, bytes/s.",
        ),
    ] = None,
    replica_alter_log_dirs_throttle: Annotated[
        int | None,
        Option(
            "--replica-alter-log-dirs-throttle",
            metavar="BYTES",
            min=1,
            max=MOST_RATE,
            help="With --execute: limit per broker of copying between its log directories, bytes/s.",
        ),
    ] = None,
    preserve_throttles: Annotated[
        bool, flag("--preserve-throttles", "With --verify and --cancel: keep all throttles.")
    ] = False,
    additional: Annotated[
        bool, flag("--additional", "With --execute: allow it while another reassignment is running.")
    ] = False,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    if list_ + generate + execute + verify + cancel != 1:
        raise BarnabasError(f"exactly one action is required: {', '.join(_ACTIONS)}")
    if (execute or verify or cancel) != (reassignment_json_file is not None):
        raise BarnabasError(
            "--execute, --verify and --cancel need --reassignment-json-file FILE; other actions do not accept it"
        )
    if generate != (topics_to_move_json_file is not None) or generate != (broker_list is not None):
        raise BarnabasError(
            "--generate needs --topics-to-move-json-file FILE and --broker-list ID,...; other actions do not accept "
            "them"
        )
    throttles = Throttles(throttle, replica_alter_log_dirs_throttle)
    if throttles != NO_THROTTLES and not execute:
        raise BarnabasError("--throttle and --replica-alter-log-dirs-throttle need --execute")
    if preserve_throttles and not (verify or cancel):
        raise BarnabasError("--preserve-throttles needs --verify or --cancel")
    if disable_rack_aware and not generate:
        raise BarnabasError("--disable-rack-aware needs --generate")
    topics = read_topics(topics_to_move_json_file) if topics_to_move_json_file is not None else []
    brokers = parse_broker_list(broker_list) if broker_list is not None else []
    plan = read_plan(reassignment_json_file) if reassignment_json_file is not None else {}
    settings = client_settings("barnabas-reassign", command_config, timeout)

    async def work() -> None:
        async with connect(bootstrap_server, settings, ReplicaAdmin) as admin:
            if list_:
                await _list(admin, as_json)
            elif generate:
                await _generate(admin, topics, brokers, not disable_rack_aware, as_json)
            elif execute:
                before = await current_plan(admin, plan)
                await execute_plan(admin, plan, additional=additional, throttles=throttles)
                _show_begun(plan, before, throttles, as_json)
            elif verify:
                await _verify(admin, plan, preserve_throttles, as_json)
            else:
                await _cancel(admin, plan, preserve_throttles, as_json)

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


async def _generate(
    admin: ReplicaAdmin, topics: list[str], brokers: list[int], is_rack_aware: bool, as_json: bool
) -> None:
    # Imported late: the other actions do not need it.
    from barnabas.cli.reassign_proposal import propose

    current, proposed = map(as_plan, await propose(admin, topics, brokers, is_rack_aware=is_rack_aware))
    if as_json:
        print_json({"current": current, "proposed": proposed})
        return
    note("Current partition replica assignment")
    note(to_json(current))
    note("Proposed partition reassignment configuration, for --reassignment-json-file:")
    print_json(proposed)


def _show_begun(plan: Plan, before: dict[str, object], throttles: Throttles, as_json: bool) -> None:
    if as_json:
        print_json({"started": [str(part) for part in plan], "before": before})
        return
    note("Previous assignment, for --reassignment-json-file to restore it:")
    print_json(before)
    if throttles != NO_THROTTLES:
        note("Run --verify with the same file until all moves are complete: it removes the throttles.")
    names = ", ".join(map(str, plan))
    note(f"Successfully started partition reassignment{'' if len(plan) == 1 else 's'} for {names}")


async def _verify(admin: ReplicaAdmin, plan: Plan, preserve_throttles: bool, as_json: bool) -> None:
    states = await verify_plan(admin, plan)
    is_moving = any(each.state == "moving" for each in states) or bool(await admin.reassignments())
    cleared = Cleared([], [])
    if not is_moving and not preserve_throttles:
        cleared = await clear_throttles(admin, {part.topic for part in plan})
    if as_json:
        print_json([_as_dict(each) for each in states])
    else:
        for each in states:
            say(f"Reassignment of {each.what} {each.text}")
    _show_cleared(cleared)
    wrong = [each.what for each in states if each.state == "wrong"]
    if wrong:
        raise BarnabasError(f"not placed as in the file, and not moving: {', '.join(wrong)}")


async def _cancel(admin: ReplicaAdmin, plan: Plan, preserve_throttles: bool, as_json: bool) -> None:
    cancelled = await cancel_moves(admin, plan)
    cleared = Cleared([], [])
    if not preserve_throttles and not await admin.reassignments():
        cleared = await clear_throttles(admin, {part.topic for part in plan})
    if as_json:
        print_json({"cancelled": cancelled})
    elif cancelled:
        plural = "" if len(cancelled) == 1 else "s"
        say(f"Successfully cancelled partition reassignment{plural} for: {', '.join(cancelled)}")
    else:
        say("None of the specified partition reassignments are active.")
    _show_cleared(cleared)


def _show_cleared(cleared: Cleared) -> None:
    """Report on stderr the brokers and topics whose throttles were removed."""
    for what, names in (("broker", cleared.brokers), ("topic", cleared.topics)):
        if names:
            plural = "" if len(names) == 1 else "s"
            note(f"Cleared the throttles of {what}{plural} {', '.join(map(str, names))}")


def _as_dict(state: MoveState) -> dict[str, object]:
    found: dict[str, object] = {"what": state.what, "state": state.state, "detail": state.detail or None}
    if state.progress is not None:
        found |= state.progress._asdict() | {"left_s": state.progress.left_s}
    return found


def _ids(ids: list[int]) -> str | None:
    return ",".join(map(str, ids)) or None
