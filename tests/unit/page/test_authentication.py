"""What the page's authentication decides: hosts, where a POST comes from, sessions, guesses, where it may listen."""

import dataclasses

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from barnabas.core.errors import ConfigError
from barnabas.page.authentication.guesses import MOST_KEPT, Guesses
from barnabas.page.authentication.request_checks import (
    RequestChecks,
    forwarded_address,
    is_from_own_page,
    is_known_host,
    may_ask,
)
from barnabas.page.authentication.sessions import MOST_SESSIONS, Session, Sessions
from barnabas.page.authentication.shares import first_to_go, share_of
from barnabas.page.cluster import Cluster
from barnabas.page.settings import MOST_CLUSTERS, Settings, parse_clusters, parse_listeners

NAMES = frozenset({"kafka.example.org"})


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("127.0.0.1:9645", True),
        ("[::1]:9645", True),
        ("localhost", True),
        ("KAFKA.example.org:443", True),
        ("evil.example.org", False),
        ("127.0.0.1.evil.example.org:9645", False),
        ("localhost.evil.example.org", False),
        ("kafka.example.org.", False),
        ("[evil.example.org]:9645", False),
        ("", False),
    ],
)
def test_a_name_is_taken_where_it_is_known(host: str, known: bool) -> None:
    assert is_known_host(host, NAMES) is known


@pytest.mark.parametrize(
    ("headers", "own"),
    [
        ({"sec-fetch-site": "same-origin", "origin": "null"}, True),
        ({"sec-fetch-site": "same-site", "origin": "http://h:1", "host": "h:1"}, False),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "none"}, False),
        ({"origin": "http://h:1", "host": "h:1"}, True),
        ({"origin": "https://h:1", "host": "h:1"}, False),
        ({"origin": "http://h:2", "host": "h:1"}, False),
        ({"origin": "null", "host": "h:1"}, False),
        ({"host": "h:1"}, False),
    ],
)
def test_a_post_comes_from_a_page_of_ours(headers: dict[str, str], own: bool) -> None:
    assert is_from_own_page(headers, is_secure=False) is own


@pytest.mark.parametrize(
    ("headers", "path", "may"),
    [
        ({"sec-fetch-site": "same-origin"}, "/c/a/topics", True),
        ({"sec-fetch-site": "none"}, "/c/a/topics", True),
        ({}, "/c/a/topics", True),
        ({"origin": "http://h:1", "host": "h:1"}, "/c/a/topics", True),
        ({"origin": "http://evil.example.org", "host": "h:1"}, "/c/a/topics", False),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}, "/", False),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}, "/c/a/", False),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}, "/", False),
        *(
            ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, path, may)
            for path, may in (
                ("/", True),
                ("/c/a", True),
                ("/c/a/", True),
                ("/login", True),
                ("/c/a/search", False),
                ("/c/a/download", False),
                ("/static/page.js", False),
            )
        ),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, "/c/a/x", True),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}, "/c/a/x", False),
    ],
)
def test_another_site_may_only_link_to_the_start_page(headers: dict[str, str], path: str, may: bool) -> None:
    assert may_ask(headers, path, is_secure=False) is may


@pytest.mark.parametrize(
    ("forwarded_for", "address"),
    [
        ([], "10.0.0.1"),
        (["1.2.3.4"], "1.2.3.4"),
        (["6.6.6.6, 1.2.3.4"], "1.2.3.4"),
        (["6.6.6.6", "1.2.3.4"], "1.2.3.4"),
    ],
)
def test_a_proxy_names_the_address_last(forwarded_for: list[str], address: str) -> None:
    assert forwarded_address("10.0.0.1", forwarded_for) == address


def test_the_owner_with_the_most_makes_room() -> None:
    owners = {1: "alice", 2: "bob", 3: "bob", 4: "carol"}
    assert first_to_go(owners, "dora") == 2
    assert first_to_go(owners, "alice") == 1
    assert first_to_go({1: "alice", 2: "bob"}, "bob") == 2
    assert first_to_go({1: "alice", 2: "bob"}, "carol") == 1


def test_an_ipv6_network_is_one_owner() -> None:
    assert share_of("2001:db8::1") == share_of("2001:db8::ffff:2") != share_of("2001:db8:0:1::1")
    assert share_of("::ffff:1.2.3.4") == share_of("1.2.3.4") != share_of("1.2.3.5")
    assert share_of("unix") == "unix"


def cluster(name: str = "c", user: str = "alice") -> Cluster:
    return Cluster(name, "127.0.0.1:1", user)


async def test_a_login_gets_a_new_id_and_a_new_token_and_keeps_the_other_clusters() -> None:
    sessions = Sessions(Session())
    first = sessions.replace("chosen by somebody else", cluster("a"))
    assert first != "chosen by somebody else"
    token = sessions.of(first).csrf
    second = sessions.replace(first, cluster("b"))
    assert sessions.of(first) is sessions.guest
    assert sessions.of(second).clusters.keys() == {"a", "b"}
    assert not sessions.of(second).has_token(token)
    assert sessions.of(second).has_token(sessions.of(second).csrf)
    sessions.end(second)
    assert sessions.of(second) is sessions.guest
    await sessions.close()


async def test_the_session_used_least_lately_makes_room() -> None:
    sessions = Sessions(Session())
    ids = [sessions.replace(None, cluster()) for _ in range(MOST_SESSIONS)]
    sessions.of(ids[0])
    sessions.replace(None, cluster())
    assert len(sessions) == MOST_SESSIONS
    assert sessions.of(ids[1]) is sessions.guest
    assert sessions.of(ids[0]) is not sessions.guest
    await sessions.close()
    assert len(sessions) == 0


async def test_of_too_many_sessions_the_user_with_the_most_loses_his_own() -> None:
    sessions = Sessions(Session())
    administrator = sessions.replace(None, cluster(user="admin"))
    ids = [sessions.replace(None, cluster(user="mallory")) for _ in range(MOST_SESSIONS + 5)]
    assert sessions.of(administrator).clusters["c"].user == "admin"
    assert sum(sessions.of(each) is sessions.guest for each in ids) == 6
    assert sessions.of(ids[-1]) is not sessions.guest
    await sessions.close()


def log_in(guesses: Guesses, address: str, user: str, now_s: float, *, is_right: bool = False) -> None:
    guesses.begin(address, user)
    guesses.end(address, user, now_s, is_right=is_right)


def test_guesses_wait_longer_and_longer_by_address_and_by_user() -> None:
    guesses = Guesses()
    waits = []
    for number in range(12):
        waits.append(guesses.wait_s("1.2.3.4", "alice", 100))
        log_in(guesses, "1.2.3.4", "alice" if number % 2 else "bob", 100)
    assert waits == [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60]
    assert guesses.wait_s("5.6.7.8", "alice", 100) == 2
    assert guesses.wait_s("5.6.7.8", "carol", 100) == 0
    log_in(guesses, "5.6.7.8", "alice", 100)
    log_in(guesses, "5.6.7.8", "alice", 100, is_right=True)
    assert guesses.wait_s("5.6.7.8", "alice", 100) == 0
    assert guesses.wait_s("1.2.3.4", "alice", 100) == 60
    assert guesses.wait_s("1.2.3.4", "alice", 2_000) == 0


def test_a_right_login_ends_the_wait_of_its_user() -> None:
    guesses = Guesses()
    for _ in range(7):
        log_in(guesses, "1.2.3.4", "alice", 100)
    assert guesses.wait_s("1.2.3.4", "alice", 100) == 4
    log_in(guesses, "1.2.3.4", "alice", 104, is_right=True)
    assert guesses.wait_s("1.2.3.4", "alice", 104) == 0
    assert guesses.wait_s("1.2.3.4", "bob", 104) == 0
    assert not guesses._under_way


def test_a_right_login_neither_renews_nor_shortens_the_wait_for_guesses_of_other_users() -> None:
    guesses = Guesses()
    for number in range(7):
        log_in(guesses, "1.2.3.4", f"user {number}", 100)
        log_in(guesses, "1.2.3.4", "mallory", 100)
        log_in(guesses, "1.2.3.4", "mallory", 100, is_right=True)
    assert guesses.wait_s("1.2.3.4", "alice", 100) == 4
    log_in(guesses, "1.2.3.4", "mallory", 104, is_right=True)
    assert guesses.wait_s("1.2.3.4", "alice", 103) == 1
    assert guesses.wait_s("1.2.3.4", "alice", 104) == 0


def test_logins_under_way_count_as_guesses() -> None:
    guesses = Guesses()
    for _ in range(5):
        guesses.begin("1.2.3.4", "alice")
    assert guesses.wait_s("1.2.3.4", "alice", 100) == 1
    for _ in range(5):
        guesses.end("1.2.3.4", "alice", 100, is_right=True)
    assert guesses.wait_s("1.2.3.4", "alice", 100) == 0


def test_guesses_are_bounded() -> None:
    guesses = Guesses()
    for number in range(MOST_KEPT):
        log_in(guesses, "1.2.3.4", f"user {number}", 0)
    assert len(guesses._wrong) <= MOST_KEPT
    assert guesses.wait_s("1.2.3.4", "anybody", 0) == 60


BEYOND = Settings({"c": "h:1"}, [("0.0.0.0", 9645)])


@pytest.mark.parametrize(
    "settings",
    [
        Settings({"c": "h:1"}),
        Settings({"c": "h:1"}, [("::1", 9645)]),
        dataclasses.replace(BEYOND, mechanisms=["PLAIN"], tls=("a", "b")),
        dataclasses.replace(BEYOND, mechanisms=["PLAIN"], trusted_proxy="10.0.0.1"),
    ],
)
def test_it_starts_where_that_is_safe(settings: Settings) -> None:
    settings.check()


@pytest.mark.parametrize(
    "settings",
    [
        BEYOND,
        dataclasses.replace(BEYOND, mechanisms=["PLAIN"]),
        dataclasses.replace(BEYOND, tls=("a", "b")),
        dataclasses.replace(BEYOND, listeners=[("127.0.0.1", 1), ("10.0.0.1", 1)]),
        Settings({}),
        Settings({f"c{number}": "h:1" for number in range(MOST_CLUSTERS + 1)}),
        Settings({"..": "h:1"}),
        Settings({"c": "h:1"}, root_path="//evil.example.org"),
        Settings({"c": "h:1"}, root_path="/kafka/"),
    ],
)
def test_it_does_not_start_where_that_is_not(settings: Settings) -> None:
    with pytest.raises(ConfigError, match="--"):
        settings.check()


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "answer"),
    [
        ("10.0.0.1", [(b"x-forwarded-for", b"192.0.2.7")], (200, "192.0.2.7")),
        ("10.0.0.1", [], (200, "10.0.0.1")),
        ("192.0.2.7", [(b"x-forwarded-for", b"127.0.0.1")], (403, "")),
    ],
    ids=["by the proxy", "the proxy itself", "beside the proxy"],
)
async def test_behind_a_proxy_nobody_else_is_answered(
    peer: str, forwarded_for: list[tuple[bytes, bytes]], answer: tuple[int, str]
) -> None:
    statuses, addresses = [], []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        addresses.append(scope["state"]["address"])
        await PlainTextResponse("")(scope, receive, send)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        statuses.append(message.get("status"))

    headers = [(b"host", b"127.0.0.1"), *forwarded_for]
    scope = {"type": "http", "method": "GET", "path": "/", "headers": headers, "client": (peer, 1), "query_string": b""}
    checks = RequestChecks(app, Settings({"c": "h:1"}, trusted_proxy="10.0.0.1"), Sessions(Session()), "session")
    await checks(scope, receive, send)
    assert (statuses[0], "".join(addresses)) == answer


def test_addresses_and_clusters_are_read() -> None:
    assert parse_listeners("127.0.0.1:1, [::1]:2,localhost:3") == [("127.0.0.1", 1), ("::1", 2), ("127.0.0.1", 3)]
    assert parse_clusters(["a=h:1,i:2", "b=h:2"]) == {"a": "h:1,i:2", "b": "h:2"}
    for wrong in ("9645", "name:1", "127.0.0.1:x", "127.0.0.1:65536"):
        with pytest.raises(ConfigError):
            parse_listeners(wrong)
    for texts in (["a"], ["a="], ["a=h:1", "a=h:2"]):
        with pytest.raises(ConfigError):
            parse_clusters(texts)
