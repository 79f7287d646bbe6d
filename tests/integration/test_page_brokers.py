"""The page's brokers of a cluster that loses one: what `barnabas cluster status` says, cell by cell."""

import json
from pathlib import Path
from typing import Any

from tests.clusters import Members, create_topic, servers_of, three_brokers, wait_for_in_sync
from tests.commands import run
from tests.integration.page_process import Window, running_page
from tests.patience import until

_SAME = ("software", "leader_count", "in_sync_count", "replica_count", "may_stop", "obstacles")


def told(window: Window) -> Any:
    return json.loads(window.get("/c/cluster/brokers", accept="application/json").text)["view"]


def status(members: Members) -> Any:
    return json.loads(run("cluster", "status", "--json", "--bootstrap-server", servers_of(members)).stdout)


def test_brokers_are_those_of_cluster_status_with_one_away_too(tmp_path: Path) -> None:
    with three_brokers(tmp_path) as members, running_page("--bootstrap-server", servers_of(members)) as page:
        window = Window(page)
        create_topic(members, "views", 3)
        wait_for_in_sync(members, "views")
        seen = told(window)
        assert [each["may_stop"] for each in seen["brokers"]] == [True] * 3
        assert [each["is_controller"] for each in seen["brokers"]] == [True, False, False]
        assert seen["lacking"]["rows"] == []
        assert [each["broker_id"] for each in seen["directories"]] == [1, 2, 3]

        members[3].stop()
        until(lambda: told(window)["counts"]["under-replicated"] == 3)
        seen, said = told(window), status(members)
        for row, of in zip(seen["brokers"], said["brokers"], strict=True):
            assert {name: row[name] for name in _SAME} | {"may_stop": bool(row["may_stop"])} == {
                name: of[name] for name in _SAME
            }
            assert row["failure"] == (of["failure"] or "")
        assert [each["obstacles"] for each in seen["brokers"]][:2] == [
            ["acks=all would fail for views-0, views-1, views-2"]
        ] * 2
        assert [
            (each["partition"], each["leader_id"], each["isr"], each["min_isr"]) for each in seen["lacking"]["rows"]
        ] == [
            (f"{each['topic']}-{each['partition']}", each["leader"], each["isr"], each["min_isr"])
            for each in said["under_replicated_partitions"]
        ]
        assert "may not stop now" in window.get("/c/cluster/brokers").text
