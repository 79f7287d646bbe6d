"""Misbehaviour comes in many strengths, and does what makes it what it is."""

from collections import Counter, defaultdict
from dataclasses import replace
from datetime import datetime, timedelta
from statistics import fmean
from typing import Any

import pytest

from barnabas.pipeline.sources.social import NOBODY_MISBEHAVES, Shares, SitePlan, ground_truth
from tests.unit.pipeline.sources.social.plans import BUSY, Made, made


@pytest.fixture(scope="module")
def busy() -> Made:
    return made(BUSY)


def _actors(busy: Made, kind: str) -> list[dict]:
    return [actor for actor in [*busy.truth["actors"], *busy.truth["look_alikes"]] if actor["kind"] == kind]


@pytest.mark.parametrize("share", Shares.__slots__[:6])
def test_a_share_above_nothing_brings_that_kind_alone(share: str):
    plan = replace(BUSY, duration_s=1_200, has_look_alikes=False, shares=replace(NOBODY_MISBEHAVES, **{share: 0.001}))
    truth: dict[str, Any] = ground_truth(plan)
    assert {actor["kind"] for actor in truth["actors"]} == {
        {"credential_stuffing": share}.get(share, share.removesuffix("s"))
    }


def test_shares_are_about_what_was_asked_for(busy: Made):
    total = sum(busy.truth["event_counts"].values())
    for kind, share in (("crawler", 0.08), ("scraper", 0.08), ("spammer", 0.05), ("credential_stuffing", 0.08)):
        assert sum(actor["events"] for actor in _actors(busy, kind)) / total == pytest.approx(share, rel=0.4)


def test_crawlers_read_robots_and_scrapers_wear_a_browsers_agent(busy: Made):
    for crawler in _actors(busy, "crawler"):
        assert crawler["is_declared"]
        assert crawler["evidence"]["robots_txt"] >= 1
        assert crawler["evidence"]["page_view"] >= 50
    scrapers = _actors(busy, "scraper")
    assert all("Mozilla/5.0" in agent and "bot" not in agent.lower() for each in scrapers for agent in each["agents"])
    paces = [scraper["traits"]["pace_s"] for scraper in scrapers]
    assert max(paces) > 2 * min(paces)
    for scraper in scrapers:
        assert scraper["evidence"]["distinct_pages"] > 0.6 * min(scraper["events"], BUSY.items)


def test_spam_is_nearly_the_same_again_and_again(busy: Made):
    for spammer in _actors(busy, "spammer"):
        texts = [
            event["text"] for event in busy.events if event["type"] == "post" and event["user"] in spammer["users"]
        ]
        if spammer["traits"]["means"] == "posts":
            assert len(texts) >= 20
            assert len({" ".join(text.split()[-2:-1]) for text in texts}) <= 12
        else:
            assert spammer["evidence"]["vote"] >= 60


def test_rings_vote_for_the_same_within_minutes(busy: Made):
    votes = defaultdict(list)
    for event in busy.events:
        if event["type"] == "vote":
            votes[event["user"], event["item"]].append(event["time"])
    for ring in _actors(busy, "vote_ring"):
        within = timedelta(seconds=ring["traits"]["within_s"] + 2)
        shares = []
        for item in ring["items"]:
            times: list[datetime] = sorted(time for user in ring["users"] for time in votes[user, item])
            at_once = max(sum(begin <= time <= begin + within for time in times) for begin in times)
            shares.append(at_once / len(ring["users"]))
        assert fmean(shares) > 0.6


def test_stolen_passwords_are_tried_for_many_names_and_sometimes_fit(busy: Made):
    stuffing = _actors(busy, "credential_stuffing")
    assert {actor["traits"]["means"] for actor in stuffing} >= {"one address", "many addresses"}
    for actor in stuffing:
        failed = actor["evidence"]["logins_failed"]
        assert len(actor["taken_over"]) == actor["evidence"].get("logins_succeeded", 0)
        assert failed > 10 * actor["evidence"].get("logins_succeeded", 0)
        assert (len(actor["addresses"]) >= 20) == (actor["traits"]["means"] == "many addresses")
    assert sum(actor["evidence"].get("logins_succeeded", 0) for actor in stuffing) > 0


def test_look_alikes_look_like_it(busy: Made):
    (office,) = _actors(busy, "nat_office")
    assert office["evidence"]["logins_failed"] >= 5
    assert office["evidence"]["names_tried"] >= 8
    for each in _actors(busy, "forgotten_password"):
        assert each["evidence"]["names_tried"] == 1
    (post,) = _actors(busy, "popular_post")
    assert post["evidence"]["vote"] >= 30
    assert all(each["is_declared"] for each in _actors(busy, "feed_reader") + _actors(busy, "monitoring_probe"))


def test_nobody_is_known_by_the_range_of_the_address(busy: Made):
    ranges = Counter(
        event["address"].partition(".")[0].partition(":")[0] for event in busy.events if "address" in event
    )
    for actor in busy.truth["actors"]:
        for address in actor["addresses"]:
            assert ranges[address.partition(".")[0].partition(":")[0]] > 100


def test_power_reader_reads_hundreds_of_pages_a_day():
    plan = SitePlan(seed=2, events_per_s=0.5, users=300, items=400, shares=NOBODY_MISBEHAVES)
    truth: dict[str, Any] = ground_truth(plan)
    (reader,) = [each for each in truth["look_alikes"] if each["kind"] == "power_reader"]
    assert 200 <= reader["evidence"]["page_view"] <= 400
