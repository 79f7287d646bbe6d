"""`barnabas explain` of a cluster of Kafka 2.7.2: what is so now is told, what can't be known is said to be unknown."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.clusters import Members, cluster_of, servers_of
from tests.commands import run
from tests.patience import PATIENCE_S, until

_TWO = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "min.insync.replicas": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory, zookeeper: Any) -> Iterator[Members]:
    connect = f"{zookeeper.connect}/explain"
    with cluster_of(("kafka",) * 2, tmp_path_factory.mktemp("kafka"), connect, _TWO) as members:
        yield members


@pytest.fixture(autouse=True)
def looks_soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `barnabas explain` take its second look at what moves sooner than after two seconds: nothing moves here."""
    monkeypatch.setattr("barnabas.explain.collector._SAMPLE_INTERVAL_S", 0.2)


def findings(members: Members, *question: str) -> list[dict[str, Any]]:
    ran = run("explain", *question, "--bootstrap-server", servers_of(members), "--json")
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    assert answer["brokers_with_facts"] == []
    return answer["findings"]


def verdicts(found: list[dict[str, Any]]) -> list[str]:
    return [verdict for each in found for verdict in (each["verdict"], *verdicts(each["causes"]))]


def test_what_a_kafka_tells_is_told_and_the_rest_is_unknown(members: Members) -> None:
    servers = servers_of(members)
    made = ("--create", "--topic", "views", "--replica-assignment", "1", "--bootstrap-server", servers)
    assert run("topics", *made).returncode == 0
    transactions = Producer({"bootstrap.servers": servers, "transactional.id": "pay", "log_level": 0})
    transactions.init_transactions(PATIENCE_S)
    transactions.begin_transaction()
    transactions.produce("views", b"x")
    transactions.commit_transaction(PATIENCE_S)
    settings = {"group.id": "billing", "client.id": "reader", "auto.offset.reset": "earliest"}
    with closing(
        Consumer({"bootstrap.servers": servers, "enable.auto.commit": False, **settings, "log_level": 0})
    ) as consumer:
        consumer.subscribe(["views"])
        until(lambda: consumer.poll(0.1))
        assert verdicts(findings(members, "lag", "billing")) == ["behind", "never-committed"]
        # The record is committed, the marker behind it is left.
        consumer.commit(offsets=[TopicPartition("views", 0, 1)], asynchronous=False)
        assert verdicts(findings(members, "lag", "billing")) == ["no-lag", "markers-only"]
        (group,) = findings(members, "group", "billing")
        assert (group["text"], group["verdict"]) == ("group billing is Stable with 1 member", "at-rest")
        assert [(each["verdict"], each["certainty"]) for each in group["causes"]] == [("unknown", "unknown")]

        transactions.begin_transaction()
        transactions.produce("views", b"x")
        assert transactions.flush(PATIENCE_S) == 0
        consumer.commit(offsets=[TopicPartition("views", 0, 2)], asynchronous=False)
        (lag,) = findings(members, "lag", "billing")
        assert verdicts([lag]) == ["behind", "open-transaction", "open"]
        assert lag["causes"][0]["causes"][0]["subject"] == "transactional id pay"
        transactions.abort_transaction(PATIENCE_S)
        assert verdicts(findings(members, "transaction", "pay")) == ["last-state", "unknown"]
    assert verdicts(findings(members, "lag", "billing")) == ["no-lag", "markers-only"]
    assert verdicts(findings(members, "refused")) == ["unknown"]
    assert {each["certainty"] for each in findings(members, "disk")} == {"unknown"}
    assert verdicts(findings(members, "slow")) == ["round-trip"] * 2


def test_a_topic_whose_broker_is_gone_is_offline_until_it_is_back(members: Members) -> None:
    servers = servers_of(members)
    made = ("--create", "--topic", "alone", "--replica-assignment", "2", "--bootstrap-server", servers)
    assert run("topics", *made).returncode == 0
    until(lambda: verdicts(findings(members, "topic", "alone")) == ["in-sync"])
    members[2].stop()
    until(lambda: "offline" in verdicts(findings(members)))
    (offline,) = findings(members, "topic", "alone")
    assert offline["figures"]["partitions"] == ["alone-0"]
    assert verdicts(offline["causes"]) == ["waits-for-replica", "broker-gone"]
    assert offline["causes"][1]["subject"] == "broker 2"
    members[2].restart()
    until(lambda: verdicts(findings(members, "topic", "alone")) == ["in-sync"])
