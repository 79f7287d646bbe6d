"""The ground truth equals what can be counted in the events."""

import json
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from barnabas.pipeline.sources.access_log import parse_line
from barnabas.pipeline.sources.social import GROUND_TRUTH, generate, write_access_log, write_jsonl
from tests.unit.pipeline.sources.social.plans import BUSY, HOUR, Made, made


@pytest.fixture(scope="module")
def busy() -> Made:
    return made(BUSY)


def _done_by(busy: Made, actor: dict) -> list[dict]:
    match actor["subject"]:
        case "user":
            return [each for each in busy.events if each.get("user") in actor["users"]]
        case "address":
            return [each for each in busy.events if _is_at(actor, each)]
        case "address+agent":
            return [each for each in busy.events if _is_at(actor, each) and each.get("agent") in actor["agents"]]
    raise AssertionError(actor["subject"])


def _is_at(actor: dict, event: dict) -> bool:
    return event.get("address") in actor["addresses"]


def test_everybody_is_there(busy: Made):
    assert {actor["kind"] for actor in busy.truth["actors"]} == {
        "crawler",
        "scraper",
        "spammer",
        "vote_ring",
        "mass_follower",
        "credential_stuffing",
    }
    assert {actor["kind"] for actor in busy.truth["look_alikes"]} == {
        "nat_office",
        "power_reader",
        "forgotten_password",
        "popular_post",
        "feed_reader",
        "monitoring_probe",
    }
    assert json.loads(json.dumps(busy.truth))["seed"] == BUSY.seed


def test_actors_did_what_is_said_and_nobody_else_did_it(busy: Made):
    for actor in [*busy.truth["actors"], *busy.truth["look_alikes"]]:
        if not actor["subject"]:
            continue
        done = _done_by(busy, actor)
        assert len(done) == actor["events"], actor["name"]
        times = sorted(event["time"] for event in done)
        assert [f"{time:%Y-%m-%dT%H:%M:%S}" for time in (times[0], times[-1])] == [
            actor["first"][:19],
            actor["last"][:19],
        ]
        by_type = Counter(event["type"] for event in done)
        assert by_type == {name: count for name, count in actor["evidence"].items() if name in by_type}
        pages = {event["page"] for event in done if event["type"] == "page_view"}
        assert actor["evidence"]["distinct_pages"] == len(pages)


def test_events_late_and_broken_ones_are_counted(busy: Made):
    assert Counter(event["type"] for event in busy.events) == busy.truth["event_counts"]
    assert Counter(event.reason for event in busy.broken) == busy.truth["broken_counts"]
    # Where something happens every second, who is late stands behind somebody of later.
    late_count, latest = 0, busy.events[0]["time"]
    for event in busy.events:
        late_count += event["time"] < latest - timedelta(minutes=1)
        latest = max(latest, event["time"])
    assert late_count == pytest.approx(sum(busy.truth["late_counts"].values()), rel=0.05)
    assert late_count > 100


def test_votes_and_follows_at_the_end(busy: Made):
    votes, follows = {}, {}
    for event in sorted(busy.events, key=lambda event: (event["time"], int(event["id"].partition(":")[2]))):
        if event["type"] == "vote":
            votes[event["user"], event["item"]] = event["value"]
        elif event["type"] == "follow":
            follows[event["user"], event["followee"]] = event["is_following"]
    scores = Counter()
    for (_, item), value in votes.items():
        scores[item] += value
    best = sorted(scores.items(), key=lambda each: (-each[1], each[0]))[:20]
    assert [tuple(each) for each in busy.truth["top_items_by_votes"]] == best
    assert busy.truth["follows"] == sorted(pair for pair, is_following in follows.items() if is_following)
    assert not all(follows.values())


def test_outage_and_silence_are_where_they_are_said_to_be(busy: Made):
    begin, end = busy.truth["outage"]["begin"], busy.truth["outage"]["end"]
    views = busy.of_type("page_view")
    share = {True: Counter(), False: Counter()}
    for view in views:
        share[begin <= _text(view) < end]["5xx" if view["status"] >= 500 else "fine"] += 1
    assert share[True]["5xx"] / share[True].total() > 0.25
    assert share[False]["5xx"] / share[False].total() < 0.005
    errors = [event for event in busy.of_type("service_log") if event["level"] == "ERROR"]
    assert sum(begin <= _text(event) < end for event in errors) > 0.8 * len(errors) > 0
    silence = busy.truth["silence"]
    said = [event for event in busy.of_type("service_log") if event["service"] == silence["service"]]
    assert said
    assert not [event for event in said if silence["begin"] <= _text(event) < silence["end"]]


def _text(event: dict) -> str:
    return event["time"].isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_files_hold_all_records_and_the_truth(tmp_path: Path):
    truth: dict[str, Any] = write_jsonl(HOUR, tmp_path)
    assert json.loads((tmp_path / GROUND_TRUTH).read_text()) == json.loads(json.dumps(truth))
    lines = {path.stem: path.read_bytes().count(b"\n") for path in tmp_path.glob("*.jsonl")}
    assert sum(lines.values()) == sum(1 for _ in generate(HOUR))
    assert lines["votes"] >= truth["event_counts"]["vote"]
    first = json.loads((tmp_path / "host-metrics.jsonl").read_bytes().splitlines()[0])
    assert first["type"] == "host_metric"
    assert first["time"].endswith("Z")


def test_access_log_lines_are_the_page_views_out_of_order_by_seconds(busy: Made, tmp_path: Path):
    path = tmp_path / "access.log"
    assert write_access_log(BUSY, path) == busy.truth["event_counts"]["page_view"]
    assert list(tmp_path.iterdir()) == [path]
    found = Counter()
    latest_s = 0
    for number, line in enumerate(path.read_text().splitlines()):
        view = parse_line(number, line)
        assert view is not None, line
        found[view.address, view.page, view.status, view.referrer, view.agent] += 1
        assert view.time_s > latest_s - 20
        latest_s = max(latest_s, view.time_s)
    names = ("address", "page", "status", "referrer", "agent")
    assert found == Counter(tuple(view[name] for name in names) for view in busy.of_type("page_view"))
