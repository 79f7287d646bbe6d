"""Who keeps to a limit by himself is counted with those who share it."""

from barnabas.broker.quotas.pacers import Pacers
from barnabas.wire.quotas.entities import Entity
from barnabas.wire.quotas.levels import Limits, Tags
from barnabas.wire.quotas.limits import QuotaKind

FETCH, PRODUCE = QuotaKind.FETCH, QuotaKind.PRODUCE


def limits_of(*entities: Entity) -> Limits:
    limits = Limits()
    for entity in entities:
        limits.set(entity, 1_000.0)
    return limits


def test_who_shares_a_limit_is_counted_by_the_limit() -> None:
    pacers = Pacers()
    pacers.note(FETCH, "alice", "load", "a", 0, 10_000)
    pacers.note(FETCH, "alice", "ranking", "b", 0, 10_000)
    pacers.note(FETCH, "bob", "load", "c", 0, 10_000)
    pacers.note(PRODUCE, "alice", "load", "a", 0, 10_000)
    of_user = limits_of(Entity("alice", None))
    assert pacers.count(FETCH, of_user, Tags("alice", ""), 0) == 2
    of_both = limits_of(Entity("alice", "load"))
    assert pacers.count(FETCH, of_both, Tags("alice", "load"), 0) == 1
    of_client = limits_of(Entity(None, "load"))
    assert pacers.count(FETCH, of_client, Tags("", "load"), 0) == 2


def test_who_has_not_said_so_for_long_or_says_no_more_is_none() -> None:
    pacers, limits, tags = Pacers(), limits_of(Entity(None, "load")), Tags("", "load")
    pacers.note(FETCH, "alice", "load", "a", 0, 5_000)
    pacers.note(FETCH, "alice", "load", "b", 0, 5_000)
    pacers.note(FETCH, "alice", "load", "b", 4_000, 5_000)
    assert [pacers.count(FETCH, limits, tags, now_ms) for now_ms in (4_999, 5_000, 9_000)] == [2, 1, 0]
    pacers.note(FETCH, "alice", "load", "b", 5_000, 0)
    assert pacers.count(FETCH, limits, tags, 5_000) == 0


def test_so_many_are_remembered_the_oldest_is_forgotten_first() -> None:
    pacers, limits, tags = Pacers(), limits_of(Entity(None, "load")), Tags("", "load")
    for number in range(1_001):
        pacers.note(FETCH, f"user {number}", "load", number, number, 10_000)
    assert pacers.count(FETCH, limits, tags, 1_000) == 1_000
    pacers.note(FETCH, "one more", "load", "one more", 10_500, 10_000)
    # Those whose time is over go first.
    assert pacers.count(FETCH, limits, tags, 10_500) == 501


def test_who_makes_many_connections_drops_his_own() -> None:
    pacers, limits, tags = Pacers(), limits_of(Entity(None, "load")), Tags("", "load")
    pacers.note(FETCH, "alice", "load", "hers", 0, 10_000)
    pacers.note(PRODUCE, "bob", "load", "his", 0, 10_000)
    for number in range(2_000):
        pacers.note(FETCH, "bob", "load", number, 1, 10_000)
    assert pacers.count(FETCH, limits, tags, 2) == 51
    assert pacers.count(PRODUCE, limits, tags, 2) == 1
    # The newest have stayed.
    pacers.note(FETCH, "bob", "load", 1_950, 3, 0)
    assert pacers.count(FETCH, limits, tags, 3) == 50
