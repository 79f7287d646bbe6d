"""What the page shows of topics, clients, transactions and slow requests is what commands print of a real broker."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from confluent_kafka import Producer

from barnabas.testing import Broker
from tests import commands
from tests.integration.page_process import Window, running_page
from tests.patience import PATIENCE_S, until

HOSTILE = "<script>alert(1)</script>"
WRITER = "barnabas-produce"


class Looked:
    """A cluster, by commands and by its page."""

    def __init__(self, servers: str, port: int) -> None:
        self.servers = servers
        self.window = Window(port)

    def command(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json"))

    def run(self, *words: str, text: str = "") -> str:
        arguments = [*words, "--bootstrap-server", self.servers]
        if text:
            command = [sys.executable, "-P", "-m", "barnabas.cli.main", *arguments]
            ran = subprocess.run(command, capture_output=True, text=True, input=text, timeout=PATIENCE_S)
        else:
            ran = commands.run(*arguments)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def view(self, path: str, **query: str) -> Any:
        """Give a view's value, once its HTML was looked at."""
        address = f"/c/cluster{path}?{urlencode(query)}"
        page = self.window.get(address)
        assert page.status == 200, page.text
        assert "As of" in page.text
        assert "<script>alert" not in page.text
        told = json.loads(self.window.get(address, accept="application/json").text)
        assert (told["failure"], told["view"]["silent"], told["view"]["not_told"]) == (None, {}, [])
        return told["view"]


@pytest.fixture(scope="module")
def looked() -> Iterator[Looked]:
    with Broker() as broker, running_page("--bootstrap-server", broker.bootstrap_servers) as port:
        yield Looked(broker.bootstrap_servers, port)


def test_a_topic_is_as_commands_tell_it(looked: Looked) -> None:
    looked.command("topics", "--create", "--topic", "orders", "--partitions", "3", "--config", "retention.ms=86400000")
    looked.run("produce", "--topic", "orders", text="a\nb\nc\n")
    looked.command("groups", "--reset-offsets", "--group", "billing", "--topic", "orders", "--to-earliest", "--execute")
    view = looked.view("/topic", name="orders")
    rows = view["partitions"]["rows"]

    (described,) = looked.command("topics", "--describe", "--topic", "orders")
    assert [[row[name] for name in ("partition", "leader_id", "replicas", "isr")] for row in rows] == [
        [each[name] for name in ("partition", "leader", "replicas", "isr")] for each in described["partitions"]
    ]
    (entity,) = looked.command("configs", "--describe", "--topic", "orders", "--all")
    assert {row["name"]: row["value"] for row in view["settings"]} == {
        each["name"]: each["value"] for each in entity["configs"]
    }
    assert view["settings"][0] == {"name": "retention.ms", "value": "86400000", "where": "topic"}
    (stored,) = looked.command("log-dirs", "--describe", "--topic-list", "orders")["brokers"]
    sizes = {each["partition"]: each["size"] for each in stored["logDirs"][0]["partitions"]}
    assert {f"orders-{row['partition']}": row["sizes"][str(stored["broker"])] for row in rows} == sizes

    assert view["readers"] == [{"group": "billing", "lag": 3}]
    assert sum(row["end_offset"] - row["start_offset"] for row in rows) == 3
    assert [row["base_offset"] for row in view["segments"]] == [0, 0, 0]
    (kept,) = {row["kept_by"] for row in view["segments"] if row["size_bytes"]}
    assert kept == "its newest record is not old enough (retention.ms)"
    assert [each["verdict"] for each in view["findings"]] == ["in-sync", "kept"]


def test_a_topic_that_is_not_there_is_said_not_to_be(looked: Looked) -> None:
    page = looked.window.get(f"/c/cluster/topic?{urlencode({'name': HOSTILE})}")
    assert "&lt;script&gt;alert(1)&lt;/script&gt; does not exist" in page.text
    # Where that takes long the status of HTML is told before it is known.
    assert looked.window.get("/c/cluster/topic", accept="application/json").status == 404


def test_clients_and_limits_are_as_commands_tell_them(looked: Looked) -> None:
    looked.command("quotas", "set", "--client-id", WRITER, "--set", "producer_byte_rate=100000")
    looked.command("quotas", "set", "--user-default", "--client-default", "--set", "request_percentage=50")
    looked.command("topics", "--create", "--topic", "filled")
    looked.run("produce", "--topic", "filled", text=f"{'x' * 1_000}\n" * 1_200)
    limits = looked.command("quotas", "list")
    view = looked.view("/clients")
    assert [(row["level"], row["name"], row["value"]) for row in view["limits"]["rows"]] == [
        (each["level"], name, value) for each in limits for name, value in each["limits"].items()
    ]
    (hold,) = [row for row in view["holds"] if row["client_id"] == WRITER]
    assert (hold["user"], hold["quota"]) == ("ANONYMOUS", "producer_byte_rate")
    assert hold["hold_count"] >= 1
    used = {row["client_id"] for row in looked.view("/clients", find=WRITER[:-2].upper())["clients"]["rows"]}
    assert used == {WRITER}

    client = looked.view("/client", user="ANONYMOUS", client_id=WRITER)
    assert "was-held" in [each["verdict"] for each in client["findings"]]
    assert {(row["level"], row["is_in_force"]) for row in client["levels"]} >= {(7, True)}

    # The history grows while it is read: the page and the command say the same as soon as both read the same.
    simulate = ("quotas", "simulate", "--client-id", WRITER, "--set", "producer_byte_rate=10000")
    names = {"user": "user", "client_id": "client_id", "peak": "peak", "longest_ms": "longest_hold_ms", "left": "left"}

    def are_alike() -> bool:
        (tried,) = looked.view("/clients/try", client_id=WRITER, name="producer_byte_rate", value="10000")["brokers"]
        (told,) = looked.command(*simulate)
        assert tried["held_count"] == 1
        return [[row[name] for name in names] for row in tried["senders"]] == [
            [each[name] for name in names.values()] for each in told["clients"]
        ]

    until(are_alike)


def test_transactions_are_as_commands_tell_them(looked: Looked) -> None:
    looked.command("topics", "--create", "--topic", "paid")
    producers = [
        Producer({"bootstrap.servers": looked.servers, "transactional.id": name, "log_level": 0})
        for name in (HOSTILE, "left-open")
    ]
    for producer in producers:
        producer.init_transactions(PATIENCE_S)
        producer.begin_transaction()
        producer.produce("paid", b"x")
        assert producer.flush(PATIENCE_S) == 0
    producers[0].abort_transaction(PATIENCE_S)
    view = looked.view("/transactions")
    assert [
        [row[name] for name in ("name", "coordinator_id", "producer_id", "state")] for row in view["ids"]["rows"]
    ] == [
        [each[name] for name in ("transactional_id", "coordinator", "producer_id", "state")]
        for each in looked.command("transactions", "list")
    ]
    (row,) = view["open"]
    told = looked.command("transactions", "describe", "--transactional-id", "left-open")
    assert [row[name] for name in ("transactional_id", "producer_id", "producer_epoch", "began_ms")] == [
        told[name] for name in ("transactional_id", "producer_id", "producer_epoch", "started_ms")
    ]
    assert ([row["partition"]], row["is_hanging"]) == (told["partitions"], False)
    assert row["ends_ms"] == told["started_ms"] + told["timeout_ms"]
    (end,) = view["ended"]
    assert (end["transactional_id"], end["outcome"], end["reason"]) == (HOSTILE, "aborted", "its producer aborted it")
    assert looked.view("/transactions", find="left")["ids"]["count"] == 1
    producers[1].abort_transaction(PATIENCE_S)


def test_slow_requests_are_as_explain_tells_them(looked: Looked) -> None:
    view = looked.view("/slow")
    told = looked.command("explain", "slow")["findings"]
    assert [each["verdict"] for each in view["findings"]] == [each["verdict"] for each in told]
    slow = [each["figures"] for each in told if each["verdict"].startswith("slow-")]
    assert [[row["api"], row["client_id"], row["total_ms"]] for row in view["kinds"]["rows"]] == [
        [each["api"], each["client_id"], each["total_ms"]] for each in slow
    ]
    assert view["requests"]["count"] == sum(each["request_count"] for each in slow)
