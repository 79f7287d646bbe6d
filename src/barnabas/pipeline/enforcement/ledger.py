"""What is to be done now: from the steps taken so far, who is accused, the broker's limits and the time. Pure.

Invariants, whenever whoever is killed (`tests/unit/pipeline/enforcement/test_ledger.py` kills at each step):

- What an operator has set is never changed: a limit is set where there is none, and removed where its value is still
  the one that was set.
- Before a limit is set or removed the topic says so; what happened to an intent is seen at the broker.
- Whatever was set is lifted once its time has come, whoever is still accused.
- Decisions repeat nothing: what is done leads to no further act.

A value at the broker that equals ours counts as ours: Kafka does not tell who has set a limit.

| newest step | at the broker | leads to |
| --- | --- | --- |
| none, or one that is over | nothing of those limits, and it is accused | limiting, limited |
| the same | some are set | the others: limiting, limited; none is left: kept |
| limiting | as it was said, or nothing | limited |
| limited, renewed | as it was said; accused of something newer, half of its time is over | renewed |
| limited, renewed | as it was said; expired, or accused no more | lifting, lifted |
| limiting, limited, renewed | another value; nothing (but for limiting) | lifting what is left, taken-over |
| lifting | as it was said, or in part | the rest of it, and then what was to follow |
| kept, taken-over, pardoned, failed | whatever it is; accused no more, or the verdict of then has lapsed | closed |

Over are lifted and closed; kept, once the operator's limit is gone; failed, once there is something newer. A verdict
whose limits have expired limits again once its subject was seen again, later than then: the same deeds count once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from barnabas.clients.admin_quota_states import Limited
from barnabas.pipeline.enforcement.entry import CLIENT_ID, USER, Entity, Entry, Step, Verdict
from barnabas.pipeline.enforcement.policy import Policy

Limits = Mapping[str, float]
Found = Mapping[Limited, Limits]

_HOLDING = frozenset({Step.LIMITING, Step.LIMITED, Step.RENEWED, Step.LIFTING})
_OPERATORS_WORD = frozenset({Step.TAKEN_OVER, Step.PARDONED})
_OPEN_CASES = frozenset({Step.KEPT, Step.FAILED}) | _OPERATORS_WORD
# The defaults that no longer hold a client once its user, or its client id, has a limit.
_DEFAULTS = {
    USER: (Limited("", ""), Limited("", None), Limited(None, "")),
    CLIENT_ID: (Limited(None, ""),),
}


@dataclass(frozen=True, slots=True)
class Act:
    """One thing to do: write `intent`, make `changes` at the broker, write `outcome`; each where there is one.

    `changes` are limits by name: a value to set where there is none, or None to remove the value that `intent` has.
    """

    outcome: Entry
    intent: Entry | None = None
    changes: Mapping[str, float | None] | None = None

    def is_due(self, limits: Limits) -> bool:
        """Return whether the changes are right where the entity has these limits: an operator may have been quicker."""
        for name, value in (self.changes or {}).items():
            if value is None:
                assert self.intent is not None
                if limits.get(name) != self.intent.limits[name]:
                    return False
            elif name in limits:
                return False
        return True

    def is_done(self, limits: Limits) -> bool:
        """Return whether the changes were made, where these are the entity's limits."""
        return all(limits.get(name) == value for name, value in (self.changes or {}).items())


@dataclass(frozen=True, slots=True)
class Decision:
    """The steps to be taken, in order; `waiting_count` are accused whom the policy's `most` has no room for."""

    acts: tuple[Act, ...]
    waiting_count: int = 0


class Ledger:
    """The newest step for each entity, out of the audit topic: real ones, or those of dry runs."""

    def __init__(self, is_dry: bool) -> None:
        self.is_dry = is_dry
        self.entries: dict[Entity, Entry] = {}

    def add(self, entry: Entry) -> None:
        """Take in a step."""
        if entry.is_dry == self.is_dry:
            self.entries[entry.entity] = entry

    @property
    def holding(self) -> dict[Entity, Entry]:
        """Those whose limits are set, or may be."""
        return {entity: entry for entity, entry in self.entries.items() if entry.step in _HOLDING}

    def next_expiry_ms(self) -> int | None:
        """Tell when the next of them expires."""
        return min((entry.until_ms for entry in self.holding.values()), default=None)

    def without_ours(self, found: Found) -> dict[Limited, Limits]:
        """Return limits at the broker without those that are ours."""
        rest: dict[Limited, Limits] = dict(found)
        for entity, entry in self.holding.items():
            limits = rest.get(entity.limited, {})
            rest[entity.limited] = {name: value for name, value in limits.items() if entry.limits.get(name) != value}
        return rest

    def decide(
        self, policy: Policy, run: str, accused: Mapping[Entity, Verdict] | None, found: Found, now_ms: int
    ) -> Decision:
        """Decide what is to be done.

        Args:
            policy: What is enforced.
            run: Who decides. Limits of another run are lifted when they have expired, and otherwise left alone.
            accused: Whom verdicts accuse; None: nobody has asked yet, so nobody counts as accused no more.
            found: All limits at the broker.
            now_ms: The time.
        """
        acts: list[Act] = []
        newly: list[Act] = []
        case = _Case(policy, run, accused is not None, found, now_ms, self.is_dry)
        # Those that are surest of all come first, where there is not room for everybody.
        for entity in sorted(self.entries.keys() | (accused or {}).keys(), key=lambda each: _order(each, accused)):
            entry, verdict = self.entries.get(entity), (accused or {}).get(entity)
            if entry is not None and entry.step in _HOLDING:
                act = case.look_after(entry, verdict)
            else:
                act = case.judge(entity, entry, verdict)
            if act is not None:
                is_new = act.outcome.step is Step.LIMITED and (entry is None or entry.step not in _HOLDING)
                (newly if is_new else acts).append(act)
        holding = self.holding
        lifted = sum(act.outcome.step not in _HOLDING and act.outcome.entity in holding for act in acts)
        room = max(0, policy.most - len(holding) + lifted)
        return Decision((*acts, *newly[:room]), max(0, len(newly) - room))


@dataclass(frozen=True, slots=True)
class _Case:
    """A decision's parts that all its entities share."""

    policy: Policy
    run: str
    is_asked: bool
    found: Found
    now_ms: int
    is_dry: bool

    def judge(self, entity: Entity, entry: Entry | None, verdict: Verdict | None) -> Act | None:
        """Decide about an entity that nothing of ours holds."""
        if entry is not None and entry.step in _OPEN_CASES:
            is_over = verdict is None and self.is_asked and entry.run == self.run
            if is_over or entry.verdict.until_ms <= self.now_ms:
                note = "no longer accused" if is_over else "the verdict has lapsed"
                return Act(replace(entry, step=Step.CLOSED, limits={}, time_ms=self.now_ms, note=note))
        if verdict is None:
            return None
        if entry is not None and (entry.step in _OPERATORS_WORD or self._has_counted(entry, verdict)):
            return None
        until_ms = self._until_ms(verdict)
        if until_ms <= self.now_ms:
            return None
        own = self.found.get(entity.limited, {})
        limits = {name: value for name, value in self._limits_of(entity).items() if name not in own}
        kept = {name: own[name] for name in self.policy.limits if name in own}
        note = f"an operator has limited it: {_told(kept)}" if kept else ""
        outcome = Entry(
            Step.LIMITED if limits else Step.KEPT,
            entity,
            limits,
            verdict,
            self.run,
            self.now_ms,
            self.now_ms,
            until_ms,
            note=note,
            is_dry=self.is_dry,
        )
        if not limits:
            return None if entry is not None and entry.step is Step.KEPT else Act(outcome)
        return Act(outcome, replace(outcome, step=Step.LIMITING), limits)

    def look_after(self, entry: Entry, verdict: Verdict | None) -> Act | None:
        """Decide about an entity that limits of ours hold, or may hold."""
        is_expired = self.now_ms >= entry.until_ms
        if entry.run != self.run and not is_expired:
            return None
        # Nothing is set in a dry run: there all is as it would have been left.
        found = entry.limits if self.is_dry else self.found.get(entry.entity.limited, {})
        left = _left_of(entry, found)
        if entry.step is Step.LIFTING:
            return _lift(entry, left, entry.then or Step.LIFTED, self.now_ms, entry.note)
        changed = [name for name in entry.limits if name not in left]
        if entry.step is Step.LIMITING:
            changed = [name for name in changed if name in found]
        if changed:
            note = f"an operator has changed it: {_told({name: found.get(name) for name in changed})}"
            return _lift(entry, left, Step.TAKEN_OVER, self.now_ms, note)
        is_newer = verdict is not None and verdict.last_seen_ms > entry.verdict.last_seen_ms
        until_ms = self._until_ms(verdict) if verdict is not None else 0
        is_over = verdict is None and self.is_asked
        if entry.step is Step.LIMITING and not is_over and not is_expired:
            missing = {name: value for name, value in entry.limits.items() if name not in left}
            return Act(replace(entry, step=Step.LIMITED, time_ms=self.now_ms), None, missing)
        if is_newer and until_ms > max(self.now_ms, entry.until_ms) and entry.step is not Step.LIMITING:
            assert verdict is not None
            if 2 * (entry.until_ms - self.now_ms) > self.policy.limit_for_ms:
                return None
            return Act(
                replace(entry, step=Step.RENEWED, verdict=verdict, time_ms=self.now_ms, until_ms=until_ms, run=self.run)
            )
        if is_expired or is_over:
            note = "expired" if is_expired else "no longer accused"
            return _lift(entry, left, Step.LIFTED, self.now_ms, note)
        return None

    def _has_counted(self, entry: Entry, verdict: Verdict) -> bool:
        """Return whether a case that is over was about the same deeds."""
        is_spent = entry.step is Step.FAILED or (entry.step is Step.LIFTED and entry.time_ms >= entry.until_ms)
        return is_spent and verdict.last_seen_ms <= entry.verdict.last_seen_ms and verdict.what == entry.verdict.what

    def _until_ms(self, verdict: Verdict) -> int:
        return min(self.now_ms + self.policy.limit_for_ms, verdict.until_ms)

    def _limits_of(self, entity: Entity) -> dict[str, float]:
        """Return the policy's limits, or a default that is lower: an abuser is not to gain by a limit of his own."""
        defaults = [self.found.get(level, {}) for level in _DEFAULTS[entity.kind]]
        return {
            name: min([value, *(default[name] for default in defaults if name in default)])
            for name, value in self.policy.limits.items()
        }


def lift_now(entry: Entry, found: Found, then: Step, now_ms: int, note: str) -> Act:
    """Lift an entry's limits whatever the verdicts say: by hand.

    Args:
        entry: One that is holding.
        found: All limits at the broker.
        then: PARDONED, or LIFTED.
        now_ms: The time.
        note: What a person should know.
    """
    limits = found.get(entry.entity.limited, {})
    return _lift(entry, _left_of(entry, limits), then, now_ms, note)


def _left_of(entry: Entry, limits: Limits) -> Limits:
    """Return what is still ours where the entity has these limits."""
    return {name: value for name, value in entry.limits.items() if limits.get(name) == value}


def _lift(entry: Entry, left: Limits, then: Step, now_ms: int, note: str) -> Act:
    """Remove what is left of an entry's limits."""
    outcome = replace(entry, step=then, then=None, limits={}, time_ms=now_ms, note=note)
    if not left:
        return Act(outcome)
    intent = replace(entry, step=Step.LIFTING, then=then, limits=left, time_ms=now_ms, note=note)
    return Act(outcome, intent, dict.fromkeys(left))


def _order(entity: Entity, accused: Mapping[Entity, Verdict] | None) -> tuple[float, Entity]:
    verdict = (accused or {}).get(entity)
    return (-verdict.score if verdict else 1.0, entity)


def _told(limits: Mapping[str, float | None]) -> str:
    return ", ".join(f"{name}={'nothing' if value is None else f'{value:g}'}" for name, value in sorted(limits.items()))
