"""Recordings of a Kafka 2.7.2 cluster, and what is compared of them: requests and writes of the controller, as lines.

A line holds every field of a request. Within one, partitions and brokers are sorted: Kafka's order is that of a hash.

Source: recordings/, one JSON line for each thing that happened; the first two lines are a note and the tree before.
"""

import json
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).with_name("recordings")
CONTROL = {"LEADER_AND_ISR": 4, "STOP_REPLICA": 5, "UPDATE_METADATA": 6}

Json = Any


class Recording:
    """One file.

    Attributes:
        ibp: inter.broker.protocol.version of all brokers.
        before: Path to node, as the tree was at the beginning.
        lines: All else, in order of time.
    """

    def __init__(self, name: str) -> None:
        first, second, *lines = [json.loads(line) for line in (RECORDINGS / f"{name}.jsonl").read_text().splitlines()]
        self.name = name
        self.ibp: str = first["ibp"]
        self.before: dict[str, Json] = second["tree"]
        self.lines: list[Json] = [line for line in lines if "znodes" not in line]

    def controllers(self) -> list[int]:
        """The brokers that send control requests, in the order of the first one."""
        return list(dict.fromkeys(line["from"] for line in self.lines if line.get("api") in CONTROL))

    def requests(self) -> dict[tuple[int, int], list[str]]:
        """Sender and receiver to what is sent."""
        found: dict[tuple[int, int], list[str]] = {}
        for line in self.lines:
            if line.get("api") in CONTROL:
                text = request_line(line["api"], line["v"], line["body"])
                found.setdefault((line["from"], line["to"]), []).append(text)
        return found

    def answers(self) -> dict[tuple[int, str], list[Json]]:
        """Broker and API of a control request to its answers."""
        found: dict[tuple[int, str], list[Json]] = {}
        for line in self.lines:
            if "api" not in line and line.get("answer") in CONTROL:
                found.setdefault((line["from"], line["answer"]), []).append(line["body"])
        return found

    def asked(self, api: str) -> list[Json]:
        """The controllers' answers to what brokers ask."""
        return [
            line["body"]
            for line in self.lines
            if "api" not in line and line.get("answer") == api and line["body"].get("error_code") != 41
        ]

    def writes(self) -> dict[str, list[str]]:
        """Path to what controllers write there."""
        found: dict[str, list[str]] = {}
        for line in self.lines:
            for op in controller_ops(line):
                found.setdefault(op["path"], []).append(write_line(op))
        return found


def controller_ops(line: Json) -> list[Json]:
    """The operations of a transaction of a controller; none where it is not one, or was refused."""
    if "zk" not in line or "error" in line:
        return []
    ops = line["ops"] if line["zk"] == "multi" else [{**line, "op": line["zk"]}]
    if any(op["op"] == "error" for op in ops):
        return []
    is_controller = line["zk"] == "multi" and any(op["path"] == "/controller_epoch" for op in ops)
    if is_controller or any(op.get("path") in ("/feature", "/controller_epoch") for op in ops):
        return [op for op in ops if op["op"] != "check"]
    return []


def is_refused_or_controllers(line: Json) -> bool:
    """Whether a transaction is a controller's, or changed nothing."""
    return bool(controller_ops(line)) or "error" in line or any(op["op"] == "error" for op in line.get("ops", ()))


def write_line(op: Json) -> str:
    data = op.get("data")
    text = json.dumps(data, sort_keys=True) if isinstance(data, dict | list) else str(data)
    version = f" version {op['newVersion']}" if op["op"] == "setData" else ""
    return f"{op['op']} {op['path']} {text}{version}" if op["op"] != "delete" else f"delete {op['path']}"


def request_line(api: str, version: int, body: Json) -> str:
    """A control request as text, with all of its fields."""
    head = f"{api} v{version} controller {body['controller_id']}:{body['controller_epoch']}"
    if "broker_epoch" in body:
        head += f" epoch {body['broker_epoch']}"
    if "delete_partitions" in body:
        head += f" delete {body['delete_partitions']}"
    parts = sorted(_partitions(body))
    parts += sorted(f"{each['broker_id']}@{each['host_name']}:{each['port']}" for each in body.get("live_leaders", ()))
    parts += sorted(json.dumps(each, sort_keys=True) for each in body.get("live_brokers", ()))
    return " ".join([head, *parts])


def _partitions(body: Json) -> list[str]:
    found = []
    for topic in body.get("topic_states", ()):
        found += [_partition(topic["topic_name"], each) for each in topic["partition_states"]]
    for key in ("ungrouped_partition_states", "ungrouped_partitions"):
        found += [_partition(each["topic_name"], each) for each in body.get(key, ())]
    for topic in body.get("topics", ()):
        found += [f"{topic['name']}-{index}" for index in topic["partition_indexes"]]
    return found


_SHORT = {
    "controller_epoch": "c",
    "leader": "l",
    "leader_epoch": "e",
    "isr": "isr",
    "zk_version": "z",
    "replicas": "r",
    "adding_replicas": "adding",
    "removing_replicas": "removing",
    "is_new": "new",
    "offline_replicas": "offline",
    "delete_partition": "delete",
}


def _partition(topic: str, state: Json) -> str:
    fields = [f"{_SHORT[key]}={value}" for key, value in state.items() if key in _SHORT]
    unknown = state.keys() - _SHORT.keys() - {"partition_index", "topic_name"}
    assert not unknown, unknown
    return f"{topic}-{state['partition_index']}({' '.join(fields)})".replace(", ", ",")
