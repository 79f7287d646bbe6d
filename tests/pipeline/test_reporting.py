"""Every number of the reporting job equals an independent computation, in DuckDB, on the same lines and events."""

from __future__ import annotations

import gzip
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from barnabas.pipeline.events.encode import encode_json
from barnabas.pipeline.events.parse import parsed
from barnabas.pipeline.events.types import CLICK, EVENT_TYPES, LOGIN, PAGE_VIEW, POST, SEARCH, VOTE
from barnabas.pipeline.job import PLACE, TopicInput, Value
from barnabas.pipeline.jobs.reporting import DAYS, JOB, RESULTS, funnel
from barnabas.pipeline.jobs.reporting.facts import FACTS
from barnabas.pipeline.sources.access_log import View, parse_line, read_lines
from barnabas.pipeline.sources.access_log_events import access_log_lines, most_common_site
from barnabas.pipeline.sources.log_lines import RawLine
from tests.pipeline.literal_events import facts_of, verdicts
from tests.pipeline.reporting_sql import Reckoning, Rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_PLACE = "_topic STRING, _partition INT, _offset BIGINT, _timestamp TIMESTAMP"
_NO_TIME = datetime(2026, 1, 1, tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1)

AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0)",
    "Mozilla/5.0 (compatible; Examplebot/2.1; +http://bots.example/)",
    "Tiny RSS/1.0",
    'agent with \\"quotes\\" and ünï 漢字',
    "-",
    "",
)
PAGES = (
    "/",
    "/?q=1",
    "/shop/a?ref=x#top",
    "/shop/b",
    "/thanks",
    "/style.css?v=3",
    "/a.PNG",
    "/漢字/שלום",
    "?",
    "http://other.example/x?y",
    "/x.pngx",
    "*",
    "/robots.txt",
)
REFERRERS = (
    "-",
    "",
    "https://www.Example.ORG:8443/x?y",
    "http://user:secret@shop.example/",
    "https://search.example?q=a",
    "android-app://com.example/",
    "no url",
    "http://[2001:db8::1]:80/a",
    'http://a\\"b/',
)
BROKEN = (
    "",
    "half of a line",
    '192.0.2.1 - - [29/Feb/2024:10:00:00 +0000] "GET /cut',
    '192.0.2.1 - - [30/Feb/2024:10:00:00 +0000] "GET / HTTP/1.1" 200 1',
    '192.0.2.1 - - [29/Feb/2024:10:00:60 +0000] "GET / HTTP/1.1" 200 1',
    '192.0.2.1 - - [29/feb/2024:10:00:00 +0000] "GET / HTTP/1.1" 200 1',
    '192.0.2.1 - - [01/Jan/1970:00:00:00 +0100] "GET / HTTP/1.1" 200 1',
    '192.0.2.1 - - [29/Feb/2024:10:00:00 +0000] "GET / HTTP/1.1" 20 1',
    '192.0.2.1 - - [29/Feb/2024:10:00:00 +0000] "GET / HTTP/1.1" 200 1x',
    '192.0.2.1 - - [29/Feb/2024:10:00:00 +0000] "\\x16\\x03\\x01" 400 0 "-" "-"',
    '192.0.2.1 - - [29/Feb/2024:10:00:00 +0000] "GET /a b HTTP/1.1" 200 1 "-" "-"',
    '192.0.2.1 - - [29/Feb/2024:10:00:00 +0000] "GET /\x01 HTTP/1.1" 200 1 "-" "-"',
    '192.0.2.1  - [29/Feb/2024:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "-"',
    '192.0.2.1 - - [29/Feb/2024:10:00:00 +0000] "GET /' + "x" * 65_536 + ' HTTP/1.1" 200 1',
)


def odd_log(path: Path, seed: int, line_count: int) -> None:
    """Write a log of a few visitors over three days, with lines that are none and fields that are odd."""
    dice = random.Random(seed)
    now = datetime(2024, 2, 28, 20, 0, tzinfo=UTC)
    with path.open("w", encoding="utf-8", newline="") as file:
        for _ in range(line_count):
            now += timedelta(seconds=dice.choice((0, 0, 1, 30, 59, 600, 1_800, 1_801)) // dice.choice((1, 1, 20)))
            if dice.random() < 0.04:
                file.write(dice.choice(BROKEN) + dice.choice(("\n", "\r\n")))
                continue
            zone = timezone(timedelta(minutes=dice.choice((0, 0, 0, 330, -570, 840))))
            time = (now - timedelta(seconds=dice.choice((0, 0, 0, 5, 59)))).astimezone(zone)
            line = (
                f"{dice.choice(('192.0.2.1', '192.0.2.2', '2001:db8::1', 'host.example'))} - "
                f"{dice.choice(('-', 'frank', 'a [b', 'John Smith'))} [{time:%d/%b/%Y:%H:%M:%S %z}] "
                f'"{dice.choice(("GET", "POST", "head"))} {dice.choice(PAGES)}{dice.choice((" HTTP/1.1", ""))}" '
                f"{dice.choice((200, 200, 200, 301, 404, 410, 400, 500, 503, 101, 999))} "
                f"{dice.choice(('-', '0', '17', '203023', '999999999999999'))}"
            )
            tail = f' "{dice.choice(REFERRERS)}" "{dice.choice(AGENTS)}"'
            file.write(line + dice.choice((tail, tail, tail, "", tail[:-3])) + dice.choice(("\n", "\r\n")))


def other_events(seed: int, event_count: int) -> Rows:
    """Clicks, searches, votes, posts and logins: rows of the table `others`, some of them twice."""
    dice = random.Random(seed)
    rows: Rows = []
    for number in range(event_count):
        if rows and dice.random() < 0.05:
            rows.append(dice.choice(rows))
            continue
        kind = dice.choice((CLICK, SEARCH, VOTE, POST, LOGIN)).name
        query = dice.choice(("Kafka  Broker", "kafka broker ", "\tkafka\nbroker", "ÄPFEL", "äpfel", "", None))
        if kind == SEARCH.name:
            query = query or "x"
        address = dice.choice(("192.0.2.1", "192.0.2.2", "203.0.113.9"))
        rows.append(
            (
                kind,
                f"{kind}-{number}",
                datetime(2024, 2, 28, 20) + timedelta(milliseconds=dice.randrange(3 * 86_400_000)),
                None if kind in (VOTE.name, POST.name) and dice.random() < 0.2 else address,
                dice.choice((*AGENTS[:4], None)),
                dice.choice(PAGES) if kind in (CLICK.name, VOTE.name, POST.name) else None,
                query if kind in (CLICK.name, SEARCH.name) else None,
                dice.choice(("/login", "sshd")) if kind == LOGIN.name else None,
                dice.random() < 0.5 if kind == LOGIN.name else None,
                dice.choice((0, 1, None)) if kind == SEARCH.name else None,
            )
        )
    return rows


def view_event(view: View) -> dict[str, Any]:
    return {
        "type": PAGE_VIEW.name,
        "version": 1,
        "id": f"log:{view.line}",
        "time": datetime.fromtimestamp(view.time_s, UTC),
        "address": view.address,
        "method": view.method,
        "page": view.page,
        "status": view.status,
        "bytes": view.size_bytes,
        "referrer": view.referrer,
        "agent": view.agent,
    }


def other_event(row: tuple[Any, ...]) -> dict[str, Any]:
    kind, identity, time, address, agent, item, query, service, is_success, result_count = row
    return {
        "type": kind,
        "version": 1,
        "id": identity,
        "time": time.replace(tzinfo=UTC),
        "address": address,
        "agent": agent,
        "item": item,
        "query": query,
        "service": service,
        "is_success": is_success,
        "result_count": result_count,
        "user": "u",
        "value": 1,
    }


def in_topics(spark: SparkSession, events: list[dict[str, Any]], seed: int) -> dict[str, DataFrame]:
    """Put events into topics of three partitions by address, in their order; the rows come in any order."""
    dice = random.Random(seed)
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in EVENT_TYPES}
    ends: Counter[tuple[str, int]] = Counter()
    for event in events:
        kind = EVENT_TYPES[event["type"]]
        partition = len(event["address"] or "") % 3
        values = tuple(event.get(field.name) for field in kind.fields)
        rows[kind.name].append((*values, kind.topic, partition, ends[kind.topic, partition], _NO_TIME))
        ends[kind.topic, partition] += 1
    for of_type in rows.values():
        dice.shuffle(of_type)
    return {
        name: spark.createDataFrame(of_type, f"{EVENT_TYPES[name].ddl}, {_PLACE}")
        for name, of_type in rows.items()
        if name in {given.name for given in JOB.inputs if isinstance(given, TopicInput)}
    }


# What people are told, in these tables and in those that go over several days.
TOLD = (*RESULTS, *DAYS[:5])


def refreshed(
    facts: DataFrame, parameters: Mapping[str, Value], found: Sequence[tuple[str, str]] = ()
) -> dict[str, DataFrame]:
    """Compute what is derived from facts, and from verdicts on visitors."""
    assert JOB.aggregate is not None
    assert JOB.refresh is not None
    read = {FACTS: facts}
    if found:
        accused = [("crawler", "visitor", {"address": address, "agent": agent or "-"}) for address, agent in found]
        read["verdicts"] = verdicts(facts.sparkSession, *accused)
    days = JOB.aggregate(read, parameters)
    tables = {**days, **JOB.refresh(days, parameters)}
    return {name: tables[name].drop("unit") for name in TOLD}


def plain_rows(rows: DataFrame) -> Rows:
    """Give rows with their times as UTC without a zone, whatever the session's zone is."""
    from pyspark.sql import functions as F

    times = {field.name for field in rows.schema.fields if field.dataType.simpleString() == "timestamp"}
    found = rows.select(*(F.unix_micros(name).alias(name) if name in times else name for name in rows.columns))
    return [
        tuple(
            _EPOCH + timedelta(microseconds=value) if name in times and value is not None else value
            for name, value in zip(rows.columns, row, strict=True)
        )
        for row in found.collect()
    ]


def as_sent(spark: SparkSession, events: list[dict[str, Any]]) -> dict[str, DataFrame]:
    """Write events as JSON and read them back, as a run does; each type has a topic of one partition."""
    frames = {}
    for kind in (PAGE_VIEW, CLICK, SEARCH, LOGIN):
        sent = [encode_json(kind, event) for event in events if event["type"] == kind.name]
        rows = [(value, kind.topic, 0, offset, _NO_TIME) for offset, value in enumerate(sent)]
        read = parsed(spark.createDataFrame(rows, f"value BINARY, {_PLACE}"), kind)
        assert read.where("reason IS NOT NULL").count() == 0
        frames[kind.name] = read.select("event.*", *PLACE)
    return frames


def _facts(frames: Mapping[str, DataFrame]) -> DataFrame:
    spark = next(iter(frames.values())).sparkSession
    return facts_of(spark, JOB, {name: rows.toArrow() for name, rows in frames.items()})


def steps_of(parameters: Mapping[str, Value]) -> list[tuple[str, list[str], str]]:
    return [(step.name, list(step.types), step.pattern) for step in funnel.parse(str(parameters["funnel"]))]


def assert_all_equal(
    spark: SparkSession,
    log: Path,
    others: Rows,
    parameters: Mapping[str, Value],
    repeats: int = 0,
    found: Sequence[tuple[str, str]] = (),
) -> dict[str, Rows]:
    """Run the job on a log and other events, hold every table against DuckDB's; give the tables."""
    lines = list(read_lines(log))
    views = [view for view in (parse_line(*line) for line in lines) if view is not None]
    events = [view_event(view) for view in views] + [other_event(row) for row in others]
    events += random.Random(1).sample(events, repeats)
    repeats = len(events) - len({(event["type"], event["id"]) for event in events})

    reckoning = Reckoning(log, others, dict(parameters), steps_of(parameters), found=found)
    assert reckoning.line_count() == len(lines)
    assert reckoning.view_count() == len(views)
    return assert_tables_equal(in_topics(spark, events, seed=len(events)), reckoning, parameters, repeats, found)


def assert_tables_equal(
    frames: Mapping[str, DataFrame],
    reckoning: Reckoning,
    parameters: Mapping[str, Value],
    repeats: int,
    found: Sequence[tuple[str, str]] = (),
) -> dict[str, Rows]:
    facts = _facts(frames)
    tables = {name: plain_rows(rows) for name, rows in refreshed(facts, parameters, found).items()}
    for name in TOLD:
        wanted = Counter(reckoning.rows(name, repeats))
        there = Counter(tables[name])
        assert there - wanted == Counter(), f"{name} has rows that DuckDB has not"
        assert wanted - there == Counter(), f"{name} lacks rows that DuckDB has"
    return tables


@pytest.mark.whole
@pytest.mark.parametrize(
    "changed",
    [{}, {"count_crawlers": False, "session_gap_s": 60, "assets": "/images/", "own_hosts": "www.google.com"}],
    ids=["defaults", "other-parameters"],
)
def test_every_number_of_the_real_log_equals_an_independent_computation(
    spark: SparkSession, real_access_log: Path, tmp_path: Path, changed: dict[str, Value]
) -> None:
    log = tmp_path / "access.log"
    log.write_bytes(gzip.decompress(real_access_log.read_bytes()))
    tables = assert_all_equal(spark, log, [], JOB.defaults() | changed, repeats=100)
    assert all(tables[name] for name in TOLD if name != "report_searches")


@pytest.mark.whole
def test_every_number_equals_it_with_the_clicks_searches_and_logins_of_the_log(
    spark: SparkSession, real_access_log: Path, tmp_path: Path
) -> None:
    log = tmp_path / "access.log"
    log.write_bytes(gzip.decompress(real_access_log.read_bytes()))
    site = most_common_site(log)
    raw = (RawLine("log", number, text) for number, text in read_lines(log))
    found = list(access_log_lines(raw, site))
    events = [{"type": kind.name, **fields} for line in found for kind, fields in line.events]
    reckoning = Reckoning(log, [], JOB.defaults(), steps_of(JOB.defaults()), site)
    refused = sum(line.refused is not None for line in found)
    assert sum(event["type"] == PAGE_VIEW.name for event in events) + refused == reckoning.line_count()
    assert reckoning.view_count() + refused == reckoning.line_count()
    tables = assert_tables_equal(as_sent(spark, events), reckoning, JOB.defaults(), 0)
    assert all(tables.values())


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.whole) for seed in (2, 3))])
def test_every_number_of_odd_logs_and_other_events_equals_an_independent_computation(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    log = tmp_path / "access.log"
    odd_log(log, seed, 1_500)
    parameters = JOB.defaults() | {
        "funnel": r"page_view; search|click; page_view ^/shop/; vote | post; page_view ^/(shop|thanks)",
        "own_hosts": "shop.example,[2001:db8::1]",
        "assets": "/shop/b",
        "session_gap_s": 600,
        "count_crawlers": seed == 3,
    }
    # A browser, a crawler that says so, and one without an agent.
    found = [("192.0.2.1", AGENTS[0]), ("192.0.2.2", AGENTS[2]), ("192.0.2.1", "")]
    # Days are UTC whatever the session's zone is.
    spark.conf.set("spark.sql.session.timeZone", "America/St_Johns")
    try:
        tables = assert_all_equal(spark, log, other_events(seed, 400), parameters, 150, found)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert all(tables.values())


def test_where_nothing_came_the_tables_are_empty_and_the_totals_zero(spark: SparkSession) -> None:
    facts = _facts({PAGE_VIEW.name: in_topics(spark, [], 0)[PAGE_VIEW.name]})
    tables = refreshed(facts, JOB.defaults())
    (totals,) = [row.asDict() for row in tables["report_totals"].collect()]
    unknown = {"first_event", "last_event", "bounce_share", "session_length_p50_s"}
    assert {name for name, value in totals.items() if value is None} == unknown
    assert all(value == 0 for name, value in totals.items() if name not in unknown)
    assert {name: rows.count() for name, rows in tables.items() if name != "report_totals"} == dict.fromkeys(
        TOLD[1:], 0
    )


def test_summary_lists_most_first_and_equal_ones_by_name(spark: SparkSession) -> None:
    views = [("/b", 1), ("/c", 2), ("/a", 1)]
    events = [
        view_event(View(10 * line + n, 60 * line, f"192.0.2.{line}", "GET", page, 404, None, "http://x.example/", None))
        for line, (page, count) in enumerate(views)
        for n in range(count)
    ]
    facts = _facts(in_topics(spark, events, 0))
    summaries = JOB.summarize(refreshed(facts, JOB.defaults()), JOB.defaults())
    asked = {summary.title: summary.rows for summary in summaries}

    def rows(title: str) -> Rows:
        return [tuple(row) for row in asked[title].collect()]

    assert rows("Pages with most views") == rows("Pages that do not exist") == [("/c", 2), ("/a", 1), ("/b", 1)]
    assert rows("Referrers") == [("x.example", 4)]
    assert rows("Funnel: visitors per step, summed over days")[:2] == [(1, "page_view", 3), (2, "search", 0)]
    assert rows("Searches") == []
