"""Carry out decisions: append intents, change the cluster's quotas, append outcomes.

Invariant: all in-sync replicas have an intent before its quotas change. A change by an operator within `_LOOK_LASTS_MS`
before that is overwritten, because Kafka's request cannot be conditional. Source: AlterClientQuotas,
DescribeClientQuotas (KIP-546).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from barnabas.clients import Pool
from barnabas.clients.admin_quota_states import QuotaStateAdmin
from barnabas.core.error_code import RETRIABLE, ErrorCode
from barnabas.core.errors import BarnabasError, EncodeError, KafkaError
from barnabas.pipeline.enforcement.audit import AuditTopic
from barnabas.pipeline.enforcement.decision import Act, Found, decide, holding
from barnabas.pipeline.enforcement.entry import Entity, Entry, Step, Verdict
from barnabas.pipeline.enforcement.policy import Policy, wanted

# Errors that end the run, with the remedy. They do not concern a single entity.
PERMANENT = {
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "; the run's user needs DESCRIBE_CONFIGS and ALTER_CONFIGS on the cluster",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "",
    ErrorCode.SASL_AUTHENTICATION_FAILED: "",
    ErrorCode.UNSUPPORTED_SASL_MECHANISM: "",
    ErrorCode.UNSUPPORTED_VERSION: "; setting limits over the wire needs Kafka 2.6 or later",
}

_TIMEOUT_MS = 10_000
# An operator's changes are detected within this time.
_LOOK_EVERY_S = 10.0
_SHORTEST_WAIT_S = 0.2
_LOOK_LASTS_MS = 50


class Enforcer:
    """Enforces one policy for one run; methods raise KafkaError and may then be called again.

    Attributes:
        in_force: Newest entry of each entity that any run has limited, or may have limited.
        waiting_count: Number of accused entities that are not limited because of the policy's `most`.
    """

    def __init__(
        self, pool: Pool, audit: AuditTopic, policy: Policy, run: str, tell: Callable[[Entry], None] = lambda _: None
    ) -> None:
        """Enforce `policy` for the run `run`; `tell` is called with each outcome."""
        self.in_force: dict[Entity, Entry] = {}
        self.waiting_count = 0
        self._entries: dict[Entity, Entry] = {}
        self._policy = policy
        self._run = run
        self._tell = tell
        self._clock = pool.env.clock
        self._audit = audit
        self._quotas = QuotaStateAdmin(pool, _TIMEOUT_MS)

    async def round(self, verdicts: Sequence[Verdict] | None) -> bool:
        """Update quotas to match the verdicts (None: not known yet); return False if it must be called again."""
        await self._read_entries()
        now_ms = self._clock.now_ms()
        targets = None if verdicts is None else wanted(verdicts, self._policy, now_ms)
        found: Found = await self._quotas.limits()
        if self._policy.is_dry:
            found = self._imagined(found)
        acts, self.waiting_count = decide(self._policy, self._run, self._entries, targets, found, now_ms)
        is_done = not acts or await self.do(acts)
        await self._read_entries()
        return is_done

    async def do(self, acts: Sequence[Act]) -> bool:
        """Carry out acts; return False if some were skipped because their quotas had changed in the meantime.

        Raises:
            KafkaError: the cluster failed, or refused to remove a quota. The outcomes of the other acts so far are in
                the audit topic.
        """
        if not self._policy.is_dry:
            await self._audit.append([self._stamped(act.intent) for act in acts if act.intent])
        outcomes: list[Entry] = []
        failure: BarnabasError | None = None
        try:
            await self._carry_out(acts, outcomes)
        except BarnabasError as error:
            failure = error
        await self._audit.append(outcomes)
        for outcome in outcomes:
            self._tell(outcome)
        if failure is not None:
            raise failure
        return len(outcomes) == len(acts)

    async def _carry_out(self, acts: Sequence[Act], outcomes: list[Entry]) -> None:
        """Change quotas, and add each outcome to `outcomes` at once; an entity that is refused delays no other."""
        looked_ms, found = float("-inf"), {}
        not_done: BarnabasError | None = None
        for act in acts:
            outcome, limited = act.outcome, act.outcome.entity.limited
            if act.changes and not self._policy.is_dry:
                if self._clock.monotonic_ms() - looked_ms > _LOOK_LASTS_MS:
                    looked_ms, found = self._clock.monotonic_ms(), await self._quotas.limits()
                if not act.is_due(found.get(limited, {})):
                    continue
                try:
                    await self._quotas.alter_limits(limited, act.changes)
                except (EncodeError, KafkaError) as error:
                    if not await self._is_refused(act, error):
                        raise
                    # Retry a failed removal, as enforcement has set the quota; and an error that may pass.
                    may_pass = isinstance(error, KafkaError) and error.code is ErrorCode.UNKNOWN_SERVER_ERROR
                    if may_pass or outcome.step is not Step.LIMITED:
                        not_done = error
                        continue
                    outcome = replace(outcome, step=Step.FAILED, limits={}, note=str(error))
            outcomes.append(self._stamped(outcome))
        if not_done is not None:
            raise not_done

    async def _is_refused(self, act: Act, error: EncodeError | KafkaError) -> bool:
        """Return whether an error concerns this act alone, and has left the quotas as they were."""
        if isinstance(error, EncodeError):
            return True
        if error.code in RETRIABLE or error.code in PERMANENT:
            return False
        # A broker may return UNKNOWN_SERVER_ERROR after it has changed the quotas.
        found = await self._quotas.limits()
        return act.is_due(found.get(act.outcome.entity.limited, {}))

    def wait_s(self) -> float:
        """Return the time until the next limit expires, or until quotas are read again."""
        now_ms = self._clock.now_ms()
        expiries = [(entry.until_ms - now_ms) / 1000 for entry in holding(self._entries).values()]
        return min(_LOOK_EVERY_S, max(_SHORTEST_WAIT_S, min(expiries, default=_LOOK_EVERY_S)))

    def _imagined(self, found: Found) -> Found:
        """Return quotas as if this dry run had set its limits, and other runs had set none."""
        quotas = {limited: dict(own) for limited, own in found.items()}
        for entity, entry in self.in_force.items():
            own = quotas.get(entity.limited, {})
            quotas[entity.limited] = {name: own[name] for name in own if own[name] != entry.limits.get(name)}
        for entity, entry in holding(self._entries).items():
            quotas[entity.limited] = {**quotas.get(entity.limited, {}), **entry.limits}
        return quotas

    async def _read_entries(self) -> None:
        for entry in await self._audit.read():
            if entry.is_dry == self._policy.is_dry:
                self._entries[entry.entity] = entry
            if not entry.is_dry:
                self.in_force[entry.entity] = entry
        self.in_force = holding(self.in_force)

    def _stamped(self, entry: Entry) -> Entry:
        return replace(entry, time_ms=self._clock.now_ms(), is_dry=self._policy.is_dry)
