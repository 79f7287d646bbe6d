"""`barnabas explain`: a cause is made, named, and gone from the answer once it is gone."""

import asyncio
import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.clients.pool import Pool
from barnabas.explain.collector import Collector
from barnabas.explain.questions import QUESTIONS
from barnabas.explain.snapshot import Scope, UnreadRecords
from barnabas.testing import Broker
from tests.clusters import create_topic, servers_of, three_brokers, wait_for_in_sync
from tests.commands import run
from tests.patience import PATIENCE_S, until
from tests.unit.explain.worlds import check_command

_QUIET = {"log_level": 0}


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker() as broker:
        yield broker.bootstrap_servers


def explain(servers: str, *question: str) -> dict[str, Any]:
    """The answer, once it is checked that everything that it advises can be run, and that people are told the same."""
    ran = run("explain", *question, "--bootstrap-server", servers, "--json")
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    for each in _all(answer["findings"]):
        for line in each["commands"]:
            check_command(line)
    return answer


def _all(findings: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for each in findings:
        yield each
        yield from _all(each["causes"])


def verdicts(servers: str, *question: str) -> list[str]:
    return [each["verdict"] for each in _all(explain(servers, *question)["findings"])]


@pytest.mark.parametrize("question", ["topic", "disk"])
def test_a_topic_that_does_not_exist_is_an_error(servers: str, question: str) -> None:
    ran = run("explain", question, "nope", "--bootstrap-server", servers)
    assert ran.returncode == 1
    assert "topic nope does not exist" in ran.stderr


def records(servers: str, topic: str, count: int, partition: int = 0) -> None:
    producer = Producer({"bootstrap.servers": servers, **_QUIET})
    for _ in range(count):
        producer.produce(topic, b"x", partition=partition)
    assert producer.flush(PATIENCE_S) == 0


@contextmanager
def reader(servers: str, topic: str, client_id: str = "reader") -> Iterator[Consumer]:
    """A member of the group named as the topic is, which joins as it is polled and commits when it is told to."""
    settings = {"group.id": topic, "client.id": client_id, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    settings["heartbeat.interval.ms"] = 100
    with closing(Consumer({"bootstrap.servers": servers, **settings, **_QUIET})) as consumer:
        consumer.subscribe([topic])
        yield consumer


def wait_for_partitions(counts: dict[Consumer, int]) -> None:
    """Poll members until each has so many partitions."""

    def have_them() -> bool:
        for each in counts:
            each.poll(0.05)
        return all(len(each.assignment()) == count for each, count in counts.items())

    until(have_them)


def commit(consumer: Consumer, topic: str, offset: int) -> None:
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)


def test_lag_has_the_causes_that_it_has_one_after_the_other(servers: str, tmp_path: Path) -> None:
    topic = "lag"
    assert run("topics", "--create", "--topic", topic, "--partitions", 1, "--bootstrap-server", servers).returncode == 0
    records(servers, topic, 20)
    with reader(servers, topic) as consumer:
        wait_for_partitions({consumer: 1})
        assert verdicts(servers, "lag", topic) == ["behind", "never-committed"]
        commit(consumer, topic, 20)
        assert verdicts(servers, "lag", topic) == ["no-lag"]
        assert verdicts(servers, "group", topic) == ["rebalanced", "joined"]

        # A transaction holds back whoever reads committed records.
        transactions = Producer({"bootstrap.servers": servers, "transactional.id": topic, **_QUIET})
        transactions.init_transactions(PATIENCE_S)
        transactions.begin_transaction()
        transactions.produce(topic, b"x", partition=0)
        assert transactions.flush(PATIENCE_S) == 0
        assert verdicts(servers, "lag", topic) == ["behind", "open-transaction", "open"]
        assert verdicts(servers, "transaction", topic) == ["open"]
        transactions.abort_transaction(PATIENCE_S)
        assert verdicts(servers, "lag", topic) == ["no-lag", "markers-only"]
        assert verdicts(servers, "transaction", topic) == ["aborted-producer", "last-state"]

        # What retention, or somebody, removes before it is read is lost to the group.
        records(servers, topic, 8)
        below = {"partitions": [{"topic": topic, "partition": 0, "offset": 25}], "version": 1}
        (tmp_path / "below.json").write_text(json.dumps(below))
        deleted = run("delete-records", "--offset-json-file", tmp_path / "below.json", "--bootstrap-server", servers)
        assert deleted.returncode == 0, deleted.stderr
        found = explain(servers, "lag", topic)["findings"][0]["causes"][0]
        assert (found["verdict"], found["figures"]["lost_records"]) == ("behind-start", 5)
        commit(consumer, topic, 26)
    (empty,) = explain(servers, "lag", topic)["findings"][0]["causes"]
    assert empty["verdict"] == "group-empty"
    assert empty["text"].endswith("last to leave: reader (left)")


def test_a_rebalance_says_who_began_it(servers: str) -> None:
    assert run("topics", "--create", "--topic", "two", "--partitions", 2, "--bootstrap-server", servers).returncode == 0
    for partition in (0, 1):
        records(servers, "two", 1, partition)
    with reader(servers, "two") as first:
        wait_for_partitions({first: 2})
        with reader(servers, "two", "second") as second:
            wait_for_partitions({first: 1, second: 1})
        wait_for_partitions({first: 2})
        (found,) = explain(servers, "group", "two")["findings"]
    assert (found["verdict"], found["figures"]["rebalance_count"]) == ("rebalanced", 3)
    assert {each["verdict"]: each["figures"]["rebalance_count"] for each in found["causes"]} == {"joined": 2, "left": 1}
    assert "the last one: second at /127.0.0.1 left" in found["text"]
    # The first member's join disturbed nobody; the second's join and leave did.
    assert (found["severity"], found["figures"]["recent_count"]) == ("fine", 2)


def test_every_question_is_answered_from_what_a_broker_tells(servers: str) -> None:
    records(servers, "kept", 5)
    for question in QUESTIONS:
        answer = explain(servers, question)
        # Of groups and transactions there may be none yet.
        assert answer["findings"] or question in ("group", "lag", "transaction")
        assert answer["brokers_with_facts"] == [0]
        assert answer["silent_brokers"] == {}
    assert verdicts(servers, "disk", "kept") == ["kept", "kept-retention-ms"]
    assert explain(servers, "disk")["findings"][0]["figures"]["total_bytes"] > 0
    assert verdicts(servers, "client") == ["not-held"]


def test_it_goes_on_answering_until_it_is_told_to_stop(servers: str) -> None:
    command = [sys.executable, "-m", "barnabas.cli.main", "explain", "--watch", "--json", "--bootstrap-server", servers]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
    assert answers[1]["now_ms"] > answers[0]["now_ms"]


def test_it_goes_on_answering_after_a_restart_of_the_broker() -> None:
    program = "import sys; from barnabas.cli import explain, main; explain._WATCHED_EVERY_S = 0.2; main.main()"
    with Broker() as broker:
        options = ["--watch", "--json", "--timeout", "1000", "--bootstrap-server", broker.bootstrap_servers]
        command = [sys.executable, "-c", program, "explain", *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline()
            broker.stop()
            assert any("connection refused" in line for line in process.stderr)
            restarted_ms = time.time() * 1_000
            broker.start()
            answers = (json.loads(line) for line in process.stdout)
            assert any(each["now_ms"] > restarted_ms and each["silent_brokers"] == {} for each in answers)
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_S) == 0


def test_who_may_not_is_told_which_right_is_missing() -> None:
    config = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer", "super.users": "User:ANONYMOUS"}
    with Broker(config=config) as broker:
        servers = broker.bootstrap_servers
        asked = ("refused", "alice", "--operation", "write", "--topic", "views")
        assert verdicts(servers, *asked) == ["no-rule"]
        rule = ("--add", "--topic", "views", "--operation", "Write", "--bootstrap-server", servers)
        assert run("acls", *rule, "--allow-principal", "User:bob").returncode == 0
        (found,) = explain(servers, *asked)["findings"]
        assert found["verdict"] == "right-missing"
        # What is advised is what helps.
        _, *advised = shlex.split(found["commands"][0])
        assert run(*advised, "--bootstrap-server", servers).returncode == 0
        assert verdicts(servers, *asked) == ["allowed"]
        assert run("acls", *rule, "--deny-principal", "User:*").returncode == 0
        assert verdicts(servers, *asked) == ["denied"]


def test_a_broker_that_refuses_its_events_does_not_lack_them() -> None:
    with Broker(config={"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}) as broker:
        ran = run("explain", "refused", "--bootstrap-server", broker.bootstrap_servers)
    assert ran.returncode == 0, ran.stderr
    assert "Not checked: refusals: " in ran.stderr
    assert "no diagnostic events" not in ran.stderr


def test_a_broker_that_is_killed_is_named_and_all_is_well_when_it_is_back(tmp_path: Path) -> None:
    with three_brokers(tmp_path) as members:
        create_topic(members, "views", 1)
        wait_for_in_sync(members, "views")
        servers = servers_of(members)
        until(lambda: verdicts(servers) == ["well"])
        members[3].kill()
        assert "silent" in verdicts(servers)
        until(lambda: "under-replicated" in verdicts(servers))
        found = explain(servers, "topic", "views")["findings"][0]
        (gone,) = found["causes"]
        assert (gone["verdict"], gone["figures"]["broker"]) == ("broker-gone", 3)
        assert verdicts(servers, "broker", "2")[0] == "may-not-stop"
        members[3].restart()
        wait_for_in_sync(members, "views")
        until(lambda: verdicts(servers) == ["well"])


def test_what_lies_ahead_is_read_again_only_where_it_has_moved(servers: str) -> None:
    records(servers, "ahead", 3)
    reset = ("--reset-offsets", "--group", "ahead", "--topic", "ahead", "--to-earliest", "--execute")
    assert run("groups", "--bootstrap-server", servers, *reset).returncode == 0

    async def look() -> list[UnreadRecords]:
        async with Pool(servers, "test") as pool:
            collector, question = Collector(pool, 10_000, Scope("ahead"), 60_000), QUESTIONS["lag"]
            found = []
            for count in (0, 0, 1):
                if count:
                    await asyncio.to_thread(records, servers, "ahead", count)
                snapshot = await collector.collect(question.parts, question.facts)
                found += snapshot.unread.values()
            return found

    first, second, third = asyncio.run(look())
    assert first is second
    assert (first.record_count, third.record_count) == (3, 4)
