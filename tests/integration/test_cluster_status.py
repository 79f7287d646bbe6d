"""`barnabas cluster status`: what it says of a cluster whose brokers come and go, and of which may stop."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.testing import Cluster
from tests.clusters import Members, create_topic, servers_of, three_brokers, wait_for_in_sync, wait_for_members
from tests.commands import run
from tests.patience import until


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Members]:
    """Three brokers; each test leaves all of them running, and no topics."""
    with three_brokers(tmp_path_factory.mktemp("status")) as members:
        yield members


def status(members: Members, *arguments: object) -> tuple[int, str]:
    ran = run("cluster", "status", "--bootstrap-server", servers_of(members), *arguments)
    return ran.returncode, ran.stdout + ran.stderr


def status_json(members: Members) -> Any:
    return json.loads(status(members, "--json")[1])


def delete(members: Members, *topics: str) -> None:
    at = ("--bootstrap-server", servers_of(members))
    for topic in topics:
        assert run("topics", "--delete", "--topic", topic, *at).returncode == 0
    until(lambda: status(members)[1].splitlines()[0].endswith(": 0 partitions, controller 1"))


def test_a_broker_may_stop_while_the_others_have_what_it_has(members: Members) -> None:
    create_topic(members, "views", 3)
    wait_for_in_sync(members, "views")
    code, said = status(members)
    assert code == 0
    heading, columns, *rows = said.splitlines()
    assert heading.endswith(": 3 partitions, controller 1")
    assert columns.split()[:4] == ["broker", "address", "runs", "protocol"]
    assert [row.split() for row in rows] == [
        [str(each), member.bootstrap_servers, "Barnabas", "2.7-IV2", "1", "3", "3", "yes"]
        for each, member in members.items()
    ]
    assert status(members, "--broker", 2) == (0, "Broker 2 may stop now\n")

    # Its session lasts: the others still count on it.
    members[3].kill()
    code, said = status(members)
    assert code == 1
    assert f"Broker 3: cannot connect to {members[3].bootstrap_servers}: connection refused\n" in said
    no_acks = "may not stop now: acks=all would fail for views-0, views-1, views-2\n"
    assert status(members, "--broker", 2) == (1, f"Broker 2 {no_acks}")

    until(lambda: len(status_json(members)["under_replicated_partitions"]) == 3)
    members[2].stop()
    until(lambda: len(status_json(members)["under_min_isr_partitions"]) == 3)
    found = status_json(members)
    assert [each["failure"] for each in found["brokers"]] == [None, "is not registered", "is not registered"]
    assert found["under_replicated_partitions"][0] == {
        "topic": "views",
        "partition": 0,
        "leader": 1,
        "replicas": found["under_replicated_partitions"][0]["replicas"],
        "isr": [1],
        "min_isr": 2,
    }
    assert not found["is_healthy"]
    complaint = "barnabas cluster status: broker 2 does not answer; the brokers that answer are 1\n"
    assert status(members, "--broker", 2) == (1, complaint)

    for each in (2, 3):
        members[each].restart()
    wait_for_in_sync(members, "views")
    assert status(members)[0] == 0
    delete(members, "views")


def test_what_has_no_other_replica_is_told_apart_from_what_waits_for_one(members: Members) -> None:
    servers = ("--bootstrap-server", servers_of(members))
    for topic, assignment in (("alone", "2"), ("bold", ",".join(["2"] * 30))):
        made = ("--create", "--topic", topic, "--replica-assignment", assignment, "--config", "min.insync.replicas=1")
        assert run("topics", *made, *servers).returncode == 0
    code, said = status(members, "--broker", 2)
    assert code == 1
    assert said == "Broker 2 may not stop now: no other replica of alone-0, bold-0, bold-1 and 28 more\n"
    assert status(members, "--broker", 1) == (0, "Broker 1 may stop now\n")

    # So many are not shown one by one.
    members[2].stop()
    until(lambda: len(status_json(members)["offline_partitions"]) == 31)
    said = status(members)[1]
    assert "\nPartitions offline: 31\n" in said
    assert "and 11 more; --json lists all\n" in said
    members[2].restart()
    wait_for_members(members)
    delete(members, "alone", "bold")


def test_commands_show_the_rest_of_a_cluster_with_an_offline_partition() -> None:
    with Cluster(2) as cluster:
        at = ("--bootstrap-server", cluster.bootstrap_servers)
        here, gone = cluster.brokers
        assert run("topics", "--create", "--topic", "t", "--replica-assignment", f"{here},{gone}", *at).returncode == 0
        group = ("--group", "g")
        reset = ("--reset-offsets", *group, "--topic", "t", "--to-latest", "--execute", *at)
        # The other broker learns of the topic a moment later.
        until(lambda: run("groups", *reset).returncode == 0)
        cluster.brokers[gone].stop()
        until(lambda: run("topics", "--describe", "--unavailable-partitions", "--json", *at).stdout not in ("[]\n", ""))

        described = run("groups", "--describe", *group, "--json", *at)
        (shown,) = json.loads(described.stdout)
        rows = [(row["current_offset"], row["log_end_offset"], row["lag"]) for row in shown["offsets"]]
        assert rows == [(0, 0, 0), (0, None, None)]
        hanging = run("transactions", "hanging", "--json", *at)
        assert (hanging.returncode, hanging.stdout) == (0, "[]\n")
        assert "t-1" in hanging.stderr
