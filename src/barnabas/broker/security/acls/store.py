"""The access rules in the registry, and this broker's copy of them.

Invariants:

- The copy follows the registry: every change is written together with a notification
  (`broker/registry/change_notifications.py`), and changes by this broker are applied at once.
- No concurrent change is lost: every write checks the version of the pattern's node.
- An unreadable node is never treated as empty, because it may contain a denial. The previous rules stay in force;
  without previous rules, only super users have access to the pattern's resources.
- Reads and changes run one at a time, so no older rules are applied after newer ones.

Source: zookeeper.md, ACLs; Kafka 2.7.2, AclAuthorizer.updateResourceAcls, ZkAclStore.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.registry.change_notifications import Changes
from barnabas.broker.security.acls.znodes import (
    PATTERN_TYPES,
    change_prefix,
    decode_entries,
    decode_literal_change,
    decode_prefixed_change,
    encode_change,
    encode_entries,
    path_of,
    type_path,
)
from barnabas.core.clock import Clock
from barnabas.core.errors import BarnabasError
from barnabas.core.pending import Pending, Spawner
from barnabas.core.timers import Timers
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import (
    BadVersionError,
    CreateOp,
    DeleteOp,
    NodeExistsError,
    NoNodeError,
    Op,
    Registry,
    RegistryError,
    SetOp,
    Stat,
)
from barnabas.wire.registry.znodes.payload import MalformedError
from barnabas.wire.security.access_rules import Rules
from barnabas.wire.security.acls import RESOURCE_TYPES, Entry, Pattern, PatternType

if TYPE_CHECKING:
    from random import Random

log = logging.getLogger(__name__)

# Kafka's values, for a node that is changed concurrently.
MOST_RETRIES = 10
RETRY_BACKOFF_MS = 100
RETRY_JITTER_MS = 50
# Number of nodes read or written at once: they share round trips and commits.
_NODES_AT_ONCE = 50

Change = Callable[[frozenset[Entry]], frozenset[Entry]]


class Changed(NamedTuple):
    """The result of a change of a pattern's access rules.

    Attributes:
        before, after: The rules before and after; equal if nothing was written.
        error: The reason of a failure; None on success.
    """

    before: frozenset[Entry]
    after: frozenset[Entry]
    error: BarnabasError | None = None


class AclStore:
    """Reads, watches and changes the rules. Owned by the event loop.

    Attributes:
        rules: All rules known to this broker.
    """

    def __init__(
        self,
        registry: Registry,
        clock: Clock,
        timers: Timers,
        spawner: Spawner,
        dice: "Random",
        on_change: Callable[[], object],
    ) -> None:
        """Args:
        on_change: Called whenever `rules` changes.
        """
        self.rules = Rules()
        self._registry = registry
        self._timers = timers
        self._dice = dice
        self._on_change = on_change
        self._lock = asyncio.Lock()
        # The logged reason for each unreadable pattern.
        self._malformed: dict[Pattern, str] = {}
        decoders = {PatternType.LITERAL: decode_literal_change, PatternType.PREFIXED: decode_prefixed_change}
        self._changes = [
            self._new_changes(clock, spawner, change_prefix(pattern_type), decode)
            for pattern_type, decode in decoders.items()
        ]

    def _new_changes(
        self, clock: Clock, spawner: Spawner, prefix: str, decode: Callable[[bytes | None], Pattern]
    ) -> Changes:
        async def take_over(data: Sequence[tuple[str, bytes | None]]) -> None:
            await self._read_changed(data, decode)

        parent = paths.parent(prefix)
        return Changes(
            self._registry, clock, self._timers, spawner, parent, paths.name(prefix), take_over, self._read_all
        )

    async def start(self) -> None:
        """Create missing nodes, read all rules, and start to watch.

        Raises:
            RegistryError: The registry rejected an operation.
        """
        await self._create_paths()
        for changes in self._changes:
            # Before the rules are read: every later change then triggers a notification.
            await changes.start()
        await self._read_all()

    async def update(self, changes: Mapping[Pattern, Change]) -> dict[Pattern, Changed]:
        """Change the rules of some patterns, and notify the brokers.

        Args:
            changes: Computes a pattern's new rules from the current ones; called again after a concurrent change. If no
                rules are left, the pattern's node is deleted.
        """
        async with self._lock:
            results: dict[Pattern, Changed] = {}
            patterns = list(changes)
            for start in range(0, len(patterns), _NODES_AT_ONCE):
                some = patterns[start : start + _NODES_AT_ONCE]
                done = await asyncio.gather(*(self._update(pattern, changes[pattern]) for pattern in some))
                results.update(zip(some, done, strict=True))
            return results

    # --- writing

    async def _update(self, pattern: Pattern, change: Change) -> Changed:
        nothing: frozenset[Entry] = frozenset()
        try:
            for _ in range(MOST_RETRIES + 1):
                data, stat = await self._read(pattern)
                before = decode_entries(data)
                after = change(before)
                if after == before or await self._write(pattern, after, stat):
                    self._take(pattern, after)
                    return Changed(before, after)
                await self._pause()
                await self._create_paths()
        except (RegistryError, MalformedError) as error:
            log.error("cannot change the ACLs of %s: %s", pattern, error)
            return Changed(nothing, nothing, error)
        failed = BarnabasError(f"Failed to update ACLs for {pattern} after trying a maximum of {MOST_RETRIES} times")
        log.error("%s", failed)
        return Changed(nothing, nothing, failed)

    async def _write(self, pattern: Pattern, entries: frozenset[Entry], stat: Stat | None) -> bool:
        """Write a pattern's node and its notification, unless another broker changed it meanwhile."""
        path = path_of(pattern)
        op: Op
        if stat is None:
            op = CreateOp(path, encode_entries(entries))
        elif entries:
            op = SetOp(path, encode_entries(entries), stat.version)
        else:
            op = DeleteOp(path, stat.version)
        notification = CreateOp(change_prefix(pattern.pattern_type), encode_change(pattern), is_sequence=True)
        try:
            await self._registry.multi([op, notification])
        except (NodeExistsError, NoNodeError, BadVersionError):
            return False
        return True

    async def _pause(self) -> None:
        pause: Pending[None] = Pending()
        self._timers.call_later(RETRY_BACKOFF_MS + self._dice.randrange(RETRY_JITTER_MS), pause.complete, None)
        await pause.future()

    async def _create_paths(self) -> None:
        types = [type_path(each, resource_type) for each in PATTERN_TYPES for resource_type in RESOURCE_TYPES.values()]
        wanted = [*types, paths.ACL_CHANGES, paths.PREFIXED_ACL_CHANGES]
        every = list(dict.fromkeys(node for path in wanted for node in (*paths.ancestors(path), path)))
        there = await asyncio.gather(*map(self._registry.exists, every))
        missing = [path for path, stat in zip(every, there, strict=True) if stat is None]
        for path in missing:
            try:
                await self._registry.create(path)
            except NodeExistsError:
                # Another broker was faster.
                continue

    # --- reading

    async def _read_changed(
        self, notifications: Sequence[tuple[str, bytes | None]], decode: Callable[[bytes | None], Pattern]
    ) -> None:
        # In the order of their first change.
        changed: dict[Pattern, None] = {}
        for name, data in notifications:
            try:
                changed[decode(data)] = None
            except MalformedError as error:
                log.warning("ACL change notification %s is malformed: ignored: %s", name, error)
        async with self._lock:
            await self._take_over(changed)

    async def _read_all(self) -> None:
        async with self._lock:
            there: set[Pattern] = set()
            for pattern_type in PATTERN_TYPES:
                for resource_type in RESOURCE_TYPES.values():
                    try:
                        names = await self._registry.children(type_path(pattern_type, resource_type))
                    except NoNodeError:
                        names = []
                    there.update(Pattern(resource_type, name, pattern_type) for name in names)
            await self._take_over(sorted(there))
            for pattern in set(self.rules.patterns) - there:
                self._take(pattern, frozenset())
            log.debug("%d access rules of %d patterns", len(self.rules), len(there))

    async def _take_over(self, patterns: Iterable[Pattern]) -> None:
        """Read patterns, and apply their rules."""
        wanted = list(patterns)
        for start in range(0, len(wanted), _NODES_AT_ONCE):
            some = wanted[start : start + _NODES_AT_ONCE]
            for pattern, (data, _) in zip(some, await asyncio.gather(*map(self._read, some)), strict=True):
                try:
                    self._take(pattern, decode_entries(data))
                except MalformedError as error:
                    self._cannot_read(pattern, str(error))

    async def _read(self, pattern: Pattern) -> tuple[bytes | None, Stat | None]:
        try:
            return await self._registry.get(path_of(pattern))
        except NoNodeError:
            return None, None

    def _take(self, pattern: Pattern, entries: frozenset[Entry]) -> None:
        was_unreadable = self._malformed.pop(pattern, None) is not None
        if was_unreadable or entries != self.rules.entries(pattern):
            self.rules.set(pattern, entries)
            self._on_change()

    def _cannot_read(self, pattern: Pattern, reason: str) -> None:
        # differs from Kafka (malformed-acls): Kafka does not start, or treats data that is not JSON as no rules.
        if self._malformed.get(pattern) != reason:
            self._malformed[pattern] = reason
            is_known = bool(self.rules.entries(pattern))
            log.error(
                "cannot read the ACLs of %s (%s): %s",
                pattern,
                reason,
                "the previous ACLs stay in force" if is_known else "only super users have access to its resources",
            )
            if not is_known:
                self.rules.close(pattern)
                self._on_change()
