"""The quotas of a broker: who is counted where, and what is forgotten."""

import pytest

from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.controller_mutations import ControllerMutationQuota
from barnabas.broker.quotas.manager import UNUSED_MS, Quotas
from barnabas.wire.quotas.entities import DEFAULT, LONGEST_NAME, Entity
from barnabas.wire.quotas.levels import Tags
from barnabas.wire.quotas.limits import QuotaKind

WINDOWS = Windows(11, 1_000)
PRODUCE, FETCH, REQUEST, MUTATION = QuotaKind


@pytest.fixture
def quotas() -> Quotas:
    return Quotas(WINDOWS)


def test_without_limits_nobody_is_counted(quotas: Quotas) -> None:
    assert quotas.record(PRODUCE, "u", "c", 10**9, 0) == 0
    assert quotas.is_enabled == [False] * 4
    assert list(quotas.buckets(PRODUCE)) == []


def test_the_throttle_time_that_was_observed(quotas: Quotas) -> None:
    # 1,000 B/s, two produce requests of about 8.1 kB in a new window: semantics, quotas.
    quotas.set_override(Entity(None, "c"), PRODUCE, 1_000)
    assert quotas.record(PRODUCE, "u", "c", 8_100, 50_000) == 0
    assert quotas.record(PRODUCE, "u", "c", 8_101, 50_000) == 6_201
    assert quotas.record(FETCH, "u", "c", 8_100, 50_000) == 0
    assert [each.resolution.tags for each in quotas.buckets(PRODUCE)] == [Tags("", "c")]


def test_a_share_of_the_time_holds_for_a_window_at_the_most(quotas: Quotas) -> None:
    quotas.thread_count = 11
    quotas.set_override(Entity("u", None), REQUEST, 1)
    # A tenth of a second of the loop is as much as a tenth of all eleven threads.
    assert quotas.percent_of(100_000_000) == pytest.approx(110)
    assert quotas.record(REQUEST, "u", "c", quotas.percent_of(100_000_000), 0) == 1_000
    assert quotas.record(REQUEST, "other", "c", quotas.percent_of(100_000_000), 0) == 0


def test_another_limit_is_in_force_at_once_and_what_was_measured_stays(quotas: Quotas) -> None:
    client = quotas.enter("u", "c", 0)
    quotas.set_override(Entity("u", None), PRODUCE, 1_000_000)
    assert client.bucket(PRODUCE, 0).record(0, 100_000) == 0
    quotas.set_override(Entity("u", None), PRODUCE, 1_000)
    assert client.bucket(PRODUCE, 0).excess_ms(0) == 90_000
    (bucket,) = quotas.buckets(PRODUCE)
    assert bucket is client.bucket(PRODUCE, 0)
    assert bucket.limit == 1_000
    # A level above it: others tags, and nothing was measured for these.
    quotas.set_override(Entity("u", "c"), PRODUCE, 2_000)
    assert client.bucket(PRODUCE, 0).resolution.tags == Tags("u", "c")
    assert client.bucket(PRODUCE, 0).excess_ms(0) == 0
    quotas.set_override(Entity("u", "c"), PRODUCE, None)
    assert client.bucket(PRODUCE, 0).excess_ms(0) == 90_000
    quotas.set_override(Entity("u", None), PRODUCE, None)
    assert not quotas.is_enabled[PRODUCE]
    assert list(quotas.buckets(PRODUCE)) == []


def test_nobody_waits_for_a_limit_of_before(quotas: Quotas) -> None:
    client = quotas.enter("u", "c", 0)
    quotas.set_override(Entity("u", None), PRODUCE, 1_000)
    assert client.bucket(PRODUCE, 0).record(0, 100_000) == 90_000
    assert client.bucket(PRODUCE, 0).reserve_turn(0, 1_000) == 90_000
    quotas.set_override(Entity("u", None), PRODUCE, 1_000_000)
    assert client.bucket(PRODUCE, 0).reserve_turn(0, 1_000) == 0
    assert client.bucket(PRODUCE, 0).record(0, 1_000) == 0


def test_what_a_fetch_may_not_have_holds_nobody_else(quotas: Quotas) -> None:
    for kind in (PRODUCE, FETCH):
        quotas.set_override(Entity("u", None), kind, 1_000)
        assert quotas.record(kind, "u", "c", 100_000, 0) == 90_000
    # Nothing of the answer leaves; the records that were produced are there.
    assert [quotas.bucket(kind, "u", "c", 0).used_up_until_ms for kind in (PRODUCE, FETCH)] == [90_000, 0]


def test_who_leaves_gives_his_turn_to_the_next(quotas: Quotas) -> None:
    quotas.set_override(Entity("u", None), PRODUCE, 1_000)
    bucket = quotas.bucket(PRODUCE, "u", "c", 0)
    assert [bucket.reserve_turn(0, size) for size in (20_000, 5_000, 1_000)] == [0, 20_000, 25_000]
    bucket.release_turn(5_000)
    assert bucket.reserve_turn(0, 1_000) == 21_000


def test_all_who_have_the_same_tags_share_one_bucket(quotas: Quotas) -> None:
    quotas.set_override(Entity("u", None), FETCH, 1_000)
    clients = [quotas.enter("u", f"c{number}", 0) for number in range(3)]
    assert len({id(each.bucket(FETCH, 0)) for each in clients}) == 1
    assert [each.bucket(FETCH, 0).record(0, 5_000) for each in clients] == [0, 0, 5_000]
    assert quotas.enter("u", "c0", 5) is clients[0]
    assert clients[0].session_count == 2


def test_what_is_wrong_with_a_setting_changes_nothing(quotas: Quotas) -> None:
    entity = Entity(DEFAULT, None)
    assert quotas.set_settings(entity, {"producer_byte_rate": "10", "SCRAM-SHA-256": "x"}) == []
    wrong = ["", "x", "1.5", "1e9", "-1", "0", "1_0", "0x10", "9" * 30, "9" * 10_000, "nan", "١"]
    for text in wrong:
        assert len(quotas.set_settings(entity, {"producer_byte_rate": text, "request_percentage": "12.5"})) == 1
        assert quotas.resolve(PRODUCE, "u", "c").limit == 10
        assert quotas.resolve(REQUEST, "u", "c").limit == 12.5
    for text in ["nan", "inf", "-1.0", "0.0", "1e400", "1e19", "1d", "1_0.0", "."]:
        assert len(quotas.set_settings(entity, {"producer_byte_rate": "10", "request_percentage": text})) == 1
        assert quotas.resolve(REQUEST, "u", "c").limit == 12.5
    assert quotas.set_settings(entity, {"controller_mutation_rate": " 1.0E-1 "}) == []
    assert quotas.resolve(MUTATION, "u", "c").limit == 0.1
    assert quotas.resolve(PRODUCE, "u", "c").limit is None
    with pytest.raises(ValueError, match="producer_byte_rate"):
        quotas.set_override(entity, PRODUCE, -5)


def test_what_was_not_used_for_an_hour_is_forgotten(quotas: Quotas) -> None:
    quotas.set_override(Entity(None, DEFAULT), PRODUCE, 1_000)
    old, new = quotas.enter("u", "old", 0), quotas.enter("u", "new", 0)
    old.bucket(PRODUCE, 0).record(0, 1)
    new.bucket(PRODUCE, 0).record(0, 1)
    quotas.leave(old, 10)
    new.bucket(PRODUCE, 0).record(UNUSED_MS, 1)
    quotas.drop_unused(UNUSED_MS)
    assert [each.resolution.tags.client_id for each in quotas.buckets(PRODUCE)] == ["new"]
    assert set(quotas.clients) == {("u", "old"), ("u", "new")}
    quotas.drop_unused(UNUSED_MS + 10)
    # Whoever is connected is not forgotten.
    assert set(quotas.clients) == {("u", "new")}


def test_who_owes_more_than_an_hour_is_not_forgotten(quotas: Quotas) -> None:
    quotas.set_override(Entity("u", None), PRODUCE, 1_000)
    assert quotas.record(PRODUCE, "u", "c", 10**10, 0) > UNUSED_MS
    quotas.drop_unused(UNUSED_MS)
    assert len(list(quotas.buckets(PRODUCE))) == 1


def test_a_client_whose_bucket_was_forgotten_is_counted_with_the_others(quotas: Quotas) -> None:
    quotas.set_override(Entity("u", None), PRODUCE, 1_000)
    first = quotas.enter("u", "a", 0)
    first.bucket(PRODUCE, 0).record(0, 1)
    quotas.drop_unused(UNUSED_MS)
    second = quotas.enter("u", "b", UNUSED_MS)
    assert second.bucket(PRODUCE, UNUSED_MS) is first.bucket(PRODUCE, UNUSED_MS)


def test_very_many_client_ids_take_no_more_than_so_much() -> None:
    quotas = Quotas(WINDOWS, most_remembered=100)
    quotas.set_override(Entity(None, DEFAULT), PRODUCE, 1_000)
    busy = quotas.enter("u", "busy", 0)
    for number in range(1_000):
        now_ms = number * 100
        # Once a second, as one who is to be held.
        if number % 10 == 0:
            busy.bucket(PRODUCE, now_ms).record(now_ms, 100_000)
        client = quotas.enter("u", f"c{number}", now_ms)
        client.bucket(PRODUCE, now_ms).record(now_ms, 1)
        quotas.leave(client, now_ms)
        assert len(quotas.clients) <= 100
        assert len(list(quotas.buckets(PRODUCE))) <= 100
    bucket = busy.bucket(PRODUCE, 100_000)
    assert bucket.excess_ms(100_000) > 100_000
    assert quotas.clients["u", "busy"] is busy


def test_partitions_are_refused_or_their_client_held(quotas: Quotas) -> None:
    quotas.set_override(Entity("u", None), MUTATION, 1)
    now_ms = 1_000
    bucket = quotas.bucket(MUTATION, "u", "c", now_ms)
    strict = ControllerMutationQuota(bucket, True, lambda: now_ms)
    # Eleven at once; the one that overdraws it is let in, and the next one is not.
    assert [strict.take(6), strict.take(6)] == [True, True]
    assert (strict.is_exceeded, strict.throttle_ms) == (False, 0)
    assert not strict.take(1)
    assert (strict.is_exceeded, strict.throttle_ms) == (True, 1_000)
    now_ms = 1_400
    assert strict.throttle_ms == 600
    lenient = ControllerMutationQuota(bucket, False, lambda: now_ms)
    assert lenient.take(3)
    assert (lenient.is_exceeded, lenient.throttle_ms) == (False, 3_600)
    assert bucket.tokens(now_ms) == pytest.approx(-3.6)
    unlimited = ControllerMutationQuota(None, True, lambda: now_ms)
    assert unlimited.take(10**6)
    assert unlimited.throttle_ms == 0


def test_a_limit_of_partitions_that_is_set_anew_begins_with_a_full_bucket(quotas: Quotas) -> None:
    quotas.set_override(Entity("other", None), MUTATION, 1)
    bucket = quotas.bucket(MUTATION, "u", "c", 0)
    assert bucket.record(0, 1_000) == 0
    quotas.set_override(Entity("u", None), MUTATION, 2)
    assert quotas.bucket(MUTATION, "u", "c", 0) is bucket
    assert bucket.tokens(0) == 22
    bucket.record(0, 100)
    quotas.set_override(Entity("u", None), MUTATION, None)
    quotas.set_override(Entity("u", None), MUTATION, 2)
    assert quotas.bucket(MUTATION, "u", "c", 0).excess_ms(0) == 39_000


def test_throttle_times_are_averaged_over_half_a_minute_or_a_whole_one() -> None:
    bucket = Quotas(WINDOWS).bucket(PRODUCE, "u", "c", 0)
    assert bucket.throttle_average_ms(0) is None
    bucket.note_throttle(0, 100)
    bucket.note_throttle(10, 300)
    assert bucket.throttle_average_ms(10) == 200
    assert bucket.throttle_average_ms(60_010) is None
    assert (bucket.throttle_count, bucket.throttle_total_ms) == (2, 400)


def test_a_long_client_id_has_the_limit_that_is_set_for_it_and_is_remembered_by_a_short_name(quotas: Quotas) -> None:
    name, other = "x" * 30_000 + "1", "x" * 30_000 + "2"
    quotas.set_override(Entity(None, name), PRODUCE, 1_000)
    client = quotas.enter("u", name, 0)
    assert quotas.enter("u", name, 0) is client
    assert quotas.enter("u", other, 0) is not client
    assert client.bucket(PRODUCE, 0) is quotas.bucket(PRODUCE, "u", name, 0)
    assert client.bucket(PRODUCE, 0).limit == 1_000
    assert quotas.bucket(PRODUCE, "u", other, 0).limit is None
    kept = [part for key in quotas.clients for part in key]
    kept += [part for each in quotas.buckets(PRODUCE) for part in each.resolution.tags]
    assert max(map(len, kept)) <= LONGEST_NAME
    quotas.set_override(Entity(None, name), PRODUCE, None)
    assert not quotas.is_enabled[PRODUCE]
