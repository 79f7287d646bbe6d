"""Ordinary people do as people do: some items are popular, evenings are busy, many share an address."""

from collections import Counter, defaultdict
from datetime import timedelta
from itertools import pairwise
from statistics import median

import pytest

from barnabas.pipeline.sources.social.people import Addresses
from barnabas.pipeline.sources.social.site import ASSETS
from tests.unit.pipeline.sources.social.plans import QUIET_DAY, Made, made


@pytest.fixture(scope="module")
def day() -> Made:
    return made(QUIET_DAY)


@pytest.fixture(scope="module")
def views(day: Made) -> list[dict]:
    return day.of_type("page_view")


def test_popularity_of_items_follows_zipf(views: list[dict]):
    ranked = [
        count for _, count in Counter(view["page"] for view in views if view["page"][:7] == "/posts/").most_common()
    ]
    assert len(ranked) > 400
    # Rank times count is about the same for all of the first.
    for rank in (2, 4, 8, 16):
        around = sum(ranked[rank * 3 // 4 : rank * 5 // 4 + 1]) / len(ranked[rank * 3 // 4 : rank * 5 // 4 + 1])
        assert 0.6 < (rank + 1) * around / ranked[0] < 1.7


def test_evenings_are_busier_than_nights(views: list[dict]):
    hours = Counter(view["time"].hour for view in views)
    night, evening = sum(hours[hour] for hour in (2, 3, 4)), sum(hours[hour] for hour in (19, 20, 21))
    assert 4 < evening / night < 16


def test_many_share_an_address_and_many_have_several(views: list[dict]):
    users_of, addresses_of = defaultdict(set), defaultdict(set)
    for view in views:
        if view["user"]:
            users_of[view["address"]].add(view["user"])
            addresses_of[view["user"]].add(view["address"])
    assert sum(len(users) > 5 for users in users_of.values()) >= 5
    assert sum(len(users) == 1 for users in users_of.values()) > 200
    assert 0.2 < sum(len(addresses) > 1 for addresses in addresses_of.values()) / len(addresses_of) < 0.9


def test_people_pause_between_pages(views: list[dict]):
    times = defaultdict(list)
    for view in views:
        if view["session"] and view["page"] not in ASSETS:
            times[view["session"]].append(view["time"])
    pauses = [later - earlier for each in times.values() for earlier, later in pairwise(sorted(each))]
    assert 8 < median(pauses).total_seconds() < 30
    assert sum(pause > timedelta(minutes=2) for pause in pauses) > 10


def test_answers_are_those_of_a_site_that_works(views: list[dict]):
    statuses = Counter(view["status"] for view in views)
    assert 0.8 < statuses[200] / len(views) < 0.97
    assert 0 < statuses[404] / len(views) < 0.02
    assert statuses[500] / len(views) < 0.005
    assert 30 < median(view["latency_ms"] for view in views) < 60
    assert all((view["bytes"] is None) == (view["status"] == 304) for view in views)


def test_clicks_lead_to_the_next_page_and_prefer_first_results(day: Made, views: list[dict]):
    clicks = day.of_type("click")
    positions = Counter(click["position"] for click in clicks if click["position"])
    assert positions[1] > 2 * positions[4] > 0
    pages = {(view["address"], view["page"]) for view in views}
    # Those of the last minutes may lead beyond the end.
    assert all((click["address"], click["item"]) in pages for click in clicks[:-50])


def test_addresses_are_never_given_twice():
    addresses = Addresses(1)
    given = [*addresses.several(20_000), *addresses.neighbours(200)]
    assert len(set(given)) == len(given)
    assert all(each.startswith(("10.", "2001:db8:")) for each in given)
