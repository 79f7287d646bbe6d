"""Kafka 2.7.2's own command-line tools, as their shell scripts run them.

Source: cli page, shell tools of 2.7 (what they print).
"""

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.compat.conftest import RunningBroker
from tests.patience import PATIENCE_S, until
from tools.kafka.java import run_tool, start_java

Tool = Callable[..., str]

TOPICS = "kafka.admin.TopicCommand"
GROUPS = "kafka.admin.ConsumerGroupCommand"
PRODUCER = "kafka.tools.ConsoleProducer"
CONSUMER = "kafka.tools.ConsoleConsumer"


@pytest.fixture
def tool(cluster: RunningBroker) -> Tool:
    """Run a tool against the shared broker and return what it printed; it must end well, and complain of nothing."""

    def run(class_name: str, *arguments: str, stdin: str | None = None) -> str:
        result = run_tool(class_name, "--bootstrap-server", cluster.bootstrap_servers, *arguments, stdin=stdin)
        assert result.returncode == 0, result.stdout + result.stderr
        assert not re.search(r"\b(WARN|ERROR|Exception)\b", result.stderr), result.stderr
        return result.stdout

    return run


def table(text: str) -> list[list[str]]:
    """Split the aligned columns that the tools print; the header comes first."""
    return [line.split() for line in text.splitlines() if line.strip()]


def test_topic_command_creates_lists_describes_and_deletes(cluster: RunningBroker, tool: Tool, name: str) -> None:
    config = ("--config", "retention.ms=3600000", "--config", "segment.bytes=1048576")
    created = tool(TOPICS, "--create", "--topic", name, "--partitions", "3", "--replication-factor", "1", *config)
    assert created == f"Created topic {name}.\n"
    assert name in tool(TOPICS, "--list").split()
    first, *partitions = tool(TOPICS, "--describe", "--topic", name).splitlines()
    heading, configs = first.split("\tConfigs: ")
    assert heading == f"Topic: {name}\tPartitionCount: 3\tReplicationFactor: 1"
    assert set(configs.split(",")) == {"retention.ms=3600000", "segment.bytes=1048576"}
    assert partitions == [f"\tTopic: {name}\tPartition: {n}\tLeader: 0\tReplicas: 0\tIsr: 0" for n in range(3)]

    again = run_tool(TOPICS, "--bootstrap-server", cluster.bootstrap_servers, "--create", "--topic", name)
    assert again.returncode == 1
    assert f"Topic '{name}' already exists." in again.stdout

    assert tool(TOPICS, "--delete", "--topic", name) == ""
    assert name not in tool(TOPICS, "--list").split()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--replication-factor", "2"), "Replication factor: 2 larger than available brokers: 1"),
        (("--config", "segment.bytes=1"), "Invalid value 1 for configuration segment.bytes"),
    ],
)
def test_topic_command_is_told_what_is_wrong(
    cluster: RunningBroker, name: str, arguments: tuple[str, str], complaint: str
) -> None:
    server = ("--bootstrap-server", cluster.bootstrap_servers)
    result = run_tool(TOPICS, *server, "--create", "--topic", name, *arguments)
    assert result.returncode == 1
    assert complaint in result.stdout + result.stderr


def test_console_producer_and_consumer(tool: Tool, name: str) -> None:
    tool(TOPICS, "--create", "--topic", name)
    keyed = ("--property", "parse.key=true", "--property", "key.separator=:")
    tool(PRODUCER, "--topic", name, *keyed, stdin="k1:one\nk2:two\nk3:drei äöü\n")
    shown = [argument for field in ("key", "offset", "partition") for argument in ("--property", f"print.{field}=true")]
    text = tool(CONSUMER, "--topic", name, "--from-beginning", "--max-messages", "3", *shown)
    assert text.splitlines() == [
        "Partition:0\tOffset:0\tk1\tone",
        "Partition:0\tOffset:1\tk2\ttwo",
        "Partition:0\tOffset:2\tk3\tdrei äöü",
    ]
    text = tool(CONSUMER, "--topic", name, "--partition", "0", "--offset", "2", "--max-messages", "1")
    assert text == "drei äöü\n"


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_console_producer_compresses(tool: Tool, name: str, codec: str) -> None:
    lines = [f"line {number} " + "x" * 200 for number in range(500)]
    tool(TOPICS, "--create", "--topic", name)
    tool(PRODUCER, "--topic", name, "--compression-codec", codec, stdin="".join(f"{line}\n" for line in lines))
    text = tool(CONSUMER, "--topic", name, "--from-beginning", "--max-messages", "500")
    assert text.splitlines() == lines


@contextmanager
def member_of(cluster: RunningBroker, topic: str, group: str) -> Iterator[subprocess.Popen[bytes]]:
    """A console consumer that stays in the group."""
    server = ("--bootstrap-server", cluster.bootstrap_servers)
    process = start_java(CONSUMER, *server, "--topic", topic, "--group", group, "--consumer-property", "client.id=cl1")
    try:
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def test_consumer_group_command(cluster: RunningBroker, tool: Tool, name: str) -> None:
    tool(TOPICS, "--create", "--topic", name)
    tool(PRODUCER, "--topic", name, stdin="".join(f"{number}\n" for number in range(10)))
    tool(CONSUMER, "--topic", name, "--group", name, "--from-beginning", "--max-messages", "10")
    tool(PRODUCER, "--topic", name, stdin="10\n11\n")

    assert name in tool(GROUPS, "--list").split()
    assert [name, "Empty"] in table(tool(GROUPS, "--list", "--state"))
    described = tool(GROUPS, "--describe", "--group", name)
    assert [name, name, "0", "10", "12", "2", "-", "-", "-"] in table(described)
    assert table(tool(GROUPS, "--describe", "--group", name, "--state"))[-1][-2:] == ["Empty", "0"]

    to_earliest = ("--reset-offsets", "--group", name, "--topic", name, "--to-earliest")
    assert table(tool(GROUPS, *to_earliest, "--dry-run"))[1:] == [[name, name, "0", "0"]]
    assert [name, name, "0", "10", "12", "2", "-", "-", "-"] in table(tool(GROUPS, "--describe", "--group", name))
    shift = ("--reset-offsets", "--group", name, "--topic", f"{name}:0", "--shift-by", "-3")
    assert table(tool(GROUPS, *shift, "--execute"))[1:] == [[name, name, "0", "7"]]
    assert tool(CONSUMER, "--topic", name, "--group", name, "--max-messages", "5").split() == [
        "7",
        "8",
        "9",
        "10",
        "11",
    ]
    past = ("--reset-offsets", "--group", name, "--all-topics", "--to-datetime", "2020-01-01T00:00:00.000")
    assert table(tool(GROUPS, *past, "--execute"))[1:] == [[name, name, "0", "0"]]


def test_consumer_group_command_shows_members(cluster: RunningBroker, tool: Tool, name: str) -> None:
    tool(TOPICS, "--create", "--topic", name, "--partitions", "2")
    with member_of(cluster, name, name):
        until(lambda: "Stable" in tool(GROUPS, "--describe", "--group", name, "--state"))
        row = table(tool(GROUPS, "--describe", "--group", name, "--state"))[-1]
        assert (row[0], row[1], row[-3], row[-2], row[-1]) == (name, cluster.bootstrap_servers, "range", "Stable", "1")
        row = table(tool(GROUPS, "--describe", "--group", name, "--members", "--verbose"))[-1]
        assert row[0] == name
        assert row[1].startswith("cl1-")
        assert row[2:] == ["/127.0.0.1", "cl1", "2", f"{name}(0,1)"]
        refused = ("--reset-offsets", "--group", name, "--topic", name, "--to-latest", "--execute")
        result = run_tool(GROUPS, "--bootstrap-server", cluster.bootstrap_servers, *refused)
        assert "Assignments can only be reset if the group" in result.stdout


def test_consumer_group_command_deletes(cluster: RunningBroker, tool: Tool, name: str) -> None:
    tool(TOPICS, "--create", "--topic", name)
    tool(PRODUCER, "--topic", name, stdin="1\n")
    tool(CONSUMER, "--topic", name, "--group", name, "--from-beginning", "--max-messages", "1")
    delete_offsets = ("--delete-offsets", "--group", name, "--topic", name)
    # The group goes with the last of its offsets.
    assert table(tool(GROUPS, *delete_offsets))[-1] == [name, "0", "Successful"]
    assert name not in tool(GROUPS, "--list").split()
    tool(CONSUMER, "--topic", name, "--group", name, "--from-beginning", "--max-messages", "1")
    with member_of(cluster, name, name):
        until(lambda: "Stable" in tool(GROUPS, "--describe", "--group", name, "--state"))
        kept = tool(GROUPS, *delete_offsets)
        assert "GroupSubscribedToTopicException" in kept, kept
        assert "GroupNotEmptyException" in tool(GROUPS, "--delete", "--group", name)
    until(lambda: "was successful" in tool(GROUPS, "--delete", "--group", name))
    assert name not in tool(GROUPS, "--list").split()


def test_consumer_group_command_on_a_group_that_is_not_there(cluster: RunningBroker, name: str) -> None:
    result = run_tool(GROUPS, "--bootstrap-server", cluster.bootstrap_servers, "--describe", "--group", name)
    assert f"Consumer group '{name}' does not exist." in result.stdout


def test_get_offset_shell(cluster: RunningBroker, tool: Tool, name: str) -> None:
    tool(TOPICS, "--create", "--topic", name)
    tool(PRODUCER, "--topic", name, stdin="".join(f"{number}\n" for number in range(20)))

    def answer(time_or_end: str) -> str:
        arguments = ("--broker-list", cluster.bootstrap_servers, "--topic", name, "--time", time_or_end)
        result = run_tool("kafka.tools.GetOffsetShell", *arguments)
        assert result.returncode == 0, result.stderr
        return result.stdout.strip()

    assert answer("-2") == f"{name}:0:0"
    assert answer("-1") == f"{name}:0:20"
    assert answer("1500000000000") == f"{name}:0:0"
    assert answer("4000000000000") == f"{name}:0:"


def test_producer_and_consumer_performance(cluster: RunningBroker, tool: Tool, name: str) -> None:
    properties = ("--producer-props", f"bootstrap.servers={cluster.bootstrap_servers}", "acks=1")
    load = ("--topic", name, "--num-records", "50000", "--record-size", "200", "--throughput", "-1")
    result = run_tool("org.apache.kafka.tools.ProducerPerformance", *load, *properties)
    assert result.returncode == 0, result.stderr
    assert re.search(r"^50000 records sent, [\d.]+ records/sec .* 99\.9th\.$", result.stdout, re.MULTILINE)
    header, line = tool("kafka.tools.ConsumerPerformance", "--topic", name, "--messages", "50000").splitlines()
    row = dict(zip(header.split(", "), line.split(", "), strict=True))
    assert int(row["data.consumed.in.nMsg"]) == 50_000


def test_end_to_end_latency(cluster: RunningBroker, tool: Tool, name: str) -> None:
    tool(TOPICS, "--create", "--topic", name)
    result = run_tool("kafka.tools.EndToEndLatency", cluster.bootstrap_servers, name, "1000", "all", "100")
    assert result.returncode == 0, result.stderr
    assert re.search(r"^Avg latency: [\d.]+ ms$", result.stdout, re.MULTILINE)
    assert re.search(r"^Percentiles: 50th = \d+, 99th = \d+, 99\.9th = \d+$", result.stdout, re.MULTILINE)


def test_broker_api_versions_command_finds_everything_usable(tool: Tool, cluster: RunningBroker) -> None:
    text = tool("kafka.admin.BrokerApiVersionsCommand")
    assert text.startswith(f"{cluster.bootstrap_servers} (id: 0 rack: null) -> (\n")
    offered = dict(re.findall(r"^\t(\w+)\(\d+\): (.*?),?$", text, re.MULTILINE))
    assert offered["Produce"].split(" [")[0] in {"0 to 8", "3 to 8"}
    for required in ("Fetch", "ListOffsets", "Metadata", "JoinGroup", "OffsetCommit", "CreateTopics", "InitProducerId"):
        assert "usable" in offered[required]
