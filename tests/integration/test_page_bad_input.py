"""Hostile names and records of a real broker, over real HTTP, in each view, its JSON, its stream, and the forms."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlencode

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Partition

from barnabas.page.messages.state import MessageState
from barnabas.page.views import VIEWS, messages
from barnabas.testing import Broker
from tests.commands import run
from tests.integration.page_process import Window, page_process
from tests.integration.test_page import next_event, stream
from tests.patience import PATIENCE_S, until

KINDS = (*VIEWS, *messages.kinds(MessageState()))
NAMES = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "line\r\nevent: view\ndata: line\x85\u2028\x00\x1b[31m",
    "\u202etxet\u2066 \u200b\ufeff",
    "{{ 7 * 7 }}{% raw %}${7*7}",
    "n" * 20_000,
)
DEEP = b"[" * 1_000_000
LARGE = b"\xff\x00<script>" * 1_000_000
MASK = "deep:customer.card"


@contextmanager
def hostile_broker() -> Iterator[Broker]:
    """Groups, clients, transactions, users, rules and records with hostile names."""
    config = {
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "super.users": "User:ANONYMOUS",
        "message.max.bytes": "20000000",
    }
    with Broker(config=config) as broker, ExitStack() as stack:
        at = ("--bootstrap-server", broker.bootstrap_servers)
        for topic in ("names", "deep", "bombs", "large"):
            assert run("topics", "--create", "--topic", topic, "--partitions", "1", *at).returncode == 0
        common = {"bootstrap.servers": broker.bootstrap_servers, "log_level": 0, "message.max.bytes": 200_000_000}
        for number, name in enumerate(NAMES):
            # libraries cut a name at a NUL.
            given = name.replace("\x00", "")
            producer = Producer({**common, "client.id": given[:200], "transactional.id": given[:5_000]})
            producer.init_transactions(PATIENCE_S)
            producer.begin_transaction()
            producer.produce("names", name.encode(), name.encode(), headers=[(given, name.encode())])
            producer.commit_transaction(PATIENCE_S)
            group = {"group.id": given[:10_000], "client.id": given[:200], "enable.auto.commit": False}
            consumer = Consumer({**common, **group})
            stack.callback(consumer.close)
            consumer.subscribe(["names"])
            until(lambda consumer=consumer: consumer.poll(0.1) is not None or bool(consumer.assignment()))
            consumer.commit(offsets=[Partition("names", 0, number)], asynchronous=False)
            # As in Kafka, a rule's resource is the name of a znode.
            rule = ("--allow-principal", f"User:{given[:2_000]}", "--group", f"group {number}")
            assert run("acls", "--add", *rule, *at).returncode == 0
            run(
                "quotas", "set", "--user", given[:200], "--client-id", given[:200], "--set", "producer_byte_rate=1", *at
            )
        producer = Producer({**common, "compression.type": "none"})
        producer.produce("deep", DEEP)
        producer.produce("deep", b'{"customer":{"card":' + DEEP)
        producer.produce("large", LARGE, LARGE[:1_000_000])
        assert producer.flush(PATIENCE_S) == 0
        producer = Producer({**common, "compression.type": "zstd"})
        producer.produce("bombs", b"\x00" * (100 << 20))
        assert producer.flush(PATIENCE_S) == 0
        producer.produce("bombs", b"a needle")
        assert producer.flush(PATIENCE_S) == 0
        yield broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with hostile_broker() as broker:
        yield broker


@pytest.fixture(scope="module")
def window(broker: Broker) -> Iterator[Window]:
    options = ("--bootstrap-server", broker.bootstrap_servers, "--mask", MASK, "--allow-changes")
    with page_process(*options) as (port, process):
        yield Window(port)
        assert process.poll() is None


def queries() -> Iterator[str]:
    """Ask for all that any view takes, by each name."""
    yield ""
    yield urlencode({"topic": "names", "partition": 0, "offset": 1, "place": "oldest", "all": "yes", "name": "names"})
    for name in NAMES:
        short = name[:400]
        yield urlencode({"name": name[:3_000], "user": short[:100], "client_id": short[:100], "text": short[:20]})
        yield urlencode(dict.fromkeys(("topic", "find", "resource", "operation", "key", "where", "from"), short))


def test_hostile_names_are_text_in_every_view(window: Window) -> None:
    seen = ""
    for kind in KINDS:
        for query in queries():
            path = f"/c/cluster{kind.path}?{query}"
            page = window.get(path)
            assert page.status in (200, 404), (path, page.text[-500:])
            check_text(page.text)
            told = window.get(path, accept="application/json")
            # A page that is not ready soon begins as 200 before it is known whether its subject exists.
            assert told.status == page.status or (page.status, told.status) == (200, 404), path
            seen += json.dumps(json.loads(told.text), ensure_ascii=False)
            # In JSON what can't be printed is escaped, too.
            assert told.text.isprintable(), path
    for name in NAMES[:-1]:
        assert json.dumps(name.replace("\x00", ""), ensure_ascii=False)[1:-1] in seen


def check_text(text: str) -> None:
    """Fail where something of a cluster is no text in a page."""
    assert "<script>" not in text
    assert "<img" not in text
    assert "49" not in text.partition("{{ 7 * 7 }}")[2][:40]
    assert all(each.isprintable() or each in "\t\n" for each in text)


def test_a_stream_is_one_event_whatever_names_say(window: Window) -> None:
    for path in ("/groups", "/clients", "/messages?topic=names&place=oldest"):
        with stream(window.port, f"/c/cluster{path}") as events:
            check_text(next_event(events))


def test_hostile_names_in_forms_are_text(window: Window) -> None:
    for name in NAMES:
        for change in ("delete-group", "access-rule", "reset-offsets", "quota", "create-topic", "topic-setting"):
            window.get(f"/c/cluster/change/{change}")
            given = dict.fromkeys(("group", "topic", "topics", "name", "principal", "user", "setting", "value"), name)
            answer = window.post(f"/c/cluster/change/{change}", {**given, "to": "to-offset", "users": "this one"})
            assert answer.status in (200, 400, 413), answer.text[-500:]
            check_text(answer.text)


@pytest.mark.parametrize(
    ("topic", "wish", "found"),
    [
        ("deep", "text=customer", 0),
        ("deep", "where=customer.card+~+%5B", 0),
        ("large", "text=script", 1),
        ("bombs", "text=needle", 1),
    ],
)
def test_records_that_cost_much_cost_one_look(window: Window, topic: str, wish: str, found: int) -> None:
    for path in ("/messages?place=oldest&", "/record?partition=0&offset=0&", "/tail?"):
        for way in ("", "&value_as=JSON&key_as=hex", "&value_as=text"):
            answer = window.get(f"/c/cluster{path}topic={topic}{way}")
            assert answer.status == 200, (path, answer.text)
            assert len(answer.text) < 2_000_000
            check_text(answer.text)
    saved = window.get(f"/c/cluster/download?topic={topic}&partition=0&offset=0", accept="*/*")
    assert saved.status in (200, 404, 503)
    with stream(window.port, window.search(f"topic={topic}&{wish}").headers["location"]) as events:
        while "Search is running" in (text := next_event(events)):
            pass
    assert f"{found} found" in text
