"""Messages over real HTTP, of a real broker: where they are, what became of their transactions, and to whom."""

import asyncio
import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.pool import Pool
from barnabas.core.types import TopicPartition
from barnabas.testing import Broker
from tests.integration.page_process import Window, running_page
from tests.integration.test_page import LOGINS, MODULE, allow
from tests.patience import PATIENCE_S

LARGE = b"\x00\xff" * 5_000
CARD = b'{"user":"ann","card":"4111-1111"}'


def make_topics(servers: str, **topics: int) -> None:
    async def run() -> None:
        async with Pool(servers) as pool:
            for name, count in topics.items():
                await Admin(pool).create_topic(NewTopic(name, count, 1, {"retention.ms": "-1"}))
            if "orders" in topics:
                await Admin(pool).commit_offsets("billing", {TopicPartition("orders", 0): 5})

    asyncio.run(run())


def transaction(servers: str, name: str, value: bytes) -> Producer:
    config = {"bootstrap.servers": servers, "transactional.id": name, "linger.ms": 0}
    # One that is open stays so for as long as these tests may take.
    producer = Producer({**config, "transaction.timeout.ms": 900_000})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce("orders", value, b"tx", partition=0)
    producer.flush(PATIENCE_S)
    return producer


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    """orders-0: 0 to 99, 100 committed, 101 its marker, 102 aborted, 103 its marker, 104 open, 105 large."""
    with Broker() as broker:
        servers = broker.bootstrap_servers
        make_topics(servers, orders=2, cards=1)
        plain = Producer({"bootstrap.servers": servers, "linger.ms": 0})
        for number in range(100):
            value = json.dumps({"id": number, "status": 200 + number * 5}).encode()
            plain.produce("orders", value, b"k%d" % number, partition=0, timestamp=1_000_000 + number * 1_000)
        plain.produce("cards", CARD, b"ann", headers=[("token", b"secret-token")])
        plain.flush(PATIENCE_S)
        transaction(servers, "one", b"committed").commit_transaction(PATIENCE_S)
        transaction(servers, "two", b"aborted").abort_transaction(PATIENCE_S)
        still_open = transaction(servers, "three", b"open")
        plain.produce("orders", LARGE, None, partition=0)
        plain.flush(PATIENCE_S)
        yield servers
        still_open.abort_transaction(PATIENCE_S)


@pytest.fixture(scope="module")
def window(servers: str) -> Iterator[Window]:
    with running_page(
        "--bootstrap-server", servers, "--mask", "cards:!user", "--cluster", f"cluster={servers}"
    ) as port:
        yield Window(port)


def view(window: Window, path: str, status: int = 200) -> Any:
    answer = window.get(f"/c/cluster{path}", accept="application/json")
    assert answer.status == status, answer.text
    told = json.loads(answer.text)
    return told["view"] if status == 200 else told["failure"]


def offsets(told: Any) -> list[int]:
    return [row["offset"] for row in told["rows"]]


def test_messages_are_read_in_both_directions(window: Window) -> None:
    told = view(window, "/messages?topic=orders&partition=0")
    assert offsets(told) == [100, *range(99, 50, -1)]
    assert told["span"] == {"begin": 0, "stable": 104, "end": 106}
    older = view(window, "/messages?topic=orders&partition=0&before=" + told["older"]["before"])
    assert offsets(older) == list(range(50, 0, -1))
    newer = view(window, "/messages?topic=orders&partition=0&start=" + older["newer"]["start"])
    assert offsets(newer) == offsets(told)
    first = view(window, "/messages?topic=orders&partition=0&place=oldest")
    assert (offsets(first)[-1], first["older"], first["newer"]["start"]) == (0, None, "50")
    assert view(window, "/messages?topic=orders&partition=0&start=9999")["rows"] == []
    at = view(window, "/messages?topic=orders&partition=0&time=1970-01-01T00:17:30")
    assert offsets(at)[-1] == 50
    both = view(window, "/messages?topic=orders&place=oldest")
    assert (both["partition_count"], len(both["rows"]), both["older"]) == (2, 25, None)
    row = first["rows"][-1]
    assert (row["key"]["text"], row["value"]["kind"], row["timestamp_ms"]) == ("k0", "JSON", 1_000_000)
    assert view(window, "/messages?topic=orders&partition=0&place=oldest&value_as=hex")["rows"][-1]["value"][
        "text"
    ].startswith("7b 22")
    assert "orders" in view(window, "/messages")["topics"]


def test_each_record_tells_what_became_of_its_transaction(window: Window) -> None:
    rows = view(window, "/messages?topic=orders&partition=0&all=yes")["rows"][:7]
    assert [(row["offset"], row["fate"]) for row in rows] == [
        (105, "none"), (104, "open"), (103, "marker"), (102, "aborted"), (101, "marker"), (100, "committed"),
        (99, "none"),
    ]  # fmt: skip
    assert [rows[2]["value"]["text"], rows[4]["value"]["text"]] == ["abort", "commit"]
    # From within: the broker tells of a transaction that began before.
    row = view(window, "/messages?topic=orders&partition=0&all=yes&start=102")["rows"][-1]
    assert (row["offset"], row["fate"]) == (102, "aborted")


def test_a_whole_value_is_shown_and_saved_as_it_is(window: Window) -> None:
    row = view(window, "/record?topic=orders&partition=0&offset=105")["row"]
    assert (row["value"]["size"], row["value"]["kind"], row["value"]["is_cut"]) == (10_000, "hex", False)
    connection = http.client.HTTPConnection("127.0.0.1", window.port, timeout=PATIENCE_S)
    connection.request("GET", "/c/cluster/download?topic=orders&partition=0&offset=105")
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, LARGE)
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"] == 'attachment; filename="orders-0-105.value"'
    connection.close()
    assert "has no record 106" in view(window, "/record?topic=orders&partition=0&offset=106", 404)
    assert window.get("/c/cluster/download?topic=orders&partition=0&offset=999").status == 404
    assert window.get("/c/cluster/download?topic=none").status == 404
    assert "does not exist" in view(window, "/messages?topic=none", 404)
    assert view(window, "/messages?topic=orders&partition=7", 404)


def test_internal_topics_are_read_as_log_dump_does(window: Window) -> None:
    rows = view(window, "/messages?topic=__consumer_offsets&place=oldest")["rows"]
    commits = [row for row in rows if "group=billing,partition=orders-0" in row["key"]["text"]]
    assert [(row["key"]["kind"], row["value"]["text"]) for row in commits] == [("__consumer_offsets", "offset=5")]
    (told,) = {view(window, "/messages?topic=__transaction_state&place=oldest")["rows"][0]["key"]["kind"]}
    assert told == "__transaction_state"


def searched(window: Window, query: str) -> Any:
    """Search, and look again until it has ended."""
    assert window.search(query).status == 303
    while (told := view(window, f"/search?{query}"))["progress"] and told["progress"]["state"] == "running":
        pass
    return told


def test_a_search_finds_by_key_header_text_and_fields(window: Window) -> None:
    found = {
        "topic=orders&where=status%3E%3D690+and+id+!%3D+99": [(0, 98)],
        "topic=orders&partition=0&key=k7": [(0, 7)],
        "topic=orders&partition=0&key=tx": [(0, 100)],
        "topic=orders&text=aborted&all=yes": [(0, 102)],
        "topic=orders&text=%22id%22:%2042%2C&start=43": [],
        "topic=orders&text=%22id%22:%2042%2C&time=1970-01-01T00:17:22": [(0, 42)],
        "topic=cards&text=4111": [],
        "topic=cards&where=card+~+4": [],
        "topic=cards&header=token%3Dsecret": [],
        "topic=cards&text=ann": [(0, 0)],
        "topic=__consumer_offsets&text=group%3Dbilling": None,
    }
    for query, rows in found.items():
        progress = searched(window, query)["progress"]
        assert (progress["state"], progress["note"]) == ("done", ""), query
        assert progress["looked_at"] == progress["total"]
        if rows is None:
            assert len(progress["rows"]) == 1
        else:
            assert [(row["partition"], row["offset"]) for row in progress["rows"]] == rows, query
    # In its partition alone: where Kafka's producers would have put it.
    assert searched(window, "topic=orders&key=k7")["progress"]["total"] in (0, 104)
    refusals = {
        "topic=cards&key=ann": (400, "keys of this topic are hidden"),
        "topic=orders&where=(a%2B)%2B$": (400, "write conditions as"),
        "topic=orders": (400, "name a topic, and a key"),
        "topic=none&text=x": (404, "does not exist"),
    }
    for query, (status, reason) in refusals.items():
        answer = window.search(query)
        assert (answer.status, reason in answer.text) == (status, True), answer.text
    assert "42" in window.get("/c/cluster/search?topic=orders&text=%22id%22:%2042%2C&time=1970-01-01T00:17:22").text


def test_a_link_to_a_search_fills_the_form_and_starts_nothing(window: Window) -> None:
    told = view(window, "/search?topic=orders&text=linked")
    assert (told["progress"], "is not running" in told["note"]) == (None, True)
    page = window.get("/c/cluster/search?topic=orders&text=linked")
    assert 'name="text" value="linked"' in page.text
    # A page of another site has no token, and is refused by Sec-Fetch-Site before that matters.
    fields = {"topic": "orders", "text": "linked"}
    assert window.post("/c/cluster/search", fields, sec_fetch_site="cross-site").status == 403
    assert window.post("/c/cluster/search", {**fields, "csrf": "x"}).status == 403
    assert view(window, "/search?topic=orders&text=linked")["progress"] is None


def test_a_search_is_stopped_and_others_wait(servers: str) -> None:
    with running_page("--bootstrap-server", servers, "--max-read-rate", "100") as port:
        slow = Window(port)
        for number in (1, 2):
            query = f"topic=orders&text=nowhere&nonce={number}"
            assert slow.search(query).status == 303
            assert view(slow, f"/search?{query}")["progress"]["state"] == "running"
        refused = slow.search("topic=orders&text=nowhere&nonce=3")
        assert (refused.status, "too many searches" in refused.text) == (400, True)
        assert 'name="text" value="nowhere"' in refused.text
        assert "Stop" in slow.get(f"/c/cluster/search?{query}").text
        slow.get(f"/c/cluster/search?{query}&stop=1")
        assert view(slow, f"/search?{query}")["progress"]["state"] == "running"
        assert slow.search(query, stop="1").status == 303
        assert view(slow, f"/search?{query}")["progress"]["state"] == "stopped"
        assert slow.search("topic=orders&text=nowhere&nonce=4").status == 303


def test_a_tail_shows_the_last_records_and_counts_those_that_it_dropped(servers: str, window: Window) -> None:
    def until(shown: int) -> Any:
        told = view(window, "/tail?topic=busy")
        while len(told["rows"]) + told["dropped_count"] < shown:
            told = view(window, "/tail?topic=busy")
        return told

    make_topics(servers, busy=2)
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0})
    producer.produce("busy", b"before", partition=0)
    producer.flush(PATIENCE_S)
    told = view(window, "/tail?topic=busy")
    assert (told["rows"], told["dropped_count"]) == ([], 0)
    producer.produce("busy", b"x" * 1_000, partition=1)
    producer.flush(PATIENCE_S)
    (row,) = until(1)["rows"]
    assert (row["partition"], len(row["value"]["text"]), row["value"]["is_cut"]) == (1, 256, True)
    for number in range(1_200):
        producer.produce("busy", b"%d" % number, partition=0)
    producer.flush(PATIENCE_S)
    told = until(1_201)
    assert (len(told["rows"]), told["dropped_count"]) == (500, 701)
    assert [each["value"]["text"] for each in told["rows"][:2]] == ["1199", "1198"]
    assert "701 dropped" in window.get("/c/cluster/tail?topic=busy").text
    assert "does not exist" in view(window, "/tail?topic=none", 404)


def test_pages_of_messages_are_html(window: Window) -> None:
    one = ("/record?topic=orders&partition=0&offset=105", "/messages?topic=orders&start=x&key_as=%00")
    for path in ("/search", "/messages", "/messages?topic=orders", "/messages?topic=orders&partition=0&all=yes", *one):
        answer = window.get(f"/c/cluster{path}")
        assert answer.status == 200, answer.text
        assert "As of" in answer.text


def test_who_may_not_read_is_told_what_right_it_takes(tmp_path) -> None:
    from barnabas.clients.security import client_security

    admin = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{MODULE} username="admin" password="secret0";',
    }
    file = tmp_path / "admin.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in admin.items()))

    async def make(servers: str) -> None:
        async with Pool(servers, security=client_security(admin)) as pool:
            for name in ("orders", "secrets"):
                await Admin(pool).create_topic(NewTopic(name, 1, 1))

    with Broker(security_protocol="SASL_PLAINTEXT", config=LOGINS) as broker:
        asyncio.run(make(broker.bootstrap_servers))
        login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
        producer = Producer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                **login,
                "sasl.username": "admin",
                "sasl.password": "secret0",
            }
        )
        for topic in ("orders", "secrets"):
            producer.produce(topic, b"x")
        assert producer.flush(PATIENCE_S) == 0
        allow(broker.bootstrap_servers, file, ("--topic", "orders"))
        options = ("--login", "--max-read-rate", "1")
        with running_page("--bootstrap-server", broker.bootstrap_servers, *options) as port:
            alice = Window(port)
            assert alice.get("/c/cluster/download?topic=orders").status == 303
            alice.log_in("alice", "secret1")
            for topic in ("orders", "secrets"):
                refused = searched(alice, f"topic={topic}&text=x") if topic == "orders" else None
                assert refused is None or "READ" in refused["progress"]["note"]
                for path in ("/messages?topic=", "/record?topic="):
                    assert "require the rights READ and DESCRIBE" in view(alice, f"{path}{topic}", 403)
                assert alice.get(f"/c/cluster/download?topic={topic}").status == 403
            assert view(alice, "/messages")["topics"] == ["orders"]
            # A search ends with its session.
            query = "/search?topic=secrets&text=nowhere"
            admins = Window(port)
            admins.log_in("admin", "secret0")
            assert admins.search("topic=secrets&text=nowhere").status == 303
            assert view(admins, query)["progress"]["state"] == "running"
            admins.get("/c/cluster/messages")
            assert admins.post("/logout").status == 303
            admins.log_in("admin", "secret0")
            while (ended := view(admins, query)["progress"])["state"] == "running":
                pass
            assert (ended["state"], ended["note"]) == ("stopped", "the session has ended")
