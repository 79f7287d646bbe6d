"""`barnabas acls`: access rules, with the options of kafka-acls."""

import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Final, NamedTuple

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
from barnabas.cli.output import note, print_json, print_table, prompt
from barnabas.clients.admin_acls import AclAdmin
from barnabas.core.errors import BarnabasError
from barnabas.wire.security.acls import (
    ANY_NAME,
    OPERATIONS,
    Binding,
    BindingFilter,
    Entry,
    EntryFilter,
    PatternFilter,
    PatternType,
    Permission,
    word,
)
from barnabas.wire.security.authorizer import CLUSTER, OPERATIONS_OF, Operation, ResourceType
from barnabas.wire.security.principals import Principal, parse_principal

HELP = paragraphs(
    """Show and change access rules (ACLs).

Use one of --list, --add and --remove. A rule allows or denies a principal operations on a resource: a topic, a group, a
transactional id, a delegation token, or the cluster. With --resource-pattern-type prefixed, a resource name matches
every name that begins with it. The name * matches all names. A deny rule overrides every allow rule.

Examples:

  barnabas acls --list --topic views

  barnabas acls --add --allow-principal User:alice --producer --topic views

  barnabas acls --add --allow-principal User:bob --consumer --topic views --group readers

  barnabas acls --remove --force --topic views --allow-principal User:alice --operation Write
"""
)

_PRODUCER: Final = (Operation.WRITE, Operation.DESCRIBE, Operation.CREATE)
_TRANSACTIONAL: Final = (Operation.WRITE, Operation.DESCRIBE)
_CONSUMER: Final = (Operation.READ, Operation.DESCRIBE)
_ALLOW, _DENY = Permission.ALLOW, Permission.DENY


class _Who(NamedTuple):
    """The principals and hosts of rules.

    Attributes:
        allowed, denied: Principals and hosts.
    """

    allowed: list[tuple[Principal, str]]
    denied: list[tuple[Principal, str]]

    def entries(self, operations: Iterable[Operation]) -> list[Entry]:
        """Return rules for these operations."""
        return [
            Entry(principal, host, operation, permission)
            for operation in operations
            for permission, who in ((_ALLOW, self.allowed), (_DENY, self.denied))
            for principal, host in who
        ]


def acls(
    list_: Annotated[bool, flag("--list", "Show all rules, or only the rules of the given resources.")] = False,
    add: Annotated[bool, flag("--add", "Add rules.")] = False,
    remove: Annotated[
        bool, flag("--remove", "Remove rules; without a principal, all rules of the given resources.")
    ] = False,
    topic: Annotated[list[str] | None, Option("--topic", metavar="NAME", help="A topic. May be repeated.")] = None,
    group: Annotated[
        list[str] | None, Option("--group", metavar="NAME", help="A consumer group. May be repeated.")
    ] = None,
    cluster: Annotated[bool, flag("--cluster", "The cluster itself.")] = False,
    transactional_id: Annotated[
        list[str] | None, Option("--transactional-id", metavar="ID", help="A transactional id. May be repeated.")
    ] = None,
    delegation_token: Annotated[
        list[str] | None, Option("--delegation-token", metavar="ID", help="A delegation token. May be repeated.")
    ] = None,
    resource_pattern_type: Annotated[
        str,
        Option(
            "--resource-pattern-type",
            metavar="TYPE",
            help="literal or prefixed; --list and --remove also accept any, and match for all rules that apply to the "
            "name.",
        ),
    ] = "literal",
    operation: Annotated[
        list[str] | None,
        Option("--operation", metavar="NAME", help="Operation to allow or deny (default: All). May be repeated."),
    ] = None,
    allow_principal: Annotated[
        list[str] | None,
        Option(
            "--allow-principal",
            metavar="PRINCIPAL",
            help="Principal to allow: User:name, or User:* for all. May be repeated.",
        ),
    ] = None,
    deny_principal: Annotated[
        list[str] | None,
        Option("--deny-principal", metavar="PRINCIPAL", help="Principal to deny. May be repeated."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        Option("--allow-host", metavar="ADDRESS", help="Host of the allowed principals (default: *). May be repeated."),
    ] = None,
    deny_host: Annotated[
        list[str] | None,
        Option("--deny-host", metavar="ADDRESS", help="Host of the denied principals (default: *). May be repeated."),
    ] = None,
    principal: Annotated[
        list[str] | None,
        Option("--principal", metavar="PRINCIPAL", help="With --list: only rules of this principal. May be repeated."),
    ] = None,
    producer: Annotated[
        bool,
        flag("--producer", "All operations that a producer needs on --topic and, if given, on --transactional-id."),
    ] = False,
    consumer: Annotated[
        bool, flag("--consumer", "All operations that a consumer needs on --topic and --group.")
    ] = False,
    idempotent: Annotated[
        bool, flag("--idempotent", "With --producer: also the operations of an idempotent producer.")
    ] = False,
    force: Annotated[bool, flag("--force", "Remove without confirmation.")] = False,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    if list_ + add + remove != 1:
        raise BarnabasError("exactly one action is required: --list, --add, --remove")
    names = {
        ResourceType.TOPIC: topic or [],
        ResourceType.GROUP: group or [],
        ResourceType.TRANSACTIONAL_ID: transactional_id or [],
        ResourceType.DELEGATION_TOKEN: delegation_token or [],
        ResourceType.CLUSTER: [CLUSTER] if cluster else [],
    }
    who = _Who(
        _pairs("allow", allow_principal or [], allow_host or []), _pairs("deny", deny_principal or [], deny_host or [])
    )
    operations = _operations(operation or [])
    _check_roles(producer, consumer, idempotent, names, has_more=bool(operation or who.denied))
    pattern_type = _pattern_type(resource_pattern_type, add)
    if list_:
        if who.allowed or who.denied or operation or producer or consumer:
            raise BarnabasError("--list shows all rules of a resource: leave principals and operations out")
    elif not any(names.values()):
        raise BarnabasError(
            "no resource given: use --topic, --group, --cluster, --transactional-id or --delegation-token"
        )
    if add and not (who.allowed or who.denied):
        raise BarnabasError("no principal given: use --allow-principal or --deny-principal")
    if producer or consumer:
        wanted = _of_roles(names, who, pattern_type, producer=producer, consumer=consumer, idempotent=idempotent)
    else:
        entries = who.entries(operations)
        wanted = dict.fromkeys(_patterns(names, pattern_type), entries)
    if not list_:
        _check_operations(wanted)
    settings = client_settings("barnabas-acls", command_config, timeout)

    async def work() -> list[Binding]:
        async with connect(bootstrap_server, settings, AclAdmin) as admin:
            if list_:
                return await _list(admin, list(wanted), set(principal or []))
            if add:
                bindings = sorted({each for pattern, entries in wanted.items() for each in _bindings(pattern, entries)})
                await admin.create_acls(bindings)
                return bindings
            return await admin.delete_acls(_filters(wanted))

    if remove and not force:
        _ask(wanted)
    done = run_async(work())
    if not as_json and not list_:
        note(f"{'added' if add else 'removed'}: {len(done)}")
    _show(done, as_json)


# --- options


def _pairs(kind: str, principals: Sequence[str], hosts: Sequence[str]) -> list[tuple[Principal, str]]:
    if hosts and not principals:
        raise BarnabasError(f"--{kind}-host needs --{kind}-principal")
    pairs = []
    for text in principals:
        try:
            principal = parse_principal(text.strip())
        except ValueError:
            raise BarnabasError(f"--{kind}-principal {text}: must have the form User:name") from None
        pairs += [(principal, host.strip()) for host in hosts or [ANY_NAME]]
    return pairs


def _operations(texts: Sequence[str]) -> list[Operation]:
    by_name = {name.lower(): each for name, each in OPERATIONS.items()}
    operations: list[Operation] = []
    for text in texts:
        each = by_name.get(text.strip().replace("_", "").lower())
        if each is None:
            raise BarnabasError(f"--operation {text}: must be one of {', '.join(OPERATIONS)}")
        operations.append(each)
    return operations or [Operation.ALL]


def _pattern_type(text: str, adds: bool) -> PatternType:
    try:
        pattern_type = PatternType[text.strip().upper()]
    except KeyError:
        there_are = ", ".join(each.name.lower() for each in PatternType)
        raise BarnabasError(f"--resource-pattern-type {text}: must be one of {there_are}") from None
    if adds and pattern_type in (PatternType.ANY, PatternType.MATCH):
        raise BarnabasError(f"--resource-pattern-type {text}: --add needs literal or prefixed")
    return pattern_type


def _check_roles(
    producer: bool, consumer: bool, idempotent: bool, names: dict[ResourceType, list[str]], has_more: bool
) -> None:
    if (producer or consumer) and has_more:
        raise BarnabasError("--producer and --consumer imply the operations: leave --operation and --deny-... out")
    if idempotent and not producer:
        raise BarnabasError("--idempotent needs --producer")
    if producer and not names[ResourceType.TOPIC]:
        raise BarnabasError("--producer needs a --topic")
    if consumer and not (names[ResourceType.TOPIC] and names[ResourceType.GROUP]):
        raise BarnabasError("--consumer needs a --topic and a --group")
    if consumer and not producer and (names[ResourceType.CLUSTER] or names[ResourceType.TRANSACTIONAL_ID]):
        raise BarnabasError("--consumer cannot be combined with --cluster or --transactional-id")


def _patterns(names: dict[ResourceType, list[str]], pattern_type: PatternType) -> list[PatternFilter]:
    return [
        # The cluster resource has a single name; prefixes do not apply.
        PatternFilter(each, name.strip(), PatternType.LITERAL if each is ResourceType.CLUSTER else pattern_type)
        for each, of_type in names.items()
        for name in of_type
    ]


def _of_roles(
    names: dict[ResourceType, list[str]],
    who: _Who,
    pattern_type: PatternType,
    *,
    producer: bool,
    consumer: bool,
    idempotent: bool,
) -> dict[PatternFilter, list[Entry]]:
    operations: dict[PatternFilter, dict[Operation, None]] = {}

    def need(resource_type: ResourceType, needed: Iterable[Operation], of_names: Iterable[str]) -> None:
        for pattern in _patterns({resource_type: list(of_names)}, pattern_type):
            operations.setdefault(pattern, {}).update(dict.fromkeys(needed))

    if producer:
        need(ResourceType.TOPIC, _PRODUCER, names[ResourceType.TOPIC])
        need(ResourceType.TRANSACTIONAL_ID, _TRANSACTIONAL, names[ResourceType.TRANSACTIONAL_ID])
    if idempotent:
        need(ResourceType.CLUSTER, (Operation.IDEMPOTENT_WRITE,), [CLUSTER])
    if consumer:
        need(ResourceType.TOPIC, _CONSUMER, names[ResourceType.TOPIC])
        need(ResourceType.GROUP, (Operation.READ,), names[ResourceType.GROUP])
    return {pattern: who.entries(needed) for pattern, needed in operations.items()}


def _check_operations(wanted: dict[PatternFilter, list[Entry]]) -> None:
    for pattern, entries in wanted.items():
        possible = OPERATIONS_OF[pattern.resource_type]
        for entry in entries:
            if entry.operation is not Operation.ALL and not possible >> entry.operation & 1:
                there_are = ", ".join(name for name, each in OPERATIONS.items() if possible >> each & 1)
                raise BarnabasError(
                    f"--operation {word(entry.operation)}: must be one of All, {there_are} for "
                    f"{word(pattern.resource_type)}"
                )


# --- actions


def _bindings(pattern: PatternFilter, entries: Iterable[Entry]) -> list[Binding]:
    """Return the rules to add, for a filter that selects exactly one pattern."""
    only = pattern.only
    assert only is not None
    return [Binding(only, entry) for entry in entries]


async def _list(admin: AclAdmin, patterns: Sequence[PatternFilter], principals: set[str]) -> list[Binding]:
    found: set[Binding] = set()
    for pattern in patterns or [PatternFilter()]:
        found.update(await admin.describe_acls(BindingFilter(pattern)))
    return sorted(each for each in found if not principals or str(each.entry.principal) in principals)


def _filters(wanted: dict[PatternFilter, list[Entry]]) -> list[BindingFilter]:
    return [
        BindingFilter(pattern, each)
        for pattern, entries in wanted.items()
        for each in (
            [EntryFilter(str(entry.principal), entry.host, entry.operation, entry.permission) for entry in entries]
            or [EntryFilter()]
        )
    ]


def _ask(wanted: dict[PatternFilter, list[Entry]]) -> None:
    """Ask the user to confirm the removal.

    Raises:
        BarnabasError: The user declines, or stdin is not a terminal.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        raise BarnabasError("cannot ask for confirmation without a terminal: add --force to remove without it")
    for pattern, entries in wanted.items():
        which = f"{len(entries)} rules" if entries else "all rules"
        note(f"{which} of {pattern.resource_type.name} {pattern.name} ({pattern.pattern_type.name.lower()})")
    prompt("Are you sure you want to remove them? (y/n) ", on_stderr=True)
    if sys.stdin.readline().strip().lower() != "y":
        raise BarnabasError("nothing was removed")


def _show(bindings: Sequence[Binding], as_json: bool) -> None:
    rows = [each.as_row() for each in bindings]
    if as_json:
        print_json(rows)
    elif rows:
        columns = ["resource type", "name", "pattern type", "principal", "host", "operation", "permission type"]
        print_table(columns, [[*row.values()] for row in rows])
