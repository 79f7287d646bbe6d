"""`barnabas delete-records | log-dirs | elect-leaders | reassign` against the broker under test.

Source: cli page, kafka-delete-records, kafka-log-dirs, kafka-leader-election, kafka-reassign-partitions.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

from barnabas.wire.protocol.api_keys import ApiKey
from tests.compat.commands import Commands
from tests.compat.conftest import TARGET
from tests.patience import PATIENCE_S
from tools.kafka.server import ONE_BROKER, QuickKafkaServer


def produce(commands: Commands, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": commands.servers})
    for _ in range(count):
        producer.produce(topic, b"x" * 100, partition=0)
    assert producer.flush(PATIENCE_S) == 0


def written(tmp_path: Path, *partitions: dict) -> str:
    """A file that names partitions."""
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
    path.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return str(path)


def test_records_are_deleted(commands: Commands, name: str, tmp_path: Path) -> None:
    commands.run("topics", "--create", "--topic", name, "--partitions", "2")
    produce(commands, name, 10)
    here = {"topic": name, "partition": 0}
    command = ("delete-records", "--offset-json-file")
    deleted = commands.run(*command, written(tmp_path, {**here, "offset": 4})).splitlines()
    assert [line.split() for line in deleted] == [
        ["topic", "partition", "low", "watermark", "error"],
        [name, "0", "4", "-"],
    ]
    everything = ({**here, "offset": -1}, {"topic": name, "partition": 1, "offset": 0})
    assert [row["low_watermark"] for row in commands.json(*command, written(tmp_path, *everything))] == [10, 0]

    complaint = commands.fails(*command, written(tmp_path, {**here, "offset": 11}))
    assert complaint.endswith(f"records were not deleted: {name}-0\n")
    missing = {"topic": f"not-{name}", "partition": 0, "offset": 1}
    assert f"topic not-{name} does not exist; barnabas topics" in commands.fails(*command, written(tmp_path, missing))


def test_log_directories(commands: Commands, name: str) -> None:
    commands.need(ApiKey.DESCRIBE_LOG_DIRS)
    commands.run("topics", "--create", "--topic", name, "--partitions", "2")
    produce(commands, name, 3)
    heading, columns, *lines = commands.run("log-dirs", "--describe", "--topic-list", name).splitlines()
    assert heading.startswith("Broker 0, /")
    assert ": 2 logs, " in heading
    assert columns.split() == ["topic", "partition", "bytes", "offset", "lag", "kind"]
    assert lines[1].split() == [name, "1", "0", "0", "current"]
    described = commands.json("log-dirs", "--describe", "--topic-list", name, "--broker-list", "0")
    (directory,) = described["brokers"][0]["logDirs"]
    assert (directory["error"], described["version"]) == (None, 1)
    assert [part["partition"] for part in directory["partitions"]] == [f"{name}-0", f"{name}-1"]
    assert directory["partitions"][0]["size"] > 300
    assert "broker 7 does not exist: the brokers are 0" in commands.fails(
        "log-dirs", "--describe", "--broker-list", "0,7"
    )
    assert f"no broker has a log of topic not-{name}" in commands.run(
        "log-dirs", "--describe", "--topic-list", f"not-{name}", code=1
    )


@pytest.mark.parametrize("kind", ["PREFERRED", "unclean"])
def test_leaders_that_need_no_election(commands: Commands, name: str, tmp_path: Path, kind: str) -> None:
    commands.need(ApiKey.ELECT_LEADERS)
    commands.run("topics", "--create", "--topic", name, "--partitions", "2")
    elect = ("elect-leaders", "--election-type", kind)
    assert commands.run(*elect, "--topic", name, "--partition", "1") == (
        f"Valid replica already elected for partitions {name}-1\n"
    )
    file = written(tmp_path, {"topic": name, "partition": 0}, {"topic": name, "partition": 1})
    assert [row["error"] for row in commands.json(*elect, "--path-to-json-file", file)] == ["ELECTION_NOT_NEEDED"] * 2
    assert commands.run(*elect, "--all-topic-partitions") == "Valid replica already elected for all partitions\n"
    assert f"leaders were not elected: {name}-2: " in commands.fails(*elect, "--topic", name, "--partition", "2")


def test_a_reassignment_of_one_broker(commands: Commands, name: str, tmp_path: Path) -> None:
    commands.need(ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.LIST_PARTITION_REASSIGNMENTS)
    commands.run("topics", "--create", "--topic", name, "--partitions", "2")
    moves = [{"topic": name, "partition": index, "replicas": [0]} for index in (0, 1)]
    file = ("--reassignment-json-file", written(tmp_path, *moves))
    before = json.loads(commands.run("reassign", "--execute", *file))
    assert before == {"version": 1, "partitions": [{**move, "log_dirs": ["any"]} for move in moves]}
    assert commands.run("reassign", "--verify", *file) == "".join(
        f"Reassignment of partition {name}-{index} is complete.\n" for index in (0, 1)
    )
    assert commands.run("reassign", "--list") == "No partition reassignments found.\n"
    assert commands.run("reassign", "--cancel", *file) == "None of the specified partition reassignments are active.\n"

    elsewhere = ("--reassignment-json-file", written(tmp_path, {**moves[0], "replicas": [5]}))
    assert f"{name}-0: broker 5 does not exist" in commands.fails("reassign", "--execute", *elsewhere)
    assert f"not placed as in the file, and not moving: partition {name}-0" in commands.run(
        "reassign", "--verify", *elsewhere, code=1
    )
    unknown = ("--reassignment-json-file", written(tmp_path, {**moves[0], "partition": 2}))
    assert f"partition 2 of topic {name} does not exist" in commands.fails("reassign", "--execute", *unknown)


@contextmanager
def broker_of(directories: Sequence[Path]) -> Iterator[str]:
    """The address of a broker with several log directories, which the kit's brokers have not."""
    log_dirs = {"log.dirs": ",".join(map(str, directories))}
    if TARGET == "kafka":
        with QuickKafkaServer(config={**ONE_BROKER, **log_dirs}) as kafka:
            yield kafka.bootstrap_servers
        return
    ready_fd, child_fd = os.pipe()
    command = [sys.executable, "-m", "barnabas.cli.main", "broker", "--port", "0", "--ready-fd", str(child_fd)]
    command += ["--log-level", "error", "--override", f"log.dirs={log_dirs['log.dirs']}"]
    with subprocess.Popen(command, pass_fds=[child_fd]) as process, os.fdopen(ready_fd) as ready:
        os.close(child_fd)
        try:
            yield f"127.0.0.1:{json.loads(ready.readline())['port']}"
        finally:
            process.terminate()


def test_logs_move_into_another_directory(commands: Commands, tmp_path: Path, name: str) -> None:
    commands.need(ApiKey.ALTER_REPLICA_LOG_DIRS, ApiKey.DESCRIBE_LOG_DIRS, ApiKey.ALTER_PARTITION_REASSIGNMENTS)
    directories = [tmp_path / "a", tmp_path / "b"]
    for directory in directories:
        directory.mkdir()
    with broker_of(directories) as address:
        move_logs(Commands(address), directories, tmp_path, name)


def move_logs(commands: Commands, directories: Sequence[Path], tmp_path: Path, name: str) -> None:
    commands.run("topics", "--create", "--topic", name, "--partitions", "30")
    produce(commands, name, 1000)

    def places() -> dict[str, str]:
        dirs = commands.json("log-dirs", "--describe", "--topic-list", name)["brokers"][0]["logDirs"]
        logs = [(part, each["logDir"]) for each in dirs for part in each["partitions"]]
        return {part["partition"]: directory for part, directory in logs if not part["isFuture"]}

    before = places()
    there = str(directories[1])
    assert set(before.values()) == set(map(str, directories))
    files = tmp_path / "files"
    files.mkdir()
    moves = [{"topic": name, "partition": index, "replicas": [0], "log_dirs": [there]} for index in range(30)]
    file = ("--reassignment-json-file", written(files, *moves))
    commands.run("reassign", "--execute", *file)
    deadline = time.monotonic() + PATIENCE_S
    # From the answer on each is there or on its way: what waits for its turn is on its way.
    while "is still in progress" in commands.run("reassign", "--verify", *file):
        assert time.monotonic() < deadline
    assert set(places().values()) == {there}
    wrong = ("--reassignment-json-file", written(files, {**moves[0], "log_dirs": [str(directories[0])]}))
    assert f"not placed as in the file, and not moving: replica {name}-0-0" in commands.run(
        "reassign", "--verify", *wrong, code=1
    )
    nowhere = ("--reassignment-json-file", written(files, {**moves[0], "log_dirs": [str(tmp_path / "c")]}))
    assert f"broker 0 refused to move {name}-0: LOG_DIR_NOT_FOUND" in commands.fails("reassign", "--execute", *nowhere)
