"""The dashboards that are shipped ask for metrics that there are, by labels that they have."""

import json
import re
from pathlib import Path

import pytest

from barnabas.broker.metrics.definitions import BY_NAME, METRICS, Kind

ROOT = Path(__file__).parents[2]
DASHBOARDS = {path.stem: json.loads(path.read_text()) for path in sorted((ROOT / "dashboards").glob("*.json"))}
_DOMAINS = "server|network|controller|log|cluster|coordinator|utils"
METRIC = re.compile(rf"\b((?:kafka_(?:{_DOMAINS})|barnabas|process)_\w+)(\{{[^}}]*\}})?")
LABEL = re.compile(r'(\w+)(?:=|!=|=~|!~)"')
# Prometheus itself adds these.
OF_PROMETHEUS = {"instance", "job"}
ASKED_FOR = [
    (f"{name}: {panel['title']} {target['refId']}", target["expr"], target["legendFormat"])
    for name, dashboard in DASHBOARDS.items()
    for panel in dashboard["panels"]
    for target in panel.get("targets", ())
]


def family_of(name):
    for suffix in ("", "_count", "_sum"):
        family = BY_NAME.get(name.removesuffix(suffix))
        if family is not None and (not suffix or family.kind is Kind.SUMMARY):
            return family
    return None


@pytest.mark.parametrize(
    ("expression", "legend"), [each[1:] for each in ASKED_FOR], ids=[each[0] for each in ASKED_FOR]
)
def test_each_query_is_about_what_there_is(expression, legend):
    found = METRIC.findall(expression)
    assert found
    labels = set(OF_PROMETHEUS)
    for name, matchers in found:
        family = family_of(name)
        assert family is not None, name
        own = {*OF_PROMETHEUS, *family.labels, *(["quantile"] if family.kind is Kind.SUMMARY else [])}
        assert set(LABEL.findall(matchers)) <= own
        labels |= own
        # What only grows is shown as a rate, and nothing else is.
        is_sum = family.kind is Kind.COUNTER or name != family.name
        assert bool(re.search(rf"(rate|increase)\({name}\b", expression)) is is_sum
    assert set(re.findall(r"{{(\w+)}}", legend)) <= labels
    grouped = [label.strip() for each in re.findall(r"by \(([^)]*)\)", expression) for label in each.split(",")]
    assert set(grouped) <= labels


@pytest.mark.parametrize("dashboard", DASHBOARDS)
def test_panels_stand_beside_each_other(dashboard):
    places = {}
    for panel in DASHBOARDS[dashboard]["panels"]:
        place = panel["gridPos"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in places, (panel["title"], places.get((x, y)))
                places[x, y] = panel["title"]
                assert x < 24


def test_documents_name_metrics_that_there_are():
    for document in ("docs/cluster.md", "docs/monitoring.md", "docs/operations.md", "docs/quotas.md"):
        path = ROOT / document
        for name, _ in METRIC.findall(path.read_text() if path.exists() else ""):
            # The beginning of a name stands for all that begin so.
            assert family_of(name) or any(family.name.startswith(name) for family in METRICS), (document, name)
