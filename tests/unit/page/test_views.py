"""Views as values, of clusters that were made up, and what HTML and JSON make of them."""

import asyncio
import json

import pytest

from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.explain.finding import Finding
from barnabas.page.cluster import Cluster
from barnabas.page.live import Live
from barnabas.page.rendering import new_environment
from barnabas.page.view import MOST_ROWS, Asked, View, ViewKind, as_json, known, select_rows
from barnabas.page.views.group import partition_rows
from barnabas.page.views.groups import group_rows
from barnabas.page.views.overview import Overview
from barnabas.page.views.topics import Reader, topic_rows
from tests.unit.explain.worlds import NOW_MS, VIEWS, behind, directory, group, log, member, partition, snapshot


def asked(**query: str) -> Asked:
    return Asked(Cluster("c", "127.0.0.1:1"), query)


def test_a_topic_tells_its_rate_size_lag_and_what_it_lacks() -> None:
    ends = [
        {
            "topic": "views",
            "partition": index,
            "high_watermark": 1_000,
            "ends": [[NOW_MS - 30_000, 700], [NOW_MS, 1_000]],
        }
        for index in (0, 1)
    ]
    world = snapshot(
        partition(VIEWS[0], isr=(1,)),
        partition(VIEWS[1]),
        groups={"billing": group({VIEWS[0]: 400})},
        logs={VIEWS[0]: log()},
        directories=[directory()],
        facts={"ends": ends},
    )
    (row,) = topic_rows(world)
    assert (row.name, row.partition_count, row.replication_factor) == ("views", 2, 3)
    assert row.rate_per_s == pytest.approx(20)
    assert row.size_bytes == 3_000
    assert row.readers == (Reader("billing", 600),)
    assert row.troubles == ("under min.insync.replicas", "under-replicated")


def test_what_nobody_tells_is_no_figure() -> None:
    (row,) = topic_rows(snapshot(partition(VIEWS[0]), groups={"billing": group({VIEWS[0]: 400})}))
    assert (row.rate_per_s, row.size_bytes, row.readers) == (None, None, (Reader("billing", None),))


def test_a_group_tells_its_lag_in_all_and_by_partition() -> None:
    world = behind(400, log(per_s=10), [member(VIEWS[0], VIEWS[1])], per_s=5)
    (row,) = group_rows(world)
    assert (row.name, row.state, row.member_count, row.partition_count, row.lag) == ("billing", "Stable", 1, 2, 600)
    first, second = partition_rows(world, world.groups["billing"])
    assert (first.committed, first.end_offset, first.lag, first.member) == (400, 1_000, 600, "reader at /10.0.0.7")
    assert (first.in_per_s, first.out_per_s) == (pytest.approx(10), pytest.approx(5))
    assert (second.partition, second.committed, second.lag) == (VIEWS[1], None, None)


def test_what_may_not_be_seen_is_told_once_for_each_reason() -> None:
    world = snapshot(
        refused=["groups: it takes a right", "ends: it takes a right", "not now", "ends: it takes a right"]
    )
    assert known(world).not_told == ("groups, ends: it takes a right", "not now")


def test_rows_are_cut_and_looked_for() -> None:
    names = [f"t{number:04}" for number in range(MOST_ROWS + 50)]
    whole = select_rows(names, asked(), str)
    assert (len(whole.rows), whole.end, whole.count) == (MOST_ROWS, MOST_ROWS, MOST_ROWS + 50)
    assert select_rows(names, asked(**{"from": str(MOST_ROWS)}), str).rows == tuple(names[MOST_ROWS:])
    assert select_rows(names, asked(find="T0007"), str).rows == ("t0007",)
    for wrong in ("-1", "x", "9" * 30, "²", "99999999"):
        assert select_rows(names, asked(**{"from": wrong}), str).begin in (0, MOST_ROWS)
    assert select_rows([], asked(), str).rows == ()


def test_json_has_all_of_a_value() -> None:
    world = behind(400, log())
    told = json.loads(json.dumps(as_json(tuple(partition_rows(world, world.groups["billing"])))))
    assert told[0]["partition"] == str(VIEWS[0])
    assert as_json({TopicPartition("t", 1): 2**63 - 1}) == {"t-1": 9_223_372_036_854_775_807}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("\"'>x", "&#34;&#39;&gt;x"),
        ("a\nb", r"a\nb"),
        ("a\u202eb", r"a\u202eb"),
        ("{{ 7 * 7 }}", "{{ 7 * 7 }}"),
        ("é漢", "é漢"),
    ],
)
def test_any_name_is_shown_and_nothing_more(name: str, shown: str) -> None:
    made = new_environment("").from_string('<a title="{{ name }}">{{ name }}</a>').render(name=name)
    assert made == f'<a title="{shown}">{shown}</a>'


def test_of_very_many_findings_as_many_are_shown_as_somebody_reads() -> None:
    def shown(count: int) -> str:
        found = tuple(Finding(f"group {number}", "behind", f"it is number {number}") for number in range(count))
        view = Overview(
            **known(snapshot())._asdict(), cluster_id="", counts={}, findings=found, traffic=None, brokers=()
        )
        return new_environment("").get_template("overview.html.jinja").render(view=view, connection="", here="")

    assert "it is number 99\n" in shown(150)
    assert "it is number 100\n" not in shown(150)
    assert "And 50 more, none of them more severe" in shown(150)
    assert "none of them more severe" not in shown(100)


class Final(View):
    """What a search has found, once it has ended."""

    is_final = True


def test_a_view_is_computed_once_for_all_and_stays_when_it_fails() -> None:
    async def play() -> None:
        calls = 0
        failure: KafkaError | None = None

        async def build(_: Asked) -> View:
            nonlocal calls
            calls += 1
            await asyncio.sleep(0)
            if failure is not None:
                raise failure
            return View(now_ms=calls, silent={}, not_told=())

        kind = ViewKind("/", "", "", build, 0, "/")
        live, windows = Live(), [asked(), asked()]
        snapshots = await asyncio.gather(*(live.get(kind, each) for each in windows))
        assert calls == 1
        assert {each.number for each in snapshots} == {1}
        # Another user, another value.
        other = Asked(Cluster("c", "127.0.0.1:1", "bob"), {})
        assert (await live.get(kind, other)).view.now_ms == 2
        failure = KafkaError(ErrorCode.NETWORK_EXCEPTION, "it is gone")
        snapshot = snapshots[0]
        while snapshot.failure is None:
            snapshot = await live.get(kind, windows[0])
        assert (snapshot.view.now_ms, str(snapshot.failure)) == (1, str(failure))

        async def build_final(_: Asked) -> View:
            nonlocal calls
            calls += 1
            return Final(now_ms=calls, silent={}, not_told=())

        final = kind._replace(path="/final", build=build_final)
        first = await live.get(final, windows[0])
        assert await live.get(final, windows[1]) is first

        watching = live.watch(kind, windows[1], "somebody")
        assert (await anext(watching)).number >= snapshot.number
        live.stop()
        assert [each async for each in watching] == []

    asyncio.run(play())


@pytest.mark.parametrize(
    ("subject", "place"),
    [
        ("group a&b", "/group?name=a%26b"),
        ("topic views", "/topic?name=views"),
        ("partition page-views-10", "/topic?name=page-views"),
        ("client importer", "/clients?find=importer"),
        ("broker 2", "/brokers"),
        ("registry", ""),
    ],
)
def test_a_finding_leads_to_what_it_is_about(subject: str, place: str) -> None:
    assert new_environment("").filters["place"](subject) == place
