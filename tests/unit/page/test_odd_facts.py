"""Facts whose figures and times can't be, as a clock jumped or another release tells them: nothing fails on them."""

import json
import random
from importlib import resources
from typing import Any

import pytest

from barnabas.explain.answers import valid_rows
from barnabas.explain.questions import EVERYTHING, QUESTIONS
from barnabas.explain.snapshot import Scope, Snapshot
from barnabas.page.plots import bytes_plot, lag_plot
from barnabas.page.rendering import new_environment
from barnabas.page.view import as_json
from barnabas.page.views import clients, find, group, groups, slow, topic, topics, transactions
from tests.unit.explain.worlds import NOW_MS, behind, log

PAGE = new_environment("")
SCHEMA = json.loads(resources.files("barnabas.explain").joinpath("facts.json").read_text(encoding="utf-8"))["$defs"]
HOUR_MS = 3_600_000
NUMBERS = (0, -1, 1, 7, 1_000, 2**31, 2**62, -(2**62), 2**63 - 1, 10**30, -(10**30))
# A clock that stands, goes back an hour, is an hour ahead, is of 1970 or of 2100.
TIMES = (NOW_MS, NOW_MS - 1, NOW_MS - HOUR_MS, NOW_MS + HOUR_MS, NOW_MS - 60_000, 0, -1, 4_102_444_800_000)
NAMES = {"topic": "views", "group": "billing", "client_id": "reader", "api": "Fetch", "reason": "joined"}


def odd(schema: dict[str, Any], dice: random.Random, name: str = "") -> Any:
    """Make a value that a schema has."""
    if "$ref" in schema:
        schema = SCHEMA[schema["$ref"].removeprefix("#/$defs/")]
    if "anyOf" in schema:
        return odd(dice.choice(schema["anyOf"]), dice, name)
    if "enum" in schema:
        return dice.choice(schema["enum"])
    match schema["type"]:
        case "object":
            there = {each: odd(part, dice, each) for each, part in schema.get("properties", {}).items()}
            other = schema.get("additionalProperties")
            return {**there, **({"x": odd(other, dice)} if other else {})}
        case "array":
            count = dice.randint(schema.get("minItems", 0), schema.get("maxItems", 3))
            return [
                odd(schema["items"], dice, f"{name}_ms"[-3:] if dice.random() < 0.5 else name) for _ in range(count)
            ]
        case "string":
            return NAMES.get(name, "x" if dice.random() < 0.7 else "")
        case "integer" | "number":
            if name == "partition":
                return dice.randrange(3)
            return dice.choice(TIMES if name.endswith("_ms") and dice.random() < 0.8 else NUMBERS)
        case "boolean":
            return dice.random() < 0.5
    return None


def odd_world(dice: random.Random) -> Snapshot:
    """See a cluster with facts that are as the schema has them, whatever they say."""
    snapshot = behind(3, log(), scope=Scope(dice.choice(("views", "billing", None))))
    for subject, schema in SCHEMA.items():
        rows, wrong = valid_rows(subject, [odd(schema, dice) for _ in range(3)])
        assert wrong == ""
        snapshot.facts[subject] = [{**row, "broker_id": dice.choice((1, 2, 3))} for row in rows]
    snapshot.since_ms = dice.choice(TIMES)
    ends = dict(topics.ends(snapshot))
    snapshot.logs = {name: each._replace(ends=ends.get(name) or each.ends) for name, each in snapshot.logs.items()}
    return snapshot


@pytest.mark.parametrize("seed", range(100))
def test_no_figure_is_too_odd_to_be_shown(seed: int) -> None:
    snapshot = odd_world(random.Random(seed))
    shown: list[object] = [question.rule(snapshot) for question in (EVERYTHING, *QUESTIONS.values())]
    billing = snapshot.groups["billing"]
    shown += [
        lag_plot(snapshot, billing),
        bytes_plot(snapshot),
        topics.topic_rows(snapshot),
        groups.group_rows(snapshot),
    ]
    shown += [list(topic.partition_rows(snapshot, "views")), list(topic.segment_rows(snapshot, "views"))]
    shown += [
        list(group.partition_rows(snapshot, billing)),
        list(slow.request_rows(snapshot)),
        list(find.clients_of(snapshot, [])),
    ]
    shown += [
        list(each(snapshot))
        for each in (slow.kind_rows, clients.throttle_rows, transactions.open_rows, transactions.end_rows)
    ]
    json.dumps([as_json(each) for each in shown])
    source = (
        '{% import "macros.html.jinja" as m with context %}{% for each in plots %}{{ m.plot("x", each) }}{% endfor %}'
    )
    PAGE.from_string(source).render(plots=shown[len(QUESTIONS) + 1 :][:2])


@pytest.mark.parametrize("number", [*NUMBERS, *TIMES, None])
def test_no_number_is_too_odd_to_be_written(number: int | None) -> None:
    for name in ("number", "rate", "bytes", "duration", "timestamp"):
        assert isinstance(PAGE.filters[name](number), str)
