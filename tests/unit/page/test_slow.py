"""Slow requests, of clusters that were made up."""

from barnabas.page.rendering import new_environment
from barnabas.page.view import RowRange
from barnabas.page.views.slow import KindRow, Slow, kind_rows, request_rows
from tests.unit.explain.worlds import NOW_MS, snapshot


def request(**more: object) -> dict[str, object]:
    row = {"api": "Produce", "client_id": "app", "at_ms": NOW_MS - 1_000, "waited_for": None, "broker_id": 1}
    row |= {"total_ms": 900, "queue_ms": 1, "local_ms": 2, "remote_ms": 3, "send_ms": 4, "throttle_ms": 0}
    return {**row, "user": "alice", "host": "/10.0.0.7", **more}


def test_slow_requests_are_told_by_api_client_and_stage() -> None:
    rows = [
        request(remote_ms=880, waited_for="followers"),
        request(remote_ms=1_880, total_ms=1_900, waited_for="followers", at_ms=NOW_MS),
        request(api="Fetch", send_ms=800, total_ms=810),
        request(at_ms=0, queue_ms=800),
    ]
    world = snapshot(facts={"requests": rows})
    followers = "waited for the followers to replicate its records (acks=all)"
    assert list(kind_rows(world)) == [
        KindRow("Produce", "app", 2, 2_800, 1_900, "remote", 2_760, followers, NOW_MS),
        KindRow(
            "Fetch", "app", 1, 810, 810, "send", 800, "waited for the client to receive the response", NOW_MS - 1_000
        ),
    ]
    assert [(row.api, row.total_ms) for row in request_rows(world)] == [
        ("Produce", 900),
        ("Produce", 1_900),
        ("Fetch", 810),
    ]


def test_an_answer_that_was_not_taken_has_no_time_of_its_own() -> None:
    world = snapshot(facts={"requests": [request(send_ms=None, remote_ms=880, client_id="<b>")]})
    kinds, requests = tuple(kind_rows(world)), tuple(request_rows(world))
    view = Slow(
        now_ms=NOW_MS,
        silent={},
        not_told=(),
        findings=(),
        kinds=RowRange(kinds, 0, 1, ""),
        requests=RowRange(requests, 0, 1, ""),
    )
    text = new_environment("").get_template("slow.html.jinja").render(view=view, here="/c/c", connection="")
    assert "remote: it waited for others" in text
    assert "&lt;b&gt;" in text
    assert "None" not in text
