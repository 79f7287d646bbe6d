"""The job "security" on made-up actors, one of each kind, and on those who look like them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from barnabas.pipeline.events.types import FOLLOW, LOGIN, PAGE_VIEW, POST, VOTE
from barnabas.pipeline.facts import once
from barnabas.pipeline.jobs.security import JOB
from barnabas.pipeline.jobs.security.crawlers import VISITOR_SIGNS
from barnabas.pipeline.jobs.security.facts import with_seen
from barnabas.pipeline.jobs.security.rates import fast_minutes, find_too_fast
from barnabas.pipeline.jobs.security.scoring import Rule, Sign, judge
from barnabas.pipeline.jobs.security.user_agents import declared_pattern, is_declared
from tests.pipeline import security_scores
from tests.pipeline.activity import START, Event, tables_of
from tests.pipeline.literal_events import facts_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0"
HOME = "https://site.example"
Verdicts = dict[tuple[str, str], dict[str, object]]


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def view(seconds: float, address: str, page: str, referrer: str | None = None, agent: str = BROWSER) -> Event:
    fields = {"address": address, "method": "GET", "page": page, "status": 200, "referrer": referrer, "agent": agent}
    return PAGE_VIEW, {"time": after(seconds), **fields}


def login(seconds: float, address: str, user: str, is_success: bool = False) -> Event:
    return LOGIN, {
        "time": after(seconds),
        "address": address,
        "user": user,
        "is_success": is_success,
        "service": "/login",
    }


def post(seconds: float, user: str, text: str) -> Event:
    return POST, {"time": after(seconds), "user": user, "item": f"{user}-{seconds}", "text": text}


def vote(seconds: float, user: str, item: str) -> Event:
    return VOTE, {"time": after(seconds), "user": user, "item": item, "value": 1}


def readers() -> Iterator[Event]:
    """Ten people: a page after some time, its images with it, from the page before; one looks at 60 pages."""
    dice = random.Random(7)
    for person in range(10):
        seconds, page = dice.uniform(0, 7_200), "/"
        for step in range(60 if person == 0 else 12):
            seconds += dice.lognormvariate(2.7, 1.1)
            before, page = page, f"/item/{dice.randrange(200)}"
            yield view(seconds, f"10.0.0.{person}", page, HOME + before)
            for image in range(2 if step % 3 == 0 else 0):
                yield view(seconds + 0.2, f"10.0.0.{person}", f"/image{image}.png", HOME + page)


def machines() -> Iterator[Event]:
    """A scraper; one that asks for the feed each hour; a bot of one request; a fleet that asks 4 times each."""
    for number in range(60):
        yield view(5 * number + number % 3, "10.1.0.1", f"/item/{number}")
    for hour in range(30):
        yield view(3600 * hour + hour % 7, "10.1.0.2", "/feed.xml")
    yield view(10, "10.1.0.3", "/", agent="ExampleBot/1.0 (+https://bot.example)")
    for number in range(40):
        yield view(97 * number, f"10.2.0.{number // 4}", f"/item/{number}", agent="Mozilla/5.0 (compatible; Fleet 1)")


def logging_in() -> Iterator[Event]:
    """One address with 30 stolen names; twelve with 3 each; an office of people who mistype; a forgotten password."""
    for number in range(30):
        yield login(4 * number, "10.3.0.1", f"stolen{number}", is_success=number == 17)
    for number in range(36):
        yield login(20 * number, f"10.3.1.{number % 12}", f"leaked{number}")
    for number in range(40):
        yield login(600 * number, "10.3.0.2", f"clerk{number}")
        yield login(600 * number + 9, "10.3.0.2", f"clerk{number}", is_success=True)
    for number in range(8):
        yield login(15 * number, "10.3.0.3", "forgetful")
    for number in range(40):
        yield login(2 * number, "10.3.0.4", "root")


def accounts() -> Iterator[Event]:
    """A spammer, one who says thank you, a mass follower, a ring of five, and fifty honest votes for one item."""
    for number in range(12):
        yield post(60 * number**1.5, "spammer", f"Cheap watches {number}!! only here: https://shop.example/{number}")
        yield post(60 * number**1.5, "polite", "Thank you!")
        yield post(60 * number**1.5, "writer", "A sentence that nobody wrote before " + "abcdefghijkl"[number] * 3)
    for number in range(50):
        follow = {"user": "mass", "followee": f"member{number}", "is_following": True}
        yield FOLLOW, {"time": after(3 * number), **follow}
    for item in range(6):
        for member in range(5):
            yield vote(9_000 * item + 80 * member, f"ring{member}", f"/pushed/{item}")
    for number in range(50):
        yield vote(7 * number, f"honest{number}", "/popular")
        yield vote(4_000 + 911 * number, f"honest{number}", f"/item/{number % 9}")


def everything() -> list[Event]:
    return [*readers(), *machines(), *logging_in(), *accounts()]


def made_facts(spark: SparkSession, events: Sequence[Event]) -> DataFrame:
    return facts_of(spark, JOB, tables_of(JOB, events))


def verdicts_of(facts: DataFrame, **parameters: str | int) -> Verdicts:
    return by_subject(security_scores.verdicts_of(facts, {**JOB.defaults(), **parameters}))


def by_subject(verdicts: DataFrame) -> Verdicts:
    return {(row["subject_kind"], row["subject"]): row.asDict(recursive=True) for row in verdicts.collect()}


@pytest.fixture(scope="module")
def facts(spark: SparkSession) -> DataFrame:
    # Computed once for all that is asked of them.
    return made_facts(spark, everything()).localCheckpoint()


@pytest.fixture(scope="module")
def verdicts(facts: DataFrame) -> Verdicts:
    return verdicts_of(facts)


def test_each_actor_has_its_verdict_and_nobody_else_has_one(verdicts: Verdicts):
    found = {subject: verdict["what"] for subject, verdict in verdicts.items()}
    assert found == {
        ("visitor", f"10.1.0.1 {BROWSER}"): "scraper",
        ("visitor", f"10.1.0.2 {BROWSER}"): "crawler",
        ("visitor", "10.1.0.3 ExampleBot/1.0 (+https://bot.example)"): "declared_bot",
        ("agent", "Mozilla/5.0 (compatible; Fleet 1)"): "crawler",
        ("address", "10.3.0.1"): "credential_stuffing",
        **{("address", f"10.3.1.{number}"): "credential_stuffing" for number in range(12)},
        ("address", "10.3.0.4"): "password_guessing",
        ("user", "spammer"): "spammer",
        ("user", "mass"): "spammer",
        **{("user", f"ring{number}"): "vote_ring" for number in range(5)},
    }


def test_a_verdict_says_why_with_its_figures_and_its_times(verdicts: Verdicts):
    scraper = verdicts["visitor", f"10.1.0.1 {BROWSER}"]
    assert (scraper["address"], scraper["agent"], scraper["user"]) == ("10.1.0.1", BROWSER, None)
    assert not scraper["is_declared"]
    assert scraper["score"] == 0.9
    assert scraper["why"] == (
        "asked for 60 pages and next to none of their images and styles; "
        "a page every 5.0 s, give or take 28 %; 100 % of its page requests name no referrer; "
        "hardly asked for a page twice: 60 different ones in 60"
    )
    evidence = scraper["evidence"]
    assert isinstance(evidence, dict)
    assert evidence["signs"] == ["no_assets", "steady_pace", "no_referrer", "breadth"]
    shown = ("points", "requests", "distinct_pages", "no_referrer_share", "robots_txt_requests", "attempts")
    assert [evidence[name] for name in shown] == [9, 60, 60, 1.0, 0, None]
    seen = START.replace(tzinfo=None), (START + timedelta(seconds=5 * 59 + 59 % 3)).replace(tzinfo=None)
    assert (scraper["first_seen"], scraper["last_seen"]) == seen
    assert scraper["until"] == seen[1] + timedelta(hours=168)


def test_a_campaign_is_told_by_its_neighbours(verdicts: Verdicts):
    one_of_many = verdicts["address", "10.3.1.7"]
    # The twelve with three names each, and the one whose 29 names never got in.
    assert "is one of 13 addresses that tried 65 names within an hour" in str(one_of_many["why"])


def test_repeats_and_their_order_change_nothing_and_who_is_allowed_gets_no_verdict(
    spark: SparkSession, verdicts: Verdicts
):
    events = [(kind, {"id": str(number), **fields}) for number, (kind, fields) in enumerate(everything())]
    again = [*events, *events[::2]]
    random.Random(3).shuffle(again)
    facts = made_facts(spark, again)
    allowed = {("address", "10.3.0.1"), ("user", "spammer")}
    others = {subject: verdict for subject, verdict in verdicts.items() if subject not in allowed}
    assert len(others) == len(verdicts) - 2
    assert verdicts_of(facts.repartition(3), allow="10.3.0.1, spammer") == others


def test_old_events_can_be_left_out(facts: DataFrame):
    # On the second day there was the feed's reader alone.
    assert verdicts_of(facts, lookback_days=1).keys() == {("visitor", f"10.1.0.2 {BROWSER}")}


def test_an_event_is_seen_at_most_an_hour_after_its_record_was_written(spark: SparkSession):
    cases = [
        ("2026-03-06 08:00:00", "2026-03-06 08:00:00", "2026-03-06 08:00:00"),
        ("2015-05-17 10:05:03", "2026-03-06 08:00:00", "2015-05-17 10:05:03"),
        ("2026-03-06 09:00:00", "2026-03-06 08:00:00", "2026-03-06 09:00:00"),
        ("2026-03-06 09:00:01", "2026-03-06 08:00:00", "2026-03-06 09:00:00"),
        ("9999-12-31 23:59:59", "2026-03-06 08:00:00", "2026-03-06 09:00:00"),
        # Records of message format 0 have no timestamp: it is -1.
        ("2026-03-06 08:00:00", "1969-12-31 23:59:59.999", "2026-03-06 08:00:00"),
    ]
    facts = spark.createDataFrame(cases, "time STRING, _timestamp STRING, expected STRING")
    facts = facts.selectExpr("timestamp(time) AS time", "timestamp(_timestamp) AS _timestamp", "expected")
    assert [row for row in with_seen(facts).selectExpr("string(seen)", "expected").collect() if row[0] != row[1]] == []


def test_a_wrong_clock_hides_nobody_and_prolongs_no_verdict(spark: SparkSession, facts: DataFrame, verdicts: Verdicts):
    from pyspark.sql import functions as F

    never = (datetime(9999, 12, 31, tzinfo=UTC) - START).total_seconds()
    events = [
        view(never, "10.1.0.1", "/"),
        login(never, "10.3.0.1", "stolen0"),
        post(never, "spammer", "Cheap watches"),
        vote(never, "ring0", "/pushed/0"),
        vote(never, "nobody", "/item/0"),
    ]
    wrong = made_facts(spark, [(kind, {"id": f"wrong-{number}", **each}) for number, (kind, each) in enumerate(events)])
    wrong = wrong.withColumn("_timestamp", F.lit(after(90_000)))
    found = verdicts_of(facts.unionByName(wrong), lookback_days=30)
    assert found.keys() == verdicts.keys()
    # They were seen at most an hour after the record was written.
    last_seen = after(90_000 + 3_600).replace(tzinfo=None)
    accused = ("visitor", f"10.1.0.1 {BROWSER}"), ("address", "10.3.0.1"), ("user", "spammer"), ("user", "ring0")
    for subject in accused:
        assert found[subject]["last_seen"] == last_seen
        assert found[subject]["until"] == last_seen + timedelta(hours=168)


def asked(second: float, number: int, address: str, user: str, target: str) -> list[Event]:
    fields = {"address": address, "method": "POST", "page": target, "status": 429, "user": user, "agent": BROWSER}
    return [(PAGE_VIEW, {"time": after(second + n / 10), **fields}) for n in range(number)]


def test_who_asks_for_more_than_is_stated_has_a_verdict(spark: SparkSession):
    events = [
        *asked(0, 3, "192.0.2.1", "ada", "/api/a?x=1&api_key=t1"),
        *asked(10, 1, "192.0.2.2", "ada", "/api/a?api_key=t1"),
        *asked(20, 2, "192.0.2.1", "ada", "/api/b"),
        *asked(30, 9, "192.0.2.1", "ada", "/page"),
        # As many as may be, in each of two minutes; and too many in another one, in the next hour.
        *asked(3_599, 3, "192.0.2.2", "bob", "/api/a?api_key=t2"),
        *asked(3_600, 3, "192.0.2.2", "bob", "/api/a?api_key=t2"),
        *asked(3_630, 1, "192.0.2.2", "eve", "/api/a"),
        *asked(7_200, 4, "192.0.2.3", "fay", "/api/a?api_key=t3"),
    ]
    # One came twice.
    kind, fields = events[0]
    events[0] = kind, {**fields, "id": "twice"}
    facts = made_facts(spark, [*events, events[0]]).localCheckpoint()
    parameters: dict[str, str | int] = {"rate_limit": 3, "rate_targets": "^/api/"}

    def most(found: Verdicts) -> dict[tuple[str, str], int]:
        told: dict[tuple[str, str], Any] = {subject: verdict["evidence"] for subject, verdict in found.items()}
        return {subject: evidence["requests_in_a_minute"] for subject, evidence in told.items()}

    def rates(by: str) -> Verdicts:
        chosen = {**JOB.defaults(), **parameters, "rate_by": by}
        return by_subject(find_too_fast(fast_minutes(once(with_seen(facts)), chosen), chosen))

    found = verdicts_of(facts, **parameters, rate_by="token", allow="t3")
    assert most({subject: each for subject, each in found.items() if each["what"] == "rate"}) == {("token", "t1"): 4}
    assert most(rates("user")) == {("user", "ada"): 6, ("user", "fay"): 4}
    found = rates("address")
    assert most(found) == {("address", f"192.0.2.{number}"): count for number, count in ((1, 5), (2, 4), (3, 4))}
    second = found["address", "192.0.2.2"]
    assert second["why"] == "made 4 requests within a minute, where 3 may be; too many in 1 minute"
    assert (second["score"], second["address"], second["user"]) == (1.0, "192.0.2.2", None)
    last_seen = after(3_630).replace(tzinfo=None)
    assert (second["last_seen"], second["until"]) == (last_seen, last_seen + timedelta(hours=1))


def test_without_events_there_are_no_verdicts(spark: SparkSession):
    assert verdicts_of(made_facts(spark, [])) == {}


def test_points_add_up_and_only_signs_that_hold_are_given_as_reasons(spark: SparkSession):
    signs = (
        Sign("many", 3, "pages > 10", "concat(pages, ' pages')"),
        Sign("fails", 2, "errors > 5", "concat(errors, ' errors')"),
        Sign("takes_part", -3, "votes > 0", "'but votes'"),
    )
    seen = datetime(2026, 3, 6, tzinfo=UTC)
    figures = spark.createDataFrame(
        [
            ("both", 11, 6, 0, seen, seen),
            ("one", 11, 0, 0, seen, seen),
            ("votes", 11, 6, 1, seen, seen),
            ("unknown", 11, 6, None, seen, seen),
            ("none", 0, 0, 0, seen, seen),
        ],
        "user STRING, pages INT, errors INT, votes INT, first_seen TIMESTAMP, last_seen TIMESTAMP",
    )
    found = judge(figures, Rule("if(pages > 100, 'worse', 'bad')", signs, 5), "user", ("user",), 24).collect()
    assert [(row["subject"], row["what"], row["why"], row["evidence"]["points"]) for row in found] == [
        ("both", "bad", "11 pages; 6 errors", 5),
        ("unknown", "bad", "11 pages; 6 errors", 5),
    ]
    assert found[0]["until"] - found[0]["last_seen"] == timedelta(hours=24)
    # Only twice the points are as sure as it gets.
    assert found[0]["score"] == 0.5


def test_no_verdict_expires_after_the_year_9999(spark: SparkSession):
    seen = datetime(9999, 12, 31, tzinfo=UTC)
    figures = spark.createDataFrame([("mallory", seen, seen)], "user STRING, first_seen TIMESTAMP, last_seen TIMESTAMP")
    rule = Rule("'bad'", (Sign("any", 5, "true", "'any'"),), 5)
    (row,) = judge(figures, rule, "user", ("user",), 168).selectExpr("string(until)").collect()
    assert row[0] == "9999-12-31 23:59:59"


# What a person's figures are, as far as the signs look at them.
PERSON: dict[str, object] = {
    "site_asset_share": 0.5,
    "site_referrer_share": 0.5,
    "requests": 60,
    "pages": 40,
    "asset_share": 0.3,
    "no_referrer_share": 0.2,
    "least_referrer": 1,
    "greatest_referrer": 2,
    "error_share": 0.01,
    "head_share": 0.0,
    "top_page_share": 0.2,
    "distinct_pages": 25,
    "distinct_share": 0.6,
    "robots_txt_requests": 0,
    "paced_gaps": 35,
    "seconds_between_pages": 20.0,
    "pace_variation": 1.2,
    "hours_of_day": 6,
    "longest_pause_hours": 14.0,
    "span_hours": 40.0,
    "actions": 0,
}
SIGNS_OF: dict[str, dict[str, object]] = {
    "": {},
    "no_assets": {"asset_share": 0.0},
    "steady_pace": {"pace_variation": 0.3},
    "around_the_clock": {"hours_of_day": 20, "longest_pause_hours": 3.0},
    "no_referrer": {"no_referrer_share": 1.0},
    "one_referrer": {"greatest_referrer": 1},
    "robots_txt": {"robots_txt_requests": 1},
    "one_page": {"top_page_share": 0.9},
    "heads": {"head_share": 0.6},
    "fast": {"seconds_between_pages": 1.1},
    "breadth": {"distinct_share": 0.95},
    "errors": {"error_share": 0.4},
    "takes_part": {"actions": 3},
}
NO_SIGN_OF: tuple[dict[str, object], ...] = (
    # The site serves no images, or its log names no referrers.
    {"asset_share": 0.0, "site_asset_share": 0.0},
    {"no_referrer_share": 1.0, "site_referrer_share": 0.0},
    # Steady in a few pages, a day that is not over, a few pages that are different by chance.
    {"pace_variation": 0.2, "paced_gaps": 11},
    {"pace_variation": 0.4, "paced_gaps": 16},
    {"hours_of_day": 20, "longest_pause_hours": 3.0, "span_hours": 20.0},
    {"distinct_share": 1.0, "distinct_pages": 12},
    # Nothing is known.
    {"pace_variation": None, "seconds_between_pages": None, "no_referrer_share": None, "top_page_share": None},
)


def test_each_sign_of_a_crawler_holds_for_what_it_says_alone(spark: SparkSession):
    from pyspark.sql import functions as F

    cases = [(name, {**PERSON, **change}) for name, change in SIGNS_OF.items()]
    cases += [("", {**PERSON, **change}) for change in NO_SIGN_OF]
    schema = "name STRING, " + ", ".join(
        f"{name} {'DOUBLE' if isinstance(value, float) else 'BIGINT'}" for name, value in PERSON.items()
    )
    figures = spark.createDataFrame([(name, *values.values()) for name, values in cases], schema)
    held = F.concat_ws(",", *(F.when(F.expr(sign.condition), F.lit(sign.name)) for sign in VISITOR_SIGNS))
    assert [tuple(row) for row in figures.select("name", held).collect() if row[0] != row[1]] == []
    assert set(SIGNS_OF) == {"", *(sign.name for sign in VISITOR_SIGNS)}


def test_spark_reads_agents_as_python_does(spark: SparkSession):
    from crawleruseragents import CRAWLER_USER_AGENTS_DATA
    from pyspark.sql import functions as F

    agents = sorted({agent for entry in CRAWLER_USER_AGENTS_DATA for agent in entry["instances"][:1]} | {BROWSER, ""})
    rows = spark.createDataFrame([(agent,) for agent in agents], "agent STRING")
    found = rows.where(F.col("agent").rlike(declared_pattern())).collect()
    assert {row["agent"] for row in found} == {agent for agent in agents if is_declared(agent)}
    assert {BROWSER, ""} == {agent for agent in agents if not is_declared(agent)}
