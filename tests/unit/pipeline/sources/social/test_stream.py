"""The made-up site's events: always the same, in order of arrival, whole, and as many as were asked for."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

import pytest

from barnabas.pipeline.events import EVENT_TYPES, Kind
from barnabas.pipeline.events.encode import encode_json, record_key
from barnabas.pipeline.sources.social import SitePlan, Truth, generate, pace
from tests.unit.pipeline.sources.social.plans import HOUR, made

_DIGEST = """
from hashlib import sha256
from barnabas.pipeline.sources.social import SitePlan, generate
digest = sha256()
for event in generate(SitePlan(seed=7, duration_s=600, events_per_s=10, users=200, items=300)):
    digest.update(event.value)
print(digest.hexdigest())
"""


def test_events_are_the_same_whatever_the_order_of_sets_is_and_on_every_machine():
    found = {
        subprocess.run(
            [sys.executable, "-c", _DIGEST],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1", "4711")
    }
    # Changes with what the generator makes, and with nothing else.
    assert found == {"ddafa4f5bc8717d68dd3655addeba98f5953b2a5e43abd856e801010271ffe5c\n"}


def test_another_seed_gives_another_site():
    first, again, other = ([each.value for each in generate(plan)] for plan in (HOUR, HOUR, replace(HOUR, seed=2)))
    assert first == again
    assert first[0] != other[0]


def test_every_event_can_be_written_and_has_an_id_of_its_own():
    ids = set()
    count = 0
    for event in generate(HOUR):
        if not event.reason:
            assert event.value == encode_json(event.event_type, event.fields)
            assert event.key == record_key(event.event_type, event.fields)
            ids.add(json.loads(event.value)["id"])
            count += 1
    assert len(ids) == count > 0
    assert {each.partition(":")[0] for each in ids} == {HOUR.mark}


def test_numbers_are_places_in_the_order_of_arrival():
    found = list(Truth(HOUR).arrivals())
    assert [arrival.number for arrival in found] == list(range(1, len(found) + 1))
    assert all(before.arrival_ms <= after.arrival_ms for before, after in pairwise(found))
    assert all(HOUR.start_ms <= arrival.time_ms < HOUR.end_ms for arrival in found)
    # The last views are answered some seconds later.
    assert all(arrival.time_ms <= arrival.arrival_ms < HOUR.end_ms + 20_000 for arrival in found)
    assert all(arrival.id == f"{HOUR.mark}:{arrival.number}".encode() for arrival in found)
    assert any(arrival.is_late for arrival in found)


def test_all_types_occur_but_those_of_brokers():
    found = {event.event_type.name for event in generate(HOUR)}
    assert found == set(EVENT_TYPES) - {"broker_metric"}


@pytest.mark.parametrize(
    ("duration_s", "events_per_s"), [(600, 40.0), (3_600, 10.0), (43_200, 1.0)], ids=["minutes", "hour", "half a day"]
)
def test_there_are_about_as_many_as_asked_for(duration_s: int, events_per_s: float):
    plan = SitePlan(seed=3, duration_s=duration_s, events_per_s=events_per_s, users=400, items=500)
    assert sum(1 for _ in generate(plan)) == pytest.approx(plan.event_count, rel=0.12)


def test_the_smallest_plan_has_a_little_of_everybody():
    plan = SitePlan(duration_s=60, events_per_s=0.01, users=100, items=100)
    assert {actor["kind"] for actor in made(plan).truth["actors"]} == {
        actor["kind"] for actor in made(HOUR).truth["actors"]
    }


def test_what_is_switched_off_does_not_happen():
    truth = Truth(HOUR.quiet())
    assert not any(arrival.reason or arrival.is_late for arrival in truth.arrivals())
    found = truth.to_json()
    assert (found["actors"], found["look_alikes"], found["outage"], found["silence"]) == ([], [], None, None)


def test_broken_records_are_no_events():
    for event in generate(replace(HOUR, shares=replace(HOUR.shares, broken=0.1))):
        if not event.reason:
            continue
        assert event.key
        try:
            value = json.loads(event.value)
        except ValueError:
            assert event.reason in ("not JSON", "truncated")
            continue
        required = [field for field in event.event_type.fields if field.is_required]
        match event.reason:
            case "missing field":
                assert [field.name for field in required if field.name not in value]
            case "wrong type":
                assert [field for field in required if field.kind is not Kind.STRING and value[field.name] == "n/a"]
            case other:
                raise AssertionError(other)


def test_pace_gives_each_event_when_it_is_due():
    now_s, given = 100.0, []

    def sleep(duration_s: float) -> None:
        nonlocal now_s
        assert duration_s > 0
        now_s += duration_s

    plan = replace(HOUR, duration_s=600)
    for _, arrival in zip(pace(plan, lambda: now_s, sleep, speed=60), Truth(plan).arrivals(), strict=True):
        given.append(now_s - 100 - (arrival.arrival_ms - plan.start_ms) / 60_000)
    assert all(-0.011 < late_s <= 0.001 for late_s in given)
    assert now_s == pytest.approx(110, abs=0.1)


@pytest.mark.parametrize("elapsed_s", [0.0, 5.0])
def test_pace_goes_on_behind_what_is_there(elapsed_s: float):
    now_s, given = 100.0, []

    def sleep(duration_s: float) -> None:
        nonlocal now_s
        now_s += duration_s

    plan = replace(HOUR, duration_s=600)
    there_count = next(each.number for each in Truth(plan).arrivals() if each.arrival_ms - plan.start_ms > 240_000)
    for _ in pace(plan, lambda: now_s, sleep, 60, there_count, elapsed_s):
        given.append(now_s - 100)
    assert set(given[:there_count]) == {0.0}
    assert given[there_count] == pytest.approx(0, abs=0.1)
    # Of ten seconds four are there; of the rest one has passed meanwhile, where the stream goes on by itself.
    assert given[-1] == pytest.approx(5 if elapsed_s else 6, abs=0.1)


@pytest.mark.parametrize(
    "wrong",
    [{"start": datetime(2026, 1, 1)}, {"duration_s": 59}, {"events_per_s": 0}, {"users": 9}, {"items": 1}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_plan_that_can_not_be_is_refused(wrong):
    with pytest.raises(ValueError):
        SitePlan(**wrong)


def test_shares_leave_something_to_ordinary_people():
    with pytest.raises(ValueError, match="shares"):
        SitePlan(shares=replace(HOUR.shares, scrapers=0.9))
