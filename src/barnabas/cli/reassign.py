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

One of --list, --generate, --execute, --verify and --cancel says what to do. --execute, --verify and --cancel need a
file: {"version":1,"partitions":[{"topic":"views","partition":0,"replicas":[1],"log_dirs":["any"]}]}. A log directory
is named by its path; "any" leaves a replica where it is. --generate proposes such a file, for the topics of another
one ({"version":1,"topics":[{"topic":"views"}]}) and the brokers of --broker-list. --execute prints what is now, for the
way back.

--throttle and --replica-alter-log-dirs-throttle bound how fast is copied; with --additional and the same file they are
changed while it is. Replicas that are in sync are not held back. --verify takes the throttles away once nothing moves
any more, and until then says how far it is, how fast it goes and how long it will take.

Examples:

  barnabas reassign --list

  barnabas reassign --verify --reassignment-json-file moves.json
"""
)

_ACTIONS: Final = ("--list", "--generate", "--execute", "--verify", "--cancel")


def reassign(
    list_: Annotated[bool, flag("--list", "Show all partitions that move.")] = False,
    generate: Annotated[bool, flag("--generate", "Propose other replicas, and begin nothing.")] = False,
    execute: Annotated[bool, flag("--execute", "Begin to move replicas.")] = False,
    verify: Annotated[bool, flag("--verify", "Show how far it is.")] = False,
    cancel: Annotated[bool, flag("--cancel", "Stop moving, and go back to the replicas of before.")] = False,
    reassignment_json_file: Annotated[
        str | None,
        Option("--reassignment-json-file", metavar="FILE", help="Which replicas each partition shall have."),
    ] = None,
    topics_to_move_json_file: Annotated[
        str | None,
        Option("--topics-to-move-json-file", metavar="FILE", help="With --generate: for which topics."),
    ] = None,
    broker_list: Annotated[
        str | None, Option("--broker-list", metavar="ID,...", help="With --generate: the brokers to spread them over.")
    ] = None,
    disable_rack_aware: Annotated[bool, flag("--disable-rack-aware", "With --generate: go by no racks.")] = False,
    throttle: Annotated[
        int | None,
        Option(
            "--throttle",
            metavar="BYTES",
            min=1,
            max=MOST_RATE,
            help="With --execute: how many bytes per second each broker that takes part gives and takes at the most.",
        ),
    ] = None,
    replica_alter_log_dirs_throttle: Annotated[
        int | None,
        Option(
            "--replica-alter-log-dirs-throttle",
            metavar="BYTES",
            min=1,
            max=MOST_RATE,
            help="With --execute: how many bytes per second a broker copies between its log directories at the most.",
        ),
    ] = None,
    preserve_throttles: Annotated[
        bool, flag("--preserve-throttles", "With --verify and --cancel: leave all throttles as they are.")
    ] = False,
    additional: Annotated[
        bool, flag("--additional", "With --execute: although other partitions are moving already.")
    ] = False,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    if list_ + generate + execute + verify + cancel != 1:
        raise BarnabasError(f"say what to do: one of {', '.join(_ACTIONS)}")
    if (execute or verify or cancel) != (reassignment_json_file is not None):
        raise BarnabasError("--reassignment-json-file FILE goes with --execute, --verify and --cancel, which need it")
    if generate != (topics_to_move_json_file is not None) or generate != (broker_list is not None):
        raise BarnabasError(
            "--generate needs --topics-to-move-json-file FILE and --broker-list ID,..., which go with it"
        )
    throttles = Throttles(throttle, replica_alter_log_dirs_throttle)
    if throttles != NO_THROTTLES and not execute:
        raise BarnabasError("--throttle and --replica-alter-log-dirs-throttle go with --execute")
    if preserve_throttles and not (verify or cancel):
        raise BarnabasError("--preserve-throttles goes with --verify and --cancel")
    if disable_rack_aware and not generate:
        raise BarnabasError("--disable-rack-aware goes with --generate")
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
    # Not at the top: the other actions do without it.
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
    note("What was before, for --reassignment-json-file on the way back:")
    print_json(before)
    if throttles != NO_THROTTLES:
        note("Run --verify with the same file until nothing moves any more: it takes the throttles away.")
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
        raise BarnabasError(f"not where the file wants them, and not moving: {', '.join(wrong)}")


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
    """Say beside the results whose throttles are gone."""
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
