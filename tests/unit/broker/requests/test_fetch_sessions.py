"""Fetch sessions over real logs: what no broker can be asked for in a test of seconds.

What Kafka 2.7.2 does step by step is in tests/compat/test_fetch_sessions.py, the cache's rules are in
tests/property/test_fetch_sessions.py.
"""

from random import Random

import pytest

from barnabas.broker.requests.fetches import delayed_fetch, sessions
from barnabas.broker.requests.fetches.reader import refused_answer
from barnabas.broker.requests.fetches.sessions import EVICTION_MS, FetchSession, FetchSessions, next_epoch
from barnabas.broker.requests.handlers import fetch
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from tests.unit.broker.requests.conftest import BROKER_ID, batch

VERSION = 11
OLD = 7


@pytest.fixture
def path(data_path):
    for name in ("t", "u"):
        data_path.create(name)
    return data_path


def request(offsets, session=(0, 0), forgotten=(), **changes):
    values = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 24, "replica_id": -1} | changes
    topics = [
        FetchTopic(name, partitions=[FetchPartition(0, fetch_offset=offset, partition_max_bytes=1 << 20)])
        for name, offset in offsets.items()
    ]
    gone = [ForgottenTopic(name, [0]) for name in forgotten]
    return FetchRequest(
        topics=topics, session_id=session[0], session_epoch=session[1], forgotten_topics_data=gone, **values
    )


def ask(path, *args, version=VERSION, **changes):
    return path.call(fetch.HANDLER, version, request(*args, **changes))


def begun(path, **offsets):
    return ask(path, offsets).session_id


def told(answer):
    return [
        (topic.topic, data.error_code, len(data.records)) for topic in answer.responses for data in topic.partitions
    ]


def test_a_session_takes_no_more_than_it_was_told_of(path):
    session = begun(path, t=0, u=0)
    path.produce("t", batch())
    assert [name for name, _, size in told(ask(path, {}, (session, 1))) if size] == ["t"]


def test_a_log_start_that_moved_is_told(path):
    path.produce("t", batch())
    path.produce("t", batch())
    session = begun(path, t=2)
    path.partition("t").delete_records(1)
    (topic,) = ask(path, {}, (session, 1)).responses
    assert topic.partitions[0].log_start_offset == 1
    assert ask(path, {}, (session, 2)).responses == []


def test_an_answer_in_an_older_format_keeps_its_session(path):
    path.produce("t", batch())
    answer = ask(path, {"t": 0}, version=OLD)
    assert answer.session_id
    assert len(told(answer)) == 1
    path.produce("t", batch())
    assert len(told(ask(path, {"t": 1}, (answer.session_id, 1), version=OLD))) == 1


def test_what_waits_keeps_what_it_asked_for(path):
    """Another request of the session may change it meanwhile."""
    session = begun(path, t=0)
    pending = path.begin(fetch.HANDLER, VERSION, request({}, (session, 1), max_wait_ms=500))
    assert ask(path, {"u": 0}, (session, 2), forgotten=["t"]).error_code == 0
    path.produce("t", batch())
    answer = path.finish(fetch.HANDLER, VERSION, pending)
    assert (answer.error_code, answer.session_id) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, session)
    assert path.errors == []


def test_a_session_that_gives_way_while_its_fetch_waits(path):
    session = begun(path, t=0)
    pending = path.begin(fetch.HANDLER, VERSION, request({}, (session, 1), max_wait_ms=500))
    path.services.fetch_sessions.close(session)
    path.produce("t", batch())
    answer = path.finish(fetch.HANDLER, VERSION, pending)
    assert (answer.error_code, told(answer)[0][0]) == (0, "t")
    assert ask(path, {}, (session, 2)).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_partition_that_goes_while_a_session_waits_is_told(path):
    session = begun(path, t=0, u=0)
    pending = path.begin(fetch.HANDLER, VERSION, request({}, (session, 1), max_wait_ms=500))
    path.partition("t").resign(leader=2, leader_epoch=9)
    path.services.fetches.notify(TopicPartition("t", 0))
    path.run_due()
    # A consumer of this version may read from a follower; one that names the leader's epoch is sent to it.
    assert not pending.is_done
    path.produce("u", batch())
    assert [name for name, _, _ in told(path.finish(fetch.HANDLER, VERSION, pending))] == ["u"]


def test_a_large_session_is_answered_in_slices_though_its_requests_are_small(path, monkeypatch):
    monkeypatch.setattr(fetch, "MOST_ELEMENTS_AT_ONCE", 1)
    path.produce("u", batch())
    first = path.finish(fetch.HANDLER, VERSION, path.begin(fetch.HANDLER, VERSION, request({"t": 0, "u": 0})))
    assert [size > 0 for _, _, size in told(first)] == [False, True]
    pending = path.begin(fetch.HANDLER, VERSION, request({"u": 1}, (first.session_id, 1), max_wait_ms=500))
    path.run_due()
    assert not pending.is_done
    path.produce("t", batch())
    answer = path.finish(fetch.HANDLER, VERSION, pending)
    assert [name for name, _, _ in told(answer)] == ["t"]
    assert list(path.services.fetch_sessions.get(first.session_id).wanted)[-1].topic == "t"


def test_a_large_request_begins_a_session(path):
    pending = path.begin(fetch.HANDLER, VERSION, request({"unknown": 0, "t": 0}), is_large=True)
    answer = path.finish(fetch.HANDLER, VERSION, pending)
    assert [name for name, _, _ in told(answer)] == ["t", "unknown"]
    again = path.begin(fetch.HANDLER, VERSION, request({"u": 0}, (answer.session_id, 1), ["t"]), is_large=True)
    assert [name for name, _, _ in told(path.finish(fetch.HANDLER, VERSION, again))] == ["u", "unknown"]
    refused = path.begin(fetch.HANDLER, VERSION, request({}, (answer.session_id, 1)), is_large=True)
    assert path.finish(fetch.HANDLER, VERSION, refused).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_a_large_fetch_of_no_replica_waits_its_time(path):
    path.produce("t", batch())
    made = request({"t": 0}, (0, -1), replica_id=9, max_wait_ms=500)
    pending = path.begin(fetch.HANDLER, VERSION, made, is_large=True)
    path.run_due()
    path.produce("t", batch())
    path.run_due()
    assert not pending.is_done
    path.clock.advance(500)
    (found,) = told(path.finish(fetch.HANDLER, VERSION, pending))
    assert found[2] > 0


@pytest.mark.parametrize(
    ("is_large", "is_known", "watched_keys"),
    [(True, False, 32), (False, False, 32), (False, True, 32), (False, True, 1)],
)
def test_a_session_of_a_follower_is_told_what_it_does_not_know(path, monkeypatch, is_large, is_known, watched_keys):
    monkeypatch.setattr(delayed_fetch, "_MOST_WATCHED_KEYS", watched_keys)
    for name in ("t", "u"):
        path.leadership(name, BROKER_ID, [BROKER_ID, 2])
        path.produce(name, batch())
    followed = path.partition("t").followers.followers[2]

    def ask_as_follower(offset, session, **changes):
        made = request({"t": offset, "u": 1}, session, replica_id=2, **changes)
        for topic in made.topics:
            topic.partitions[0].current_leader_epoch = path.partition(topic.topic).leader_epoch
        return path.begin(fetch.HANDLER, VERSION, made, is_large=is_large)

    session = path.finish(fetch.HANDLER, VERSION, ask_as_follower(0, (0, 0))).session_id
    # A follower by the metadata, too, waits without a pass where it has everything.
    path.services.fetch_sessions.get(session).is_privileged = is_known
    # That it has it raises the high watermark, which it is told.
    (topic,) = path.finish(fetch.HANDLER, VERSION, ask_as_follower(1, (session, 1))).responses
    assert (topic.topic, topic.partitions[0].high_watermark) == ("t", 1)
    # It has all, and knows all: it waits its time, and that it came is noted.
    path.clock.advance(1_000)
    pending = ask_as_follower(1, (session, 2), max_wait_ms=500)
    path.run_due()
    assert not pending.is_done
    assert followed.fetch_ms == followed.caught_up_ms == path.clock.monotonic_ms()
    path.clock.advance(500)
    assert told(path.finish(fetch.HANDLER, VERSION, pending)) == []
    assert path.partition("t").counts.fetch_requests == 3
    # Who wants no byte waits for none.
    pending = ask_as_follower(1, (session, 3), max_wait_ms=500, min_bytes=0)
    assert told(path.finish(fetch.HANDLER, VERSION, pending)) == []
    # What comes ends its wait, and what is wrong is said.
    pending = ask_as_follower(1, (session, 4), max_wait_ms=500)
    path.run_due()
    path.produce("t", batch())
    assert [size > 0 for _, _, size in told(path.finish(fetch.HANDLER, VERSION, pending))] == [True]
    path.partition("u").leader_epoch += 1
    pending = path.begin(fetch.HANDLER, VERSION, request({}, (session, 5), replica_id=2), is_large=is_large)
    answer = path.finish(fetch.HANDLER, VERSION, pending)
    assert ("u", ErrorCode.FENCED_LEADER_EPOCH, 0) in told(answer)


def test_a_request_that_fails_as_a_whole_keeps_its_session_in_the_refusal():
    answer = refused_answer(request({"t": 0}, (5, 3)), ErrorCode.UNKNOWN_SERVER_ERROR, VERSION, 5)
    assert (answer.session_id, answer.error_code) == (5, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert [data.error_code for topic in answer.responses for data in topic.partitions] == [answer.error_code]


@pytest.mark.parametrize(("epoch", "following"), [(0, 1), (1, 2), (2**31 - 1, 1), (-1, -1), (-7, -1)])
def test_epochs_begin_again_after_the_last(epoch, following):
    assert next_epoch(epoch) == following


# --- what all sessions together may hold


def session_of(count: int, first: int = 0) -> FetchSession:
    keys = [TopicPartition("t", index) for index in range(first, first + count)]
    return FetchSession({key: FetchPartition(key.partition) for key in keys}, False)


def test_partitions_of_all_sessions_are_bounded(monkeypatch):
    monkeypatch.setattr(sessions, "MOST_PARTITIONS", 10)
    clock = ManualClock()
    cache = FetchSessions(100, clock, Random(1))
    first = cache.add(session_of(6))
    assert cache.add(session_of(5)) == 0
    second = cache.add(session_of(4))
    assert second
    grown = {TopicPartition("u", 0): FetchPartition(0)}
    assert cache.go_on(second, 1, grown, []) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert cache.partition_count == 6
    clock.advance(EVICTION_MS + 1)
    assert cache.add(session_of(10)), "what nobody uses gives way"
    assert cache.get(first) is None


def test_a_session_of_the_same_size_does_not_take_anothers_slot():
    clock = ManualClock()
    cache = FetchSessions(1, clock, Random(1))
    first = cache.add(session_of(3))
    for epoch in (1, 2):
        clock.advance(EVICTION_MS // 2 + 1)
        assert isinstance(cache.go_on(first, epoch, {}, []), FetchSession)
    assert (cache.add(session_of(2)), cache.add(session_of(3))) == (0, 0)
    assert cache.add(session_of(4))
    assert (cache.get(first), cache.eviction_count) == (None, 1)


@pytest.mark.parametrize("name", ["x" * 250, "\u00e4"])
def test_nothing_is_remembered_by_a_name_that_no_topic_has(path, name):
    kept = path.services.fetch_sessions
    answer = ask(path, {"t": 0, name: 0})
    assert (answer.session_id, len(kept)) == (0, 0)
    assert [(topic, error) for topic, error, _ in told(answer)] == [
        ("t", ErrorCode.NONE),
        (name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    session = begun(path, t=0)
    assert ask(path, {name: 0}, (session, 1)).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(kept) == 0
