"""The ground truth equals what can be counted in the events."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from barnabas.pipeline.sources.access_log import parse_line
from barnabas.pipeline.sources.social import (
    GROUND_TRUTH,
    Broken,
    generate,
    ground_truth,
    write_access_log,
    write_jsonl,
)
from tests.unit.pipeline.sources.social.plans import BUSY, HOUR

EVENTS = list(generate(BUSY))
GOOD: list[dict[str, Any]] = [event[1] for event in EVENTS if not isinstance(event, Broken)]
TRUTH: dict[str, Any] = ground_truth(BUSY)
ALL = [*TRUTH["actors"], *TRUTH["look_alikes"]]


def _done_by(actor: dict) -> list[dict]:
    match actor["subject"]:
        case "user":
            return [each for each in GOOD if each.get("user") in actor["users"]]
        case "address":
            return [each for each in GOOD if _is_at(actor, each)]
        case "address+agent":
            return [each for each in GOOD if _is_at(actor, each) and each.get("agent") in actor["agents"]]
    raise AssertionError(actor["subject"])


def _is_at(actor: dict, event: dict) -> bool:
    return event.get("address") in actor["addresses"]


def test_everybody_is_there():
    assert {actor["kind"] for actor in TRUTH["actors"]} == {
        "crawler",
        "scraper",
        "spammer",
        "vote_ring",
        "mass_follower",
        "credential_stuffing",
    }
    assert {actor["kind"] for actor in TRUTH["look_alikes"]} == {
        "nat_office",
        "power_reader",
        "forgotten_password",
        "popular_post",
        "feed_reader",
        "monitoring_probe",
    }
    assert json.loads(json.dumps(TRUTH))["seed"] == BUSY.seed


def test_actors_did_what_is_said_and_nobody_else_did_it():
    for actor in ALL:
        if not actor["subject"]:
            continue
        done = _done_by(actor)
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


def test_events_late_and_broken_ones_are_counted():
    assert Counter(event["type"] for event in GOOD) == TRUTH["event_counts"]
    assert Counter(event.reason for event in EVENTS if isinstance(event, Broken)) == TRUTH["broken_counts"]
    # Who is behind the latest event so far by a minute is late; others may be, too, where nobody came in between.
    assert 0 < sum(TRUTH["late_counts"].values()) < 0.02 * len(GOOD)


def test_votes_and_follows_at_the_end():
    votes, follows = {}, {}
    for event in sorted(GOOD, key=lambda event: (event["time"], int(event["id"].partition(":")[2]))):
        if event["type"] == "vote":
            votes[event["user"], event["item"]] = event["value"]
        elif event["type"] == "follow":
            follows[event["user"], event["followee"]] = event["is_following"]
    scores = Counter()
    for (_, item), value in votes.items():
        scores[item] += value
    best = sorted(scores.items(), key=lambda each: (-each[1], each[0]))[:20]
    assert [tuple(each) for each in TRUTH["top_items_by_votes"]] == best
    assert TRUTH["follows"] == sorted(pair for pair, is_following in follows.items() if is_following)
    assert not all(follows.values())


def test_outage_and_silence_are_where_they_are_said_to_be():
    begin, end = TRUTH["outage"]["begin"], TRUTH["outage"]["end"]
    views = [event for event in GOOD if event["type"] == "page_view"]
    share = {True: Counter(), False: Counter()}
    for view in views:
        share[begin <= _text(view) < end]["5xx" if view["status"] >= 500 else "fine"] += 1
    assert share[True]["5xx"] / share[True].total() > 0.25
    assert share[False]["5xx"] / share[False].total() < 0.005
    errors = [event for event in GOOD if event["type"] == "service_log" and event["level"] == "ERROR"]
    assert sum(begin <= _text(event) < end for event in errors) > 0.8 * len(errors) > 0
    silence = TRUTH["silence"]
    said = [event for event in GOOD if event["type"] == "service_log" and event["service"] == silence["service"]]
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


def test_access_log_lines_are_the_page_views_out_of_order_by_seconds(tmp_path: Path):
    path = tmp_path / "access.log"
    assert write_access_log(BUSY, path) == TRUTH["event_counts"]["page_view"]
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
    assert found == Counter(tuple(event[name] for name in names) for event in GOOD if event["type"] == "page_view")
