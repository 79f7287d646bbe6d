"""The page over real HTTP, of a real broker: what it shows, to whom, and what its authentication keeps out."""

import asyncio
import contextlib
import http.client
import json
import re
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.pool import Pool
from barnabas.core.types import TopicPartition
from barnabas.testing import Broker
from tests import commands
from tests.integration.page_process import Window, running_page
from tests.patience import PATIENCE_S

HOSTILE = "<script>alert(1)</script>\"'\u202e"
VIEWS = (
    *("/", "/topics", "/topic?name=orders", "/groups", "/group?name=billing", "/clients"),
    *("/client?user=alice&client_id=app", "/clients/try", "/transactions", "/slow"),
)


def fill(servers: str, security=None) -> None:
    """Two topics, and groups that committed there, one of them with a name that wants to be a script."""

    async def run() -> None:
        async with Pool(servers, security=security) as pool:
            admin = Admin(pool)
            for name in ("orders", "secrets"):
                await admin.create_topic(NewTopic(name, 2, 1))
            for group, topic in (("billing", "orders"), (HOSTILE, "orders"), ("spies", "secrets")):
                await admin.commit_offsets(group, {TopicPartition(topic, 0): 0})

    asyncio.run(run())


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with Broker() as broker:
        fill(broker.bootstrap_servers)
        with running_page("--bootstrap-server", broker.bootstrap_servers) as page:
            yield page


def test_each_view_is_html_json_and_a_stream(port: int) -> None:
    window = Window(port)
    assert window.get("/").headers["location"] == "/c/cluster/"
    for path in VIEWS:
        page = window.get(f"/c/cluster{path}")
        assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8"), page.text
        assert "As of" in page.text
        told = json.loads(window.get(f"/c/cluster{path}", accept="application/json").text)
        assert (told["failure"], told["view"]["silent"], told["view"]["not_told"]) == (None, {}, [])
        with stream(port, f"/c/cluster{path}") as events:
            assert "<h1>" in next_event(events)
    groups = json.loads(window.get("/c/cluster/groups", accept="application/json").text)["view"]["groups"]
    assert [each["name"] for each in groups["rows"]] == sorted([HOSTILE, "billing", "spies"])
    assert window.get("/c/cluster/group?name=none", accept="application/json").status == 404
    assert window.get("/c/another/").status == 404


def test_a_view_that_takes_long_is_begun_at_once_and_comes_in_the_same_answer() -> None:
    with contextlib.ExitStack() as ended:
        silent = ended.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = ended.enter_context(running_page("--bootstrap-server", f"127.0.0.1:{silent.getsockname()[1]}"))
        connection = ended.enter_context(
            contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S))
        )
        connection.request("GET", "/c/cluster/topics", headers={"accept": "text/html"})
        answer = connection.getresponse()
        begun = answer.read1().decode()
        whole = begun + answer.read().decode()
    assert ("Loading" in begun, 'role="alert"' in begun, "<main" in begun) == (True, False, True)
    assert ('role="alert"' in whole, whole.rstrip().endswith("</html>")) == (True, True)


@contextmanager
def stream(port: int, path: str, cookie: str = "") -> Iterator[http.client.HTTPResponse]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as connection:
        connection.request("GET", path, headers={"accept": "text/event-stream", "cookie": cookie})
        answer = connection.getresponse()
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield answer


def next_event(events: http.client.HTTPResponse) -> str:
    lines = []
    while line := events.readline().decode().rstrip("\n"):
        lines.append(line)
    assert lines[:1] == ["event: view"]
    return "\n".join(each.removeprefix("data: ") for each in lines[1:])


def test_a_name_that_wants_to_be_a_script_is_text(port: int) -> None:
    window = Window(port)
    for path in ("/", "/topics", "/groups"):
        text = window.get(f"/c/cluster{path}").text
        assert "<script>alert" not in text
        assert "\u202e" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;\\u202e" in text


def test_every_answer_keeps_browsers_in(port: int) -> None:
    window = Window(port)
    for path in ("/c/cluster/", "/static/page.js", "/nowhere"):
        headers = window.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'self'; ")
        assert "unsafe" not in headers["content-security-policy"]
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
        assert "server" not in headers
    text = window.get("/c/cluster/").text
    assert " style=" not in text
    assert " onclick=" not in text
    assert "<script>" not in text


def test_strangers_stay_outside(port: int) -> None:
    window = Window(port)
    assert window.get("/c/cluster/", host="evil.example.org").status == 421
    assert window.get("/static/..%2fapp.py").status == 404
    window.token = "x"
    assert window.post("/logout", sec_fetch_site="cross-site").status == 403
    assert window.post("/logout").status == 403
    assert window.ask("POST", "/logout", "csrf=x", sec_fetch_site="same-origin").status == 415
    assert window.post("/logout", {"x": "y" * 70_000}).status == 413
    assert window.ask("DELETE", "/logout").status == 405
    assert window.get("/c/cluster/", **{f"x{number}": "y" for number in range(70)}).status == 431
    assert window.get(f"/c/cluster/topics?find={'x' * 5_000}").status == 414
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as sock:
        sock.sendall(b"\x16\x03\x01\r\n\r\n" * 100)
        assert sock.recv(65_536).startswith(b"HTTP/1.1 400 ")
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\nx: ")
        try:
            while True:
                sock.sendall(b"y" * 65_536)
        except OSError:
            pass
    assert window.get("/c/cluster/").status == 200


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--listeners", "0.0.0.0:0"), "beyond loopback the page wants --login"),
        (("--listeners", "0.0.0.0:0", "--login"), "beyond loopback the page wants --login"),
        (("--listeners", "here"), "write it as 127.0.0.1:9645"),
        (("--tls-certificate", "missing.pem", "--tls-key", "missing.key"), "--tls-certificate missing.pem"),
    ],
)
def test_it_does_not_start_where_that_is_not_safe(options: tuple[str, ...], reason: str) -> None:
    if "--listeners" not in options:
        options = ("--listeners", "127.0.0.1:0", *options)
    ended = commands.run("page", *options)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert reason in ended.stderr
    assert ended.stderr.count("\n") == 1


MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
LOGINS = {
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{MODULE} username="admin" password="secret0" '
    'user_admin="secret0" user_alice="secret1";',
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:admin",
}


@pytest.fixture(scope="module")
def servers_with_logins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from barnabas.clients.security import client_security

    admin = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{MODULE} username="admin" password="secret0";',
    }
    file = tmp_path_factory.mktemp("page") / "admin.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in admin.items()))
    with Broker(security_protocol="SASL_PLAINTEXT", config=LOGINS) as broker:
        servers = broker.bootstrap_servers
        fill(servers, client_security(admin))
        for what in (("--topic", "orders"), ("--group", "billing")):
            allow(servers, file, what)
        yield servers


@pytest.fixture(scope="module")
def port_with_logins(servers_with_logins: str) -> Iterator[int]:
    with running_page("--bootstrap-server", servers_with_logins, "--login") as page:
        yield page


def allow(servers: str, file: Path, what: tuple[str, str]) -> None:
    rule = ("--add", *what, "--operation", "Describe", "--allow-principal", "User:alice")
    ran = commands.run("acls", *rule, "--bootstrap-server", servers, "--command-config", file)
    assert ran.returncode == 0, ran.stderr


def names(window: Window, path: str) -> list[str]:
    told = json.loads(window.get(f"/c/cluster{path}", accept="application/json").text)
    return [each["name"] for each in told["view"][path.strip("/")]["rows"] if not each.get("is_internal")]


def test_a_user_sees_what_he_may_see(port_with_logins: int) -> None:
    admin, alice = Window(port_with_logins), Window(port_with_logins)
    for window, user, password in ((admin, "admin", "secret0"), (alice, "alice", "secret1")):
        answer = window.log_in(user, password)
        assert (answer.status, answer.headers["location"]) == (303, "/c/cluster/"), answer.text
        assert "HttpOnly" in answer.headers["set-cookie"]
        assert "SameSite=strict" in answer.headers["set-cookie"]
    assert names(admin, "/topics") == ["orders", "secrets"]
    assert names(alice, "/topics") == ["orders"]
    assert names(alice, "/groups") == ["billing"]
    for path in VIEWS:
        page = alice.get(f"/c/cluster{path}")
        assert page.status == 200
        assert "secrets" not in page.text
        assert "spies" not in page.text
        assert "secret1" not in page.text
    assert "Not visible: " in page.text
    assert alice.get("/c/cluster/group?name=spies").status in (403, 404)
    assert alice.post("/logout").status == 303
    assert alice.get("/c/cluster/topics").headers["location"] == "/login?cluster=cluster"
    assert alice.get("/c/cluster/topics", accept="application/json").status == 401
    assert names(admin, "/topics") == ["orders", "secrets"]


def test_a_stream_ends_with_its_session(port_with_logins: int) -> None:
    window = Window(port_with_logins)
    assert window.log_in("admin", "secret0").status == 303
    with stream(port_with_logins, window.get("/").headers["location"], window.cookie) as events:
        assert "<h1>Overview" in next_event(events)
        window.get("/c/cluster/")
        assert window.post("/logout").status == 303
        assert events.read() == b""


def test_a_cookie_of_before_the_login_is_worth_nothing(port_with_logins: int) -> None:
    window = Window(port_with_logins)
    window.cookie = before = "barnabas-page-0=chosen-by-somebody-else"
    assert window.log_in("alice", "secret1").status == 303
    assert window.cookie != before
    first = window.cookie
    assert window.log_in("alice", "secret1").status == 303
    window.cookie = first
    assert window.get("/c/cluster/").status == 303


def test_guesses_are_refused_and_slowed_and_told_nowhere(servers_with_logins: str) -> None:
    # On a page of its own: others at this address have to wait, too.
    with running_page("--bootstrap-server", servers_with_logins, "--login") as port:
        window = Window(port)
        answers = [window.log_in("alice", f"guess{number}") for number in range(100)]
        assert [each.status for each in answers][:5] == [401] * 5
        # Each wait is twice as long as the one before: few of a hundred are tried, and who waits is told how long.
        assert [each.status for each in answers].count(429) >= 90
        assert re.search(r"Too many wrong passwords: wait \d+ s", answers[-1].text)
        assert all("guess" not in each.text for each in answers)
        assert window.log_in("alice", "secret1").status == 429
        assert window.get("/c/cluster/").status == 303
