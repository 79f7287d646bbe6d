"""`barnabas topics`: create, list, describe and delete topics, with the options of kafka-topics."""

import re
from collections.abc import Callable, Iterable
from typing import Annotated

import typer

from barnabas.cli.options import DEFAULT_SERVER, AsJson, BootstrapServer, flag, paragraphs, parse_pairs, run_async
from barnabas.cli.output import note, print_json, print_table, progress
from barnabas.clients import Admin, Pool
from barnabas.clients.admin import NewTopic
from barnabas.clients.pool import TopicMetadata
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError

HELP = paragraphs(
    """Create, list, describe and delete topics.

One of --list, --create, --describe and --delete says what to do. For all but --create, --topic is a regular
expression that the whole name must match.

Examples:

  barnabas topics --create --topic views --partitions 3

  barnabas topics --describe --topic 'views|clicks'
"""
)


def topics(
    list_: Annotated[bool, flag("--list", "Print the names of all topics.")] = False,
    create: Annotated[bool, flag("--create", "Create a topic.")] = False,
    describe: Annotated[bool, flag("--describe", "Show partitions, leaders, replicas and settings.")] = False,
    delete: Annotated[bool, flag("--delete", "Delete topics and all their records.")] = False,
    topic: Annotated[
        str | None, typer.Option("--topic", metavar="NAME", help="The topic, or a regular expression.")
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option(
            "--partitions",
            min=1,
            max=2**31 - 1,
            metavar="N",
            help="Partitions of the new topic (default: the broker's num.partitions).",
        ),
    ] = None,
    replication_factor: Annotated[
        int | None,
        typer.Option(
            "--replication-factor",
            min=1,
            max=2**15 - 1,
            metavar="N",
            help="Replicas of each partition (default: the broker's default.replication.factor).",
        ),
    ] = None,
    replica_assignment: Annotated[
        str | None,
        typer.Option(
            "--replica-assignment",
            metavar="1:2,2:3",
            help="Brokers of each partition's replicas, instead of the two above.",
        ),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option("--config", metavar="NAME=VALUE", help="A setting of the new topic; may be repeated."),
    ] = None,
    if_not_exists: Annotated[bool, flag("--if-not-exists", "Creating a topic that exists is no error.")] = False,
    if_exists: Annotated[
        bool, flag("--if-exists", "Describing or deleting a topic that does not exist is no error.")
    ] = False,
    exclude_internal: Annotated[bool, flag("--exclude-internal", "Leave out topics of the broker's own.")] = False,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    as_json: AsJson = False,
) -> None:
    chosen = [
        name
        for name, is_chosen in (("--list", list_), ("--create", create), ("--describe", describe), ("--delete", delete))
        if is_chosen
    ]
    if len(chosen) != 1:
        raise BarnabasError("say what to do: one of --list, --create, --describe, --delete")
    action = chosen[0]
    if action in ("--create", "--delete") and not topic:
        raise BarnabasError(f"{action} needs a topic: add --topic NAME")

    async def work() -> None:
        async with Pool(bootstrap_server, "barnabas-topics") as pool:
            admin = Admin(pool)
            if action == "--create":
                assert topic
                new = NewTopic(
                    topic,
                    partitions or -1,
                    replication_factor or -1,
                    parse_pairs(config or [], "--config"),
                    _assignments(replica_assignment),
                )
                await _create(admin, new, if_not_exists, as_json)
                return
            found = await _matching(admin, topic, exclude_internal)
            if topic and not found and not if_exists:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic} does not exist")
            if action == "--list":
                _print_names(found, as_json)
            elif action == "--describe":
                await _describe(admin, found, as_json)
            else:
                await _delete(admin, found, as_json)

    run_async(work())


async def _matching(admin: Admin, pattern: str | None, exclude_internal: bool) -> list[TopicMetadata]:
    matches = name_matcher(pattern)
    known = await admin.topics()
    return [t for t in known.values() if matches(t.name) and not (exclude_internal and t.is_internal)]


def name_matcher(pattern: str | None) -> Callable[[str], bool]:
    """Whether a name matches a pattern of Kafka's tools: a regular expression, in which a comma means "or".

    Raises:
        BarnabasError: The pattern is no regular expression.
    """
    if not pattern:
        return lambda name: True
    try:
        compiled = re.compile(pattern.strip("\"' ").replace(",", "|"))
    except re.error as error:
        raise BarnabasError(f"{pattern} is no regular expression: {error}") from None
    return lambda name: compiled.fullmatch(name) is not None


async def _create(admin: Admin, new: NewTopic, if_not_exists: bool, as_json: bool) -> None:
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
        print(f"Created topic {new.name}.")
    else:
        note(f"Topic {new.name} exists already.")


def _print_names(found: Iterable[TopicMetadata], as_json: bool) -> None:
    names = [topic.name for topic in found]
    if as_json:
        print_json(names)
    else:
        for name in names:
            print(name)


async def _describe(admin: Admin, found: list[TopicMetadata], as_json: bool) -> None:
    configs = await admin.topic_configs([topic.name for topic in found])
    if as_json:
        print_json([_as_dict(topic, configs.get(topic.name, {})) for topic in found])
        return
    for index, topic in enumerate(found):
        if index:
            print()
        replicas = _replica_count(topic)
        settings = ", ".join(f"{name}={value}" for name, value in sorted(configs.get(topic.name, {}).items()))
        print(f"Topic {topic.name}: {_count(len(topic.partitions), 'partition')}, {_count(replicas, 'replica')}")
        if settings:
            print(f"Settings: {settings}")
        print_table(
            ["partition", "leader", "replicas", "in sync"],
            [
                [part.partition, part.leader_id if part.leader_id >= 0 else "none", _ids(part.replicas), _ids(part.isr)]
                for part in topic.partitions.values()
            ],
        )


async def _delete(admin: Admin, found: list[TopicMetadata], as_json: bool) -> None:
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
        print(f"Deleted topic {name}.")


def _as_dict(topic: TopicMetadata, configs: dict[str, str]) -> dict[str, object]:
    return {
        "topic": topic.name,
        "partition_count": len(topic.partitions),
        "replication_factor": _replica_count(topic),
        "is_internal": topic.is_internal,
        "configs": dict(sorted(configs.items())),
        "partitions": [
            {
                "partition": part.partition,
                "leader": part.leader_id if part.leader_id >= 0 else None,
                "replicas": part.replicas,
                "isr": part.isr,
            }
            for part in topic.partitions.values()
        ],
    }


def _assignments(text: str | None) -> dict[int, list[int]] | None:
    if text is None:
        return None
    try:
        assignments = {index: [int(broker) for broker in part.split(":")] for index, part in enumerate(text.split(","))}
        if any(not 0 <= broker < 2**31 for brokers in assignments.values() for broker in brokers):
            raise ValueError("no broker has such an id")
        return assignments
    except ValueError:
        raise BarnabasError(
            f"--replica-assignment {text}: write broker ids as 1:2,2:3 (one group per partition)"
        ) from None


def _replica_count(topic: TopicMetadata) -> int:
    return max((len(part.replicas) for part in topic.partitions.values()), default=0)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _ids(ids: list[int]) -> str:
    return ",".join(map(str, ids))
