"""The job "ranking" on literal events: what counts, how it fades, and that nothing else matters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from barnabas.pipeline.job import Frames, Summary, TopicInput, Value
from barnabas.pipeline.jobs.ranking import JOB, aggregate, refresh, summarize
from barnabas.pipeline.sources.social import SitePlan, write_jsonl
from tests.pipeline.generated_events import inputs_from
from tests.pipeline.literal_events import Inputs, at, facts_of, shuffled, values, verdicts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


HOUR_S = 3600
DAY_S = 24 * HOUR_S


@pytest.fixture
def inputs(spark: SparkSession) -> Inputs:
    return Inputs(spark, [each.name for each in JOB.inputs if isinstance(each, TopicInput)])


def view(inputs: Inputs, seconds: float, page: str, **fields: object) -> None:
    inputs.add("page_view", seconds, **{"address": "192.0.2.1", "method": "GET", "page": page, "status": 200, **fields})


def vote(inputs: Inputs, seconds: float, user: str, item: str, value: int, **fields: object) -> None:
    inputs.add("vote", seconds, user=user, item=item, value=value, **fields)


def search(inputs: Inputs, seconds: float, query: str) -> None:
    inputs.add("search", seconds, address="192.0.2.1", query=query)


def click(inputs: Inputs, seconds: float, item: str, query: str | None = None, **fields: object) -> None:
    inputs.add("click", seconds, address="192.0.2.1", item=item, query=query, **fields)


def facts(inputs: Inputs) -> DataFrame:
    return inputs.facts(JOB)


def refreshed(facts: DataFrame, accused: DataFrame | None = None, /, **parameters: Value) -> Frames:
    """Compute what is derived from facts, and verdicts."""
    all_parameters = {**JOB.defaults(), **parameters}
    read = {} if accused is None else {"verdicts": accused}
    # As a run does it: results are computed from aggregates that are written.
    hours = {
        name: rows.localCheckpoint()
        for name, rows in aggregate({"ranking_facts": facts, **read}, all_parameters).items()
    }
    return {**read, **hours, **refresh(hours, all_parameters)}


def ranked(inputs: Inputs, **parameters: float) -> tuple[dict[str, dict], dict[tuple[str, str], dict]]:
    """Give the ranking's rows by item, and those of the ranking by query, by query and item."""
    outputs = refreshed(facts(inputs), **parameters)
    return (
        {row["item"]: row for row in values(outputs["ranking"])},
        {(row["query"], row["item"]): row for row in values(outputs["query_ranking"])},
    )


def test_nothing_gives_nothing(inputs: Inputs) -> None:
    assert ranked(inputs) == ({}, {})


def test_what_counts_for_an_item(inputs: Inputs) -> None:
    # Views of pages that were shown, without their query.
    for page in ["/a", "/a?utm_source=x", "/a#end", "/b?a=1?b=2"]:
        view(inputs, 0, page)
    view(inputs, 0, "/a", status=304)
    view(inputs, 0, "/a", status=404)
    view(inputs, 0, "/a", status=500)
    view(inputs, 0, "/a", status=302)
    view(inputs, 0, "/a", method="POST")
    # A user's last vote, whatever came last; of two at the same time the one with the greater id.
    vote(inputs, 20, "ada", "/c", -1)
    vote(inputs, 10, "ada", "/c", 1)
    vote(inputs, 10, "bert", "/c", 1)
    vote(inputs, 10, "carl", "/c", 1)
    vote(inputs, 11, "carl", "/c", 0)
    vote(inputs, 10, "ada", "/d", 5)
    vote(inputs, 10, "dora", "/e", 1)
    vote(inputs, 11, "dora", "/e", 0)
    vote(inputs, 0, "ada", "/f", -1, id="2")
    vote(inputs, 0, "ada", "/f", 1, id="1")
    # Repeats once.
    for _ in range(3):
        view(inputs, 0, "/same", id="same")
        search(inputs, 0, "tea")
        click(inputs, 0, "/same", "tea", id="same")
    items, pairs = ranked(inputs)
    counted = {
        item: (row["views"], row["votes_for"], row["votes_against"], row["clicks"], row["score"])
        for item, row in items.items()
        if item != "/same"
    }
    assert counted == {
        "/a": (4, 0, 0, 0, 4.0),
        "/b": (1, 0, 0, 0, 1.0),
        "/c": (0, 1, 1, 0, 0.0),
        "/d": (0, 1, 0, 0, 10.0),
        "/f": (0, 0, 1, 0, -10.0),
    }
    # Nobody searched for it, so it has the rate that all start with.
    assert items["/a"]["click_through_rate"] == 0.05
    assert (items["/same"]["views"], items["/same"]["clicks"]) == (1, 1)
    assert {pair: row["clicks"] for pair, row in pairs.items()} == {("tea", "/same"): 1}


def test_score_halves_by_the_half_life_and_ends_at_the_horizon_and_changes_only_with_the_hour(inputs: Inputs) -> None:
    view(inputs, 0, "/two")
    view(inputs, DAY_S, "/one")
    view(inputs, 2 * DAY_S, "/now")
    view(inputs, 2 * DAY_S + HOUR_S - 1, "/later")
    items, _ = ranked(inputs)
    scores = {"/two": 0.25, "/one": 0.5, "/now": 1.0, "/later": 1.0}
    assert {item: row["score"] for item, row in items.items()} == scores
    items, _ = ranked(inputs, half_life_hours=12.0, horizon_half_lives=3)
    assert {item: row["score"] for item, row in items.items()} == {"/one": 0.25, "/now": 1.0, "/later": 1.0}


def test_wrong_clock_does_not_make_everything_old(inputs: Inputs) -> None:
    view(inputs, 0, "/a")
    view(inputs, 900 * DAY_S, "/b", _timestamp=at(0))
    items, _ = ranked(inputs)
    assert items.keys() == {"/a"}


def test_click_through_rate_is_smoothed_clicks_per_search(inputs: Inputs) -> None:
    for query in ["tea", " TEA", "Tea\t", "tea  pot", "tea pot"]:
        search(inputs, 0, query)
    click(inputs, 1, "/green?from=search", "tea")
    click(inputs, 1, "/green", "Tea")
    click(inputs, 1, "/black", "tea")
    click(inputs, 1, "/black", "tea pot")
    click(inputs, 1, "/black", None)
    click(inputs, 1, "/black", "  ")
    items, pairs = ranked(inputs, prior_clicks=1, prior_searches=7)
    rates = {pair: (row["searches"], row["clicks"], row["click_through_rate"]) for pair, row in pairs.items()}
    assert rates == {
        ("tea", "/green"): (3, 2, 0.3),
        ("tea", "/black"): (3, 1, 0.2),
        ("tea pot", "/black"): (2, 1, 0.222222),
    }
    assert (items["/black"]["clicks"], items["/black"]["click_through_rate"]) == (4, 0.25)


def test_clicks_without_searches_are_no_rate_above_one(inputs: Inputs) -> None:
    for _ in range(4):
        click(inputs, 0, "/a", "tea")
    _, pairs = ranked(inputs, prior_clicks=0, prior_searches=0)
    assert (pairs["tea", "/a"]["searches"], pairs["tea", "/a"]["click_through_rate"]) == (0, 1.0)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.whole) for seed in (2, 3))])
def test_order_batches_and_repeats_of_the_facts_do_not_matter(spark: SparkSession, inputs: Inputs, seed: int) -> None:
    random = Random(20_261_121)
    for number in range(300):
        item, user, second = f"/{int(random.random() * 9)}", f"u{int(random.random() * 7)}", random.random() * 9 * DAY_S
        match number % 4:
            case 0:
                view(inputs, second, item)
            case 1:
                vote(inputs, second, user, item, int(random.random() * 3) - 1)
            case 2:
                search(inputs, second, user)
            case _:
                click(inputs, second, item, user)
    in_order = facts(inputs)
    expected = refreshed(in_order)
    found = refreshed(shuffled(in_order, seed))
    for name in ("ranking", "query_ranking"):
        assert values(found[name]) == values(expected[name])
        assert found[name].schema == expected[name].schema


def test_votes_of_a_made_up_site_are_those_that_were_cast(spark: SparkSession, tmp_path: Path) -> None:
    plan = SitePlan(seed=21, duration_s=6 * HOUR_S, events_per_s=1.0)
    truth = write_jsonl(replace(plan, shares=replace(plan.shares, broken=0.0)), tmp_path)
    made_up = facts_of(spark, JOB, inputs_from(JOB, tmp_path))
    votes = refreshed(made_up)["ranking"].selectExpr("item", "votes_for - votes_against")
    best = sorted(([item, votes] for item, votes in votes.collect()), key=lambda each: (-each[1], each[0]))
    assert best[:20] == truth["top_items_by_votes"]


def test_summary_names_the_best_first(inputs: Inputs) -> None:
    view(inputs, 0, "/a")
    vote(inputs, 0, "ada", "/b", 1)
    search(inputs, 0, "tea")
    click(inputs, 0, "/a", "tea")
    click(inputs, 0, "/c", "tea")
    click(inputs, 0, "/c", "tea")
    items, queries, left_out = summarize(refreshed(facts(inputs)), JOB.defaults())
    assert [row["item"] for row in items.rows.collect()] == ["/b", "/c", "/a"]
    assert [(row["query"], row["item"]) for row in queries.rows.collect()] == [("tea", "/c")]
    assert left_out.title == "nobody is left out, as there is no table of verdicts: run the job security"
    assert [tuple(row) for row in left_out.rows.collect()] == [
        ("click", 3, 0),
        ("search", 1, 0),
        ("view", 1, 0),
        ("vote", 1, 0),
    ]


def test_accused_count_nowhere_and_are_told_apart(spark: SparkSession, inputs: Inputs) -> None:
    view(inputs, 0, "/a", address="192.0.2.1", agent="Browser")
    view(inputs, 0, "/a", address="192.0.2.2", agent="Browser")
    view(inputs, 0, "/a", address="192.0.2.3", agent="Crawler/1.0")
    view(inputs, 0, "/a", address="192.0.2.4")
    view(inputs, 0, "/b", address="192.0.2.5", agent="")
    click(inputs, 0, "/b", "tea", agent="Crawler/1.0")
    search(inputs, 0, "tea")
    vote(inputs, 0, "ada", "/a", 1, address="192.0.2.1", agent="Browser")
    vote(inputs, 0, "bert", "/a", 1, address="192.0.2.2", agent="Browser")
    vote(inputs, 1, "ada", "/a", -1, address="192.0.2.2", agent="Browser")
    accused = verdicts(
        spark,
        ("scraper", "visitor", {"address": "192.0.2.2", "agent": "Browser"}),
        ("crawler", "visitor", {"address": "192.0.2.5", "agent": "-"}),
        ("declared_bot", "agent", {"agent": "Crawler/1.0"}),
        ("credential_stuffing", "address", {"address": "192.0.2.4"}),
        ("vote_ring", "user", {"user": "ada"}),
    )

    def counted(leave_out: Value) -> tuple[list[tuple], Summary]:
        tables = refreshed(facts(inputs), accused, leave_out=leave_out)
        columns = ("item", "views", "clicks", "votes_for", "votes_against", "left_out")
        *_, left_out = summarize(tables, {**JOB.defaults(), "leave_out": leave_out})
        return [tuple(row) for row in tables["ranking"].select(*columns).orderBy("item").collect()], left_out

    # Somebody's earlier vote counts, where the later one is a scraper's.
    rows, left_out = counted(JOB.defaults()["leave_out"])
    assert rows == [("/a", 2, 0, 1, 0, 4)]
    assert left_out.title == "left out, by the job security: declared_bot, crawler, scraper"
    told = [tuple(row) for row in left_out.rows.collect()]
    assert told == [("click", 0, 1), ("search", 1, 0), ("view", 2, 3), ("vote", 1, 2)]
    rows, _ = counted("credential_stuffing, vote_ring")
    assert rows == [("/a", 3, 0, 1, 0, 2), ("/b", 1, 1, 0, 0, 0)]
    rows, left_out = counted("")
    assert rows == [("/a", 4, 0, 1, 1, 0), ("/b", 1, 1, 0, 0, 0)]
    assert left_out.title == "nobody is left out (leave_out is empty)"
