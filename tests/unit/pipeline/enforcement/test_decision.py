"""Decisions of enforcement, one by one and in random histories with kills and an operator."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.clients.admin_quota_states import Limited
from barnabas.pipeline.enforcement.decision import Act, decide, holding, lift
from barnabas.pipeline.enforcement.entry import Entity, Entry, Step, Verdict, read_entry
from barnabas.pipeline.enforcement.policy import EntityTemplate, Policy, wanted

HOUR = 3_600_000
DAY = 24 * HOUR
OURS = {"producer_byte_rate": 1024.0, "consumer_byte_rate": 2048.0}
OPERATORS = {"producer_byte_rate": 1e6, "consumer_byte_rate": 1e6}
MALLORY, TRUDY = Entity("user", "mallory"), Entity("client-id", "trudy")
ENTITIES = {"user": EntityTemplate("user", "{subject}"), "agent": EntityTemplate("client-id", "{subject}")}
POLICY = Policy(OURS, HOUR, entities=ENTITIES, is_dry=False)
SET, LIFT = [Step.LIMITING, Step.LIMITED], [Step.LIFTING, Step.LIFTED]


def accuse(entity: Entity = MALLORY, last_seen_ms: int = 0, until_ms: int = 7 * DAY, score: float = 1.0) -> Verdict:
    kind = "user" if entity.kind == "user" else "agent"
    return Verdict(kind, entity.name, "spammer", score, "the same text 9 times", last_seen_ms, until_ms)


@dataclass
class World:
    """A cluster, its audit topic and the time; `act` does what the enforcer does, one effect at a time."""

    policy: Policy = POLICY
    now_ms: int = 1_000
    limits: dict[Limited, dict[str, float]] = field(default_factory=dict)
    operators: dict[tuple[Limited, str], float] = field(default_factory=dict)
    records: list[tuple[bytes, bytes]] = field(default_factory=list)
    waiting_count: int = 0

    def entries(self) -> dict[Entity, Entry]:
        return {entry.entity: entry for record in self.records if (entry := read_entry(*record))}

    def decide(self, verdicts: Sequence[Verdict] | None, run: str = "security") -> list[Act]:
        targets = None if verdicts is None else wanted(verdicts, self.policy, self.now_ms)
        acts, self.waiting_count = decide(self.policy, run, self.entries(), targets, self.limits, self.now_ms)
        return acts

    def lift(self, entity: Entity = MALLORY) -> Act:
        entry = self.entries()[entity]
        return lift(entry, self.of(entity), entry.then or Step.PARDONED, self.now_ms, "by hand")

    def act(self, act: Act) -> Generator[None]:
        """Carry out an act: each `next` runs up to the next effect."""
        if act.intent is not None:
            yield
            self.write(act.intent)
        limited = act.outcome.entity.limited
        if act.changes:
            yield
            limits = self.limits.setdefault(limited, {})
            if not act.is_due(limits):
                return
            for name, value in act.changes.items():
                assert (limited, name) not in self.operators, "an operator's limit was changed"
                if value is None:
                    del limits[name]
                else:
                    limits[name] = value
        yield
        self.write(act.outcome)

    def round(self, *verdicts: Verdict, run: str = "security") -> list[Step]:
        """Carry out all that is decided; return the steps that were written."""
        return self.carry_out(self.decide(verdicts, run))

    def carry_out(self, acts: Sequence[Act]) -> list[Step]:
        before = len(self.records)
        for act in acts:
            list(self.act(act))
        return [entry.step for record in self.records[before:] if (entry := read_entry(*record))]

    def settle(self, *verdicts: Verdict) -> None:
        for _ in range(6):
            if not self.round(*verdicts):
                return
        raise AssertionError(f"decisions don't end: {self.decide(verdicts)}")

    def write(self, entry: Entry) -> None:
        stamped = replace(entry, time_ms=self.now_ms)
        self.records.append((stamped.key(), stamped.value()))

    def operate(self, entity: Entity | Limited, name: str, value: float | None) -> None:
        """Set or delete a limit as an operator."""
        limited = entity.limited if isinstance(entity, Entity) else entity
        self.operators.pop((limited, name), None)
        self.limits.setdefault(limited, {}).pop(name, None)
        if value is not None:
            self.operators[limited, name] = self.limits[limited][name] = value

    def of(self, entity: Entity) -> dict[str, float]:
        return self.limits.get(entity.limited, {})

    def newest(self) -> Entry:
        return self.entries()[MALLORY]


@pytest.fixture
def world() -> World:
    return World()


def test_an_accused_is_limited_once_and_lifted_when_the_limit_expires(world: World):
    assert world.round(accuse()) == SET
    assert world.of(MALLORY) == OURS
    assert world.round(accuse()) == []
    world.now_ms += HOUR
    assert world.round(accuse()) == LIFT
    assert world.of(MALLORY) == {}
    # The same deeds count once; newer ones again.
    assert world.round(accuse()) == []
    assert world.round(accuse(last_seen_ms=world.now_ms)) == SET


def test_newer_deeds_renew_a_limit_once_half_of_its_time_is_over(world: World):
    world.round(accuse())
    world.now_ms += HOUR // 4
    assert world.round(accuse(last_seen_ms=world.now_ms)) == []
    world.now_ms += HOUR // 2
    assert world.round(accuse(last_seen_ms=world.now_ms)) == [Step.RENEWED]
    assert (world.newest().since_ms, world.newest().until_ms) == (1_000, world.now_ms + HOUR)
    world.now_ms += HOUR + 1
    assert world.round(accuse(last_seen_ms=world.now_ms)) == [Step.RENEWED]


def test_a_limit_ends_with_its_verdict_and_may_be_set_again(world: World):
    world.round(accuse(until_ms=5_000))
    assert world.newest().until_ms == 5_000
    assert world.round() == LIFT
    assert world.newest().note == "no longer accused"
    assert world.round(accuse()) == SET


def test_without_verdicts_only_expired_limits_are_lifted(world: World):
    world.round(accuse(), accuse(TRUDY, until_ms=2_000))
    world.now_ms = 3_000
    assert world.carry_out(world.decide(None)) == LIFT
    assert (world.of(MALLORY), world.of(TRUDY)) == (OURS, {})


def test_an_operators_limits_are_kept(world: World):
    for name, value in OPERATORS.items():
        world.operate(MALLORY, name, value)
    assert world.round(accuse()) == [Step.KEPT]
    assert world.newest().note == "an operator has limited it: consumer_byte_rate=1000000, producer_byte_rate=1000000"
    world.now_ms += 2 * HOUR
    assert world.round(accuse()) == []
    for name in OURS:
        world.operate(MALLORY, name, None)
    assert world.round(accuse()) == SET


def test_beside_an_operators_limit_the_others_are_set(world: World):
    world.operate(MALLORY, "producer_byte_rate", 1e6)
    world.operate(MALLORY, "request_percentage", 50)
    assert world.round(accuse()) == SET
    assert world.newest().limits == {"consumer_byte_rate": 2048.0}
    world.round()
    assert world.of(MALLORY) == {"producer_byte_rate": 1e6, "request_percentage": 50}


def test_a_lower_default_still_counts(world: World):
    world.operate(Limited("", None), "producer_byte_rate", 100)
    world.operate(Limited(None, ""), "consumer_byte_rate", 200)
    world.operate(Limited("alice", None), "consumer_byte_rate", 1)
    world.round(accuse(), accuse(TRUDY))
    assert world.of(MALLORY) == {"producer_byte_rate": 100, "consumer_byte_rate": 200}
    # A default of users has precedence over a limit of a client id anyway.
    assert world.of(TRUDY) == {"producer_byte_rate": 1024, "consumer_byte_rate": 200}


@pytest.mark.parametrize("value", [1e6, None])
def test_a_limit_that_an_operator_changes_is_the_operators(world: World, value: float | None):
    world.round(accuse())
    world.operate(MALLORY, "producer_byte_rate", value)
    assert world.round(accuse()) == [Step.LIFTING, Step.TAKEN_OVER]
    assert world.of(MALLORY) == ({} if value is None else {"producer_byte_rate": value})
    # While the verdict exists nothing is set again, whatever the accused does.
    world.now_ms += 2 * HOUR
    assert world.round(accuse(last_seen_ms=world.now_ms)) == []
    assert world.round() == [Step.CLOSED]


def test_a_pardon_lasts_as_long_as_the_verdict(world: World):
    world.round(accuse(until_ms=DAY))
    assert world.carry_out([world.lift()]) == [Step.LIFTING, Step.PARDONED]
    assert world.of(MALLORY) == {}
    assert world.round(accuse(last_seen_ms=5)) == []
    world.now_ms = DAY
    assert world.round(accuse(last_seen_ms=DAY)) == [Step.CLOSED]
    assert world.round(accuse(last_seen_ms=DAY)) == SET


def test_a_refused_limit_is_tried_again_with_newer_deeds(world: World):
    (act,) = world.decide([accuse()])
    world.write(replace(act.outcome, step=Step.FAILED, limits={}, note="no"))
    assert world.round(accuse()) == []
    assert world.round(accuse(last_seen_ms=5)) == SET


def test_an_operators_change_between_intent_and_limit_is_not_overwritten(world: World):
    (act,) = world.decide([accuse()])
    steps = world.act(act)
    next(steps)
    next(steps)
    world.operate(MALLORY, "producer_byte_rate", 1e6)
    assert list(steps) == []
    assert world.round(accuse()) == [Step.TAKEN_OVER]
    assert world.of(MALLORY) == {"producer_byte_rate": 1e6}


def test_another_runs_limits_are_lifted_only_when_they_expire(world: World):
    world.round(accuse(), run="nightly")
    assert world.round() == []
    world.now_ms += HOUR
    assert world.round() == LIFT


def test_the_highest_scores_come_first(world: World):
    world.policy = replace(world.policy, most=1)
    mallory = accuse(score=0.6)
    assert [act.outcome.entity for act in world.decide([mallory, accuse(TRUDY)])] == [TRUDY]
    assert world.waiting_count == 1
    world.round(mallory, accuse(TRUDY))
    assert world.round(mallory, accuse(TRUDY)) == []
    # A limit that is lifted makes room for another one in the same decision.
    assert world.round(mallory) == [*LIFT, *SET]


WHO = st.sampled_from([MALLORY, TRUDY])
# Never one of enforcement's values, which would count as enforcement's.
OPERATIONS = st.tuples(st.just("operate"), WHO, st.sampled_from(list(OURS)), st.none() | st.just(1e6) | st.just(2e6))
EVENTS = st.one_of(
    OPERATIONS,
    st.tuples(st.just("accuse"), WHO, st.integers(1, 4 * HOUR), st.sampled_from([0.6, 1.0])),
    st.tuples(st.just("acquit"), WHO),
    st.tuples(st.just("wait"), st.integers(1, HOUR)),
    st.tuples(st.just("round"), st.just(99), st.tuples(st.integers(0, 4), OPERATIONS)),
    st.tuples(st.just("round"), st.integers(0, 8), st.none() | st.tuples(st.integers(0, 4), OPERATIONS)),
    st.tuples(st.just("start"), st.integers(0, 8)),
    st.tuples(st.just("pardon"), WHO, st.integers(0, 4)),
)


@given(events=st.lists(EVENTS, max_size=30), most=st.sampled_from([1, 1_000]))
def test_whatever_is_killed_no_limit_stays_and_no_limit_of_an_operator_changes(events, most):
    world = World(replace(POLICY, most=most))
    accused: dict[Entity, Verdict] = {}
    for event in events:
        match event:
            case ("operate", *operation):
                world.operate(*operation)
            case ("accuse", entity, duration_ms, score):
                accused[entity] = accuse(entity, world.now_ms, world.now_ms + duration_ms, score)
            case ("acquit", entity):
                accused.pop(entity, None)
            case ("wait", milliseconds):
                world.now_ms += milliseconds
            case ("round", effect_count, interruption):
                run_killed(world, world.decide([*accused.values()]), effect_count, interruption)
            case ("start", effect_count):
                run_killed(world, world.decide(None), effect_count, None)
            case ("pardon", entity, effect_count):
                if entity in holding(world.entries()):
                    run_killed(world, [world.lift(entity)], effect_count, None)
    world.settle(*accused.values())
    assert len(holding(world.entries())) <= most
    world.now_ms += DAY
    world.settle()
    left = {(limited, name): value for limited, limits in world.limits.items() for name, value in limits.items()}
    assert left == world.operators
    assert holding(world.entries()) == {}


def run_killed(world: World, acts, effect_count, interruption) -> None:
    """Carry out so many effects, then be killed; an operator may come in between."""
    taken = 0
    for act in acts:
        for _ in world.act(act):
            if interruption is not None and taken == interruption[0]:
                world.operate(*interruption[1][1:])
            if taken == effect_count:
                return
            taken += 1
