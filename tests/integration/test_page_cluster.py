"""The page's views of the cluster as a whole, of a real broker: cell by cell what our commands print."""

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest

from barnabas.clients.security import client_security
from barnabas.testing import Broker
from tests import commands
from tests.integration.page_process import Window, running_page
from tests.integration.test_page import HOSTILE, LOGINS, MODULE, fill
from tests.patience import until

ADMIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": f'{MODULE} username="admin" password="secret0";',
}
VIEWS = ("/brokers", "/access", "/find?text=orders", f"/find?{urlencode({'text': HOSTILE})}", "/group?name=billing")


class Real(NamedTuple):
    """A broker with logins; `run` gives what a command of ours says to its admin, as JSON where that is asked for."""

    servers: str
    run: Callable[..., Any]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    directory = tmp_path_factory.mktemp("page")
    file, password = directory / "admin.properties", directory / "password"
    file.write_text("".join(f"{name}={value}\n" for name, value in ADMIN.items()))
    password.write_text("secret2")
    with Broker(security_protocol="SASL_PLAINTEXT", config=LOGINS) as broker:
        fill(broker.bootstrap_servers, client_security(ADMIN))

        def run(*options: str) -> Any:
            at = ("--bootstrap-server", broker.bootstrap_servers, "--command-config", file)
            ended = commands.run(*options, *at)
            return json.loads(ended.stdout) if "--json" in options else ended.stdout

        run("users", "add", "--user", "carol", "--password-file", str(password))
        for what in (("--topic", "orders"), ("--group", "bill", "--resource-pattern-type", "prefixed")):
            run("acls", "--add", *what, "--operation", "Read", "--allow-principal", "User:alice")
        run("acls", "--add", "--topic", "secrets", "--operation", "All", "--deny-principal", "User:bob")
        yield Real(broker.bootstrap_servers, run)


@pytest.fixture(scope="module")
def windows(real: Real) -> Iterator[tuple[Window, Window]]:
    """Windows of admin, who may all, and of alice."""
    with running_page("--bootstrap-server", real.servers, "--login") as port:
        admin, alice = Window(port), Window(port)
        assert admin.log_in("admin", "secret0").status == 303
        assert alice.log_in("alice", "secret1").status == 303
        yield admin, alice


def view(window: Window, path: str) -> Any:
    told = json.loads(window.get(f"/c/cluster{path}", accept="application/json").text)
    assert told["failure"] is None
    return told["view"]


def test_each_view_is_html_in_which_nothing_is_a_script(windows: tuple[Window, Window]) -> None:
    for window in windows:
        for path in VIEWS:
            page = window.get(f"/c/cluster{path}")
            assert (page.status, page.text.count("<h1>")) == (200, 1), page.text
            assert " style=" not in page.text
            assert "<script>" not in page.text
            assert "\u202e" not in page.text
    assert "&lt;script&gt;alert(1)" in windows[0].get(f"/c/cluster{VIEWS[3]}").text


def test_brokers_and_directories_are_those_of_our_commands(windows: tuple[Window, Window], real: Real) -> None:
    seen, status = view(windows[0], "/brokers"), real.run("cluster", "status", "--json")
    for row, said in zip(seen["brokers"], status["brokers"], strict=True):
        assert (row["broker_id"], row["address"]) == (said["broker"], f"{said['host']}:{said['port']}")
        for name in ("software", "leader_count", "in_sync_count", "replica_count", "may_stop", "obstacles"):
            assert row[name] == said[name]
        assert row["protocol_version"] == said["inter_broker_protocol_version"]
    assert seen["controller_id"] == status["controller_id"]
    assert seen["moving"] == []
    told = real.run("log-dirs", "--describe", "--json")["brokers"]
    assert [(each["path"], each["log_count"], each["log_bytes"]) for each in seen["directories"]] == [
        (each["logDir"], len(each["partitions"]), sum(part["size"] for part in each["partitions"]))
        for broker in told
        for each in broker["logDirs"]
    ]


def test_rules_and_users_are_those_of_our_commands(windows: tuple[Window, Window], real: Real) -> None:
    seen = view(windows[0], "/access")
    assert seen["rules"]["rows"] == real.run("acls", "--list", "--json")
    assert [
        {"user": each["name"], "mechanism": name, "iterations": count}
        for each in seen["users"]["rows"]
        for name, count in each["mechanisms"].items()
    ] == real.run("users", "list", "--json")
    assert [each["rule_count"] for each in seen["users"]["rows"]] == [0]


@pytest.mark.parametrize(
    ("query", "verdict"),
    [
        ("user=alice&operation=Read&type=topic&resource=orders", "allowed"),
        ("user=alice&operation=Write&type=topic&resource=orders", "right-missing"),
        ("user=alice&operation=Read&type=group&resource=billing", "allowed"),
        ("user=bob&operation=Read&type=topic&resource=secrets", "denied"),
    ],
)
def test_may_he_is_answered(windows: tuple[Window, Window], query: str, verdict: str) -> None:
    assert view(windows[0], f"/access?{query}")["answer"]["verdict"] == verdict


def test_names_are_found(windows: tuple[Window, Window]) -> None:
    admin, alice = windows
    assert [(each["kind"], each["name"]) for each in view(admin, "/find?text=orders")["hits"]] == [("topic", "orders")]
    assert view(admin, "/find?text=bill")["hits"][0] == {"kind": "group", "name": "billing", "user": "", "group": ""}

    def clients() -> set[tuple[str, str]]:
        return {(each["kind"], each["name"]) for each in view(admin, "/find?text=barnabas")["hits"]}

    # Brokers report what a client used after a second.
    until(lambda: ("client", "barnabas-acls") in clients())
    assert view(admin, "/find?text=")["hit_count"] == 0
    assert view(alice, "/find?text=secrets")["hits"] == view(alice, "/find?text=spies")["hits"] == []


def test_who_may_not_see_it_is_told_which_right_is_missing(windows: tuple[Window, Window]) -> None:
    _, alice = windows
    seen = view(alice, "/access")
    assert (seen["rules"]["rows"], seen["users"]["rows"]) == ([], [])
    assert len(seen["not_told"]) >= 2
    told = view(alice, "/access?user=bob&operation=Read&type=topic&resource=secrets")
    assert told["answer"]["verdict"] == "unknown"
    seen = view(alice, "/brokers")
    assert (seen["brokers"][0]["may_stop"], seen["brokers"][0]["software"], seen["directories"]) == (None, None, [])
    assert seen["not_told"]


def test_a_groups_lag_over_time_ends_with_its_lag_now(windows: tuple[Window, Window]) -> None:
    seen = view(windows[0], "/group?name=billing")
    (line,) = seen["lag"]["series"]
    (row,) = (each for each in seen["partitions"] if each["committed"] is not None)
    assert (line["name"], line["values"][-1]) == (row["partition"], row["lag"]) == ("orders-0", 0)
