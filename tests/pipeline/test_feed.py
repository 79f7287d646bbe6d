"""The job "feed" on literal events: who sees what, and that nothing else matters."""

from __future__ import annotations

from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from barnabas.pipeline.job import Frames
from barnabas.pipeline.jobs.feed import JOB, aggregate, refresh, summarize
from tests.pipeline.literal_events import START, Inputs, shuffled, values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


DAY_S = 24 * 3600


@pytest.fixture
def inputs(spark: SparkSession) -> Inputs:
    return Inputs(spark, [each.name for each in JOB.inputs])


def follow(
    inputs: Inputs, seconds: float, user: str, *followees: str, is_following: bool = True, **fields: Any
) -> None:
    for followee in followees:
        inputs.add("follow", seconds, user=user, followee=followee, is_following=is_following, **fields)


def post(inputs: Inputs, second: float, user: str, item: str, parent: str | None = None, **fields: Any) -> None:
    inputs.add("post", second, user=user, item=item, parent=parent, **fields)


def vote(inputs: Inputs, second: float, user: str, item: str, value: int = 1, **fields: Any) -> None:
    inputs.add("vote", second, user=user, item=item, value=value, **fields)


def view(inputs: Inputs, second: float, user: str | None, page: str, status: int = 200) -> None:
    inputs.add("page_view", second, address="192.0.2.1", user=user, method="GET", page=page, status=status)


def facts(inputs: Inputs) -> DataFrame:
    return inputs.facts(JOB)


def refreshed(facts: DataFrame, **parameters: float) -> Frames:
    """Compute what is derived from facts."""
    all_parameters = {**JOB.defaults(), **parameters}
    return refresh(aggregate({"feed_facts": facts, "all_feed_facts": facts}, all_parameters), all_parameters)


def feeds(inputs: Inputs, **parameters: float) -> dict[str, list[tuple]]:
    """Give the entries of each user as (verb, item, actors, actor_count, seconds)."""
    outputs = refreshed(facts(inputs), **parameters)
    return {row["user"]: [entry(each) for each in row["entries"]] for row in values(outputs["feed"])}


def entry(row: dict[str, Any]) -> tuple:
    assert list(row) == ["verb", "item", "actors", "actor_count", "time"]
    return row["verb"], row["item"], row["actors"], row["actor_count"], seconds(row["time"])


def seconds(time: datetime) -> float:
    """Give a time as seconds after `START`; Spark's rows have it in the zone of this machine."""
    return time.timestamp() - START.timestamp()


def test_nothing_gives_nothing(inputs: Inputs) -> None:
    assert feeds(inputs) == {}


def test_what_the_followed_did_is_told_newest_first_in_entries_that_name_the_newest(inputs: Inputs) -> None:
    # Each of these has people of its own.
    follow(inputs, 0, "ada", "bert", "carl")
    post(inputs, 10, "bert", "tea")
    post(inputs, 30, "bert", "answer", parent="coffee")
    vote(inputs, 20, "carl", "tea")
    vote(inputs, 40, "dora", "tea")
    vote(inputs, 50, "ada", "tea")
    # Several people's doings are one entry.
    people = ["fay", "gil", "hal", "ida", "jon"]
    follow(inputs, 0, "eve", *people)
    for second, user in enumerate(people):
        vote(inputs, second, user, "tea")
    vote(inputs, 4, "ida", "tea")
    # One's own are left out.
    follow(inputs, 0, "kim", "kim", "lea")
    follow(inputs, 0, "lea", "kim")
    post(inputs, 10, "kim", "tea")
    # The last follow event counts, by time, then by id.
    post(inputs, 100, "max", "tea")
    follow(inputs, 50, "ned", "max", is_following=False)
    follow(inputs, 10, "ned", "max")
    follow(inputs, 10, "oda", "max", is_following=False)
    follow(inputs, 50, "oda", "max")
    follow(inputs, 10, "pia", "max", is_following=False, id="2")
    follow(inputs, 10, "pia", "max", id="1")
    # A vote that is taken back, or against, is not told.
    follow(inputs, 0, "rob", "sue")
    vote(inputs, 20, "sue", "tea", 0)
    vote(inputs, 10, "sue", "tea", 1)
    vote(inputs, 10, "sue", "coffee", -1)
    vote(inputs, 10, "sue", "milk", -1)
    vote(inputs, 20, "sue", "milk", 1)
    # Views are a number of people who are logged in.
    viewers = ["una", "vic", "wes"]
    follow(inputs, 0, "tom", *viewers)
    for user in [*viewers, None, "una"]:
        view(inputs, 10, user, "/tea?from=mail")
        view(inputs, 10, user, "/missing", status=404)
    for user in viewers[:2]:
        view(inputs, 20, user, "/coffee")
    assert feeds(inputs) == {
        "ada": [
            ("commented on", "coffee", ["bert"], 1, 30),
            ("voted for", "tea", ["carl"], 1, 20),
            ("posted", "tea", ["bert"], 1, 10),
        ],
        "eve": [("voted for", "tea", ["ida", "jon", "hal"], 5, 4)],
        "lea": [("posted", "tea", ["kim"], 1, 10)],
        "oda": [("posted", "tea", ["max"], 1, 100)],
        "rob": [("voted for", "milk", ["sue"], 1, 20)],
        "tom": [("viewed", "/tea", [], 3, 10)],
    }
    found = feeds(inputs, least_viewers=2)
    assert found["tom"] == [("viewed", "/coffee", [], 2, 20), ("viewed", "/tea", [], 3, 10)]


def test_feed_ends_at_the_horizon_and_at_its_length_but_follows_do_not(inputs: Inputs) -> None:
    follow(inputs, 0, "ada", "bert")
    post(inputs, 1, "bert", "old")
    for number in range(5):
        post(inputs, 8 * DAY_S + number // 2, "bert", f"p{number}")
    assert [each[1] for each in feeds(inputs)["ada"]] == ["p4", "p2", "p3", "p0", "p1"]
    assert [each[1] for each in feeds(inputs, entries=3)["ada"]] == ["p4", "p2", "p3"]
    assert [each[1] for each in feeds(inputs, horizon_days=30.0)["ada"]][-1] == "old"


def test_only_the_newest_of_a_busy_user_reach_the_followers(inputs: Inputs) -> None:
    follow(inputs, 0, "ada", "bert", "carl")
    vote(inputs, 1, "carl", "tea")
    for number in range(4):
        vote(inputs, 1 + number, "bert", ["tea", "b", "c", "d"][number])
    found = feeds(inputs, entries=2, newest_per_user=2)["ada"]
    assert [(each[1], each[4]) for each in found] == [("d", 4), ("c", 3)]
    # The older vote of a busy user is missing where it would only be one more.
    assert feeds(inputs, entries=9, newest_per_user=2)["ada"][-1] == ("voted for", "tea", ["carl"], 1, 1)
    assert feeds(inputs, entries=9, newest_per_user=4)["ada"][-1] == ("voted for", "tea", ["bert", "carl"], 2, 1)


def happenings(seed: int) -> list[tuple[str, int, str, str, int]]:
    """Make up (what, second, user, item, value); many at the same second."""
    random = Random(seed)

    def one_of(count: int) -> int:
        return int(random.random() * count)

    made_up = []
    for number in range(400):
        what = ("follow", "vote", "post", "comment", "view")[number % 5]
        item = {"follow": f"u{one_of(9)}", "post": f"p{number}"}.get(what, f"/{one_of(12)}")
        made_up.append((what, one_of(600), f"u{one_of(9)}", item, one_of(3) - 1))
    return made_up


def plainly(made_up: list[tuple[str, int, str, str, int]]) -> dict[str, list[tuple]]:
    """Compute the feeds in plain Python; the later in the list has the higher id."""
    last: dict[tuple[str, str, str], tuple[int, int, int]] = {}
    for number, (what, second, user, item, value) in enumerate(made_up):
        last[what, user, item] = max(last.get((what, user, item), (-1, 0, 0)), (second, number, value))
    verbs = {"vote": "voted for", "post": "posted", "comment": "commented on", "view": "viewed"}
    found: dict[tuple[str, str, str], list[tuple[int, str]]] = {}
    for (what, user, actor), (_, _, is_following) in last.items():
        if what != "follow" or user == actor or is_following < 0:
            continue
        for (done, doer, item), (second, _, value) in last.items():
            if doer == actor and done in verbs and not (done == "vote" and value <= 0):
                found.setdefault((user, verbs[done], item), []).append((-second, actor))
    feeds: dict[str, list[tuple]] = {}
    for (user, verb, item), seen in found.items():
        if verb != "viewed" or len(seen) >= 3:
            actors = [] if verb == "viewed" else [actor for _, actor in sorted(seen)[:3]]
            feeds.setdefault(user, []).append((verb, item, actors, len(seen), -min(seen)[0]))
    return {user: sorted(told, key=lambda each: (-each[4], each[0], each[1]))[:50] for user, told in feeds.items()}


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.whole)])
def test_feeds_are_those_of_a_plain_computation_in_whatever_order(inputs: Inputs, seed: int) -> None:
    made_up = happenings(seed)
    for what, second, user, item, value in made_up:
        match what:
            case "follow":
                follow(inputs, second, user, item, is_following=value >= 0)
            case "vote":
                vote(inputs, second, user, item, value)
            case "post":
                post(inputs, second, user, item)
            case "comment":
                post(inputs, second, user, "c", item)
            case _:
                view(inputs, second, user, item)
    in_order = facts(inputs)
    for each in (in_order, shuffled(in_order, seed)):
        rows = values(refreshed(each)["feed"])
        assert {row["user"]: [entry(told) for told in row["entries"]] for row in rows} == plainly(made_up)


def test_summary_is_a_sentence_for_each_of_the_fullest_feeds(inputs: Inputs) -> None:
    people = ["bert", "carl", "dora", "emil", "fay"]
    follow(inputs, 0, "ada", *people)
    follow(inputs, 0, "zoe", *people)
    follow(inputs, 0, "yan", "carl")
    for user in people:
        view(inputs, 10, user, "/coffee")
    for user in people:
        vote(inputs, 20, user, "tea")
    (summary,) = summarize(refreshed(facts(inputs)), JOB.defaults())
    sentences = {row["user"]: row["newest_entry"] for row in summary.rows.collect()}
    told = "bert, carl, dora and 2 others voted for tea"
    assert sentences == {"ada": told, "zoe": told, "yan": "carl voted for tea"}
    feed = refreshed(facts(inputs), entries=1, least_viewers=1)
    assert seconds(values(feed["feed"])[0]["entries"][0]["time"]) == 20
