"""The commands as a person runs them, against a real broker; with input, a signal or a pipe as processes."""

import json
import re
import signal
import subprocess
import sys

import pytest

from tests import commands
from tests.patience import PATIENCE_S, is_readable


@pytest.fixture
def barnabas(kafka_broker_session):
    """Runs a command against the session's broker; stdout, after it ended well."""

    def run(*arguments, stdin="", code=0):
        words = [*arguments, "--bootstrap-server", kafka_broker_session.bootstrap_servers]
        if stdin:
            command = [sys.executable, "-m", "barnabas.cli.main", *words]
            result = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=PATIENCE_S)
        else:
            result = commands.run(*words)
        assert result.returncode == code, result.stderr
        return result.stderr if code else result.stdout

    return run


def test_a_topic_from_its_creation_to_its_end(barnabas):
    assert barnabas("topics", "--create", "--topic", "cli-a", "--partitions", "2", "--config", "retention.ms=5") == (
        "Created topic cli-a.\n"
    )
    assert "already exists; --if-not-exists accepts" in barnabas("topics", "--create", "--topic", "cli-a", code=1)
    created = json.loads(barnabas("topics", "--create", "--topic", "cli-a", "--if-not-exists", "--json"))
    assert created == {"topic": "cli-a", "created": False}
    assert "cli-a" in barnabas("topics", "--list").splitlines()
    assert json.loads(barnabas("topics", "--list", "--topic", "cli-[a]", "--json")) == ["cli-a"]
    described = barnabas("topics", "--describe", "--topic", "cli-a").splitlines()
    assert described[:2] == ["Topic cli-a: 2 partitions, 1 replica", "Settings: retention.ms=5"]
    assert described[2].split("  ")[0] == "partition"
    (topic,) = json.loads(barnabas("topics", "--describe", "--topic", "cli-a", "--json"))
    assert (topic["partition_count"], topic["configs"]) == (2, {"retention.ms": "5"})
    assert barnabas("topics", "--delete", "--topic", "cli-a") == "Deleted topic cli-a.\n"
    assert barnabas("topics", "--delete", "--topic", "cli-a", "--if-exists") == ""
    assert "topic cli-a does not exist; barnabas topics --list" in barnabas(
        "topics", "--describe", "--topic", "cli-a", code=1
    )


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_lines_in_lines_out(barnabas, codec):
    topic = f"cli-lines-{codec}"
    lines = [f"line {number} ä" for number in range(5_000)]
    barnabas("produce", "--topic", topic, "--compression-codec", codec, stdin="\n".join(lines))
    read = barnabas("consume", "--topic", topic, "--from-beginning", "--max-messages", "5000").splitlines()
    assert read == lines


def test_keys_headers_offsets(barnabas):
    topic = "cli-keys"
    count = barnabas(
        "produce", "--topic", topic, "--property", "parse.key=true", "--property", "key.separator=:", "--json",
        "--request-required-acks", "all", stdin="a:1\r\nb:2\nc:\n",
    )  # fmt: skip
    assert json.loads(count) == {"topic": topic, "records": 3}
    shown = barnabas(
        "consume", "--topic", topic, "--partition", "0", "--offset", "1", "--timeout-ms", "500",
        "--property", "print.key=true", "--property", "print.offset=true",
    )  # fmt: skip
    assert shown == "Offset:1\tb\t2\nOffset:2\tc\t\n"
    (first, *_) = barnabas(
        "consume", "--topic", topic, "--from-beginning", "--json", "--max-messages", "1"
    ).splitlines()
    assert {name: json.loads(first)[name] for name in ("offset", "key", "value")} == {
        "offset": 0,
        "key": "a",
        "value": "1",
    }
    assert "partition 4 does not exist" in barnabas("consume", "--topic", topic, "--partition", "4", code=1)


def test_a_listing_of_groups_that_finds_none_says_so_beside_its_output(kafka_broker_session):
    at = ("--bootstrap-server", kafka_broker_session.bootstrap_servers)
    result = commands.run("groups", "--list", "--state", "PreparingRebalance", *at)
    assert (result.returncode, result.stderr) == (0, "No groups are in these states.\n")
    assert "no groups" not in result.stdout
    assert commands.run("groups", "--list", "--state", "PreparingRebalance", "--json", *at).stderr == ""


def test_a_group_goes_on_where_it_stopped_and_can_be_reset(barnabas):
    topic, group = "cli-groups", "cli-report"
    barnabas("produce", "--topic", topic, stdin="1\n2\n3\n4\n")
    consume = ("consume", "--topic", topic, "--group", group, "--from-beginning")
    assert barnabas(*consume, "--max-messages", "3") == "1\n2\n3\n"
    assert barnabas(*consume, "--max-messages", "1") == "4\n"
    assert group in barnabas("groups", "--list").splitlines()
    assert [group, "Empty"] in [line.split() for line in barnabas("groups", "--list", "--state").splitlines()]
    rows = barnabas("groups", "--describe", "--group", group).splitlines()
    assert rows[1].split() == [group, topic, "0", "4", "4", "0", "-", "-", "-"]
    reset = ("groups", "--reset-offsets", "--group", group)
    assert barnabas(*reset, "--topic", f"{topic}:0", "--to-offset", "2", "--export") == f"{topic},0,2\n"
    assert barnabas("groups", "--describe", "--group", group).splitlines()[1].split()[3] == "4"
    barnabas(*reset, "--all-topics", "--shift-by", "-3", "--execute")
    (described,) = json.loads(barnabas("groups", "--describe", "--group", group, "--json"))
    assert (described["offsets"][0]["current_offset"], described["offsets"][0]["lag"]) == (1, 3)
    assert barnabas(*consume, "--max-messages", "1") == "2\n"
    planned = json.loads(barnabas(*reset, "--topic", topic, "--to-datetime", "2000-01-01T00:00:00.000", "--json"))
    assert planned == [{"group": group, "topic": topic, "partition": 0, "new_offset": 0}]
    assert "consumer group nope does not exist" in barnabas("groups", "--describe", "--group", "nope", code=1)


def test_a_group_misses_no_record_of_a_partition_that_was_empty(barnabas):
    topic = "cli-positions"
    barnabas("topics", "--create", "--topic", topic, "--partitions", "2")
    consume = ("consume", "--topic", topic, "--group", topic)
    assert barnabas(*consume, "--timeout-ms", "100") == ""
    lines = [f"{key}:{key}" for key in range(10)]
    keys = ("--property", "parse.key=true", "--property", "key.separator=:")
    barnabas("produce", "--topic", topic, *keys, stdin="\n".join(lines))
    assert sorted(barnabas(*consume, "--max-messages", "10").split()) == sorted(str(key) for key in range(10))


@pytest.mark.parametrize("version", ["0.9.0", "0.10.2"])
def test_records_of_old_message_formats_are_read(barnabas, version):
    topic = f"cli-format-{version}"
    barnabas("topics", "--create", "--topic", topic, "--config", f"message.format.version={version}")
    barnabas("produce", "--topic", topic, "--compression-codec", "gzip", stdin="0\n1\n2\n")
    read = barnabas(
        "consume", "--topic", topic, "--partition", "0", "--offset", "1", "--max-messages", "2",
        "--property", "print.offset=true", "--property", "print.timestamp=true",
    )  # fmt: skip
    rows = [line.split("\t") for line in read.splitlines()]
    assert [row[1:] for row in rows] == [["Offset:1", "1"], ["Offset:2", "2"]]
    assert {row[0] == "NO_TIMESTAMP" for row in rows} == {version == "0.9.0"}


@pytest.mark.parametrize(
    "options", [("--topic", "{}"), ("--topic", "{}", "--group", "{}"), ("--include", "{}.*", "--group", "{}")]
)
def test_partitions_and_topics_are_read_that_appear_meanwhile(barnabas, kafka_broker_session, request, options):
    name = f"cli-new-{request.node.callspec.indices['options']}"
    barnabas("topics", "--create", "--topic", name)
    barnabas("produce", "--topic", name, stdin="first\n")
    command = [sys.executable, "-m", "barnabas.cli.main", "consume", *(each.format(name) for each in options)]
    command += ["--from-beginning", "--max-messages", "11", "--consumer-property", "metadata.max.age.ms=100"]
    command += ["--bootstrap-server", kafka_broker_session.bootstrap_servers]
    # The command would wait for ever for a partition that it does not find.
    command += ["--timeout-ms", f"{PATIENCE_S}000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "first\n"
        other = name
        if "--include" in options:
            other = f"{name}-other"
            barnabas("topics", "--create", "--topic", other)
        else:
            barnabas("topics", "--alter", "--topic", name, "--partitions", "2")
        lines = [f"{key}:{key}" for key in range(10)]
        keys = ("--property", "parse.key=true", "--property", "key.separator=:")
        barnabas("produce", "--topic", other, *keys, stdin="\n".join(lines))
        read, errors = process.communicate()
    assert sorted(read.split()) == sorted(str(key) for key in range(10)), errors


def test_ctrl_c_ends_a_consumer_in_good_order(barnabas, kafka_broker_session):
    barnabas("produce", "--topic", "cli-signal", stdin="1\n")
    command = [sys.executable, "-m", "barnabas.cli.main", "consume", "--topic", "cli-signal", "--group", "cli-signal"]
    command += ["--from-beginning", "--bootstrap-server", kafka_broker_session.bootstrap_servers]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "1\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert errors == "Processed a total of 1 messages\n"
    rows = barnabas("groups", "--describe", "--group", "cli-signal").splitlines()
    assert rows[1].split()[3:6] == ["1", "1", "0"]


@pytest.fixture
def unread(kafka_broker_session):
    """Starts `consume --group` of a topic, whose output nobody reads yet."""
    processes = []

    def start(topic, *options):
        command = [sys.executable, "-m", "barnabas.cli.main", "consume", "--topic", topic, "--group", topic, *options]
        command += ["--from-beginning", "--consumer-property", "heartbeat.interval.ms=100"]
        command += ["--bootstrap-server", kafka_broker_session.bootstrap_servers]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_a_member_whose_reader_is_slow_stays_in_its_group_and_prints_each_record_once(
    barnabas, kafka_broker_session, unread
):
    topic = "cli-slow"
    lines = [f"{number:0100}" for number in range(10_000)]
    barnabas("produce", "--topic", topic, stdin="\n".join(lines))
    with kafka_broker_session.on("Heartbeat", group=topic).watch() as seen:
        process = unread(topic, "--max-messages", "10000")
        assert is_readable(process.stdout)
        # A pipe takes less than one fetch.
        seen.wait_for(seen.count + 3, PATIENCE_S)
        read, errors = process.communicate(timeout=PATIENCE_S)
    assert read.split() == lines
    assert errors == "Processed a total of 10000 messages\n"


def test_ctrl_c_ends_a_consumer_whose_output_nobody_reads(barnabas, unread):
    topic = "cli-stalled"
    # More than a pipe takes.
    barnabas("produce", "--topic", topic, stdin="x" * 500_000)
    process = unread(topic)
    assert is_readable(process.stdout)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 1
    assert process.stderr.read() == "stopped while printing, because the reader of the output does not read\n"
    assert [topic, "Empty"] in [line.split() for line in barnabas("groups", "--list", "--state").splitlines()]


def test_a_reader_that_has_seen_enough(barnabas, kafka_broker_session):
    barnabas("produce", "--topic", "cli-pipe", stdin="x" * 1_000 + "\n" + "\n".join(map(str, range(50_000))))
    command = f"{sys.executable} -m barnabas.cli.main consume --topic cli-pipe --from-beginning"
    command += f" --bootstrap-server {kafka_broker_session.bootstrap_servers} | head -c 5"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=PATIENCE_S)
    assert result.stdout == "xxxxx"
    assert "Traceback" not in result.stderr


def test_perf_prints_what_kafkas_tools_print(barnabas):
    pytest.importorskip("confluent_kafka", reason="the extra `clients` is not installed")
    produced = barnabas(
        "perf", "produce", "--topic", "cli-perf", "--num-records", "5000", "--record-size", "100",
        "--producer-props", "acks=all", "linger.ms=5",
    )  # fmt: skip
    number = r"\d+\.\d\d"
    assert re.fullmatch(
        rf"5000 records sent, \d+\.\d{{6}} records/sec \({number} MB/sec\), {number} ms avg latency, "
        rf"{number} ms max latency, \d+ ms 50th, \d+ ms 95th, \d+ ms 99th, \d+ ms 99\.9th\.\n",
        produced,
    )
    header, line = barnabas("perf", "consume", "--topic", "cli-perf", "--messages", "5000").splitlines()
    assert header.startswith("start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg")
    moment = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}"
    assert re.fullmatch(rf"{moment}, {moment}, 0\.4768, [\d.]+, 5000, [\d.]+, \d+, \d+, [\d.]+, [\d.]+", line)
    measured = json.loads(
        barnabas("perf", "produce", "--topic", "cli-perf", "--num-records", "10", "--record-size", "1", "--json")
    )
    assert measured["records"] == 10
    assert 'No such configuration property: "colour"' in barnabas(
        "perf", "produce", "--topic", "cli-perf", "--num-records", "1", "--record-size", "1",
        "--producer-props", "colour=blue", code=1,
    )  # fmt: skip
