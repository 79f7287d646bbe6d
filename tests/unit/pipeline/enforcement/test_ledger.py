"""What enforcement decides, step by step and then at random: whoever is killed when, an operator's limit stays his."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.clients.admin_quota_states import Limited
from barnabas.pipeline.enforcement.entry import Entity, Entry, Step, Verdict, read_entry
from barnabas.pipeline.enforcement.ledger import Act, Ledger, lift_now
from barnabas.pipeline.enforcement.policy import Policy

HOUR = 3_600_000
DAY = 24 * HOUR
OURS = {"producer_byte_rate": 1024.0, "consumer_byte_rate": 2048.0}
MALLORY, TRUDY = Entity("user", "mallory"), Entity("client-id", "trudy")


def accuse(entity: Entity = MALLORY, last_seen_ms: int = 0, until_ms: int = 7 * DAY, score: float = 1.0) -> Verdict:
    return Verdict("user", entity.name, "spammer", score, "the same text 9 times", last_seen_ms, until_ms)


@dataclass
class World:
    """A cluster, its audit topic and the time; `act` does what the enforcer does, an effect at a time."""

    policy: Policy = field(default_factory=lambda: Policy(OURS, HOUR, is_dry=False))
    now_ms: int = 1_000
    limits: dict[Limited, dict[str, float]] = field(default_factory=dict)
    operators: dict[tuple[Limited, str], float] = field(default_factory=dict)
    records: list[tuple[bytes, bytes]] = field(default_factory=list)

    def ledger(self) -> Ledger:
        ledger = Ledger(self.policy.is_dry)
        for record in self.records:
            entry = read_entry(*record)
            assert entry is not None
            ledger.add(entry)
        return ledger

    def decide(self, accused: Mapping[Entity, Verdict] | None, run: str = "security") -> tuple[Act, ...]:
        return self.ledger().decide(self.policy, run, accused, self.limits, self.now_ms).acts

    def act(self, act: Act) -> Generator[None]:
        """Take the steps of an act, each after a `next`."""
        if self.policy.is_dry:
            yield
            self.write(act.outcome)
            return
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
        if act.is_done(self.limits.get(limited, {})):
            self.write(act.outcome)

    def round(self, accused: Mapping[Entity, Verdict] | None, run: str = "security") -> list[Step]:
        """Do all that is decided; gives the steps that were written."""
        before = len(self.records)
        for act in self.decide(accused, run):
            for _ in self.act(act):
                pass
        entries = [read_entry(*record) for record in self.records[before:]]
        return [entry.step for entry in entries if entry is not None]

    def settle(self, accused: Mapping[Entity, Verdict] | None) -> None:
        for _ in range(6):
            if not self.round(accused):
                return
        raise AssertionError(f"it does not come to rest: {self.decide(accused)}")

    def write(self, entry: Entry) -> None:
        stamped = replace(entry, time_ms=self.now_ms)
        self.records.append((stamped.key(), stamped.value()))

    def operator_sets(self, limited: Limited, name: str, value: float) -> None:
        self.limits.setdefault(limited, {})[name] = value
        self.operators[limited, name] = value

    def operator_deletes(self, limited: Limited, name: str) -> None:
        self.limits.get(limited, {}).pop(name, None)
        self.operators.pop((limited, name), None)

    def of(self, entity: Entity) -> dict[str, float]:
        return self.limits.get(entity.limited, {})

    def newest(self, entity: Entity = MALLORY) -> Entry:
        return self.ledger().entries[entity]


@pytest.fixture
def world() -> World:
    return World()


def test_an_accused_is_limited_once_and_lifted_when_it_expires(world: World):
    accused = {MALLORY: accuse()}
    assert world.round(accused) == [Step.LIMITING, Step.LIMITED]
    assert world.of(MALLORY) == OURS
    assert world.round(accused) == []
    world.now_ms += HOUR
    assert world.round(accused) == [Step.LIFTING, Step.LIFTED]
    assert world.of(MALLORY) == {}
    # The same deeds count once; new ones again.
    assert world.round(accused) == []
    assert world.round({MALLORY: accuse(last_seen_ms=world.now_ms)}) == [Step.LIMITING, Step.LIMITED]


def test_who_goes_on_stays_limited(world: World):
    world.round({MALLORY: accuse()})
    world.now_ms += HOUR // 4
    # Not with each refresh: only once half of the time is over.
    assert world.round({MALLORY: accuse(last_seen_ms=world.now_ms)}) == []
    world.now_ms += HOUR // 2
    assert world.round({MALLORY: accuse(last_seen_ms=world.now_ms)}) == [Step.RENEWED]
    assert world.newest().until_ms == world.now_ms + HOUR
    assert world.newest().since_ms == 1_000
    world.now_ms += HOUR + 1
    assert world.round({MALLORY: accuse(last_seen_ms=world.now_ms)}) == [Step.RENEWED]


def test_a_limit_ends_with_its_verdict(world: World):
    world.round({MALLORY: accuse(until_ms=5_000)})
    assert world.newest().until_ms == 5_000
    world.now_ms = 5_000
    assert world.round({}) == [Step.LIFTING, Step.LIFTED]


def test_who_is_accused_no_more_is_lifted_at_once_and_may_be_limited_again(world: World):
    world.round({MALLORY: accuse()})
    assert world.round({}) == [Step.LIFTING, Step.LIFTED]
    assert world.newest().note == "no longer accused"
    assert world.round({MALLORY: accuse()}) == [Step.LIMITING, Step.LIMITED]


def test_before_anybody_has_judged_only_what_has_expired_is_lifted(world: World):
    world.round({MALLORY: accuse(), TRUDY: accuse(TRUDY, until_ms=2_000)})
    world.now_ms = 3_000
    assert world.round(None) == [Step.LIFTING, Step.LIFTED]
    assert world.of(MALLORY) == OURS
    assert world.of(TRUDY) == {}


def test_an_operators_limit_is_kept_and_said_once(world: World):
    for name in OURS:
        world.operator_sets(MALLORY.limited, name, 1e6)
    accused = {MALLORY: accuse()}
    assert world.round(accused) == [Step.KEPT]
    assert world.newest().note == "an operator has limited it: consumer_byte_rate=1e+06, producer_byte_rate=1e+06"
    assert world.round(accused) == []
    world.now_ms += 2 * HOUR
    assert world.round(accused) == []
    # He lifts it himself: now it is free.
    for name in OURS:
        world.operator_deletes(MALLORY.limited, name)
    assert world.round(accused) == [Step.LIMITING, Step.LIMITED]


def test_beside_an_operators_limit_the_others_are_set(world: World):
    world.operator_sets(MALLORY.limited, "producer_byte_rate", 1e6)
    world.operator_sets(MALLORY.limited, "request_percentage", 50)
    assert world.round({MALLORY: accuse()}) == [Step.LIMITING, Step.LIMITED]
    assert world.newest().limits == {"consumer_byte_rate": 2048.0}
    world.round({})
    assert world.of(MALLORY) == {"producer_byte_rate": 1e6, "request_percentage": 50}


def test_a_default_that_is_lower_is_not_undone(world: World):
    world.operator_sets(Limited("", None), "producer_byte_rate", 100)
    world.operator_sets(Limited(None, ""), "consumer_byte_rate", 200)
    world.operator_sets(Limited("alice", None), "consumer_byte_rate", 1)
    world.round({MALLORY: accuse(), TRUDY: accuse(TRUDY)})
    assert world.of(MALLORY) == {"producer_byte_rate": 100, "consumer_byte_rate": 200}
    # A default of users goes before a limit of a client id anyway.
    assert world.of(TRUDY) == {"producer_byte_rate": 1024, "consumer_byte_rate": 200}


@pytest.mark.parametrize("value", [1e6, None])
def test_what_an_operator_changes_is_his(world: World, value: float | None):
    accused = {MALLORY: accuse()}
    world.round(accused)
    if value is None:
        world.operator_deletes(MALLORY.limited, "producer_byte_rate")
    else:
        world.operator_sets(MALLORY.limited, "producer_byte_rate", value)
    assert world.round(accused) == [Step.LIFTING, Step.TAKEN_OVER]
    assert world.of(MALLORY) == ({} if value is None else {"producer_byte_rate": value})
    # His word is the last while the verdict stands, whatever the accused does.
    world.now_ms += 2 * HOUR
    assert world.round({MALLORY: accuse(last_seen_ms=world.now_ms)}) == []
    assert world.round({}) == [Step.CLOSED]


def test_a_pardon_holds_while_the_verdict_stands(world: World):
    accused = {MALLORY: accuse(until_ms=DAY)}
    world.round(accused)
    for _ in world.act(lift_now(world.newest(), world.limits, Step.PARDONED, world.now_ms, "by hand")):
        pass
    assert world.of(MALLORY) == {}
    assert world.newest().step is Step.PARDONED
    assert world.round({MALLORY: accuse(last_seen_ms=5)}) == []
    world.now_ms = DAY
    assert world.round({MALLORY: accuse(last_seen_ms=DAY)}) == [Step.CLOSED]
    assert world.round({MALLORY: accuse(last_seen_ms=DAY)}) == [Step.LIMITING, Step.LIMITED]


def test_a_pardon_that_was_killed_half_way_is_carried_out(world: World):
    accused = {MALLORY: accuse()}
    world.round(accused)
    steps = world.act(lift_now(world.newest(), world.limits, Step.PARDONED, world.now_ms, "by hand"))
    next(steps)
    next(steps)
    assert world.newest().step is Step.LIFTING
    assert world.round(accused) == [Step.LIFTING, Step.PARDONED]


def test_what_the_broker_refused_is_tried_again_with_new_deeds(world: World):
    (act,) = world.decide({MALLORY: accuse()})
    world.write(replace(act.outcome, step=Step.FAILED, limits={}, note="no"))
    assert world.round({MALLORY: accuse()}) == []
    assert world.round({MALLORY: accuse(last_seen_ms=5)}) == [Step.LIMITING, Step.LIMITED]


def test_an_operator_who_comes_between_intent_and_limit_goes_first(world: World):
    (act,) = world.decide({MALLORY: accuse()})
    steps = world.act(act)
    next(steps)
    next(steps)
    world.operator_sets(MALLORY.limited, "producer_byte_rate", 1e6)
    assert list(steps) == []
    assert world.round({MALLORY: accuse()}) == [Step.TAKEN_OVER]
    assert world.of(MALLORY) == {"producer_byte_rate": 1e6}


@pytest.mark.parametrize("value", [1e6, None])
def test_an_operator_who_comes_between_intent_and_lift_goes_first(world: World, value: float | None):
    world.round({MALLORY: accuse()})
    (act,) = world.decide({})
    steps = world.act(act)
    next(steps)
    next(steps)
    if value is None:
        world.operator_deletes(MALLORY.limited, "producer_byte_rate")
    else:
        world.operator_sets(MALLORY.limited, "producer_byte_rate", value)
    assert list(steps) == []
    assert world.round({}) == [Step.LIFTING, Step.LIFTED]
    assert world.of(MALLORY) == ({} if value is None else {"producer_byte_rate": value})


@pytest.mark.parametrize("effect_count", range(4))
@pytest.mark.parametrize("then", ["accused", "not accused", "expired"])
def test_limiting_killed_anywhere_converges(world: World, effect_count: int, then: str):
    (act,) = world.decide({MALLORY: accuse()})
    steps = world.act(act)
    for _ in range(effect_count):
        next(steps, None)
    steps.close()
    if then == "expired":
        world.now_ms += HOUR
        world.settle({})
    else:
        world.settle({MALLORY: accuse()} if then == "accused" else {})
    assert world.of(MALLORY) == (OURS if then == "accused" else {})


def test_another_runs_limits_are_lifted_when_they_expire_and_no_sooner(world: World):
    world.round({MALLORY: accuse()}, run="nightly")
    assert world.round({}, run="security") == []
    world.now_ms += HOUR
    assert world.round({}, run="security") == [Step.LIFTING, Step.LIFTED]


def test_there_is_room_for_the_surest(world: World):
    world.policy = replace(world.policy, most=1)
    accused = {MALLORY: accuse(score=0.6), TRUDY: accuse(TRUDY, score=0.9)}
    decision = world.ledger().decide(world.policy, "security", accused, world.limits, world.now_ms)
    assert [act.outcome.entity for act in decision.acts] == [TRUDY]
    assert decision.waiting_count == 1
    world.round(accused)
    assert world.round(accused) == []
    # With her limit lifted there is room for the other, in the same decision.
    assert world.round({MALLORY: accuse()}) == [Step.LIFTING, Step.LIFTED, Step.LIMITING, Step.LIMITED]


def test_a_dry_run_says_the_same_and_changes_nothing(world: World):
    world.policy = replace(world.policy, is_dry=True)
    world.operator_sets(TRUDY.limited, "producer_byte_rate", 1e6)
    world.operator_sets(TRUDY.limited, "consumer_byte_rate", 1e6)
    before = {limited: dict(limits) for limited, limits in world.limits.items()}
    accused = {MALLORY: accuse(), TRUDY: accuse(TRUDY)}
    assert sorted(step.value for step in world.round(accused)) == ["kept", "limited"]
    assert world.round(accused) == []
    world.now_ms += HOUR
    assert world.round(accused) == [Step.LIFTED]
    assert world.limits == before
    assert all(key.startswith(b"dry-run ") for key, _ in world.records)


def test_a_dry_run_does_not_take_limits_of_earlier_runs_for_an_operators(world: World):
    world.round({MALLORY: accuse()})
    assert world.ledger().without_ours(world.limits)[MALLORY.limited] == {}
    world.operator_sets(MALLORY.limited, "producer_byte_rate", 1e6)
    assert world.ledger().without_ours(world.limits)[MALLORY.limited] == {"producer_byte_rate": 1e6}


ENTITIES = st.sampled_from([MALLORY, TRUDY])
# Never a value of ours: Kafka does not tell who has set a limit, so such a one would count as ours.
OPERATIONS = st.one_of(
    st.tuples(st.just("set"), ENTITIES, st.sampled_from(list(OURS)), st.integers(1_000_000, 1_000_005)),
    st.tuples(st.just("delete"), ENTITIES, st.sampled_from(list(OURS))),
)
EVENTS = st.one_of(
    OPERATIONS,
    st.tuples(st.just("accuse"), ENTITIES, st.integers(1, 4 * HOUR), st.sampled_from([0.6, 1.0])),
    st.tuples(st.just("acquit"), ENTITIES),
    st.tuples(st.just("wait"), st.integers(1, HOUR)),
    st.tuples(st.just("round"), st.just(99), st.tuples(st.integers(0, 4), OPERATIONS)),
    st.tuples(st.just("round"), st.integers(0, 8), st.none() | st.tuples(st.integers(0, 4), OPERATIONS)),
    st.tuples(st.just("start"), st.integers(0, 8)),
    st.tuples(st.just("pardon"), ENTITIES, st.integers(0, 4)),
)


@given(events=st.lists(EVENTS, max_size=30), most=st.sampled_from([1, 1_000]))
def test_whoever_is_killed_whenever_nothing_of_ours_stays_and_nothing_of_an_operators_goes(events, most):
    world = World(Policy(OURS, HOUR, most=most, is_dry=False))
    accused: dict[Entity, Verdict] = {}

    def operate(operation: tuple) -> None:
        kind, entity, name, *value = operation
        if kind == "set":
            world.operator_sets(entity.limited, name, float(value[0]))
        else:
            world.operator_deletes(entity.limited, name)

    def standing() -> dict[Entity, Verdict]:
        return {entity: verdict for entity, verdict in accused.items() if verdict.until_ms > world.now_ms}

    for event in events:
        match event:
            case ("set" | "delete", *_):
                operate(event)
            case ("accuse", entity, lapse_ms, score):
                accused[entity] = accuse(entity, world.now_ms, world.now_ms + lapse_ms, score)
            case ("acquit", entity):
                accused.pop(entity, None)
            case ("wait", milliseconds):
                world.now_ms += milliseconds
            case ("round", effect_count, interruption):
                run_killed(world, world.decide(standing()), effect_count, interruption, operate)
            case ("start", effect_count):
                run_killed(world, world.decide(None), effect_count, None, operate)
            case ("pardon", entity, effect_count):
                entry = world.ledger().holding.get(entity)
                if entry is not None:
                    pardon = lift_now(entry, world.limits, entry.then or Step.PARDONED, world.now_ms, "by hand")
                    run_killed(world, (pardon,), effect_count, None, operate)
    world.settle(standing())
    assert len(world.ledger().holding) <= most
    # Who is not held is accused no more, pardoned, an operator's, or has expired; what is left goes with the time.
    accused.clear()
    world.now_ms += DAY
    world.settle({})
    left = {(limited, name): value for limited, limits in world.limits.items() for name, value in limits.items()}
    assert left == world.operators
    assert world.ledger().holding == {}


def run_killed(world: World, acts, effect_count, interruption, operate) -> None:
    """Take so many effects, then be killed; an operator may come in between."""
    taken = 0
    for act in acts:
        for _ in world.act(act):
            if interruption is not None and taken == interruption[0]:
                operate(interruption[1])
            if taken == effect_count:
                return
            taken += 1
