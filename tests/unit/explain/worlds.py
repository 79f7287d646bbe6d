"""Clusters as they are seen, small and made up: whatever a test does not say is well."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from barnabas.cli.commands import SUBCOMMANDS, find_command
from barnabas.cli.parser import read_options
from barnabas.clients.cluster_state import Broker, Cluster, Partition
from barnabas.core.types import TopicPartition
from barnabas.explain.finding import Finding
from barnabas.explain.snapshot import Directory, Group, Log, Member, Scope, Setting, Snapshot, UnreadRecords

NOW_MS = 1_800_000_000_000
MINUTE_MS = 60_000
VIEWS = [TopicPartition("views", index) for index in range(3)]


def cluster(*partitions: Partition, away: Iterable[int] = (), controller_id: int = 1) -> Cluster:
    """Three brokers; those that are away refuse connections."""
    brokers = {
        each: Broker(each, ("h", 9090 + each), None if each in away else "Barnabas", None, "refused" * (each in away))
        for each in (1, 2, 3)
    }
    return Cluster("c", controller_id, brokers, list(partitions))


def partition(
    name: TopicPartition = VIEWS[0],
    leader_id: int = 1,
    replicas: Sequence[int] = (1, 2, 3),
    isr: Sequence[int] = (1, 2, 3),
    min_isr: int = 2,
    adding: Sequence[int] = (),
) -> Partition:
    return Partition(name, leader_id, list(replicas), list(isr), min_isr, list(adding))


def snapshot(*partitions: Partition, name: str | None = None, **parts: Any) -> Snapshot:
    """Three brokers of ours, with facts of the last hour."""
    there = parts.pop("cluster", None) or cluster(*(partitions or map(partition, VIEWS)), away=parts.pop("away", ()))
    parts = {"scope": Scope(name), "reporters": {1, 2, 3}, **parts}
    return Snapshot(NOW_MS, NOW_MS - 60 * MINUTE_MS, cluster=there, **parts)


def log(start: int = 0, stable: int = 1_000, end: int | None = None, per_s: float = 0.0) -> Log:
    """A log to which so many records came each second of the last half minute."""
    last = stable if end is None else end
    return Log(start, stable, last, [(NOW_MS - 5 * MINUTE_MS, round(last - 30 * per_s)), (NOW_MS, last)])


def group(
    committed: dict[TopicPartition, int], members: Sequence[Member] = (), state: str = "Stable", per_s: float = 0.0
) -> Group:
    """A group that committed so many records each second of the last half minute."""
    commits = {
        name: [(NOW_MS - 5 * MINUTE_MS, round(offset - 30 * per_s)), (NOW_MS, offset)]
        for name, offset in committed.items()
    }
    return Group("billing", state if members else "Empty", 1, list(members), committed, commits)


def member(*partitions: TopicPartition, client_id: str = "reader") -> Member:
    return Member(f"{client_id}-1", client_id, "/10.0.0.7", list(partitions))


def behind(
    offset: int, of: Log, member_of: Sequence[Member] | None = None, *, per_s: float = 0.0, **parts: Any
) -> Snapshot:
    """A group that is at an offset of views-0, whose oldest record ahead is two minutes old."""
    unread = UnreadRecords(NOW_MS - 2 * MINUTE_MS, max(of.stable_offset - offset, 0), is_whole=True)
    members = [member(VIEWS[0])] if member_of is None else member_of
    state = parts.pop("state", "Stable")
    parts = {"unread": {("billing", VIEWS[0]): unread}, "logs": {VIEWS[0]: of}, **parts}
    return snapshot(groups={"billing": group({VIEWS[0]: offset}, members, state, per_s)}, **parts)


def directory(broker_id: int = 1, failure: str = "", sizes: dict[TopicPartition, int] | None = None, **more: Any):
    logs = dict.fromkeys(VIEWS, 1000) if sizes is None else sizes
    return Directory(broker_id, f"/logs/{broker_id}", failure, logs, more.pop("behind", {}), **more)


def settings(**values: str) -> dict[str, dict[str, Setting]]:
    return {"views": {name.replace("_", "."): Setting(value, "topic") for name, value in values.items()}}


def rebalance(reason: str = "joined", minutes_ago: float = 1, client_id: str | None = "reader", **more: Any):
    began_ms = NOW_MS - round(minutes_ago * MINUTE_MS)
    who = {"member": f"{client_id}-1", "client_id": client_id, "host": "/10.0.0.7", "instance": None}
    row = {"began_ms": began_ms, "reason": reason, **who, "heard_ms": None, "came": [], "went": [], "last": None}
    row |= {"came_count": int(reason == "joined"), "member_count": 2}
    return {**row, "generation": 3, "gather_ms": 3_000, "assign_ms": 100, "outcome": "stable", **more}


def group_facts(*rebalances: Any, loaded_ms: int | None = None) -> dict[str, list[Any]]:
    row = {"group": "billing", "broker_id": 1, "loaded_ms": loaded_ms, "rebalances": list(rebalances), "commits": []}
    return {"groups": [row]}


def all_of(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Findings with their causes, each before its own."""
    for each in findings:
        yield each
        yield from all_of(each.causes)


def verdicts(findings: Iterable[Finding]) -> list[str]:
    """What was found, once it is checked that everything that is advised can be run, and that texts are sentences."""
    found = list(all_of(findings))
    for each in found:
        for line in (*each.commands, *re.findall("`(barnabas [^`]*)`", each.text)):
            check_command(line)
        assert not each.text.endswith("."), each.text
        assert "None" not in each.text, each.text
        each.as_dict()
    assert [each.severity for each in findings] == sorted((each.severity for each in findings), reverse=True)
    return [each.verdict for each in found]


def check_command(line: str) -> None:
    """Hold a command line against our own parser. Raises CliUsageError."""
    program, name, *rest = shlex.split(line)
    assert program == "barnabas"
    below = rest.pop(0) if name in SUBCOMMANDS else ""
    function, text = find_command(name, below)
    assert read_options(f"{name} {below}".rstrip(), text, function, rest) is not None


def shape(line: str) -> str:
    """Return a command line without its names and values: `groups --describe --group`."""
    words = shlex.split(line.removeprefix("barnabas "))
    count = 2 if words[0] in SUBCOMMANDS or words[0] == "explain" else 1
    return " ".join(word for index, word in enumerate(words) if index < count or word.startswith("--"))


def of(findings: Iterable[Finding], verdict: str) -> Finding:
    (found,) = [each for each in all_of(findings) if each.verdict == verdict]
    return replace(found)
