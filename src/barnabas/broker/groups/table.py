"""The groups of a broker, and the shell around their pure state machines.

It applies one event to a group and carries out the effects: timers, pending responses, records of `__consumer_offsets`.
Owned by the event loop.

Invariant: within one event all bookkeeping is done before any callback. A response may therefore trigger the next
request at once: the state is consistent.

Source: design page, consumer group membership, offset tracking.
"""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import assert_never

from barnabas.broker.diagnostics.rebalances import Note, Rebalances
from barnabas.broker.groups.deadlines import Deadlines
from barnabas.broker.groups.errors import commit_error, sync_error
from barnabas.broker.groups.events import (
    AppendTombstones,
    CancelTimer,
    CommitAppended,
    CommitFailed,
    Event,
    ForgetGroup,
    GroupStored,
    Replacement,
    ReplacementStored,
    SetTimer,
    StoreGroup,
    StoreOffsets,
    StoreReplacement,
    TimerFired,
    Unloaded,
)
from barnabas.broker.groups.group import Group
from barnabas.broker.groups.group_log import Append, GroupLog
from barnabas.broker.groups.open_transactions import OpenTransactions
from barnabas.broker.groups.pending_responses import NOBODY, Caller, PendingResponses
from barnabas.broker.groups.state import step
from barnabas.broker.log.append_result import AppendResult
from barnabas.core.clock import Clock
from barnabas.core.error_code import ErrorCode
from barnabas.core.timers import Timers

log = logging.getLogger(__name__)


class GroupTable:
    """All groups that are in memory.

    Attributes:
        groups: The groups by their ids.
        kept_bytes: Their estimated memory, without their offsets.
        transactions: The groups that wait for producers' markers.
        commit_count: Number of committed offsets.
        rebalance_count: Number of completed rebalances.
    """

    def __init__(self, clock: Clock, timers: Timers, group_log: GroupLog, rebalances: Rebalances | None = None) -> None:
        self._clock = clock
        self._log = group_log
        self.groups: dict[str, Group] = {}
        self.commit_count = self.rebalance_count = self.kept_bytes = 0
        self.transactions = OpenTransactions()
        self._rebalances = rebalances
        self._replies = PendingResponses()
        self._deadlines: Deadlines[tuple[str, str]] = Deadlines(clock, timers, self._on_deadline)

    def add(self, group: Group) -> None:
        """Add a group."""
        self.groups[group.group_id] = group
        self._count(group)

    def unload(self, group: Group) -> None:
        """Unload a group; waiting requests are answered."""
        self._drop(group)
        self.happen(group, Unloaded())

    def _drop(self, group: Group) -> None:
        if self.groups.get(group.group_id) is group:
            del self.groups[group.group_id]
            self.kept_bytes -= group.counted_bytes

    def _count(self, group: Group) -> None:
        self.kept_bytes += group.kept_bytes - group.counted_bytes
        group.counted_bytes = group.kept_bytes

    def clear(self) -> None:
        """Unload all groups."""
        for group in list(self.groups.values()):
            self.unload(group)
        self.transactions = OpenTransactions()
        self._deadlines.clear()

    def happen(self, group: Group, event: Event, caller: Caller = NOBODY) -> None:
        """Apply an event to a group, and carry out the effects."""
        now_ms = self._clock.now_ms()
        effects = step(group, event, now_ms)
        group_id = group.group_id
        if group.kept_bytes != group.counted_bytes and self.groups.get(group_id) is group:
            self._count(group)
        if not effects:
            return
        appends: list[Append] = []
        answers: list[Callable[[], object]] = []
        for effect in effects:
            match effect:
                case SetTimer(timer, deadline_ms):
                    self._deadlines.set((group_id, timer), deadline_ms - now_ms)
                case CancelTimer(timer):
                    self._deadlines.cancel((group_id, timer))
                case StoreOffsets() | StoreGroup() | StoreReplacement() | AppendTombstones():
                    appends.append(effect)
                    if isinstance(effect, StoreGroup) and effect.assignments:
                        self.rebalance_count += 1
                case ForgetGroup():
                    self._drop(group)
                case Note():
                    if self._rebalances is not None:
                        self._rebalances.note(group_id, effect, now_ms)
                case _:
                    answer = self._replies.reply(group_id, effect, caller)
                    if answer is not None:
                        answers.append(answer)
        try:
            for append in appends:
                self._log.append(group, append, now_ms, self._append_callback(group, append, caller))
        finally:
            # Even if an append raised: these callers are not the caller of that append.
            for answer in answers:
                answer()

    def _on_deadline(self, key: tuple[str, str]) -> None:
        group_id, timer = key
        group = self.groups.get(group_id)
        if group is not None:
            self.happen(group, TimerFired(timer))

    def _append_callback(self, group: Group, effect: Append, caller: Caller) -> Callable[[AppendResult], object]:
        """Return the callback for the result of an effect's append."""
        match effect:
            case StoreOffsets():
                return partial(self._on_offsets_stored, group, effect, caller)
            case StoreGroup(generation, assignments):
                return partial(self._on_group_stored, group, generation, assignments)
            case StoreReplacement(generation, _, replacement):
                return partial(self._on_replacement_stored, group, generation, replacement)
            case AppendTombstones():
                return _ignore
            case _:
                assert_never(effect)

    def _on_offsets_stored(self, group: Group, effect: StoreOffsets, caller: Caller, result: AppendResult) -> None:
        producer_id = effect.producer_id
        self.commit_count += len(effect.offsets)
        if result.error_code == ErrorCode.NONE:
            self.happen(group, CommitAppended(effect.offsets, result.base_offset, producer_id))
        else:
            self.happen(group, CommitFailed(effect.offsets, producer_id))
            if producer_id not in group.pending_transactions:
                self.transactions.discard(group.partition, producer_id, group.group_id)
        caller.plain.complete(commit_error(result.error_code))

    def _on_group_stored(
        self, group: Group, generation: int, assignments: Mapping[str, bytes], result: AppendResult
    ) -> None:
        if result.error_code != ErrorCode.NONE:
            log.warning(
                "cannot store generation %d of group %s: %s", generation, group.group_id, result.error_code.name
            )
        self.happen(group, GroupStored(generation, assignments, sync_error(result.error_code)))

    def _on_replacement_stored(
        self, group: Group, generation: int, replacement: Replacement, result: AppendResult
    ) -> None:
        if result.error_code != ErrorCode.NONE:
            log.warning("cannot store a rejoined static member of group %s: %s", group.group_id, result.error_code.name)
        self.happen(group, ReplacementStored(generation, replacement, sync_error(result.error_code)))


def _ignore(result: AppendResult) -> None:
    pass
