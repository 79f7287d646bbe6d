"""`barnabas topics`: create, list, describe, alter and delete topics, with the options of kafka-topics."""

import re
from collections.abc import Callable, Iterable, Sequence
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
    parse_pairs,
    run_async,
)
from barnabas.cli.output import note, print_json, progress, say
from barnabas.cli.topics_describe import Filters, describe_topics
from barnabas.clients.admin_topics import NewPartitions, NewTopic, TopicAdmin
from barnabas.clients.pool import TopicMetadata
from barnabas.core.advised_commands import command
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError

HELP = paragraphs(
    """Create, list, describe, alter and delete topics.

Use one of --list, --create, --describe, --alter and --delete. Except for --create, --topic is a regular expression that
must match the whole name. --alter adds partitions to a topic; `barnabas configs` changes settings.

Examples:

  barnabas topics --create --topic views --partitions 3

  barnabas topics --describe --topic 'views|clicks'

  barnabas topics --describe --under-replicated-partitions
"""
)

_FILTERS: Final = (
    "--under-replicated-partitions, --unavailable-partitions, --under-min-isr-partitions, --at-min-isr-partitions and "
    "--topics-with-overrides"
)


def topics(
    list_: Annotated[bool, flag("--list", "Print the names of all topics.")] = False,
    create: Annotated[bool, flag("--create", "Create a topic.")] = False,
    describe: Annotated[bool, flag("--describe", "Show partitions, leaders, replicas and settings.")] = False,
    alter: Annotated[bool, flag("--alter", "Add partitions to topics.")] = False,
    delete: Annotated[bool, flag("--delete", "Delete topics and all their records.")] = False,
    topic: Annotated[
        str | None, Option("--topic", metavar="NAME", help="Name of the topic, or a regular expression.")
    ] = None,
    partitions: Annotated[
        int | None,
        Option(
            "--partitions",
            min=1,
            max=2**31 - 1,
            metavar="N",
            help="Partitions of the new topic (default: the broker's num.partitions); with --alter, the new total.",
        ),
    ] = None,
    replication_factor: Annotated[
        int | None,
        Option(
            "--replication-factor",
            min=1,
            max=2**15 - 1,
            metavar="N",
            help="Replicas of each partition (default: the broker's default.replication.factor).",
        ),
    ] = None,
    replica_assignment: Annotated[
        str | None,
        Option(
            "--replica-assignment",
            metavar="1:2,2:3",
            help="Brokers of each partition's replicas; with --create, replaces the two options above.",
        ),
    ] = None,
    config: Annotated[
        list[str] | None,
        Option("--config", metavar="NAME=VALUE", help="Setting of the new topic. May be repeated."),
    ] = None,
    if_not_exists: Annotated[bool, flag("--if-not-exists", "With --create: succeed if the topic exists.")] = False,
    if_exists: Annotated[
        bool, flag("--if-exists", "With --describe, --alter or --delete: succeed if no topic matches.")
    ] = False,
    exclude_internal: Annotated[bool, flag("--exclude-internal", "Leave out internal topics.")] = False,
    under_replicated: Annotated[
        bool, flag("--under-replicated-partitions", "With --describe: only partitions with replicas out of sync.")
    ] = False,
    unavailable: Annotated[
        bool, flag("--unavailable-partitions", "With --describe: only partitions without a live leader.")
    ] = False,
    under_min_isr: Annotated[
        bool, flag("--under-min-isr-partitions", "With --describe: only partitions below min.insync.replicas.")
    ] = False,
    at_min_isr: Annotated[
        bool, flag("--at-min-isr-partitions", "With --describe: only partitions at min.insync.replicas.")
    ] = False,
    with_overrides: Annotated[
        bool, flag("--topics-with-overrides", "With --describe: only topics with overridden settings.")
    ] = False,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    chosen = {"--list": list_, "--create": create, "--describe": describe, "--alter": alter, "--delete": delete}
    if sum(chosen.values()) != 1:
        raise BarnabasError(f"exactly one action is required: {', '.join(chosen)}")
    action = next(name for name, is_chosen in chosen.items() if is_chosen)
    if action in ("--create", "--alter", "--delete") and not topic:
        raise BarnabasError(f"{action} needs a topic: add --topic NAME")
    if alter and config:
        instead = command("configs", "--alter", ("--topic", topic), ("--add-config", "NAME=VALUE"))
        raise BarnabasError(f"--alter cannot change settings: use {instead}")
    if alter and partitions is None:
        raise BarnabasError("--alter adds partitions: give the new total with --partitions N")
    if create and replica_assignment is not None and (partitions or replication_factor):
        raise BarnabasError(
            "--replica-assignment determines the numbers of partitions and replicas: leave the other options out"
        )
    filters = Filters(under_replicated, unavailable, under_min_isr, at_min_isr, with_overrides)
    if sum(filters) > describe:
        raise BarnabasError(f"{_FILTERS} need --describe, and only one can be given")
    new = NewTopic(
        topic or "",
        partitions or -1,
        replication_factor or -1,
        parse_pairs(config or [], "--config"),
        _assignments(replica_assignment),
    )
    settings = client_settings("barnabas-topics", command_config, timeout)

    async def work() -> None:
        async with connect(bootstrap_server, settings, TopicAdmin) as admin:
            if create:
                await _create(admin, new, if_not_exists, as_json)
                return
            found = await _matching(admin, topic, exclude_internal)
            if topic and not found and not if_exists:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic} does not exist")
            if list_:
                _print_names(found, as_json)
            elif describe:
                await describe_topics(admin, found, filters, as_json)
            elif alter:
                await _alter(admin, found, new, as_json)
            else:
                await _delete(admin, found, as_json)

    run_async(work())


async def _matching(admin: TopicAdmin, pattern: str | None, exclude_internal: bool) -> list[TopicMetadata]:
    matches = name_matcher(pattern)
    known = await admin.topics()
    return [t for t in known.values() if matches(t.name) and not (exclude_internal and t.is_internal)]


def name_matcher(pattern: str | None) -> Callable[[str], bool]:
    """Return a test of names by a pattern of Kafka's tools: a regular expression, in which a comma means "or".

    Raises:
        BarnabasError: The pattern is not a valid regular expression.
    """
    if not pattern:
        return lambda name: True
    try:
        compiled = re.compile(pattern.strip("\"' ").replace(",", "|"))
    except (re.error, OverflowError, RecursionError) as error:
        raise BarnabasError(f"{pattern} is not a valid regular expression: {error}") from None
    return lambda name: compiled.fullmatch(name) is not None


async def _create(admin: TopicAdmin, new: NewTopic, if_not_exists: bool, as_json: bool) -> None:
    if new.assignments is not None:
        known = await admin.retry(lambda: admin.pool.metadata([new.name]))
        lost = [index for index, ids in new.assignments.items() if known.brokers.keys().isdisjoint(ids)]
        if lost and known.topics[new.name].error_code:
            # differs from Kafka (create-absent-broker): a partition without any live broker has no leader. Until it has
            # one, clients do not see the topic, and it cannot be deleted.
            raise BarnabasError(f"topic {new.name} was not created: no broker of its partition {lost[0]} is registered")
    is_created = True
    try:
        await admin.create_topic(new)
    except KafkaError as error:
        if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS or not if_not_exists:
            raise
        is_created = False
    if as_json:
        print_json({"topic": new.name, "created": is_created})
    elif is_created:
        say(f"Created topic {new.name}.")
    else:
        note(f"Topic {new.name} already exists.")


def _print_names(found: Iterable[TopicMetadata], as_json: bool) -> None:
    names = [topic.name for topic in found]
    if as_json:
        print_json(names)
    else:
        for name in names:
            say(name)


async def _alter(admin: TopicAdmin, found: Sequence[TopicMetadata], new: NewTopic, as_json: bool) -> None:
    """Add partitions; an assignment names the replicas of all partitions, but existing ones are not moved."""
    wanted = {}
    for topic in found:
        placed = None
        if new.assignments is not None:
            placed = [ids for index, ids in new.assignments.items() if index >= len(topic.partitions)]
        wanted[topic.name] = NewPartitions(new.partition_count, placed)
    if wanted:
        await admin.create_partitions(wanted)
    if as_json:
        print_json([{"topic": name, "partition_count": new.partition_count} for name in wanted])
        return
    for name in wanted:
        say(f"Topic {name} now has {new.partition_count} partition{'' if new.partition_count == 1 else 's'}.")


async def _delete(admin: TopicAdmin, found: list[TopicMetadata], as_json: bool) -> None:
    deleted = []
    with progress("Deleting topics", len(found)) as bar:
        for index, topic in enumerate(found):
            bar.set(index, topic.name)
            await admin.delete_topic(topic.name)
            deleted.append(topic.name)
    if as_json:
        print_json({"deleted": deleted})
        return
    for name in deleted:
        say(f"Deleted topic {name}.")


def _assignments(text: str | None) -> dict[int, list[int]] | None:
    if text is None:
        return None
    try:
        assignments = {index: [int(broker) for broker in part.split(":")] for index, part in enumerate(text.split(","))}
        if any(not 0 <= broker < 2**31 for brokers in assignments.values() for broker in brokers):
            raise ValueError("broker ids must be numbers from 0 to 2147483647")
        return assignments
    except ValueError:
        raise BarnabasError(
            f"--replica-assignment {text}: must be broker ids such as 1:2,2:3 (one group per partition)"
        ) from None
