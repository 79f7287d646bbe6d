"""Does what the ledger decides: writes intents, changes limits, makes sure of them, writes what came of it.

Invariants: an intent is acknowledged by all in-sync replicas before its limit is changed; an outcome is written once
the broker tells the new limits. Between the last look at an entity's limits and their change lie milliseconds
(`_LOOK_LASTS_MS`, and the request itself) in which an operator's own change would be overwritten: Kafka's request has
no "if it is still so".

Source: AlterClientQuotas, DescribeClientQuotas (KIP-546).
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from barnabas.clients import Pool
from barnabas.clients.admin_quota_states import QuotaStateAdmin
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import EncodeError, KafkaError
from barnabas.pipeline.enforcement.audit import AuditTopic
from barnabas.pipeline.enforcement.entry import Entity, Entry, Step, Verdict
from barnabas.pipeline.enforcement.ledger import Act, Found, Ledger
from barnabas.pipeline.enforcement.policy import Policy

_TIMEOUT_MS = 10_000
# Acts whose intents are written together: few enough that the first of them don't wait for the last.
_BATCH_COUNT = 50
# How often the limits are looked at when nothing else happens: an operator's changes, and what was lifted by hand.
_LOOK_EVERY_S = 10.0
_SHORTEST_WAIT_S = 0.2
# A change that follows others is made by a look that is no older.
_LOOK_LASTS_MS = 50


class Enforcer:
    """Enforcement at one cluster, by one run; every call may raise KafkaError, and may be repeated."""

    def __init__(
        self, pool: Pool, audit: AuditTopic, policy: Policy, run: str, tell: Callable[[Entry], None] = lambda _: None
    ) -> None:
        """Args:
        pool: The cluster; it stays the caller's, as the topic does.
        audit: Where the steps stand.
        policy: What is enforced.
        run: Whose limits these are.
        tell: Called with each step that was taken, intents aside.
        """
        self.ledger = Ledger(policy.is_dry)
        self.waiting_count = 0
        self._set = Ledger(False)
        self._policy = policy
        self._run = run
        self._tell = tell
        self._clock = pool.env.clock
        self._audit = audit
        self._quotas = QuotaStateAdmin(pool, _TIMEOUT_MS)

    async def round(self, verdicts: Sequence[Verdict] | None) -> bool:
        """Do all that is to be done now.

        Args:
            verdicts: All that there are; None: not known yet.

        Returns:
            Whether it is done; otherwise somebody else has changed limits meanwhile, and another round will tell.
        """
        await self._catch_up()
        now_ms = self._clock.now_ms()
        accused = None if verdicts is None else self._policy.accused(verdicts, now_ms)
        found: Found = await self._quotas.limits()
        if self._policy.is_dry:
            # What runs that were in earnest have set is no operator's.
            found = self._set.without_ours(found)
        decision = self.ledger.decide(self._policy, self._run, accused, found, now_ms)
        self.waiting_count = decision.waiting_count
        is_done = True
        for acts in _batches(decision.acts):
            is_done &= await self._do(acts)
        if decision.acts:
            await self._catch_up()
        return is_done

    async def do(self, acts: Sequence[Act]) -> bool:
        """Do these; gives whether all are done, see `round`."""
        return all([await self._do(batch) for batch in _batches(acts)])

    @property
    def in_force(self) -> Collection[Entity]:
        """Whose limits are set, or may be: those of all runs, in a dry run too."""
        return self._set.holding

    def wait_s(self) -> float:
        """Tell how long nothing is to be done, new verdicts aside."""
        expiry_ms = self.ledger.next_expiry_ms()
        if expiry_ms is None:
            return _LOOK_EVERY_S
        return min(_LOOK_EVERY_S, max(_SHORTEST_WAIT_S, (expiry_ms - self._clock.now_ms()) / 1000))

    async def _catch_up(self) -> None:
        for entry in await self._audit.read():
            self.ledger.add(entry)
            self._set.add(entry)

    async def _do(self, acts: Sequence[Act]) -> bool:
        if self._policy.is_dry:
            await self._note([act.outcome for act in acts])
            return True
        await self._audit.append(self._stamped(act.intent) for act in acts if act.intent is not None)
        changing = [act for act in acts if act.changes]
        outcomes = [act.outcome for act in acts if not act.changes]
        if changing:
            due, failures = await self._change_due(changing)
            found = await self._quotas.limits()
            outcomes += failures
            outcomes += [act.outcome for act in due if act.is_done(found.get(act.outcome.entity.limited, {}))]
        await self._note(outcomes)
        return len(outcomes) == len(acts)

    async def _change_due(self, acts: Sequence[Act]) -> tuple[list[Act], list[Entry]]:
        """Make those changes that are right when their turn comes; gives these, and the steps of refused ones."""
        due: list[Act] = []
        failures: list[Entry] = []
        found: Found = {}
        looked_ms: int | None = None
        for act in acts:
            if looked_ms is None or self._clock.monotonic_ms() - looked_ms > _LOOK_LASTS_MS:
                looked_ms = self._clock.monotonic_ms()
                found = await self._quotas.limits()
            if act.is_due(found.get(act.outcome.entity.limited, {})):
                due.append(act)
                if (failed := await self._change(act)) is not None:
                    failures.append(failed)
        return due, failures

    async def _change(self, act: Act) -> Entry | None:
        """Change limits; gives the step to write where they can't be set."""
        try:
            await self._quotas.alter_limits(act.outcome.entity.limited, act.changes or {})
        except (EncodeError, KafkaError) as error:
            is_refused = isinstance(error, EncodeError) or error.code is ErrorCode.INVALID_REQUEST
            # One that can't be removed is tried again: it is ours.
            if not is_refused or act.outcome.step is not Step.LIMITED:
                raise
            return replace(act.outcome, step=Step.FAILED, limits={}, note=str(error))
        return None

    async def _note(self, entries: Sequence[Entry]) -> None:
        entries = [self._stamped(entry) for entry in entries]
        await self._audit.append(entries)
        for entry in entries:
            self._tell(entry)

    def _stamped(self, entry: Entry) -> Entry:
        return replace(entry, time_ms=self._clock.now_ms())


def _batches(acts: Sequence[Act]) -> Iterator[Sequence[Act]]:
    for start in range(0, len(acts), _BATCH_COUNT):
        yield acts[start : start + _BATCH_COUNT]
