"""Parts of access rules: patterns of resources, entries, and the filters that select them.

    binding   = pattern + entry
    pattern   = resource type, name, literal (that name; `*`: any) or prefixed (all names that begin so)
    entry     = principal, host (`*`: any), operation (ALL: any), allow or deny

Source: semantics, ACLs; KIP-290 (prefixed patterns); Kafka 2.7.2, ResourcePatternFilter, AccessControlEntryFilter.
"""

from enum import IntEnum
from typing import NamedTuple, TypeVar

from barnabas.core.errors import BarnabasError
from barnabas.wire.security.authorizer import Operation, ResourceType
from barnabas.wire.security.principals import USER, Principal

ANY_NAME = "*"
"""As a literal name: every resource of the type. As a host: every host."""
ANYBODY = Principal(USER, "*")


class PatternType(IntEnum):
    """The type of a pattern's name; the protocol's codes. ANY and MATCH are for filters alone."""

    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Permission(IntEnum):
    """The effect of an entry; the protocol's codes. ANY is for filters alone."""

    ANY = 1
    DENY = 2
    ALLOW = 3


class MalformedAclError(BarnabasError):
    """The access rule is invalid."""


class Pattern(NamedTuple):
    """The resources of a rule."""

    resource_type: ResourceType
    name: str
    pattern_type: PatternType = PatternType.LITERAL

    def __str__(self) -> str:
        return (
            f"ResourcePattern(resourceType={self.resource_type.name}, name={self.name}, "
            f"patternType={self.pattern_type.name})"
        )


class Entry(NamedTuple):
    """A permission or denial of an operation to a principal from a host."""

    principal: Principal
    host: str
    operation: Operation
    permission: Permission


class Binding(NamedTuple):
    """An entry with its resources."""

    pattern: Pattern
    entry: Entry

    def as_row(self) -> dict[str, str]:
        """Return the rule as a row of a table, in the words of Kafka's tools."""
        pattern, entry = self
        return {
            "resource_type": pattern.resource_type.name,
            "name": pattern.name,
            "pattern_type": pattern.pattern_type.name,
            "principal": str(entry.principal),
            "host": entry.host,
            "operation": entry.operation.name,
            "permission_type": entry.permission.name,
        }


class PatternFilter(NamedTuple):
    """Selects patterns.

    Attributes:
        name: None: any. With MATCH, the resource that the pattern must be about.
    """

    resource_type: ResourceType = ResourceType.ANY
    name: str | None = None
    pattern_type: PatternType = PatternType.ANY

    def selects(self, pattern: Pattern) -> bool:
        """Return whether the filter selects a pattern."""
        wanted = self.pattern_type
        if self.resource_type not in (ResourceType.ANY, pattern.resource_type):
            return False
        if wanted not in (PatternType.ANY, PatternType.MATCH, pattern.pattern_type):
            return False
        if self.name is None or self.name == pattern.name:
            # A prefix that is the whole name matches as well.
            return True
        if wanted is not PatternType.MATCH:
            return False
        if pattern.pattern_type is PatternType.PREFIXED:
            return self.name.startswith(pattern.name)
        return pattern.name == ANY_NAME

    @property
    def only(self) -> Pattern | None:
        """Return the only pattern that the filter can select; None: it may select several."""
        is_exact = self.pattern_type in (PatternType.LITERAL, PatternType.PREFIXED)
        if self.name is None or self.resource_type is ResourceType.ANY or not is_exact:
            return None
        return Pattern(self.resource_type, self.name, self.pattern_type)


class EntryFilter(NamedTuple):
    """Selects entries.

    Attributes:
        principal, host: As text; None: any. `*` selects entries that say `*`.
    """

    principal: str | None = None
    host: str | None = None
    operation: Operation = Operation.ANY
    permission: Permission = Permission.ANY

    def selects(self, entry: Entry) -> bool:
        """Return whether the filter selects an entry."""
        return (
            self.principal in (None, str(entry.principal))
            and self.host in (None, entry.host)
            and self.operation in (Operation.ANY, entry.operation)
            and self.permission in (Permission.ANY, entry.permission)
        )


class BindingFilter(NamedTuple):
    """Selects bindings."""

    patterns: PatternFilter = PatternFilter()
    entries: EntryFilter = EntryFilter()


Word = TypeVar("Word", Operation, ResourceType, Permission, PatternType)


def word(value: Operation | ResourceType | Permission) -> str:
    """Return the form in znodes and the authorizer's log: `DescribeConfigs`, `TransactionalId`, `Allow`."""
    return "".join(part.capitalize() for part in value.name.split("_"))


OPERATIONS = {word(each): each for each in Operation if each is not Operation.ANY}
RESOURCE_TYPES = {word(each): each for each in ResourceType if each is not ResourceType.ANY}
PERMISSIONS = {word(each): each for each in Permission if each is not Permission.ANY}
