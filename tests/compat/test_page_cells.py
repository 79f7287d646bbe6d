"""The page of our broker and of Kafka 2.7.2: cell by cell what Kafka's own tools print.

Source: cli page, shell tools of 2.7 (what they print).
"""

import json
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.testing import Broker
from tests.integration.page_process import Window, running_page
from tests.integration.test_page_changes import rows_of, shown
from tests.patience import PATIENCE_S
from tools.kafka.java import run_tool
from tools.kafka.server import ONE_BROKER, QuickKafkaServer

TOPICS = "kafka.admin.TopicCommand"
GROUPS = "kafka.admin.ConsumerGroupCommand"
CONFIGS = "kafka.admin.ConfigCommand"
RULES = "kafka.admin.AclCommand"
DIRECTORIES = "kafka.admin.LogDirsCommand"

HOUR_MS = 3_600_000
SETTINGS = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:ANONYMOUS",
    "log.retention.hours": "240",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
}


class Both:
    """A broker by Kafka's tools and by the page.

    Attributes:
        times: Of the records of orders-0, by offset.
    """

    def __init__(self, servers: str, port: int) -> None:
        self.servers = servers
        self.window = Window(port)
        self.times: list[int] = []

    def tool(self, class_name: str, *arguments: str) -> str:
        ended = run_tool(class_name, "--bootstrap-server", self.servers, *arguments)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    def page(self, path: str) -> Any:
        """Return a view's value, when the page has all of it."""
        told = json.loads(self.window.get(f"/c/cluster{path}", accept="application/json").text)
        assert (told["failure"], told["view"]["silent"]) == (None, {})
        return told["view"]


@pytest.fixture(scope="module", params=["barnabas", "kafka"])
def both(request: pytest.FixtureRequest) -> Iterator[Both]:
    """Topics with records of ten hours, a group with a member and one without, and rules."""
    with ExitStack() as stack:
        servers = stack.enter_context(started(request.param))
        port = stack.enter_context(running_page("--bootstrap-server", servers, "--allow-changes"))
        both = Both(servers, port)
        make(both)
        stack.enter_context(member(servers))
        yield both


@contextmanager
def started(kind: str) -> Iterator[str]:
    """Run a broker; where it is."""
    config = {**ONE_BROKER, **SETTINGS}
    with QuickKafkaServer(config=config) if kind == "kafka" else Broker(config=config) as broker:
        yield broker.bootstrap_servers


def make(both: Both) -> None:
    """Make topics, records, rules, and the offsets of a group without members."""
    both.tool(TOPICS, "--create", "--topic", "orders", "--partitions", "3", "--config", "retention.ms=864000000")
    settings = ("cleanup.policy=compact", "min.cleanable.dirty.ratio=0.25", "segment.bytes=1048576")
    both.tool(TOPICS, "--create", "--topic", "states", *(part for each in settings for part in ("--config", each)))
    rules = (
        ("--allow-principal", "User:alice", "--operation", "Read", "--topic", "orders"),
        ("--deny-principal", "User:bob", "--deny-host", "10.0.0.1", "--operation", "Write", "--topic", "orders"),
        ("--allow-principal", "User:*", "--group", "app-", "--resource-pattern-type", "prefixed"),
        ("--allow-principal", "User:carol", "--operation", "Describe", "--cluster"),
        ("--allow-principal", "User:carol", "--operation", "Write", "--transactional-id", "pay"),
    )
    for rule in rules:
        both.tool(RULES, "--add", *rule)
    producer = Producer({"bootstrap.servers": both.servers, "linger.ms": 0})
    now_ms = round(time.time() * 1_000)
    both.times = [now_ms - hours * HOUR_MS for hours in range(10, 0, -1)]
    for at_ms in both.times:
        for partition in (0, 1):
            producer.produce("orders", b"x" * 50, partition=partition, timestamp=at_ms)
        producer.produce("states", b"x", b"k", timestamp=at_ms)
    assert producer.flush(PATIENCE_S) == 0
    for group in ("idle", "billing"):
        consumer = Consumer({"bootstrap.servers": both.servers, "group.id": group, "enable.auto.commit": False})
        offsets = [TopicPartition("orders", 0, 4), TopicPartition("orders", 1, 10), TopicPartition("states", 0, 1)]
        consumer.commit(offsets=offsets, asynchronous=False)
        consumer.close()


@contextmanager
def member(servers: str) -> Iterator[None]:
    """Have a consumer read all partitions of orders; it commits nothing."""
    config = {"bootstrap.servers": servers, "group.id": "billing", "client.id": "reader"}
    with closing(Consumer({**config, "enable.auto.commit": False})) as consumer:
        consumer.subscribe(["orders"])
        deadline_s = time.monotonic() + PATIENCE_S
        while len(consumer.assignment()) < 3:
            consumer.poll(0.1)
            assert time.monotonic() < deadline_s
        yield


def table(text: str) -> list[dict[str, str]]:
    """Split the aligned columns that the tools print."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    head = next(index for index, line in enumerate(lines) if line[0] == "GROUP")
    return [dict(zip(lines[head], line, strict=True)) for line in lines[head + 1 :]]


def lines(text: str, beginning: str) -> list[dict[str, str]]:
    """Read what TopicCommand prints: `Name: value`, tabs between; those lines that begin so."""
    told = [line.lstrip("\t").split("\t") for line in text.splitlines() if line.startswith(beginning)]
    return [{name: value for part in line for name, _, value in [part.partition(": ")]} for line in told]


def known(value: object) -> str:
    """Write a figure as tools do."""
    return "-" if value is None else str(value)


def test_topics_and_partitions_are_those_of_kafka_topics(both: Both) -> None:
    said = both.tool(TOPICS, "--describe")
    topics = {each["name"]: each for each in both.page("/topics")["topics"]["rows"]}
    assert topics.keys() == {"orders", "states", "__consumer_offsets"}
    for told in lines(said, "Topic: "):
        row = topics[told["Topic"]]
        counts = (str(row["partition_count"]), str(row["replication_factor"]))
        assert counts == (told["PartitionCount"], told["ReplicationFactor"])
        page = both.page(f"/topic?name={told['Topic']}")
        own = {each["name"]: each["value"] for each in page["settings"] if each["where"] == "topic"}
        assert own == dict(each.split("=") for each in told["Configs"].split(","))
        parts = [each for each in lines(said, "\tTopic: ") if each["Topic"] == told["Topic"]]
        assert [(each["Partition"], each["Leader"], each["Replicas"], each["Isr"]) for each in parts] == [
            (
                str(row["partition"]),
                str(row["leader_id"]),
                *(",".join(map(str, row[name])) for name in ("replicas", "isr")),
            )
            for row in page["partitions"]["rows"]
        ]


@pytest.mark.parametrize("group", ["billing", "idle"])
def test_a_group_is_that_of_kafka_consumer_groups(both: Both, group: str) -> None:
    describe = ("--describe", "--group", group)
    page = both.page(f"/group?name={group}")
    members = {each["member_id"]: each for each in page["members"]}
    owners = {part: each for each in members.values() for part in each["partitions"]}
    nobody = {"member_id": "-", "host": "-", "client_id": "-"}
    rows = []
    for row in page["partitions"]:
        owner = owners.get(row["partition"], nobody)
        who = "" if owner is nobody else f"{owner['client_id']} at {owner['host']}"
        assert row["member"] == who
        topic, _, partition = row["partition"].rpartition("-")
        figures = (known(row[each]) for each in ("committed", "end_offset", "lag"))
        rows.append([group, topic, partition, *figures, owner["member_id"], owner["host"], owner["client_id"]])
    told = table(both.tool(GROUPS, *describe))
    assert sorted(rows) == sorted(list(each.values()) for each in told)
    (listed,) = (each for each in both.page("/groups")["groups"]["rows"] if each["name"] == group)
    assert listed["lag"] == sum(int(each["LAG"]) for each in told if each["LAG"] != "-")
    # The coordinator's address and id are two words.
    (*_, state, count) = both.tool(GROUPS, *describe, "--state").split()
    assert (page["state"], str(len(members))) == (listed["state"], str(listed["member_count"])) == (state, count)
    assert f"({page['coordinator_id']})" in both.tool(GROUPS, *describe, "--state")
    if members:
        told = table(both.tool(GROUPS, *describe, "--members", "--verbose"))
        assert [[each["CONSUMER-ID"], each["HOST"], each["CLIENT-ID"], each["#PARTITIONS"]] for each in told] == [
            [each["member_id"], each["host"], each["client_id"], str(len(each["partitions"]))]
            for each in members.values()
        ]


def test_groups_are_those_that_are_listed(both: Both) -> None:
    said = both.tool(GROUPS, "--list", "--state").splitlines()[1:]
    assert sorted(line.split() for line in said if line) == [
        [each["name"], each["state"]] for each in both.page("/groups")["groups"]["rows"]
    ]


def test_time_lag_is_within_a_second_of_the_truth(both: Both) -> None:
    page = both.page("/group?name=billing")
    assert {row["partition"]: row["oldest_ms"] for row in page["partitions"] if row["oldest_ms"]} == {
        "orders-0": both.times[4],
        "states-0": both.times[1],
    }
    (behind,) = (each for each in page["findings"] if each["verdict"] == "behind")
    now_ms = time.time() * 1_000
    # The view may be as old as it is good for.
    assert abs(now_ms - page["now_ms"]) < 60_000
    assert abs(behind["figures"]["oldest_ms"] - (page["now_ms"] - both.times[1])) < 1_000


def test_settings_are_those_of_kafka_configs(both: Both) -> None:
    for topic in ("orders", "states"):
        said = both.tool(CONFIGS, "--describe", "--all", "--entity-type", "topics", "--entity-name", topic)
        told = re.findall(r"^  ([a-z.]+)=(.*?) sensitive=false synonyms={(\w*)", said, re.MULTILINE)
        page = both.page(f"/topic?name={topic}")["settings"]
        assert {each["name"]: each["value"] for each in page} == {name: value for name, value, _ in told}
        own = {name for name, _, where in told if where == "DYNAMIC_TOPIC_CONFIG"}
        assert {each["name"] for each in page if each["where"] == "topic"} == own


def test_rules_are_those_of_kafka_acls(both: Both) -> None:
    told = []
    pattern: list[str] = []
    for line in both.tool(RULES, "--list").splitlines():
        values = re.findall(r"\w+=([^,)]+)", line.strip())
        pattern = values if line.startswith("Current ACLs") else pattern
        if values and values is not pattern:
            told.append((*pattern, *values))
    names = ("resource_type", "name", "pattern_type", "principal", "host", "operation", "permission_type")
    rows = both.page("/access")["rules"]["rows"]
    assert len(rows) == 5
    assert sorted(tuple(each[name] for name in names) for each in rows) == sorted(told)


def test_sizes_are_those_of_kafka_log_dirs(both: Both) -> None:
    (line,) = (each for each in both.tool(DIRECTORIES, "--describe").splitlines() if each.startswith("{"))
    told = json.loads(line)["brokers"]
    assert [
        (each["broker_id"], each["path"], each["log_count"], each["log_bytes"])
        for each in both.page("/brokers")["directories"]
    ] == [
        (broker["broker"], each["logDir"], len(each["partitions"]), sum(part["size"] for part in each["partitions"]))
        for broker in told
        for each in broker["logDirs"]
    ]
    parts = {
        each["partition"]: each["size"] for broker in told for dir in broker["logDirs"] for each in dir["partitions"]
    }
    for topic in ("orders", "states"):
        rows = both.page(f"/topic?name={topic}")["partitions"]["rows"]
        assert {f"{topic}-{row['partition']}": row["sizes"]["0"] for row in rows} == {
            name: size for name, size in parts.items() if name.startswith(topic)
        }


@pytest.mark.parametrize(
    ("where", "value"),
    [
        *(("to-earliest", ""), ("to-latest", ""), ("to-current", ""), ("to-offset", "2"), ("to-offset", "70")),
        *(
            ("shift-by", "1"),
            ("shift-by", "-9"),
            ("to-datetime", "2020-01-01T00:00:00.000"),
            ("by-duration", "PT4H30M"),
        ),
    ],
)
def test_a_resets_preview_is_the_dry_run(both: Both, where: str, value: str) -> None:
    form = {"group": "idle", "to": where, "value": value}
    answer = shown(both.window, "reset-offsets", **form)
    assert answer.status == 200, answer.text
    option = (f"--{where}", value) if value else (f"--{where}",)
    said = both.tool(GROUPS, "--reset-offsets", "--dry-run", "--group", "idle", "--all-topics", *option)
    told = {f"{each['TOPIC']}-{each['PARTITION']}": each["NEW-OFFSET"] for each in table(said)}
    assert {row[0]: row[2] for row in rows_of(answer)} == told
    assert [row[1] for row in rows_of(answer)] == ["4", "10", "1"]
