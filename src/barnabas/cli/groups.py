"""`barnabas groups`: consumer groups and their offsets, with the options of kafka-consumer-groups."""

from collections.abc import Sequence
from typing import Annotated, Final

from barnabas.cli.connection import client_settings, connect
from barnabas.cli.groups_describe import describe_groups, list_groups
from barnabas.cli.groups_reset import reset_offsets
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
from barnabas.clients.admin import Admin
from barnabas.clients.offset_resets import Reset, parse_topics
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.types import TopicPartition

HELP = paragraphs(
    """List, describe and delete consumer groups, and reset or delete their offsets.

Use one of --list, --describe, --delete, --reset-offsets and --delete-offsets. A reset only shows its result unless
--execute is given. It needs a group without running consumers, as --delete does; --delete-offsets needs that no running
consumer of the group reads the topic. --zookeeper selects groups of old consumers, which are stored in ZooKeeper, and
the brokers registered there.

Examples:

  barnabas groups --describe --group report

  barnabas groups --list --state Empty,Dead

  barnabas groups --reset-offsets --group report --topic views:0,1 --to-earliest --execute
"""
)

_STATES: Final = ("Stable", "PreparingRebalance", "CompletingRebalance", "Empty", "Dead")
_RESETS: Final = (
    "--to-offset, --to-earliest, --to-latest, --to-current, --shift-by, --to-datetime, --by-duration, --from-file"
)

_NOT_DELETED: Final = {
    ErrorCode.NON_EMPTY_GROUP: "has members: stop its consumers first",
    ErrorCode.GROUP_ID_NOT_FOUND: "does not exist; barnabas groups --list shows the existing groups",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "was not deleted: you lack permission",
}
_STATUS: Final = {
    ErrorCode.NONE: "deleted",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: "not deleted: the group reads the topic",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "not deleted: the partition does not exist",
}


def groups(
    list_: Annotated[bool, flag("--list", "Print the names of all groups.")] = False,
    describe: Annotated[bool, flag("--describe", "Show a group's offsets and lag, or its members or state.")] = False,
    delete: Annotated[bool, flag("--delete", "Delete groups and their offsets.")] = False,
    reset: Annotated[bool, flag("--reset-offsets", "Reset a group's offsets.")] = False,
    delete_offsets: Annotated[bool, flag("--delete-offsets", "Delete a group's offsets of the given topics.")] = False,
    group: Annotated[
        list[str] | None, Option("--group", metavar="NAME", help="Name of the group. May be repeated.")
    ] = None,
    all_groups: Annotated[bool, flag("--all-groups", "All groups instead of --group.")] = False,
    offsets: Annotated[bool, flag("--offsets", "With --describe: offsets and lag (the default).")] = False,
    members: Annotated[bool, flag("--members", "With --describe: members and the number of their partitions.")] = False,
    state: Annotated[
        str | None,
        Option(
            "--state",
            "--in-state",
            nargs="?",
            metavar="STATE,...",
            help="With --describe or --list: the group's state; with --list and states, only groups in these states.",
        ),
    ] = None,
    verbose: Annotated[bool, flag("--verbose", "With --describe --members: the partitions of each member.")] = False,
    topic: Annotated[
        list[str] | None,
        Option(
            "--topic",
            metavar="NAME[:0,1]",
            help="Reset or delete offsets of this topic, or of some of its partitions. May be repeated.",
        ),
    ] = None,
    all_topics: Annotated[
        bool, flag("--all-topics", "With --reset-offsets: all topics with offsets of the group.")
    ] = False,
    to_offset: Annotated[int | None, Option("--to-offset", min=0, metavar="N", help="Reset to this offset.")] = None,
    to_earliest: Annotated[bool, flag("--to-earliest", "Reset to the first record.")] = False,
    to_latest: Annotated[bool, flag("--to-latest", "Reset to the log end offset.")] = False,
    to_current: Annotated[bool, flag("--to-current", "Reset to the committed offset.")] = False,
    shift_by: Annotated[
        int | None, Option("--shift-by", metavar="N", help="Move by this many offsets; negative values move back.")
    ] = None,
    to_datetime: Annotated[
        str | None,
        Option(
            "--to-datetime",
            metavar="TIME",
            help="Reset to the first record at or after this time (2026-11-21T08:00:00.000, in UTC without a time "
            "zone).",
        ),
    ] = None,
    by_duration: Annotated[
        str | None,
        Option("--by-duration", metavar="PnDTnHnMnS", help="Reset to the first record since this long ago."),
    ] = None,
    from_file: Annotated[
        str | None,
        Option("--from-file", metavar="CSV", help="Reset to the offsets in a file that --export wrote."),
    ] = None,
    dry_run: Annotated[bool, flag("--dry-run", "Only show the result of a reset (the default).")] = False,
    execute: Annotated[bool, flag("--execute", "Perform the reset.")] = False,
    export: Annotated[bool, flag("--export", "Print the reset's offsets as CSV.")] = False,
    zookeeper: Annotated[
        str | None,
        Option(
            "--zookeeper",
            metavar="HOST:PORT/CHROOT",
            help="ZooKeeper address, for groups of old consumers, as in zookeeper.connect.",
        ),
    ] = None,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    chosen = {
        "--list": list_,
        "--describe": describe,
        "--delete": delete,
        "--reset-offsets": reset,
        "--delete-offsets": delete_offsets,
    }
    if sum(chosen.values()) != 1:
        raise BarnabasError(f"exactly one action is required: {', '.join(chosen)}")
    if not list_ and bool(group) == all_groups:
        raise BarnabasError("exactly one is required: --group NAME or --all-groups")
    if offsets + members + (state is not None) > 1:
        raise BarnabasError("--offsets, --members and --state exclude each other")
    target = Reset(to_offset, to_earliest, to_latest, to_current, shift_by, to_datetime, by_duration)
    if target.count() + (from_file is not None) != reset:
        where = f"exactly one reset target is required: {_RESETS}" if reset else f"{_RESETS} need --reset-offsets"
        raise BarnabasError(where)
    if reset and from_file is None and bool(topic) == all_topics:
        raise BarnabasError("exactly one is required: --topic NAME or --all-topics")
    if delete_offsets and not topic:
        raise BarnabasError("no topic given: use --topic NAME or --topic NAME:0,1")
    if delete_offsets and all_groups:
        raise BarnabasError("--delete-offsets needs --group NAME and does not accept --all-groups")
    if dry_run and execute:
        raise BarnabasError("--dry-run and --execute exclude each other")
    states = _states(state, list_)
    if states and zookeeper is not None:
        raise BarnabasError("--list --state accepts no states with --zookeeper")
    settings = client_settings("barnabas-groups", command_config, timeout)

    what = "members" if members else "offsets" if state is None else "state"
    named = list(dict.fromkeys(group or []))

    async def work() -> None:
        async with connect(bootstrap_server, settings, Admin) as admin:
            if list_:
                await list_groups(admin, states, state is not None, as_json)
            elif describe:
                names = await _consumer_groups(admin) if all_groups else named
                await describe_groups(admin, names, what, verbose, as_json)
            else:
                await change(admin, await _consumer_groups(admin) if all_groups else named)

    async def work_in_zookeeper(zookeeper: str) -> None:
        from barnabas.cli import groups_zookeeper as old

        brokers = None if bootstrap_server == DEFAULT_SERVER else bootstrap_server
        async with old.zookeeper_admin(zookeeper, brokers, settings) as admin:
            names = await admin.names() if all_groups else named
            if list_:
                await old.list_zookeeper_groups(admin, state is not None, as_json)
            elif describe:
                await old.describe_zookeeper_groups(admin, names, what, as_json)
            else:
                await change(admin, names)

    async def change(admin: Admin, names: Sequence[str]) -> None:
        if delete:
            await _delete(admin, names, as_json)
        elif delete_offsets:
            await _delete_offsets(admin, names, topic or [], as_json)
        else:
            output = "csv" if export else "json" if as_json else "table"
            await reset_offsets(admin, names, topic, target, from_file=from_file, execute=execute, output=output)

    run_async(work() if zookeeper is None else work_in_zookeeper(zookeeper))


def _states(text: str | None, is_listing: bool) -> list[str]:
    """Read states, ignoring case. Raises BarnabasError."""
    if not text:
        return []
    if not is_listing:
        raise BarnabasError(f"--state {text}: states need --list")
    known = {state.lower(): state for state in _STATES}
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name.lower() not in known:
            raise BarnabasError(f"--state {name}: must be one of {', '.join(_STATES)}")
    return [known[name.lower()] for name in names]


async def _consumer_groups(admin: Admin) -> list[str]:
    return [name for name, (_, kind) in (await admin.groups()).items() if kind in ("consumer", "")]


async def _delete(admin: Admin, names: Sequence[str], as_json: bool) -> None:
    """Delete groups, also if some of them fail. Raises BarnabasError naming those that failed."""
    deleted, failures = [], []
    for name in names:
        try:
            await admin.delete_group(name)
            deleted.append(name)
        except KafkaError as error:
            reason = _NOT_DELETED.get(error.code)
            if reason is None:
                raise
            failures.append(f"group {name} {reason}")
        except BarnabasError as error:
            # A group in ZooKeeper with members: the error names them.
            failures.append(str(error))
    if as_json:
        print_json({"deleted": deleted})
    else:
        for name in deleted:
            say(f"Deleted group {name}.")
    if failures:
        raise BarnabasError("; ".join(failures))


async def _delete_offsets(admin: Admin, names: Sequence[str], topics: Sequence[str], as_json: bool) -> None:
    """Delete offsets. Raises BarnabasError if some could not be deleted."""
    rows: list[tuple[str, str, int, ErrorCode]] = []
    for name in names:
        committed = await admin.committed_offsets(name)
        partitions: list[TopicPartition] = []
        for topic, indexes in parse_topics(topics).items():
            # The topic need not exist any more: only the group's offsets matter.
            held = [part.partition for part in committed if part.topic == topic]
            if indexes is None and not held:
                raise BarnabasError(f"group {name} has no offsets of topic {topic}")
            partitions += [TopicPartition(topic, index) for index in (held if indexes is None else indexes)]
        for (topic, index), code in sorted((await admin.delete_offsets(name, partitions)).items()):
            rows.append((name, topic, index, code))
    if as_json:
        print_json([{"group": g, "topic": t, "partition": p, "error": c.name if c else None} for g, t, p, c in rows])
    else:
        print_table(
            ["group", "topic", "partition", "status"],
            [(name, topic, index, _STATUS.get(code, code.name)) for name, topic, index, code in rows],
        )
    failed = [f"{topic}-{index}" for _, topic, index, code in rows if code]
    if failed:
        raise BarnabasError(f"offsets were not deleted: {', '.join(failed)}")
    if not as_json:
        note("Deleted the offsets.")
