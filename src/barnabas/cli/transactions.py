"""`barnabas transactions`: lists transactions, finds hanging ones, and aborts them.

Source: KIP-664, for the names of options.
"""

import sys
import time
from collections.abc import Sequence
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
from barnabas.cli.output import Cell, note, print_json, print_table, progress, prompt, say
from barnabas.clients.admin_configs import ConfigAdmin, ConfigResource, ResourceType
from barnabas.clients.admin_transactions import OpenTransaction, TransactionAdmin
from barnabas.clients.pool import check_topic
from barnabas.clients.transaction_log import TransactionState
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition
from barnabas.explain.formatting import listed

_MINUTE_MS: Final = 60_000
_GRACE_MS: Final = 5 * _MINUTE_MS
_LONGEST: Final = "transaction.max.timeout.ms"

HELP = paragraphs(
    """Show transactions; find and abort hanging ones.

A transaction hangs if a partition has records of it but no coordinator will complete it: read_committed consumers then
receive nothing after its first record. `hanging` finds such transactions, `abort` aborts one. Both also work with Kafka
2.7 and older, which lack the requests that Kafka 3.0 added for this.

You need the right READ on the topic `__transaction_state`.
"""
)
LIST_HELP = paragraphs(
    """List transactional ids, with the state that their coordinators recorded last.

Example:

  barnabas transactions list
"""
)
DESCRIBE_HELP = paragraphs(
    """Show a transactional id: its producer, and the state and partitions of its transaction.

Example:

  barnabas transactions describe --transactional-id payments-1
"""
)
HANGING_HELP = paragraphs(
    """Find transactions that no coordinator will complete.

Checks every partition that has a leader, or those of --topic. Above the last stable offset it reads batch headers,
looks for transactions without a marker, and reports those that are not ongoing in `__transaction_state`.

Example:

  barnabas transactions hanging --topic payments
"""
)
ABORT_HELP = paragraphs(
    """Abort a hanging transaction, so that read_committed consumers continue.

Give its start offset, as shown by `barnabas transactions hanging`, or its producer. The abort is refused while a
coordinator knows the transaction, and will complete it at its timeout. Asks for confirmation, unless --yes is given.

Example:

  barnabas transactions abort --topic payments --partition 3 --start-offset 1042
"""
)

TransactionalId = Annotated[
    str, Option("--transactional-id", metavar="ID", help="The transactional.id of the producer.")
]
Topic = Annotated[str | None, Option("--topic", metavar="NAME", help="Check only this topic.")]
Partition = Annotated[
    int | None, Option("--partition", min=0, metavar="N", help="Check only this partition of --topic.")
]


def list_transactions(
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    settings = client_settings("barnabas-transactions", command_config, timeout)

    async def work() -> None:
        async with connect(bootstrap_server, settings, TransactionAdmin) as admin:
            states = await admin.coordinated()
            leaders = await admin.coordinators() if states else {}
        rows: list[dict[str, Cell]] = [
            {
                "transactional_id": state.transactional_id,
                "coordinator": _leader(leaders, state),
                "producer_id": state.producer_id,
                "state": state.status.name,
            }
            for state in states.values()
        ]
        if as_json:
            print_json(rows)
        elif rows:
            _print_rows(rows)
        else:
            note("The cluster has no transactional ids.")

    run_async(work())


def describe_transaction(
    transactional_id: TransactionalId,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    settings = client_settings("barnabas-transactions", command_config, timeout)

    async def work() -> None:
        async with connect(bootstrap_server, settings, TransactionAdmin) as admin:
            state = (await admin.coordinated()).get(transactional_id)
            if state is None:
                raise BarnabasError(
                    f"transactional id {transactional_id} does not exist; barnabas transactions list shows the "
                    "existing ids"
                )
            leader = _leader(await admin.coordinators(), state)
        began = state.started_ms if state.status.is_open else -1
        told: dict[str, object] = {
            "transactional_id": state.transactional_id,
            "coordinator": leader,
            "producer_id": state.producer_id,
            "producer_epoch": state.producer_epoch,
            "state": state.status.name,
            "timeout_ms": state.timeout_ms,
            "started_ms": began if began >= 0 else None,
            "updated_ms": state.updated_ms,
            "partitions": [str(partition) for partition in state.partitions],
        }
        if as_json:
            print_json(told)
            return
        told["started_ms"], told["updated_ms"] = _time_text(began), _time_text(state.updated_ms)
        told["partitions"] = ", ".join(map(str, state.partitions)) or None
        names = [(name.removesuffix("_ms") if name != "timeout_ms" else name).replace("_", " ") for name in told]
        width = max(map(len, names))
        for name, value in zip(names, told.values(), strict=True):
            say(f"{name:{width}}  {'-' if value is None else value}")

    run_async(work())


def find_hanging(
    topic: Topic = None,
    partition: Partition = None,
    max_transaction_timeout: Annotated[
        int | None,
        Option(
            "--max-transaction-timeout",
            min=0,
            max=2**31 // _MINUTE_MS,
            metavar="MINUTES",
            help="Report only transactions older than this (default: the broker's transaction.max.timeout.ms and 5 "
            "minutes).",
        ),
    ] = None,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    if partition is not None and topic is None:
        raise BarnabasError("--partition needs --topic NAME")
    settings = client_settings("barnabas-transactions", command_config, timeout)

    async def work() -> None:
        async with connect(bootstrap_server, settings, TransactionAdmin) as admin:
            leaders = await _partitions(admin, topic, partition)
            partitions = [each for each, leader_id in leaders.items() if leader_id >= 0]
            least_age_ms = await _least_age_ms(admin, max_transaction_timeout)
            with progress("Reading", None) as bar:
                found = await admin.open_transactions(
                    partitions, lambda done, total, what: bar.set(done, f"{done} of {total}: {what}")
                )
            now_ms = admin.pool.env.clock.now_ms()
            old = [each for each in found if now_ms - each.updated_ms >= least_age_ms]
            hanging = await admin.uncoordinated(old)
        _show_hanging(hanging, now_ms, as_json)
        if len(partitions) < len(leaders):
            note(f"Not checked, because they have no leader: {listed(sorted(leaders.keys() - set(partitions)))}")
        if not as_json:
            young = len(found) - len(old)
            note(
                f"{len(partitions)} partitions: {len(hanging)} hanging, {len(old) - len(hanging)} known to a "
                f"coordinator, {young} open for less than {least_age_ms // _MINUTE_MS} minutes."
            )

    run_async(work())


def abort_transaction(
    topic: Annotated[str, Option("--topic", metavar="NAME", help="Topic of the transaction.")],
    partition: Annotated[int, Option("--partition", min=0, metavar="N", help="Partition of the transaction.")],
    start_offset: Annotated[
        int | None,
        Option("--start-offset", min=0, metavar="N", help="Offset of the transaction's first record in the partition."),
    ] = None,
    producer_id: Annotated[
        int | None,
        Option("--producer-id", min=0, metavar="N", help="Producer id of the transaction, instead of --start-offset."),
    ] = None,
    producer_epoch: Annotated[
        int | None,
        Option("--producer-epoch", min=0, max=2**15 - 1, metavar="N", help="Producer epoch, with --producer-id."),
    ] = None,
    coordinator_epoch: Annotated[
        int | None,
        Option(
            "--coordinator-epoch",
            min=0,
            max=2**31 - 1,
            metavar="N",
            help="Coordinator epoch of the marker (default: the lowest that the partition accepts).",
        ),
    ] = None,
    yes: Annotated[bool, flag("--yes", "Abort without confirmation.")] = False,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    if (start_offset is None) == (producer_id is None):
        raise BarnabasError("exactly one is required: --start-offset N, or --producer-id N with --producer-epoch N")
    if (producer_id is None) != (producer_epoch is None):
        raise BarnabasError("--producer-id and --producer-epoch must be given together")
    settings = client_settings("barnabas-transactions", command_config, timeout)

    def is_meant(each: OpenTransaction) -> bool:
        is_producers = (each.producer_id, each.producer_epoch) == (producer_id, producer_epoch)
        return is_producers or each.first_offset == start_offset

    async def find() -> OpenTransaction:
        async with connect(bootstrap_server, settings, TransactionAdmin) as admin:
            (named,) = await _partitions(admin, topic, partition)
            return await admin.find_hanging(named, is_meant)

    async def abort(transaction: OpenTransaction) -> int:
        async with connect(bootstrap_server, settings, TransactionAdmin) as admin:
            await admin.check_hanging(transaction)
            return await admin.abort(transaction, coordinator_epoch)

    transaction = run_async(find())
    if not yes:
        # Prompt outside the event loop, so that Ctrl-C ends it: a running loop would wait for the line.
        _ask(transaction)
    epoch = run_async(abort(transaction))
    if as_json:
        print_json({**_as_dict(transaction), "coordinator_epoch": epoch})
    else:
        say(f"Aborted {transaction}.")


SUBCOMMANDS: Final = {
    "list": (list_transactions, LIST_HELP),
    "describe": (describe_transaction, DESCRIBE_HELP),
    "hanging": (find_hanging, HANGING_HELP),
    "abort": (abort_transaction, ABORT_HELP),
}


def _leader(leaders: dict[int, int], state: TransactionState) -> int | None:
    leader_id = leaders.get(state.log_partition, -1)
    return leader_id if leader_id >= 0 else None


async def _partitions(admin: TransactionAdmin, topic: str | None, partition: int | None) -> dict[TopicPartition, int]:
    """Return all partitions, all partitions of a topic, or a single one, with their leaders; -1: none now."""
    names = None if topic is None else [topic]
    topics = (await admin.retry(lambda: admin.pool.metadata(names))).topics
    if topic is not None:
        check_topic(topic, topics.get(topic))
    found = {
        TopicPartition(known.name, index): part.leader_id
        for known in topics.values()
        for index, part in known.partitions.items()
        if partition in (None, index)
    }
    if partition is not None and not found:
        raise BarnabasError(f"partition {partition} of topic {topic} does not exist")
    return found


async def _least_age_ms(admin: TransactionAdmin, minutes: int | None) -> int:
    """Return the age above which a transaction may hang, which exceeds any producer's timeout."""
    if minutes is not None:
        return minutes * _MINUTE_MS
    metadata = await admin.retry(lambda: admin.pool.metadata([]))
    resource = ConfigResource(ResourceType.BROKER, str(min(metadata.brokers)))
    described = await ConfigAdmin(admin.pool, admin.timeout_ms).describe_configs([resource], include_synonyms=False)
    values = {entry.name: entry.value for entry in described[resource]}
    longest = values.get(_LONGEST)
    if longest is None:
        raise BarnabasError(f"the broker does not report {_LONGEST}: set --max-transaction-timeout MINUTES")
    return int(longest) + _GRACE_MS


def _show_hanging(hanging: Sequence[OpenTransaction], now_ms: int, as_json: bool) -> None:
    if as_json:
        print_json([_as_dict(each) for each in hanging])
    elif hanging:
        rows: list[dict[str, Cell]] = [
            {
                "topic": each.partition.topic,
                "partition": each.partition.partition,
                "producer_id": each.producer_id,
                "producer_epoch": each.producer_epoch,
                "start_offset": each.first_offset,
                "last_written": _time_text(each.updated_ms),
                "minutes": (now_ms - each.updated_ms) // _MINUTE_MS,
            }
            for each in hanging
        ]
        _print_rows(rows)


def _print_rows(rows: Sequence[dict[str, Cell]]) -> None:
    print_table([column.replace("_", " ") for column in rows[0]], [list(row.values()) for row in rows])


def _as_dict(transaction: OpenTransaction) -> dict[str, object]:
    return {
        "topic": transaction.partition.topic,
        "partition": transaction.partition.partition,
        "producer_id": transaction.producer_id,
        "producer_epoch": transaction.producer_epoch,
        "start_offset": transaction.first_offset,
        "started_ms": transaction.started_ms,
        "updated_ms": transaction.updated_ms,
    }


def _time_text(timestamp_ms: int) -> str | None:
    if timestamp_ms < 0:
        return None
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(timestamp_ms / 1000))
    except (OverflowError, ValueError, OSError):
        # A timestamp may be any number.
        return str(timestamp_ms)


def _ask(transaction: OpenTransaction) -> None:
    """Ask the user for confirmation. Raises BarnabasError unless the answer is yes."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise BarnabasError(f"cannot ask for confirmation without a terminal: add --yes to abort {transaction}")
    prompt(f"Abort {transaction}? Its records will not be delivered to read_committed consumers. [y/N] ")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise BarnabasError("nothing was changed")
