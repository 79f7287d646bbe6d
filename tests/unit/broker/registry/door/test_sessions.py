"""Sessions of ZooKeeper's clients: whose they are, and when they are over."""

from random import Random

from barnabas.broker.registry.door.sessions import LEAST_TIMEOUT_MS, Session, Sessions
from barnabas.testing.manual_clock import ManualClock


def test_a_session_goes_on_with_its_password_alone() -> None:
    clock = ManualClock()
    sessions = Sessions(clock, clock, Random(1), 5, lambda session: None)
    session, other = sessions.begin(LEAST_TIMEOUT_MS), sessions.begin(LEAST_TIMEOUT_MS)
    assert sessions.resume(session.id, other.password, LEAST_TIMEOUT_MS) is None
    assert sessions.resume(session.id, b"", LEAST_TIMEOUT_MS) is None
    assert sessions.resume(session.id + 9, session.password, LEAST_TIMEOUT_MS) is None
    assert sessions.resume(session.id, session.password, LEAST_TIMEOUT_MS) is session


def test_a_session_that_was_silent_for_too_long_is_none_any_more() -> None:
    clock = ManualClock()
    over: list[Session] = []
    sessions = Sessions(clock, clock, Random(1), 5, over.append)
    session = sessions.begin(LEAST_TIMEOUT_MS)
    clock.advance(LEAST_TIMEOUT_MS - 1)
    sessions.heard(session)
    clock.advance(LEAST_TIMEOUT_MS - 1)
    assert (over, len(sessions)) == ([], 1)
    clock.advance(1)
    assert (over, len(sessions)) == ([session], 0)
    assert sessions.resume(session.id, session.password, LEAST_TIMEOUT_MS) is None
