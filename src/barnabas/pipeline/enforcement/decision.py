"""Decide the next steps of enforcement from its entries, the wanted quotas, the cluster's quotas and the time. Pure.

Invariants, even if processes are killed at any time (`tests/unit/pipeline/enforcement/test_decision.py`):

- Quotas of operators never change. Enforcement sets a quota only if the entity has none of that name, and removes it
  only while it has the value that enforcement set. A quota with the same value counts as enforcement's, because Kafka
  does not record who set it.
- An intent is in the topic before a quota changes; after a kill, the cluster's quotas show whether it was applied.
- Every quota that enforcement set is removed once it expires.
- Once a decision is carried out, the next one is empty.

| newest entry | quotas in the cluster | decision |
| --- | --- | --- |
| none, or closed; wanted | none of the wanted names | limiting, limited |
| the same | some of the wanted names | limiting, limited for the others; kept if there is no other |
| limiting | as in the entry, or none | limited |
| limited, renewed | as in the entry; newer events, half of the time is over | renewed |
| limited, renewed | as in the entry; expired, or not wanted | lifting, lifted |
| limiting, limited, renewed | another value; or none (not for limiting) | lifting of the others, taken-over |
| lifting | as in the entry, or some of them | lifting of the rest, then the step in `then` |
| kept, taken-over, pardoned, failed | any; not wanted, or the verdict has expired | closed |

Lifted counts as closed, unless the limit expired and the verdict has no newer events: the same events count once. Kept
counts as closed once the operator's quota is removed, failed once there are newer events.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from barnabas.clients.admin_quota_states import Limited
from barnabas.pipeline.enforcement.entry import CLIENT_ID, USER, Entity, Entry, Step
from barnabas.pipeline.enforcement.policy import Policy, Wanted

Quotas = Mapping[str, float]
Found = Mapping[Limited, Quotas]
Entries = Mapping[Entity, Entry]

_FINAL_WHILE_ACCUSED = frozenset({Step.TAKEN_OVER, Step.PARDONED})
_CLOSABLE = frozenset({Step.KEPT, Step.FAILED}) | _FINAL_WHILE_ACCUSED
# Defaults that no longer apply to a client once its user or client id has its own quota.
_DEFAULTS = {USER: (Limited("", ""), Limited("", None), Limited(None, "")), CLIENT_ID: (Limited(None, ""),)}


@dataclass(frozen=True, slots=True)
class Act:
    """One action: append `intent` if it is set, apply `changes` to the cluster, append `outcome`.

    `changes` has, by name, the value to set, or None to remove the value; `expected` has the values that they replace.
    """

    outcome: Entry
    intent: Entry | None = None
    changes: Mapping[str, float | None] = field(default_factory=dict)
    expected: Quotas = field(default_factory=dict)

    def is_due(self, own: Quotas) -> bool:
        """Return whether the entity's quotas (`own`) still have the values that the act replaces."""
        return all(own.get(name) == self.expected.get(name) for name in self.changes)


def holding(entries: Entries) -> dict[Entity, Entry]:
    """Return the newest entries of the entities whose quotas enforcement has set, or may have set."""
    return {entity: entry for entity, entry in entries.items() if entry.limits}


def decide(
    policy: Policy, run: str, entries: Entries, wanted: Mapping[Entity, Wanted] | None, found: Found, now_ms: int
) -> tuple[list[Act], int]:
    """Decide what to do now.

    Args:
        policy: Its `most` is the maximum number of limited entities.
        run: The run that decides. It lifts limits of other runs only if they have expired.
        entries: The newest entry of each entity.
        wanted: Quotas by entity; None before the first verdicts arrive: until then limits are only lifted if expired.
        found: All quotas of the cluster.
        now_ms: Current time.

    Returns:
        Acts in order, and the number of entities that are not limited because of `most`.
    """
    acts: list[Act] = []
    added: list[Act] = []
    targets = wanted or {}
    # The highest scores first, because `policy.most` may exclude some entities.
    scores = {entity: -target.verdict.score for entity, target in targets.items()}
    for entity in sorted(entries.keys() | targets.keys(), key=lambda each: (scores.get(each, 1.0), each)):
        entry, target, act = entries.get(entity), targets.get(entity), None
        is_over = target is None and wanted is not None and entry is not None and entry.run == run
        if entry is not None and entry.limits:
            if entry.run == run or now_ms >= entry.until_ms:
                own = found.get(entity.limited, {})
                act = _continue(entry, target, is_over, own, run, policy.limit_for_ms, now_ms)
        elif entry is not None and entry.step in _CLOSABLE and (is_over or now_ms >= entry.verdict.until_ms):
            note = "no longer accused" if is_over else "the verdict has expired"
            act = Act(replace(entry, step=Step.CLOSED, time_ms=now_ms, note=note))
        elif target is not None and not _is_settled(entry, target):
            act = _begin(entity, target, entry, run, found, now_ms)
        if act is not None:
            is_added = act.outcome.limits and not (entry and entry.limits)
            (added if is_added else acts).append(act)
    held = holding(entries)
    freed_count = sum(act.outcome.entity in held and not act.outcome.limits for act in acts)
    room = max(0, policy.most - len(held) + freed_count)
    return acts + added[:room], max(0, len(added) - room)


def lift(entry: Entry, own: Quotas, then: Step, now_ms: int, note: str) -> Act:
    """Return the act that removes the entry's quotas that the entity still has (`own`), then appends step `then`."""
    left = {name: value for name, value in entry.limits.items() if own.get(name) == value}
    outcome = replace(entry, step=then, then=None, limits={}, time_ms=now_ms, note=note)
    if not left:
        return Act(outcome)
    return Act(outcome, replace(outcome, step=Step.LIFTING, then=then, limits=left), dict.fromkeys(left), left)


def _continue(
    entry: Entry, target: Wanted | None, is_over: bool, own: Quotas, run: str, limit_for_ms: int, now_ms: int
) -> Act | None:
    """Decide about an entity whose quotas enforcement has set, or may have set."""
    if entry.step is Step.LIFTING:
        return lift(entry, own, entry.then or Step.LIFTED, now_ms, entry.note)
    is_expired, is_limiting = now_ms >= entry.until_ms, entry.step is Step.LIMITING
    missing = {name: value for name, value in entry.limits.items() if own.get(name) != value}
    changed = {name: own.get(name) for name in missing if name in own or not is_limiting}
    if changed:
        return lift(entry, own, Step.TAKEN_OVER, now_ms, f"an operator has changed it: {_text(changed)}")
    if is_limiting and not is_over and not is_expired:
        return Act(replace(entry, step=Step.LIMITED, time_ms=now_ms), None, missing)
    is_longer = target is not None and max(now_ms, entry.until_ms) < target.until_ms
    if target is not None and is_longer and _is_newer(target, entry) and not is_limiting:
        # At least half of a limit's time passes between two renewals, however often verdicts are computed.
        if 2 * (entry.until_ms - now_ms) > limit_for_ms:
            return None
        renewed = replace(entry, step=Step.RENEWED, verdict=target.verdict, until_ms=target.until_ms)
        return Act(replace(renewed, run=run, time_ms=now_ms))
    if is_expired or is_over:
        return lift(entry, own, Step.LIFTED, now_ms, "expired" if is_expired else "no longer accused")
    return None


def _is_settled(entry: Entry | None, target: Wanted) -> bool:
    """Return whether an entity without limits must stay unlimited despite a verdict."""
    if entry is None:
        return False
    is_spent = entry.step is Step.FAILED or (entry.step is Step.LIFTED and entry.time_ms >= entry.until_ms)
    is_same = target.verdict.what == entry.verdict.what and not _is_newer(target, entry)
    return entry.step in _FINAL_WHILE_ACCUSED or (is_spent and is_same)


def _begin(entity: Entity, target: Wanted, entry: Entry | None, run: str, found: Found, now_ms: int) -> Act | None:
    """Return the act that sets the quotas that the entity lacks; None if it lacks none and is kept already."""
    own = found.get(entity.limited, {})
    # Use a default if it is lower: a verdict must not raise a client's limit.
    defaults = [found.get(level, {}) for level in _DEFAULTS[entity.kind]]
    lowest = {
        name: min([value, *(default[name] for default in defaults if name in default)])
        for name, value in target.limits.items()
    }
    limits = {name: value for name, value in lowest.items() if name not in own}
    kept = {name: own[name] for name in target.limits if name in own}
    step, note = Step.LIMITED if limits else Step.KEPT, f"an operator has limited it: {_text(kept)}" if kept else ""
    outcome = Entry(step, entity, limits, target.verdict, run, now_ms, now_ms, target.until_ms, note=note)
    if limits:
        return Act(outcome, replace(outcome, step=Step.LIMITING), limits)
    return None if entry is not None and entry.step is Step.KEPT else Act(outcome)


def _is_newer(target: Wanted, entry: Entry) -> bool:
    return target.verdict.last_seen_ms > entry.verdict.last_seen_ms


def _text(quotas: Mapping[str, float | None]) -> str:
    return ", ".join(
        f"{name}={'nothing' if value is None else f'{value:.15g}'}" for name, value in sorted(quotas.items())
    )
