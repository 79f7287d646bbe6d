"""Creates, deletes and describes access rules (ACLs) on behalf of administrators.

Each rule is checked as in Kafka; the rules of one pattern are written together.

Source: semantics, ACLs; Kafka 2.7.2, KafkaApis.handleCreateAcls, AclAuthorizer.createAcls and deleteAcls.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from barnabas.broker.security.acls.store import AclStore
from barnabas.broker.security.acls.znodes import has_path
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.time_slices import in_time_slices
from barnabas.wire.security.acls import Binding, BindingFilter, Entry, Pattern, PatternType, Permission
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType
from barnabas.wire.security.principals import parse_principal

# The most comparisons of a pattern with a filter in one turn of the event loop: a millisecond or two.
_COMPARISONS_PER_TURN = 2_000


class AskedAcl(NamedTuple):
    """A rule to create, with the codes from the request."""

    resource_type: int
    name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int


class AclAdmin:
    """Creates, deletes and lists access rules."""

    def __init__(self, store: AclStore, allows_prefixes: Callable[[], bool]) -> None:
        """Args:
        allows_prefixes: Returns whether every broker of the cluster supports prefixed patterns.
        """
        self._store = store
        self._allows_prefixes = allows_prefixes

    def describe(self, wanted: BindingFilter) -> Iterator[Binding]:
        """Iterate over the rules that a filter selects, grouped by pattern."""
        return self._store.rules.select(wanted)

    async def create(self, asked: Sequence[AskedAcl]) -> list[KafkaError | None]:
        """Create rules; existing rules are left unchanged.

        Returns:
            The error of each rule; None on success.

        Raises:
            KafkaError: UNKNOWN_SERVER_ERROR if a rule has a value that is valid only in filters; no rule is created.
        """
        if any(map(_is_filter, asked)):
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        errors: list[KafkaError | None] = []
        patterns: list[Pattern | None] = []
        new: dict[Pattern, set[Entry]] = {}
        # If one rule of a pattern fails, all rules of the pattern fail.
        failed: set[Pattern] = set()
        async for acl in in_time_slices(asked):
            pattern = None
            error = self._name_error(acl)
            try:
                if error is None:
                    pattern = Pattern(ResourceType(acl.resource_type), acl.name, PatternType(acl.pattern_type))
                    operation, permission = Operation(acl.operation), Permission(acl.permission)
                    error = self._prefix_error(pattern)
            except ValueError:
                pattern, error = None, KafkaError(ErrorCode.INVALID_REQUEST, "Failed to create ACL")
            if error is None and pattern is not None:
                try:
                    entry = Entry(parse_principal(acl.principal), acl.host, operation, permission)
                    new.setdefault(pattern, set()).add(entry)
                except ValueError:
                    failed.add(pattern)
                if not has_path(pattern):
                    failed.add(pattern)
            errors.append(error)
            patterns.append(pattern)
        changes = {pattern: _adding(entries) for pattern, entries in new.items() if pattern not in failed}
        changed = await self._store.update(changes)
        failed.update(pattern for pattern, result in changed.items() if result.error is not None)
        unknown = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        return [
            unknown if error is None and pattern in failed else error
            for pattern, error in zip(patterns, errors, strict=True)
        ]

    @staticmethod
    def _name_error(acl: AskedAcl) -> KafkaError | None:
        if acl.resource_type == ResourceType.CLUSTER and acl.name != CLUSTER:
            return KafkaError(ErrorCode.INVALID_REQUEST, f"The only valid name for the CLUSTER resource is {CLUSTER}")
        return None if acl.name else KafkaError(ErrorCode.INVALID_REQUEST, "Invalid empty resource name")

    def _prefix_error(self, pattern: Pattern) -> KafkaError | None:
        if pattern.pattern_type is not PatternType.PREFIXED or self._allows_prefixes():
            return None
        return KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            "Adding ACLs on prefixed resource patterns requires inter.broker.protocol.version of 2.0-IV1 or greater",
        )

    async def delete(self, filters: Sequence[BindingFilter]) -> list[list[tuple[Binding, KafkaError | None]]]:
        """Delete rules; return for each filter its rules, without those of earlier filters, each with its error."""
        by_pattern: dict[Pattern, list[int]] = {}
        comparisons = 0
        # Filters that can select only one pattern are not compared with the others.
        of_one: dict[Pattern, list[int]] = {}
        of_several: list[int] = []
        async for number, each in in_time_slices(enumerate(filters)):
            only = each.patterns.only
            if only is None:
                of_several.append(number)
            else:
                of_one.setdefault(only, []).append(number)
        for pattern in of_one.keys() | self._store.rules.patterns:
            selecting = [number for number in of_several if filters[number].patterns.selects(pattern)]
            selecting = sorted(selecting + of_one.get(pattern, []))
            if selecting and has_path(pattern):
                by_pattern[pattern] = selecting
            comparisons += 1 + len(of_several)
            if comparisons >= _COMPARISONS_PER_TURN:
                comparisons = 0
                await asyncio.sleep(0)

        def without_selected(numbers: Sequence[int]) -> Callable[[frozenset[Entry]], frozenset[Entry]]:
            return lambda entries: frozenset(
                entry for entry in entries if not any(filters[number].entries.selects(entry) for number in numbers)
            )

        changed = await self._store.update({each: without_selected(by_pattern[each]) for each in by_pattern})
        deleted: list[list[tuple[Binding, KafkaError | None]]] = [[] for _ in filters]
        async for pattern, result in in_time_slices(changed.items()):
            # If the update failed, report the known rules that it should have deleted.
            failed = result.error is not None
            before = self._store.rules.entries(pattern) if failed else result.before
            for entry in sorted(before - result.after):
                for number in by_pattern[pattern]:
                    if filters[number].entries.selects(entry):
                        error = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR) if failed else None
                        deleted[number].append((Binding(pattern, entry), error))
                        break
        return deleted


def _adding(entries: set[Entry]) -> Callable[[frozenset[Entry]], frozenset[Entry]]:
    return lambda before: before | entries


def _is_filter(acl: AskedAcl) -> bool:
    return (
        acl.resource_type == ResourceType.ANY
        or acl.pattern_type in (PatternType.ANY, PatternType.MATCH)
        or acl.operation == Operation.ANY
        or acl.permission == Permission.ANY
    )
