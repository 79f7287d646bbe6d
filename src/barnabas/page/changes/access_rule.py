"""Add or remove an access rule."""

from typing import Final

from barnabas.clients.admin_acls import AclAdmin
from barnabas.core.advised_commands import Word, command
from barnabas.core.errors import BarnabasError
from barnabas.page.changes.change import Change, Field, Plan, Row, choice, needed, text
from barnabas.page.view import Asked
from barnabas.wire.security.acls import (
    ANY_NAME,
    OPERATIONS,
    Binding,
    BindingFilter,
    Entry,
    EntryFilter,
    Pattern,
    PatternFilter,
    PatternType,
    Permission,
    word,
)
from barnabas.wire.security.authorizer import CLUSTER, OPERATIONS_OF, Operation, ResourceType
from barnabas.wire.security.principals import parse_principal

# The options of `barnabas acls`.
_RESOURCES: Final = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "cluster": ResourceType.CLUSTER,
    "transactional-id": ResourceType.TRANSACTIONAL_ID,
    "delegation-token": ResourceType.DELEGATION_TOKEN,
}
_HOW: Final = Field("how", "What to do", choices=("add", "remove"))
_PERMISSION: Final = Field("permission", "Allow or deny", choices=("allow", "deny"))
_PRINCIPAL: Final = Field("principal", "Principal", "As User:name; User:* means everybody.")
_HOST: Final = Field("host", "Host", "An address; * means any.", value=ANY_NAME)
_OPERATION: Final = Field("operation", "Operation", choices=tuple(OPERATIONS))
_RESOURCE: Final = Field("resource", "Resource", choices=tuple(_RESOURCES))
_NAME: Final = Field("name", "Name", "* means all. Empty for the cluster.", is_optional=True)
_PATTERN: Final = Field("pattern", "Pattern type", choices=("literal", "prefixed"))


async def preview(asked: Asked) -> Plan:
    """Check whether the rule exists."""
    rule, adds, admin = _rule(asked), choice(asked, _HOW) == "add", asked.cluster.admin(AclAdmin)
    pattern, entry = rule
    only = BindingFilter(
        PatternFilter(*pattern), EntryFilter(str(entry.principal), entry.host, entry.operation, entry.permission)
    )
    is_there = rule in await admin.describe_acls(only)
    if is_there is adds:
        raise BarnabasError("the rule exists already" if adds else "the rule does not exist")

    async def carry_out() -> str:
        if adds:
            await admin.create_acls([rule])
        else:
            await admin.delete_acls([only])
        return f"The rule was {'added' if adds else 'removed'}."

    name = f"{word(pattern.resource_type)} {pattern.name}{'…' if pattern.pattern_type is PatternType.PREFIXED else ''}"
    what = f"{word(entry.permission)} {entry.principal} from {entry.host}: {word(entry.operation)} of {name}"
    states = ("", "is there") if adds else ("is there", "is gone")
    return Plan((Row(what, *states),), _command(asked, rule, adds), carry_out)


def _rule(asked: Asked) -> Binding:
    """Return the rule of the form. Raises BarnabasError: it is invalid."""
    resource = _RESOURCES[choice(asked, _RESOURCE)]
    name = CLUSTER if resource is ResourceType.CLUSTER else needed(asked, _NAME)
    pattern_type = PatternType[choice(asked, _PATTERN).upper()]
    if resource is ResourceType.CLUSTER:
        pattern_type = PatternType.LITERAL
    operation = OPERATIONS[choice(asked, _OPERATION)]
    if operation is not Operation.ALL and not OPERATIONS_OF[resource] >> operation & 1:
        there_are = ", ".join(each for each, code in OPERATIONS.items() if OPERATIONS_OF[resource] >> code & 1)
        raise BarnabasError(f"{_OPERATION.label}: for a {choice(asked, _RESOURCE)}, use All, {there_are}")
    try:
        principal = parse_principal(needed(asked, _PRINCIPAL))
    except ValueError:
        raise BarnabasError(f"{_PRINCIPAL.label}: write it as User:name") from None
    permission = Permission[choice(asked, _PERMISSION).upper()]
    host = text(asked, _HOST.name) or ANY_NAME
    return Binding(Pattern(resource, name, pattern_type), Entry(principal, host, operation, permission))


def _command(asked: Asked, rule: Binding, adds: bool) -> str:
    (resource, name, pattern_type), entry = rule
    kind, permission = choice(asked, _RESOURCE), choice(asked, _PERMISSION)
    options: list[Word] = ["--cluster" if resource is ResourceType.CLUSTER else (f"--{kind}", name)]
    if pattern_type is PatternType.PREFIXED:
        options.append(("--resource-pattern-type", "prefixed"))
    options += [("--operation", word(entry.operation)), (f"--{permission}-principal", entry.principal)]
    if entry.host != ANY_NAME:
        options.append((f"--{permission}-host", entry.host))
    return command("acls", *(("--add",) if adds else ("--remove", "--force")), *options)


CHANGE = Change(
    "/change/access-rule",
    "Add or remove an access rule",
    (_HOW, _PERMISSION, _PRINCIPAL, _HOST, _OPERATION, _RESOURCE, _NAME, _PATTERN),
    preview,
)
