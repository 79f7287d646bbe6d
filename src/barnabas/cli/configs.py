"""`barnabas configs`: dynamic settings, with the options of kafka-configs."""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Final, NamedTuple

from barnabas.cli import configs_quotas
from barnabas.cli.configs_quotas import QuotaOptions
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
from barnabas.cli.output import note, print_json, print_table, say
from barnabas.clients.admin_calls import AdminCalls
from barnabas.clients.admin_configs import (
    ConfigAdmin,
    ConfigChange,
    ConfigEntry,
    ConfigOperation,
    ConfigResource,
    ConfigSource,
    ResourceType,
)
from barnabas.clients.admin_quota_states import QuotaStateAdmin
from barnabas.core.errors import BarnabasError

HELP = paragraphs(
    """Show and change settings of topics and brokers, and quotas of users and client ids.

Use one of --describe and --alter. Without a name, --describe shows all topics, or all brokers and the cluster-wide
defaults. It shows only settings of the entity itself, unless --all is given. A change takes effect at once. Quotas are
per broker: on N brokers a client may use N times as much in all.

Examples:

  barnabas configs --describe --entity-type topics --entity-name views --all

  barnabas configs --alter --entity-type topics --entity-name views --add-config retention.ms=86400000

  barnabas configs --alter --entity-type brokers --entity-default --add-config 'log.cleaner.threads=2'

  barnabas configs --alter --user alice --client importer --add-config producer_byte_rate=1000000
"""
)

_TYPES: Final = {
    "topics": ResourceType.TOPIC,
    "brokers": ResourceType.BROKER,
    "broker-loggers": ResourceType.BROKER_LOGGER,
}
_LATER: Final = ("ips",)
_OUTSIDE_BRACKETS = re.compile(r",(?=[^\]]*(?:\[|$))")


class _Entity(NamedTuple):
    """The entity named by the options; `name` is None for all entities of the type, "" for all brokers' default."""

    type_name: str
    name: str | None

    def resource(self, name: str) -> ConfigResource:
        return ConfigResource(_TYPES[self.type_name], name)


def configs(
    describe: Annotated[bool, flag("--describe", "Show settings and the sources of their values.")] = False,
    alter: Annotated[bool, flag("--alter", "Change settings.")] = False,
    entity_type: Annotated[
        str | None,
        Option(
            "--entity-type",
            metavar="TYPE",
            help="Type of the entity: topics, brokers, broker-loggers, users or clients.",
        ),
    ] = None,
    entity_name: Annotated[
        str | None,
        Option("--entity-name", metavar="NAME", help="Name of a topic, user or client id, or id of a broker."),
    ] = None,
    entity_default: Annotated[
        bool, flag("--entity-default", "The default of all brokers, or of users or client ids without own settings.")
    ] = False,
    topic: Annotated[
        str | None, Option("--topic", metavar="NAME", help="Short for --entity-type topics --entity-name NAME.")
    ] = None,
    broker: Annotated[
        str | None, Option("--broker", metavar="ID", help="Short for --entity-type brokers --entity-name ID.")
    ] = None,
    broker_defaults: Annotated[
        bool, flag("--broker-defaults", "Short for --entity-type brokers --entity-default.")
    ] = False,
    broker_logger: Annotated[
        str | None,
        Option("--broker-logger", metavar="ID", help="Short for --entity-type broker-loggers --entity-name ID."),
    ] = None,
    user: Annotated[
        str | None, Option("--user", metavar="NAME", help="A user; with --client, only this client id of the user.")
    ] = None,
    user_defaults: Annotated[bool, flag("--user-defaults", "The default of users without own quotas.")] = False,
    client: Annotated[
        str | None, Option("--client", metavar="ID", help="A client id, of any user unless --user is given.")
    ] = None,
    client_defaults: Annotated[
        bool, flag("--client-defaults", "The default of client ids without own quotas.")
    ] = False,
    all_: Annotated[bool, flag("--all", "With --describe: inherited settings and defaults too.")] = False,
    add_config: Annotated[
        list[str] | None,
        Option(
            "--add-config",
            metavar="NAME=VALUE,...",
            help="Settings to set; put a value with commas in brackets: name=[a,b]. May be repeated.",
        ),
    ] = None,
    add_config_file: Annotated[
        str | None,
        Option("--add-config-file", metavar="FILE", help="Properties file with the settings to set."),
    ] = None,
    delete_config: Annotated[
        list[str] | None,
        Option("--delete-config", metavar="NAME,...", help="Settings to delete. May be repeated."),
    ] = None,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    if describe == alter:
        raise BarnabasError("exactly one action is required: --describe, --alter")
    quota = QuotaOptions(
        entity_type, entity_name, entity_default, user, user_defaults, client, client_defaults
    )  # fmt: skip
    if quota.are_given:
        if topic is not None or broker is not None or broker_defaults or broker_logger is not None:
            raise BarnabasError(
                "quotas belong to users and client ids: leave --topic, --broker and --broker-logger out"
            )
        changes = _changes(add_config or [], add_config_file, delete_config or [])
        _check_action(describe, changes)
        whose = configs_quotas.check(quota, alter, changes)
        settings = client_settings("barnabas-configs", command_config, timeout)

        async def work_on_quotas() -> None:
            async with connect(bootstrap_server, settings, QuotaStateAdmin) as admin:
                if describe or whose is None:
                    await configs_quotas.describe(admin, quota, whose, as_json)
                else:
                    await configs_quotas.alter(admin, whose, changes, as_json)

        run_async(work_on_quotas())
        return
    entity = _entity(
        entity_type, entity_name, entity_default, topic=topic, broker=broker, broker_logger=broker_logger,
        is_broker_default=broker_defaults,
    )  # fmt: skip
    changes = _changes(add_config or [], add_config_file, delete_config or [])
    _check_action(describe, changes)
    if alter and entity.name is None:
        default = " or --entity-default" if entity.type_name == "brokers" else ""
        raise BarnabasError(f"no entity given: use --entity-name NAME{default}")
    settings = client_settings("barnabas-configs", command_config, timeout)

    async def work() -> None:
        async with connect(bootstrap_server, settings, ConfigAdmin) as admin:
            if describe:
                await _describe(admin, entity, all_, as_json)
            else:
                await _alter(admin, entity, changes, as_json)

    run_async(work())


def _check_action(is_describe: bool, changes: Sequence[ConfigChange]) -> None:
    if is_describe and changes:
        raise BarnabasError("--describe changes nothing: leave --add-config and --delete-config out, or use --alter")
    if not is_describe and not changes:
        raise BarnabasError("no change given: use --add-config NAME=VALUE, --add-config-file or --delete-config")


def _entity(
    type_name: str | None,
    name: str | None,
    is_default: bool,
    *,
    topic: str | None,
    broker: str | None,
    broker_logger: str | None,
    is_broker_default: bool,
) -> _Entity:
    short = [
        _Entity(kind, text)
        for kind, text in (("topics", topic), ("brokers", broker), ("broker-loggers", broker_logger))
        if text is not None
    ]
    short += [_Entity("brokers", "")] * is_broker_default
    if short and (len(short) > 1 or type_name or name is not None or is_default):
        raise BarnabasError(
            "more than one entity given: use only one of --topic, --broker, --broker-defaults and --broker-logger"
        )
    if short:
        return short[0]
    if type_name is None:
        raise BarnabasError(f"no entity type given: use --entity-type with one of {', '.join(_TYPES)}")
    if type_name in _LATER:
        raise BarnabasError(f"--entity-type {type_name} is not supported: must be one of {', '.join(_TYPES)}")
    if type_name not in _TYPES:
        raise BarnabasError(f"--entity-type {type_name}: must be one of {', '.join(_TYPES)}")
    if is_default and (type_name != "brokers" or name is not None):
        raise BarnabasError("--entity-default needs --entity-type brokers and excludes --entity-name")
    if name is not None and not name:
        raise BarnabasError("--entity-name must not be empty; use --entity-default for all brokers")
    if type_name == "broker-loggers" and name is None:
        raise BarnabasError("no broker given for the loggers: use --entity-name ID")
    return _Entity(type_name, "" if is_default else name)


def _changes(added: Sequence[str], added_file: str | None, deleted: Sequence[str]) -> list[ConfigChange]:
    if added and added_file is not None:
        raise BarnabasError("--add-config and --add-config-file exclude each other")
    if added_file is not None:
        from barnabas.core.config.properties import read_properties

        pairs = read_properties(added_file)[0]
    else:
        texts = [text for option in added for text in _OUTSIDE_BRACKETS.split(option)]
        pairs = {name: _without_brackets(value) for name, value in parse_pairs(texts, "--add-config").items()}
    names = [name.strip() for option in deleted for name in option.split(",") if name.strip()]
    both = sorted(pairs.keys() & set(names))
    if both:
        raise BarnabasError(f"{both[0]} cannot be both added and deleted")
    changes = [ConfigChange(name, ConfigOperation.SET, value) for name, value in pairs.items()]
    return changes + [ConfigChange(name, ConfigOperation.DELETE) for name in dict.fromkeys(names)]


def _without_brackets(value: str) -> str:
    value = value.strip()
    return value[1:-1] if value.startswith("[") and value.endswith("]") else value


async def _describe(admin: ConfigAdmin, entity: _Entity, with_all: bool, as_json: bool) -> None:
    names = [entity.name] if entity.name is not None else await _names(admin, entity)
    resources = [entity.resource(name) for name in names]
    described = await admin.describe_configs(resources)
    shown = []
    for index, resource in enumerate(resources):
        entries = described[resource]
        if not with_all:
            entries = [entry for entry in entries if _is_own(entry, resource)]
        if as_json:
            settings = [_as_dict(entry) for entry in entries]
            shown.append({"entity_type": entity.type_name, "entity_name": resource.name or None, "configs": settings})
            continue
        if index:
            say()
        say(_heading(resource, with_all))
        if entries:
            print_table(
                ["name", "value", "source", "synonyms"],
                [[entry.name, _value(entry), entry.source.name, _synonyms(entry)] for entry in entries],
            )
    if as_json:
        print_json(shown)
    elif not resources:
        note("The cluster has no topics.")


async def _names(admin: ConfigAdmin, entity: _Entity) -> list[str]:
    if entity.type_name == "topics":
        metadata = await admin.retry(lambda: admin.pool.metadata(None))
        return sorted(metadata.topics)
    return [*await _broker_ids(admin), ""]


async def _broker_ids(admin: AdminCalls) -> list[str]:
    metadata = await admin.retry(lambda: admin.pool.metadata([]))
    return [str(node_id) for node_id in sorted(metadata.brokers)]


def _is_own(entry: ConfigEntry, resource: ConfigResource) -> bool:
    """Return whether a setting was set for the entity itself; true for all loggers."""
    match resource.type:
        case ResourceType.TOPIC:
            return entry.source is ConfigSource.DYNAMIC_TOPIC_CONFIG
        case ResourceType.BROKER if resource.name:
            return entry.source is ConfigSource.DYNAMIC_BROKER_CONFIG
        case ResourceType.BROKER:
            return entry.source is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    return True


def _heading(resource: ConfigResource, with_all: bool) -> str:
    kind = "All" if with_all else "Dynamic"
    if resource.type is ResourceType.BROKER and not resource.name:
        return f"{'All' if with_all else 'Default'} configs for brokers in the cluster are:"
    return f"{kind} configs for {resource} are:".replace("broker logger", "broker-logger")


def _value(entry: ConfigEntry) -> str | None:
    return "(hidden)" if entry.is_sensitive and entry.value is None else entry.value


def _synonyms(entry: ConfigEntry) -> str | None:
    return ", ".join(f"{each.source.name}:{each.name}={each.value}" for each in entry.synonyms) or None


def _as_dict(entry: ConfigEntry) -> dict[str, object]:
    return {
        "name": entry.name,
        "value": entry.value,
        "source": entry.source.name,
        "is_sensitive": entry.is_sensitive,
        "is_read_only": entry.is_read_only,
        "synonyms": [{"name": s.name, "value": s.value, "source": s.source.name} for s in entry.synonyms],
    }


async def _alter(admin: ConfigAdmin, entity: _Entity, changes: Sequence[ConfigChange], as_json: bool) -> None:
    assert entity.name is not None
    resource = entity.resource(entity.name)
    deleted = [change.name for change in changes if change.operation is ConfigOperation.DELETE]
    if deleted or resource.type is ResourceType.BROKER_LOGGER:
        known = (await admin.describe_configs([resource], include_synonyms=False))[resource]
        _check_known(resource, changes, deleted, [entry.name for entry in known if _is_own(entry, resource)])
    await admin.alter_configs({resource: changes})
    if as_json:
        added = {change.name: change.value for change in changes if change.operation is ConfigOperation.SET}
        name = resource.name or None
        print_json({"entity_type": entity.type_name, "entity_name": name, "added": added, "deleted": deleted})
    elif resource.name:
        say(f"Completed updating config for {resource}.".replace("broker logger", "broker-logger"))
    else:
        say("Completed updating default config for brokers in the cluster.")


def _check_known(
    resource: ConfigResource, changes: Iterable[ConfigChange], deleted: Iterable[str], own: Sequence[str]
) -> None:
    """Refuse to delete settings that are not set and to change loggers that do not exist, as Kafka's tool does."""
    if resource.type is ResourceType.BROKER_LOGGER:
        unknown = [change.name for change in changes if change.name not in own]
        if unknown:
            raise BarnabasError(f"Invalid broker logger(s): {','.join(unknown)}")
        return
    unset = [name for name in deleted if name not in own]
    if unset:
        raise BarnabasError(f"Invalid config(s): {','.join(unset)}: not set for {resource}")
