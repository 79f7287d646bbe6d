"""Plots of the last hour, as values and as the HTML that they become."""

import re
from dataclasses import replace

from barnabas.core.types import TopicPartition
from barnabas.explain.snapshot import Log
from barnabas.page.plots import MOST_LINES, bytes_plot, lag_plot
from barnabas.page.rendering import load_assets, new_environment
from barnabas.page.view import as_json
from tests.unit.explain.worlds import MINUTE_MS, NOW_MS, VIEWS, group, snapshot

HOUR_AGO_MS = NOW_MS - 60 * MINUTE_MS


def moving(ends, commits, committed_ms=None, reporters=(1, 2, 3)):
    """A group of one partition, whose end and commits moved so; told by our brokers."""
    of = group({VIEWS[0]: commits[-1][1]})
    of.commits = {VIEWS[0]: commits}
    told = {"topic": "views", "partition": 0, "at_ms": committed_ms or commits[-1][0]}
    facts = {"groups": [{"group": "billing", "broker_id": 1, "rebalances": [], "commits": [told]}]}
    log = Log(0, ends[-1][1], ends[-1][1], ends)
    return snapshot(groups={"billing": of}, logs={VIEWS[0]: log}, facts=facts, reporters=set(reporters))


def values(world):
    plot = lag_plot(world, world.groups["billing"])
    return plot, list(plot.series[0].values)


def test_lag_is_what_lay_between_the_end_and_the_commit_in_each_minute():
    ends = [(HOUR_AGO_MS, 0), (NOW_MS - 30 * MINUTE_MS, 600), (NOW_MS, 600)]
    commits = [(HOUR_AGO_MS, 0), (NOW_MS - 10 * MINUTE_MS, 500), (NOW_MS, 500)]
    plot, lags = values(moving(ends, commits))
    assert (plot.column_count, str(plot.step), plot.series[0].name) == (61, "0:01:00", "views-0")
    assert (lags[0], lags[28], lags[29], lags[48], lags[49], lags[-1]) == (0, 0, 600, 600, 100, 100)


def test_what_is_not_known_is_a_gap():
    ends = [(HOUR_AGO_MS, 0), (NOW_MS - 50 * MINUTE_MS, 100), (NOW_MS, 100)]
    other = TopicPartition("views", 1)
    world = moving(ends, [(NOW_MS, 40)], committed_ms=NOW_MS - 20 * MINUTE_MS)
    world.groups["billing"].committed[other] = 7
    world.groups["billing"].commits[other] = [(HOUR_AGO_MS, 0), (NOW_MS, 7)]
    world.logs[other] = Log(0, 7, 7, [(HOUR_AGO_MS, 5), (NOW_MS, 7)])
    plot = lag_plot(world, world.groups["billing"])
    lags = next(each.values for each in plot.series if each.name == "views-0")
    assert lags[:39] == [None] * 39
    assert lags[39:] == [60] * 22


def test_what_never_moved_is_known_from_its_commit_on():
    plot, lags = values(moving([(NOW_MS, 100)], [(NOW_MS, 40)], committed_ms=NOW_MS - 5 * MINUTE_MS))
    assert (str(plot.step), set(lags)) == ("0:00:10", {60})


def test_of_a_kafka_that_was_seen_twice_it_is_what_was_seen():
    ends, commits = [(NOW_MS - 2_000, 10), (NOW_MS, 30)], [(NOW_MS - 2_000, 5), (NOW_MS, 5)]
    plot, lags = values(moving(ends, commits, reporters=()))
    assert plot.column_count <= 2
    assert lags[-1] == 25
    world = moving(ends, commits)
    assert lag_plot(replace(world, logs={}), world.groups["billing"]) is None


def test_of_many_partitions_those_that_were_most_behind_are_drawn():
    names = [TopicPartition("t", index) for index in range(20)]
    of = group(dict.fromkeys(names, 0))
    logs = {name: Log(0, name.partition, name.partition, [(HOUR_AGO_MS, name.partition)]) for name in names}
    world = snapshot(groups={"billing": of}, logs=logs)
    plot = lag_plot(world, of)
    assert [each.name for each in plot.series] == [f"t-{index}" for index in range(20 - MOST_LINES, 20)]
    assert "6 of 20" in plot.about


def minute(minutes_ago, came, went):
    at_ms = NOW_MS - minutes_ago * MINUTE_MS + 200
    return {"at_ms": at_ms, "produced_bytes_per_s": came, "fetched_bytes_per_s": went}


def test_bytes_are_added_up_over_brokers_and_minutes_that_nobody_tells_are_gaps():
    rows = [
        {"broker_id": 1, "minutes": [minute(4, 10, 1), minute(2, 30, 0)]},
        {"broker_id": 2, "minutes": [minute(2, 5, 2)]},
    ]
    plot = bytes_plot(snapshot(facts={"broker": rows}))
    assert [list(each.values) for each in plot.series] == [[10, None, 35], [1, None, 2]]
    told = as_json(plot)
    assert isinstance(told, dict)
    assert (told["start"][-1], told["step"]) == ("Z", 60.0)
    assert bytes_plot(snapshot()) is None


def shown(plot):
    return (
        new_environment("")
        .from_string('{% import "macros.html.jinja" as m %}{{ m.plot("Lag", plot) }}')
        .render(plot=plot)
    )


def test_a_plot_is_text_that_can_be_heard_and_has_colours_by_classes_alone():
    ends = [(HOUR_AGO_MS, 0), (NOW_MS - 30 * MINUTE_MS, 600), (NOW_MS, 600)]
    plot, _ = values(moving(ends, [(HOUR_AGO_MS, 0), (NOW_MS, 500)]))
    text = shown(plot)
    assert "style=" not in text
    assert re.search(r'role="img" aria-label="Lag over time: from .* on; views-0 at most 600, at last 100\.', text)
    assert text.count("<polyline") == 1
    assert '<polyline class="line s1" points="0.5,100.00 ' in text
    assert text.count("<tr>") == 1 + plot.column_count
    css = load_assets()["chart.css"].data.decode()
    assert all(f".s{n} {{ stroke: var(--s{n}); }}" in css for n in range(1, MOST_LINES + 1))
    assert shown(None).strip() == ""


def test_a_topic_that_wants_to_be_a_script_is_text_in_a_plot():
    name = TopicPartition("<script>\u202e", 0)
    of = group({name: 0})
    world = snapshot(groups={"billing": of}, logs={name: Log(0, 9, 9, [(HOUR_AGO_MS, 0), (NOW_MS, 9)])})
    text = shown(lag_plot(world, of))
    assert "<script" not in text
    assert "\u202e" not in text
    assert "&lt;script&gt;\\u202e-0" in text
