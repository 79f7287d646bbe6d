"""Evaluation of access rules: the operations allowed to one principal and host on a resource.

    matching rules      literal name + literal `*` + every prefixed pattern that the name begins with
    no matching rule    no decision: the caller decides (allow.everyone.if.no.acl.found)
    denied              operations of a deny entry for the principal or `User:*`, from the host or `*`
    allowed             operations of an allow entry, and those implied by them; less the denied ones

READ, WRITE, DELETE and ALTER imply DESCRIBE; ALTER_CONFIGS implies DESCRIBE_CONFIGS. A denial implies nothing, except
that ALL covers every operation.

Hosts are compared in their canonical form (`core/addresses.py`), however a rule writes them.

Sets of operations are bits, `1 << operation`, as in the protocol.

Rules are found by hash: the literal ones by name, the prefixed ones by each length of a prefix. So the cost of a lookup
grows with the number of distinct lengths (249 for topics at most), not with the number of rules.

Source: semantics, ACLs; Kafka 2.7.2, AclAuthorizer.authorizeAction.
"""

from collections.abc import Collection, Iterator, Mapping

from barnabas.core.addresses import canonical_address
from barnabas.wire.security.acls import (
    ANY_NAME,
    ANYBODY,
    Binding,
    BindingFilter,
    Entry,
    Pattern,
    PatternType,
    Permission,
)
from barnabas.wire.security.authorizer import ALL_OPERATIONS, Operation, ResourceType
from barnabas.wire.security.principals import Principal

_IMPLIED = {
    Operation.READ: 1 << Operation.DESCRIBE,
    Operation.WRITE: 1 << Operation.DESCRIBE,
    Operation.DELETE: 1 << Operation.DESCRIBE,
    Operation.ALTER: 1 << Operation.DESCRIBE,
    Operation.ALTER_CONFIGS: 1 << Operation.DESCRIBE_CONFIGS,
}

_Who = tuple[Principal, str]
_Operations = tuple[int, int]
_CLOSED: Mapping[_Who, _Operations] = {(ANYBODY, ANY_NAME): (0, ALL_OPERATIONS)}


class Rules:
    """All access rules; pure. Owned by the component that loads them."""

    __slots__ = ("_entries", "_literal", "_prefixed", "_unreadable")

    def __init__(self) -> None:
        self._entries: dict[Pattern, frozenset[Entry]] = {}
        self._unreadable: set[Pattern] = set()
        # For each pattern, by principal and host: the allowed and the denied operations.
        self._literal: dict[tuple[int, str], Mapping[_Who, _Operations]] = {}
        # By resource type and length.
        self._prefixed: dict[int, dict[int, dict[str, Mapping[_Who, _Operations]]]] = {}

    def __len__(self) -> int:
        """Return the number of rules."""
        return sum(map(len, self._entries.values()))

    @property
    def patterns(self) -> Collection[Pattern]:
        """Return the patterns that have entries, or unreadable ones."""
        return self._entries.keys() | self._unreadable

    def entries(self, pattern: Pattern) -> frozenset[Entry]:
        """Return the entries of a pattern."""
        return self._entries.get(pattern, frozenset())

    def select(self, wanted: BindingFilter) -> Iterator[Binding]:
        """Yield the rules that a filter selects, pattern by pattern."""
        only = wanted.patterns.only
        # A copy: the rules may change while a caller iterates.
        patterns = list(self._entries) if only is None else [only]
        for pattern in patterns:
            if only is None and not wanted.patterns.selects(pattern):
                continue
            for entry in self._entries.get(pattern, ()):
                if wanted.entries.selects(entry):
                    yield Binding(pattern, entry)

    def set(self, pattern: Pattern, entries: Collection[Entry]) -> None:
        """Replace the entries of a pattern; no entries remove it."""
        self._remove(pattern)
        if entries:
            self._entries[pattern] = frozenset(entries)
            self._put(pattern, _by_who(entries))

    def close(self, pattern: Pattern) -> None:
        """Deny everything on a pattern's resources, because its entries cannot be read."""
        self._remove(pattern)
        self._unreadable.add(pattern)
        self._put(pattern, _CLOSED)

    def _put(self, pattern: Pattern, by_who: Mapping[_Who, _Operations]) -> None:
        resource_type, name, pattern_type = pattern
        if pattern_type is PatternType.PREFIXED:
            self._prefixed.setdefault(resource_type, {}).setdefault(len(name), {})[name] = by_who
        else:
            self._literal[resource_type, name] = by_who

    def _remove(self, pattern: Pattern) -> None:
        if pattern not in self._entries and pattern not in self._unreadable:
            return
        self._entries.pop(pattern, None)
        self._unreadable.discard(pattern)
        resource_type, name, pattern_type = pattern
        if pattern_type is PatternType.PREFIXED:
            by_length = self._prefixed[resource_type]
            del by_length[len(name)][name]
            if not by_length[len(name)]:
                del by_length[len(name)]
        else:
            del self._literal[resource_type, name]

    def rights(self, principal: Principal, host: str, resource_type: ResourceType, name: str) -> int | None:
        """Return a principal's rights on a resource, as bits; None: no rule matches."""
        about = []
        for literal in (name, ANY_NAME):
            by_who = self._literal.get((resource_type, literal))
            if by_who is not None:
                about.append(by_who)
        by_length = self._prefixed.get(resource_type)
        if by_length is not None:
            for length, prefixes in by_length.items():
                # None is longer than the name: those that are have another length than what is left of it.
                by_who = prefixes.get(name[:length])
                if by_who is not None:
                    about.append(by_who)
        if not about:
            return None
        # A rule that names no link is about an address on each of them.
        hosts = {host, host.partition("%")[0], ANY_NAME}
        who = [(each, at) for each in (principal, ANYBODY) for at in hosts]
        allowed = denied = 0
        for by_who in about:
            for each in who:
                operations = by_who.get(each)
                if operations is not None:
                    allowed |= operations[0]
                    denied |= operations[1]
        return allowed & ~denied


def _by_who(entries: Collection[Entry]) -> dict[_Who, _Operations]:
    by_who: dict[_Who, _Operations] = {}
    for principal, said_host, operation, permission in entries:
        # differs from Kafka (acl-host-form): it compares what the rule says.
        host = canonical_address(said_host)
        allowed, denied = by_who.get((principal, host), (0, 0))
        bits = ALL_OPERATIONS if operation is Operation.ALL else 1 << operation
        if permission is Permission.ALLOW:
            allowed |= bits | _IMPLIED.get(operation, 0)
        else:
            denied |= bits
        by_who[principal, host] = allowed, denied
    return by_who
