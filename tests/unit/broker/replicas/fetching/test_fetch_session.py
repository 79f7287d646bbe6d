"""The follower's side of incremental fetch sessions."""

import pytest

from barnabas.broker.replicas.fetching.fetch_session import MOST_ADDED, Asked, FetchRequestData, FetchSession
from barnabas.broker.replicas.fetching.fetch_state import Progress
from barnabas.core.error_code import ErrorCode as E
from barnabas.core.types import TopicPartition

A, B, C = (TopicPartition("t", number) for number in range(3))
ID = 77


class Wanted:
    """What is to be asked for."""

    def __init__(self, *keys: TopicPartition) -> None:
        self.asks = {key: Asked(Progress(key, 1, 0), 10, 0) for key in keys}

    def move(self, key: TopicPartition, offset: int) -> None:
        self.asks[key] = self.asks[key]._replace(offset=offset)

    def of(self, session: FetchSession, *changed: TopicPartition) -> tuple[int, int, list[int], list[int]] | None:
        """The next fetch, partitions by number."""
        request_data = session.ask(self.asks.get, list(self.asks), changed)
        return None if request_data is None else shown(request_data)


def shown(request_data: FetchRequestData) -> tuple[int, int, list[int], list[int]]:
    return (
        request_data.session_id,
        request_data.session_epoch,
        [key.partition for key, _ in request_data.named],
        [key.partition for key in request_data.forgotten],
    )


def begun(*keys: TopicPartition) -> tuple[FetchSession, Wanted]:
    session, wanted = FetchSession(12), Wanted(*keys)
    wanted.of(session)
    assert session.has_answer(0, ID, list(keys)) is None
    return session, wanted


def test_a_session_names_all_first_and_then_what_changes() -> None:
    session, wanted = FetchSession(12), Wanted(A, B)
    assert wanted.of(session) == (0, 0, [0, 1], [])
    assert session.has_answer(0, ID, [A, B]) is None
    assert wanted.of(session) == (ID, 1, [], [])
    assert session.has_answer(0, ID, []) is None
    wanted.move(B, 12)
    assert wanted.of(session, A, B) == (ID, 2, [1], [])
    assert session.asked[B].offset == 12
    wanted.asks[C] = Asked(Progress(C, 1, 0), 0, 0)
    del wanted.asks[A]
    session.has_answer(0, ID, [B])
    assert wanted.of(session, A, C) == (ID, 3, [2], [0])
    assert list(session.asked) == [B, C]


def test_very_many_come_into_a_session_some_at_a_time_and_what_is_in_it_does_not_wait_for_them() -> None:
    keys = [TopicPartition("t", number) for number in range(2 * MOST_ADDED + 1)]
    session, wanted = FetchSession(12), Wanted(*keys)
    first = session.ask(wanted.asks.get, keys, ())
    assert first is not None
    assert ([key for key, _ in first.named], first.later) == (keys[:MOST_ADDED], keys[MOST_ADDED:])
    assert session.has_answer(0, ID, keys[:MOST_ADDED]) is None
    wanted.move(keys[0], 12)
    second = session.ask(wanted.asks.get, keys, [*first.later, keys[0]])
    assert second is not None
    assert [key for key, _ in second.named] == [*keys[MOST_ADDED : 2 * MOST_ADDED], keys[0]]
    assert second.later == keys[-1:]
    assert session.has_answer(0, ID, []) is None
    assert wanted.of(session, *second.later) == (ID, 2, [2 * MOST_ADDED], [])
    assert list(session.asked) == keys


def test_a_leader_without_a_place_for_a_session_is_asked_for_very_many_at_once() -> None:
    keys = [TopicPartition("t", number) for number in range(MOST_ADDED + 1)]
    session, wanted = FetchSession(12), Wanted(*keys)
    assert wanted.of(session) == (0, 0, list(range(MOST_ADDED)), [])
    assert session.has_answer(0, 0, keys[:MOST_ADDED]) is None
    assert wanted.of(session) == (0, 0, list(range(MOST_ADDED + 1)), [])
    assert session.has_answer(0, ID, keys) is None
    session.begin_anew()
    assert wanted.of(session) == (ID, 0, list(range(MOST_ADDED)), [])


def test_before_sessions_very_many_are_asked_for_at_once() -> None:
    keys = [TopicPartition("t", number) for number in range(MOST_ADDED + 1)]
    assert Wanted(*keys).of(FetchSession(6)) == (0, -1, list(range(MOST_ADDED + 1)), [])


def test_a_partition_that_was_added_anew_is_named_again() -> None:
    session, wanted = begun(A)
    wanted.asks[A] = Asked(Progress(A, 2, 0), 10, 0)
    assert wanted.of(session, A) == (ID, 1, [0], [])


def test_the_last_one_forgotten_ends_the_session() -> None:
    session, wanted = begun(A)
    wanted.asks.clear()
    assert wanted.of(session, A) == (ID, 1, [], [0])
    assert session.has_answer(0, 0, []) is None
    assert wanted.of(session) is None
    wanted.asks[A] = Asked(Progress(A, 1, 0), 10, 0)
    assert wanted.of(session, A) == (0, 0, [0], [])


def test_without_a_place_for_it_each_fetch_is_full() -> None:
    session, wanted = FetchSession(12), Wanted(A, B)
    for _ in range(2):
        assert wanted.of(session) == (0, 0, [0, 1], [])
        assert session.has_answer(0, 0, [A, B]) is None


def test_before_there_were_sessions_each_fetch_is_full() -> None:
    session, wanted = FetchSession(5), Wanted(A)
    for _ in range(2):
        assert wanted.of(session) == (0, -1, [0], [])
        assert session.has_answer(0, 0, [A]) is None
    wanted.asks.clear()
    assert wanted.of(session) is None


@pytest.mark.parametrize(
    ("error", "session_id"),
    [(E.FETCH_SESSION_ID_NOT_FOUND, 0), (E.INVALID_FETCH_SESSION_EPOCH, ID), (E.UNKNOWN_SERVER_ERROR, ID)],
)
def test_after_an_error_it_begins_anew(error: int, session_id: int) -> None:
    session, wanted = begun(A, B)
    wanted.of(session)
    assert session.has_answer(error, 0, []) == E(error).name
    assert wanted.of(session) == (session_id, 0, [0, 1], [])


def test_after_a_lost_request_it_begins_anew_and_ends_the_old_one() -> None:
    session, wanted = begun(A, B)
    wanted.move(A, 11)
    wanted.of(session, A)
    session.begin_anew()
    assert wanted.of(session) == (ID, 0, [0, 1], [])


@pytest.mark.parametrize("answered", [[], [A], [A, C], [A, B, C]])
def test_a_full_answer_tells_of_all_and_of_nothing_else(answered: list[TopicPartition]) -> None:
    session, wanted = FetchSession(12), Wanted(A, B)
    wanted.of(session)
    assert session.has_answer(0, ID, answered) is not None
    assert wanted.of(session) == (0, 0, [0, 1], [])


@pytest.mark.parametrize(("session_id", "answered"), [(ID, [C]), (ID + 1, [])])
def test_an_answer_of_another_session_or_for_what_nobody_asked_is_none(session_id: int, answered: list[TopicPartition]):
    session, wanted = begun(A, B)
    wanted.of(session)
    assert session.has_answer(0, session_id, answered) is not None
    assert wanted.of(session) == (ID, 0, [0, 1], [])


def test_the_epoch_after_the_highest_is_one() -> None:
    session, wanted = begun(A)
    session._epoch = 0x7FFFFFFF
    assert wanted.of(session) == (ID, 0x7FFFFFFF, [], [])
    session.has_answer(0, ID, [])
    assert wanted.of(session) == (ID, 1, [], [])
