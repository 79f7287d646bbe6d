"""What access rules are made of: patterns of resources, entries, and the filters that select them.

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
    """How a pattern's name is meant; the protocol's codes. ANY and MATCH are for filters alone."""

    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Permission(IntEnum):
    """What an entry does; the protocol's codes. ANY is for filters alone."""

    ANY = 1
    DENY = 2
    ALLOW = 3


class MalformedAclError(BarnabasError):
    """No access rule says that."""


class Pattern(NamedTuple):
    """Which resources rules are about."""

    resource_type: ResourceType
    name: str
    pattern_type: PatternType = PatternType.LITERAL

    def __str__(self) -> str:
        return (
            f"ResourcePattern(resourceType={self.resource_type.name}, name={self.name}, "
            f"patternType={self.pattern_type.name})"
        )


class Entry(NamedTuple):
    """Who may, or may not, do what from where."""

    principal: Principal
    host: str
    operation: Operation
    permission: Permission


class Binding(NamedTuple):
    """An entry, and the resources that it is about."""

    pattern: Pattern
    entry: Entry

    def as_row(self) -> dict[str, str]:
        """Return it as a row of a table, in the words of Kafka's tools."""
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
        """Return whether a pattern is one of those."""
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
        """The one pattern that it can select; None: it may select several."""
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
        """Return whether an entry is one of those."""
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
    """As znodes and the authorizer's log have it: `DescribeConfigs`, `TransactionalId`, `Allow`."""
    return "".join(part.capitalize() for part in value.name.split("_"))


OPERATIONS = {word(each): each for each in Operation if each is not Operation.ANY}
RESOURCE_TYPES = {word(each): each for each in ResourceType if each is not ResourceType.ANY}
PERMISSIONS = {word(each): each for each in Permission if each is not Permission.ANY}
