"""The table in docs/cli.md: each of Kafka's commands and ours leave the same state behind, and show the same.

Both columns are run in the table's order, each on names of its own, and after each line the state of both is compared.
"""

import asyncio
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from barnabas.clients.admin import EARLIEST, LATEST, Admin
from barnabas.clients.pool import Pool
from barnabas.core.types import TopicPartition
from tests import commands
from tests.compat.commands import Commands
from tests.compat.conftest import RunningBroker, started
from tests.patience import PATIENCE_S
from tools.kafka.java import run_tool

DOCUMENT = Path(__file__).parents[2] / "docs/cli.md"
CONFIG = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer", "super.users": "User:ANONYMOUS"}
CLASSES = {
    "kafka-topics.sh": "kafka.admin.TopicCommand",
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-consumer-groups.sh": "kafka.admin.ConsumerGroupCommand",
    "kafka-console-producer.sh": "kafka.tools.ConsoleProducer",
    "kafka-console-consumer.sh": "kafka.tools.ConsoleConsumer",
    "kafka-acls.sh": "kafka.admin.AclCommand",
    "kafka-reassign-partitions.sh": "kafka.admin.ReassignPartitionsCommand",
    "kafka-delete-records.sh": "kafka.admin.DeleteRecordsCommand",
    "kafka-leader-election.sh": "kafka.admin.LeaderElectionCommand",
    "kafka-log-dirs.sh": "kafka.admin.LogDirsCommand",
    "kafka-dump-log.sh": "kafka.tools.DumpLogSegments",
    "kafka-producer-perf-test.sh": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-consumer-perf-test.sh": "kafka.tools.ConsumerPerformance",
}
LINES = "".join(f"k{number}:{number}\n" for number in range(4))
SIDES = ("kafka", "ours")


def _whole(text: str) -> list[str]:
    return sorted(text.splitlines())


def _dumped(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("Dumping ")]


def _log_dirs(text: str) -> list[tuple[str, bool]]:
    # How large it is depends on how far apart the records' times are.
    told = json.loads(text[text.index("{") :])
    directories = [each for broker in told["brokers"] for each in broker["logDirs"]]
    return sorted((each["partition"], each["size"] > 0) for found in directories for each in found["partitions"])


def _matches(kafka: str, ours: str) -> tuple[Callable[[str], Any], Callable[[str], Any]]:
    def found(pattern: str) -> Callable[[str], Any]:
        return lambda text: sorted(set(re.findall(pattern, text, re.MULTILINE)))

    return found(kafka), found(ours)


# What a command that shows something must show: of Kafka's output, and of ours.
SHOWN = {
    "kafka-topics.sh --list": _matches("^(views)$", "^(views)$"),
    "kafka-topics.sh --describe": _matches(r"Partition: (\d)\tLeader: (\d)", r"^ +(\d) +(\d)"),
    "kafka-configs.sh --describe": _matches(r"^  (\S+?)=(\S+) sensitive", r"^(segment.bytes|retention.ms) +(\S+)"),
    "kafka-console-consumer.sh": (_whole, _whole),
    "kafka-run-class.sh": _matches(r"^views:(\d):(\d+)", r"^any +views +(\d) +(\d+)"),
    "kafka-consumer-groups.sh --list": _matches("^(report)$", "^(report)$"),
    "kafka-consumer-groups.sh --describe": _matches(
        r"^report +views +(\d) +(\d+) +(\d+) +(\d+)", r"^report +views +(\d) +(\d+) +(\d+) +(\d+)"
    ),
    "kafka-acls.sh --list": _matches(r"operation=(\w+), permissionType=(\w+)", r"(WRITE|CREATE|DESCRIBE) +(ALLOW)"),
    "kafka-log-dirs.sh": (_log_dirs, _log_dirs),
    "kafka-dump-log.sh": (_dumped, _dumped),
    "kafka-producer-perf-test.sh": _matches("^(10) records sent", "^(10) records sent"),
    "kafka-reassign-partitions.sh --verify": _matches("(views-0) is (complete)", "(views-0) is (complete)"),
}


class Pair(NamedTuple):
    """A line of the table."""

    kafka: list[str]
    ours: list[str]


def pairs() -> list[Pair]:
    rows = re.findall(r"^\| `(kafka-[^`]*)` \| `barnabas ([^`]*)` \|$", table("| Kafka | Barnabas |"), re.MULTILINE)
    return [Pair(shlex.split(kafka), shlex.split(ours)) for kafka, ours in rows]


def table(head: str) -> str:
    return DOCUMENT.read_text().partition(head)[2].partition("\n\n")[0]


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    with started(CONFIG) as running:
        yield running


def test_each_pair_has_the_same_effect(broker: RunningBroker, tmp_path: Path) -> None:
    found = pairs()
    assert {pair.kafka[0] for pair in found} == {*CLASSES, "kafka-run-class.sh"}
    for pair in found:
        told = {}
        for side, words in zip(SIDES, pair, strict=True):
            run = _run_kafka if side == "kafka" else _run_ours
            told[side] = run(broker, [_named(word, side, broker, tmp_path) for word in words]).replace(f"-{side}", "")
        states = [state(broker.bootstrap_servers, side) for side in SIDES]
        assert states[0] == states[1], pair
        line = " ".join(pair.kafka)
        for kind, (of_kafka, of_ours) in SHOWN.items():
            if line.startswith(kind):
                shown = of_kafka(told["kafka"])
                assert shown == of_ours(told["ours"]), (pair, told)
                assert shown or "NoOp" in line, (pair, told)


def test_each_of_kafkas_options_is_ours_or_is_in_the_table() -> None:
    """As the tools themselves list them."""
    instead = set(re.findall(r"--[a-z][a-z0-9.-]*", table("| Kafka's tool | Kafka's option | with Barnabas |")))
    ours = {pair.kafka[0]: pair.ours for pair in reversed(pairs())}
    for script, class_name in CLASSES.items():
        listed = run_tool(class_name, "--help")
        options = set(re.findall(r"^\s*(--[a-z][a-z0-9.-]*)", listed.stdout + listed.stderr, re.MULTILINE))
        assert len(options) > 3, script
        name = [word for word in ours[script][:2] if not word.startswith("-")]
        taken = set(re.findall(r"--[a-z][a-z0-9.-]*", commands.run(*name, "--help").stdout))
        assert options - taken - instead == set(), script


def _named(word: str, side: str, broker: RunningBroker, directory: Path) -> str:
    """Give a side names of its own; a file that is named is written."""
    if word == "views.log":
        return str(broker.data_dir / "views-kafka-0" / f"{0:020}.log")
    if word == "password.txt":
        path = directory / word
        path.write_text("secret")
        return str(path)
    if word.endswith(".json"):
        part: dict[str, object] = {"topic": f"views-{side}", "partition": 0}
        part |= {"offset": 1} if word == "records.json" else {"replicas": [0]}
        path = directory / f"{side}-{word}"
        path.write_text(json.dumps({"version": 1, "partitions": [part]}))
        return str(path)
    return re.sub(r"^(views|report)\b", rf"\1-{side}", word)


def _run_kafka(broker: RunningBroker, words: list[str]) -> str:
    script, *arguments = words
    class_name = CLASSES.get(script) or arguments.pop(0)
    servers = broker.bootstrap_servers
    if "ProducerPerformance" in class_name:
        arguments.append(f"bootstrap.servers={servers}")
    elif "Dump" not in class_name:
        option = "--broker-list" if "GetOffsetShell" in class_name else "--bootstrap-server"
        arguments = [option, servers, *arguments]
    ran = run_tool(class_name, *arguments, stdin=LINES)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def _run_ours(broker: RunningBroker, words: list[str]) -> str:
    server = [] if words[0] == "log" else ["--bootstrap-server", broker.bootstrap_servers]
    if words[0] == "produce":
        # It reads descriptor 0.
        command = [sys.executable, "-m", "barnabas.cli.main", *words, *server]
        ran = subprocess.run(command, input=LINES, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    else:
        ran = commands.run(*words, *server)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def state(servers: str, side: str) -> object:
    """Return what commands change, as far as it is named for a side, without that name."""
    ours = Commands(servers)
    rules = [rule for rule in ours.json("acls", "--list") if f"-{side}" in json.dumps(rule)]
    quotas = [quota for quota in ours.json("quotas", "list") if f"-{side}" in json.dumps(quota)]
    users = [user for user in ours.json("users", "list") if f"-{side}" in json.dumps(user)]
    topics = ours.json("topics", "--describe", "--topic", f".*-{side}", "--if-exists")

    async def offsets() -> object:
        async with Pool(servers) as pool:
            admin = Admin(pool)
            parts = [TopicPartition(t["topic"], p["partition"]) for t in topics for p in t["partitions"]]
            begin, end = await admin.offsets(parts, EARLIEST), await admin.offsets(parts, LATEST)
            groups = [name for name in await admin.groups() if name.endswith(f"-{side}")]
            # Kafka's consumer commits the position in empty partitions, too.
            committed = {
                name: {str(p): offset for p, offset in (await admin.committed_offsets(name)).items() if offset}
                for name in groups
            }
            # Records without a key may go to any partition.
            return sum(begin.values()), sum(end.values()), committed

    text = json.dumps([topics, rules, quotas, users, asyncio.run(offsets())], sort_keys=True)
    return json.loads(text.replace(f"-{side}", ""))
