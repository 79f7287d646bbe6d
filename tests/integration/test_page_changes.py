"""Changes by the page, of a real broker: what is refused, what is shown before it is done, and that it is done once."""

import asyncio
import html
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

import pytest
from confluent_kafka import Producer

from barnabas.clients.admin import EARLIEST, LATEST, Admin, NewTopic
from barnabas.clients.admin_acls import AclAdmin
from barnabas.clients.admin_configs import ConfigAdmin, ConfigResource, ResourceType
from barnabas.clients.admin_quota_states import Limited, QuotaStateAdmin
from barnabas.clients.pool import Pool
from barnabas.core.types import TopicPartition
from barnabas.page.changes import CHANGES
from barnabas.testing import Broker, Cluster
from barnabas.wire.security.acls import BindingFilter
from tests.commands import run
from tests.integration.page_process import Answer, Window, running_page
from tests.integration.test_page import LOGINS, MODULE
from tests.patience import PATIENCE_S

ORDERS = [TopicPartition("orders", index) for index in (0, 1)]

A = TypeVar("A")
T = TypeVar("T")


def ask(servers: str, kind: Callable[[Pool], A], work: Callable[[A], Awaitable[T]], security=None) -> T:
    async def asked() -> T:
        async with Pool(servers, security=security) as pool:
            return await work(kind(pool))

    return asyncio.run(asked())


def barnabas(*words: str) -> str:
    ran = run(*words)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def produce(servers: str) -> None:
    """Send records with keys, so that each partition gets some."""
    producer = Producer({"bootstrap.servers": servers})
    for number in range(20):
        producer.produce("orders", b"x", b"%d" % number)
    assert producer.flush(PATIENCE_S) == 0


async def fill(admin: Admin) -> None:
    """Two topics, and two groups that have read the first record of partition 0."""
    for name in ("orders", "old"):
        await admin.create_topic(NewTopic(name, 2, 1))
    for group in ("billing", "gone"):
        await admin.commit_offsets(group, {TopicPartition("orders", 0): 1, TopicPartition("orders", 1): 0})


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker(
        config={"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer", "super.users": "User:ANONYMOUS"}
    ) as broker:
        ask(broker.bootstrap_servers, Admin, fill)
        produce(broker.bootstrap_servers)
        ends = ask(broker.bootstrap_servers, Admin, lambda admin: admin.offsets(ORDERS, LATEST))
        assert min(ends.values()) > 2
        yield broker.bootstrap_servers


@pytest.fixture(scope="module")
def port(servers: str) -> Iterator[int]:
    with running_page("--bootstrap-server", servers, "--allow-changes") as page:
        yield page


def shown(window: Window, change: str, /, **fields: str) -> Answer:
    """Ask what a change would do."""
    assert window.get(f"/c/cluster/change/{change}").status == 200
    return window.post(f"/c/cluster/change/{change}", {each.replace("_", "-"): value for each, value in fields.items()})


def plan_of(answer: Answer) -> str:
    found = re.search(r'name="plan" value="([^"]+)"', answer.text)
    assert found is not None, answer.text
    return found[1]


def rows_of(answer: Answer) -> list[list[str]]:
    table = re.search(r"<tbody>(.*)</tbody>", answer.text, re.DOTALL)
    assert table is not None, answer.text
    return [
        [
            html.unescape(re.sub(r"<[^>]*>", "", cell))
            for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
        ]
        for row in table[1].split("</tr>")[:-1]
    ]


def command_of(answer: Answer) -> str:
    found = re.search(r'<code class="command">(.*?)</code>', answer.text)
    assert found is not None, answer.text
    return html.unescape(found[1])


def do(window: Window, change: str, typed: str = "", /, **fields: str) -> Answer:
    answer = shown(window, change, **fields)
    assert answer.status == 200, answer.text
    return window.post(f"/c/cluster/change/{change}", {"plan": plan_of(answer), "typed": typed})


def test_nothing_is_changed_without_allow_changes(servers: str) -> None:
    with running_page("--bootstrap-server", servers) as port:
        changes_nothing(Window(port))


def changes_nothing(window: Window) -> None:
    assert "/change" not in window.get("/c/cluster/group?name=billing").text
    assert window.get("/c/cluster/changes").status == 403
    for change in CHANGES:
        path = f"/c/cluster{change.path}"
        form = window.get(path)
        assert (form.status, "<form" in form.text) == (403, False)
        assert window.post(path, {"topic": "orders"}).status == 403


def test_each_form_is_shown_and_filled_in_by_its_address(port: int) -> None:
    window = Window(port)
    text = window.get("/c/cluster/changes").text
    for change in CHANGES:
        assert f'href="/c/cluster{change.path}"' in text
        form = window.get(f"/c/cluster{change.path}?{change.fields[-1].name}=<script>")
        assert (form.status, "<script>" in form.text.partition("<main")[2]) == (200, False)
        assert form.text.count(" name=") >= len(change.fields)
    assert 'value="billing"' in window.get("/c/cluster/change/reset-offsets?group=billing").text
    assert "/change/reset-offsets?group=billing" in window.get("/c/cluster/group?name=billing").text


def test_strangers_forms_change_nothing(port: int, servers: str) -> None:
    window, path = Window(port), "/c/cluster/change/create-topic"
    window.get(path)
    fields = {"topic": "forged"}
    assert window.post(path, fields, sec_fetch_site="cross-site").status == 403
    assert window.post(path, fields, sec_fetch_site="none", origin="http://evil.example.org").status == 403
    assert window.post(path, {**fields, "csrf": "guess"}).status == 403
    assert window.post(path, fields, host="evil.example.org").status == 421
    plan = plan_of(window.post(path, fields))
    window.token = ""
    assert window.post(path, {"plan": plan}).status == 403
    assert "forged" not in ask(servers, Admin, Admin.topics)


def test_a_topic_is_created_changed_and_deleted(port: int, servers: str) -> None:
    window = Window(port)
    answer = shown(
        window, "create-topic", topic="a.b", partitions="2", settings="retention.ms=1000 cleanup.policy=compact"
    )
    assert command_of(answer) == (
        "barnabas topics --create --topic a.b --partitions 2 --config retention.ms=1000 --config "
        f"cleanup.policy=compact --bootstrap-server {servers}"
    )
    assert ["partitions", "–", "2"] in rows_of(answer)
    plan = plan_of(answer)
    assert "a.b" not in ask(servers, Admin, Admin.topics)
    done = window.post("/c/cluster/change/create-topic", {"plan": plan})
    assert "Topic a.b was created." in done.text
    # Once: what was sent twice is not done twice.
    assert window.post("/c/cluster/change/create-topic", {"plan": plan}).status == 409

    answer = shown(window, "add-partitions", topic="a.b", partitions="3")
    assert rows_of(answer) == [["partitions of a.b", "2", "3"]]
    assert "--topic 'a\\.b' --partitions 3" in command_of(answer)
    # A plan is one change's alone.
    assert window.post("/c/cluster/change/delete-topic", {"plan": plan_of(answer)}).status == 409
    assert "has 3 partitions" in window.post("/c/cluster/change/add-partitions", {"plan": plan_of(answer)}).text

    answer = shown(window, "topic-setting", topic="a.b", how="set", setting="cleanup.policy", value="compact,delete")
    assert rows_of(answer) == [["cleanup.policy of topic a.b", "compact", "compact,delete"]]
    assert "--add-config 'cleanup.policy=[compact,delete]'" in command_of(answer)
    path = "/c/cluster/change/topic-setting"
    refused = window.post(path, {"plan": plan_of(answer), "typed": "a"})
    assert refused.status == 400
    assert "Type a.b" in refused.text
    assert "was set" in window.post(path, {"plan": plan_of(refused), "typed": "a.b"}).text
    assert "was unset" in do(window, "topic-setting", "a.b", topic="a.b", how="unset", setting="cleanup.policy").text
    resource = ConfigResource(ResourceType.TOPIC, "a.b")
    (entry,) = ask(servers, ConfigAdmin, lambda admin: admin.describe_configs([resource], names=["cleanup.policy"]))[
        resource
    ]
    assert entry.value == "delete"

    assert "All records" in shown(window, "delete-topic", topic="a.b").text
    assert do(window, "delete-topic", topic="a.b").status == 400
    assert "was deleted" in do(window, "delete-topic", "a.b", topic="a.b").text
    assert "a.b" not in ask(servers, Admin, Admin.topics)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        *(("to-earliest", ""), ("to-latest", ""), ("to-current", ""), ("to-offset", "2"), ("to-offset", "7")),
        *(("shift-by", "1"), ("shift-by", "-9"), ("to-datetime", "2020-01-01T00:00:00"), ("by-duration", "PT1H")),
    ],
)
def test_a_resets_preview_is_the_dry_run(port: int, servers: str, where: str, value: str) -> None:
    window = Window(port)
    answer = shown(window, "reset-offsets", group="billing", topics="orders:0,1", to=where, value=value)
    option = f"--{where}={value}" if value else f"--{where}"
    dry = [
        "groups",
        "--reset-offsets",
        "--group",
        "billing",
        "--topic",
        "orders:0,1",
        option,
        "--bootstrap-server",
        servers,
    ]
    assert command_of(answer) == f"barnabas {' '.join(dry[:-2])} --execute --bootstrap-server {servers}"
    told = json.loads(barnabas(*dry, "--dry-run", "--json"))
    assert [row[1] for row in rows_of(answer)] == ["1", "0"]
    assert [(row[0], row[2]) for row in rows_of(answer)] == [
        (f"{each['topic']}-{each['partition']}", str(each["new_offset"])) for each in told
    ]


def test_a_group_is_reset_and_deleted(port: int, servers: str) -> None:
    window = Window(port)
    assert "were reset" in do(window, "reset-offsets", group="gone", to="to-latest").text
    assert shown(window, "reset-offsets", group="none", to="to-latest").status == 400
    assert shown(window, "reset-offsets", group="gone", to="to-offset").status == 400
    assert shown(window, "reset-offsets", group="gone", to="elsewhere").status == 400
    assert "was deleted" in do(window, "delete-group", "gone", group="gone").text
    assert "gone" not in ask(servers, Admin, Admin.groups)
    assert "does not exist" in shown(window, "delete-group", group="gone").text


def test_a_quota_is_set_and_removed(port: int, servers: str) -> None:
    window, whose = Window(port), {"users": "this one", "user": "alice", "clients": "default"}
    limit = {**whose, "limit": "producer_byte_rate"}
    answer = shown(window, "quota", **limit, value="1000")
    assert command_of(answer).startswith(
        "barnabas quotas set --user alice --client-default --set producer_byte_rate=1000"
    )
    assert "was set" in window.post("/c/cluster/change/quota", {"plan": plan_of(answer)}).text
    assert ask(servers, QuotaStateAdmin, QuotaStateAdmin.limits) == {Limited("alice", ""): {"producer_byte_rate": 1000}}
    assert "was removed" in do(window, "quota", **limit).text
    assert ask(servers, QuotaStateAdmin, QuotaStateAdmin.limits) == {}
    assert shown(window, "quota", **limit).status == 400
    assert shown(window, "quota", **limit, value="-1").status == 400
    assert shown(window, "quota", value="1").status == 400


def test_an_access_rule_is_added_and_removed(port: int, servers: str) -> None:
    window, rule = Window(port), {"principal": "User:bob", "operation": "Read", "resource": "topic", "name": "or"}
    answer = shown(window, "access-rule", how="add", pattern="prefixed", **rule)
    assert command_of(answer).startswith(
        "barnabas acls --add --topic or --resource-pattern-type prefixed --operation Read --allow-principal User:bob"
    )
    assert "was added" in window.post("/c/cluster/change/access-rule", {"plan": plan_of(answer)}).text
    (added,) = ask(servers, AclAdmin, lambda admin: admin.describe_acls(BindingFilter()))
    assert str(added.entry.principal) == "User:bob"
    assert "already" in shown(window, "access-rule", how="add", pattern="prefixed", **rule).text
    assert shown(window, "access-rule", how="remove", **rule).status == 400
    assert "was removed" in do(window, "access-rule", how="remove", pattern="prefixed", **rule).text
    assert ask(servers, AclAdmin, lambda admin: admin.describe_acls(BindingFilter())) == []


def test_brokers_settings_are_set_and_unset(port: int, servers: str) -> None:
    window, setting = Window(port), {"setting": "log.retention.ms"}
    answer = shown(window, "broker-setting", **setting, value="3600000")
    assert command_of(answer).startswith(
        "barnabas configs --alter --broker-defaults --add-config log.retention.ms=3600000"
    )
    assert rows_of(answer) == [["log.retention.ms of the default of all brokers", "–", "3600000"]]
    assert do(window, "broker-setting", **setting, value="3600000").status == 400
    assert "was set" in do(window, "broker-setting", "log.retention.ms", **setting, value="3600000").text
    (broker_id,) = ask(servers, Admin, lambda admin: admin.pool.metadata([])).brokers
    answer = shown(window, "broker-setting", broker=str(broker_id), setting="log.cleaner.threads", value="2")
    assert rows_of(answer) == [[f"log.cleaner.threads of broker {broker_id}", "1", "2"]]
    assert "was unset" in do(window, "broker-setting", "log.retention.ms", **setting, how="unset").text
    assert "is not set" in shown(window, "broker-setting", **setting, how="unset").text
    assert (
        "is a secret"
        in shown(window, "broker-setting", broker=str(broker_id), setting="ssl.key.password", value="x").text
    )
    # A secret is no default of all brokers either, and the refusal does not tell it.
    refused = shown(window, "broker-setting", setting="ssl.key.password", value="never-told")
    assert (refused.status, "never-told" in refused.text.partition('role="alert"')[2].partition("</p>")[0]) == (
        400,
        False,
    )
    assert "has no no.such" in shown(window, "topic-setting", topic="orders", setting="no.such", value="x").text
    for broker in ("x", "99"):
        assert shown(window, "broker-setting", broker=broker, **setting, value="1").status == 400


def test_a_user_is_made_changed_and_taken_away(port: int, servers: str, capfd: pytest.CaptureFixture[str]) -> None:
    window, alice = Window(port), {"user": "alice", "mechanism": "SCRAM-SHA-256"}
    assert 'type="password"' in window.get("/c/cluster/change/user?password=never-shown").text
    assert "never-shown" not in window.get("/c/cluster/change/user?password=never-shown").text
    answer = shown(window, "user", **alice, password="its secret ")
    assert command_of(answer).startswith(
        "barnabas users add --user alice --mechanism SCRAM-SHA-256 --password-file - --bootstrap-server"
    )
    assert "its secret" not in answer.text
    done = window.post("/c/cluster/change/user", {"plan": plan_of(answer)})
    assert "can log in with SCRAM-SHA-256" in done.text
    described = json.loads(barnabas("users", "describe", "--user", "alice", "--bootstrap-server", servers, "--json"))
    assert [(each["mechanism"], each["iterations"]) for each in described] == [("SCRAM-SHA-256", 4096)]
    assert "a value is required" in shown(window, "user", **alice).text
    assert "no credentials" in shown(window, "user", user="alice", how="delete the credentials").text
    assert rows_of(shown(window, "user", **alice, password="x"))[0][1] == "4096 iterations"
    assert "with SCRAM-SHA-256 any more" in do(window, "user", **alice, how="delete the credentials").text
    assert "its secret" not in capfd.readouterr().err


def test_records_are_deleted(port: int, servers: str) -> None:
    window, partition = Window(port), TopicPartition("orders", 1)
    end = ask(servers, Admin, lambda admin: admin.offsets([partition], LATEST))[partition]
    named = {"topic": "orders", "partition": "1"}
    assert rows_of(shown(window, "delete-records", **named)) == [["first offset of orders-1", "0", str(end)]]
    answer = shown(window, "delete-records", **named, offset="1")
    assert "up to 1 record." in answer.text
    shell = command_of(answer).replace("barnabas", shlex.join([sys.executable, "-P", "-m", "barnabas.cli.main"]), 1)
    subprocess.run(["sh", "-c", shell], check=True, capture_output=True, timeout=PATIENCE_S)
    assert ask(servers, Admin, lambda admin: admin.offsets([partition], EARLIEST))[partition] == 1
    for offset in ("1", str(end + 1), "-1", "x"):
        assert shown(window, "delete-records", **named, offset=offset).status == 400
    assert do(window, "delete-records", "orders", **named, offset="2").status == 400
    assert "begins at offset 2 now" in do(window, "delete-records", "orders-1", **named, offset="2").text
    assert shown(window, "delete-records", topic="none", partition="0").status == 400


def test_a_transaction_that_does_not_hang_is_not_aborted(port: int) -> None:
    window = Window(port)
    answer = shown(window, "abort-transaction", topic="orders", partition="0", offset="0")
    assert (answer.status, "no transaction is open in orders-0" in answer.text) == (400, True)


RULE = {"permission": "deny", "principal": "User:it's", "host": "10.0.0.1", "resource": "cluster"}
USERS = {"users": "default", "limit": "request_percentage"}
# Read as an option, it would send the command elsewhere.
LATE = "--bootstrap-server=evil:9092"
# What is asked for, and what the page says to it once the command did it.
DONE_BY_COMMAND = (
    ("create-topic", {"topic": "c.d", "partitions": "2", "settings": "retention.ms=-1"}, "already exists"),
    ("add-partitions", {"topic": "c.d", "partitions": "4"}, "has 4 partitions"),
    (
        "topic-setting",
        {"topic": "c.d", "setting": "cleanup.policy", "value": "compact,delete"},
        "<td>compact,delete</td>",
    ),
    ("topic-setting", {"topic": "c.d", "setting": "retention.ms", "how": "unset"}, "not set"),
    ("reset-offsets", {"group": LATE, "to": "shift-by", "value": "-1"}, "<td>0</td>"),
    ("reset-offsets", {"group": LATE, "topics": "orders:0", "to": "to-offset", "value": "1"}, "<td>1</td>"),
    ("quota", {**USERS, "value": "50"}, "<td>50.0</td>"),
    ("quota", USERS, "the quota does not exist"),
    ("access-rule", RULE, "already"),
    ("access-rule", {**RULE, "how": "remove"}, "the rule does not exist"),
    ("delete-topic", {"topic": "c.d"}, "does not exist"),
    ("delete-group", {"group": LATE}, "does not exist"),
)


def test_the_command_that_is_shown_does_the_same(port: int, servers: str) -> None:
    window = Window(port)
    ask(servers, Admin, lambda admin: admin.commit_offsets(LATE, dict.fromkeys(ORDERS, 1)))
    for change, fields, then in DONE_BY_COMMAND:
        barnabas(*shlex.split(command_of(shown(window, change, **fields)))[1:])
        assert then in html.unescape(shown(window, change, **fields).text), (change, fields)


def test_elections_are_refused_where_there_is_nothing_to_elect(port: int) -> None:
    window = Window(port)
    assert "no election is needed" in shown(window, "elect-leaders").text
    assert "name a partition" in shown(window, "elect-leaders", kind="UNCLEAN").text
    assert "both a topic and a partition" in shown(window, "elect-leaders", topic="orders").text


def test_the_preferred_leader_is_elected() -> None:
    moved = TopicPartition("moved", 0)

    async def wait_for_both(admin: Admin) -> None:
        """Until the one that came back is in sync, and leads nothing."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                part = (await admin.topics(["moved"]))["moved"].partitions[0]
                if (part.leader_id, sorted(part.isr)) == (1, [0, 1]):
                    return
                await asyncio.sleep(0.05)

    with (
        Cluster(2) as cluster,
        running_page("--bootstrap-server", cluster.bootstrap_servers, "--allow-changes") as port,
    ):
        new = NewTopic("moved", assignments={moved.partition: [0, 1]})
        ask(cluster.bootstrap_servers, Admin, lambda admin: admin.create_topic(new))
        cluster.restart(0)
        ask(cluster.bootstrap_servers, Admin, wait_for_both)
        window = Window(port)
        answer = shown(window, "elect-leaders", topic=moved.topic, partition="0")
        assert rows_of(answer) == [["leader of moved-0", "broker 1", "broker 0, if it is in sync"]]
        done = window.post("/c/cluster/change/elect-leaders", {"plan": plan_of(answer)})
        assert "Leaders of 1 partition were elected." in done.text
        topics = ask(cluster.bootstrap_servers, Admin, Admin.topics)
        assert topics["moved"].partitions[0].leader_id == 0


def test_what_the_broker_refuses_is_shown_and_what_is_done_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    from barnabas.clients.security import client_security

    login = f'{MODULE} username="admin" password="secret0";'
    admin = client_security(
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": login}
    )
    with Broker(security_protocol="SASL_PLAINTEXT", config=LOGINS) as broker:
        servers = broker.bootstrap_servers
        ask(servers, Admin, fill, admin)
        with running_page("--bootstrap-server", servers, "--login", "--allow-changes") as port:
            alice, boss = Window(port), Window(port)
            assert alice.log_in("alice", "secret1").status == 303
            refused = shown(alice, "create-topic", topic="mine")
            assert (refused.status, 'role="alert"' in refused.text) == (403, True), refused.text
            for name, fields in (
                ("delete-group", {"group": "billing"}),
                ("access-rule", {"principal": "User:alice", "name": "*"}),
            ):
                refused = shown(alice, name, **fields)
                assert (refused.status, 'name="plan"' in refused.text) == (403, False), refused.text
            assert boss.log_in("admin", "secret0").status == 303
            plan = plan_of(shown(boss, "delete-topic", topic="old"))
            alice.get("/c/cluster/change/delete-topic")
            assert alice.post("/c/cluster/change/delete-topic", {"plan": plan, "typed": "old"}).status == 409
            assert "old" in ask(servers, Admin, Admin.topics, admin)
            assert boss.post("/c/cluster/change/delete-topic", {"plan": plan, "typed": "old"}).status == 200
            assert "old" not in ask(servers, Admin, Admin.topics, admin)
        told = [line for line in capfd.readouterr().err.splitlines() if "changed cluster" in line]
        assert [line.partition(" INFO ")[2] for line in told] == [
            "admin at 127.0.0.1 changed cluster cluster: barnabas topics --delete --topic old: Topic old was deleted."
        ]
        with running_page("--bootstrap-server", servers, "--login") as port:
            reader = Window(port)
            assert reader.log_in("admin", "secret0").status == 303
            reader.get("/c/cluster/")
            # Its token is right: it is the page that refuses.
            assert "without --allow-changes" in reader.post("/c/cluster/change/delete-topic", {"topic": "orders"}).text
            changes_nothing(reader)
