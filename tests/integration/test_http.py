"""The broker's HTTP side over real sockets: what it answers, and that hostile peers cost nobody but themselves."""

import asyncio
import dataclasses
import http.client
import itertools
import json
import os
import socket
import threading
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from barnabas.broker.metrics.pages import Page, Pages, json_answer
from barnabas.broker.server import http_server
from barnabas.broker.server.http_server import MOST_CONNECTIONS, MOST_HEADER_BYTES, MOST_HELD_BYTES, HttpServer
from barnabas.core.errors import StartupError
from barnabas.core.pending import Pending
from barnabas.testing import Broker
from tests.integration.live_broker import Running, play
from tests.patience import PATIENCE_S, until

SETTINGS = {"barnabas.http.listeners": "127.0.0.1:0"}
BODY_BYTES = 8 * 1024 * 1024


def get(address, path="/health", method="GET"):
    with closing(http.client.HTTPConnection(*address, timeout=PATIENCE_S)) as connection:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read()


def say(address, text: bytes) -> bytes:
    """All that is answered to these bytes, until the end."""
    with socket.create_connection(address, timeout=PATIENCE_S) as sock:
        sock.sendall(text)
        answer = b""
        while chunk := sock.recv(65536):
            answer += chunk
        return answer


def has_ended(sock: socket.socket) -> bool:
    """Return whether the other side has ended a connection on which it says nothing."""
    sock.setblocking(False)
    try:
        return sock.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def serve(story: Callable[[HttpServer], Awaitable[None]], *pages: Page) -> None:
    """Run a story with a server of these pages; the story's loop is the one that they ask."""

    async def run() -> None:
        with closing(HttpServer(asyncio.get_running_loop(), [("127.0.0.1", 0)], Pages(pages))) as server:
            await asyncio.wait_for(story(server), PATIENCE_S)

    asyncio.run(run())


def open_files() -> int:
    """How many files and sockets this process has open."""
    return len(os.listdir("/proc/self/fd"))


ONE = Page("/one", "the first", lambda: 1, json_answer)


def test_a_broker_tells_how_it_does(tmp_path: Path) -> None:
    async def story(running: Running) -> None:
        (address,) = running.node.http_monitoring.addresses
        for path in ("/health", "/ready"):
            status, body = await asyncio.to_thread(get, address, path)
            assert (status, json.loads(body)["status"]) == (200, {"/health": "up", "/ready": "ready"}[path])
        status, body = await asyncio.to_thread(get, address, "/")
        assert {"/", "/health", "/ready"} <= json.loads(body).keys()

    play(tmp_path, story, SETTINGS)


def test_programs_learn_the_address_from_the_line_for_programs(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with Broker(config={"barnabas.http.listeners": f"127.0.0.1:{port}"}, data_dir=tmp_path):
        assert get(("127.0.0.1", port))[0] == 200


def test_an_address_in_use_ends_the_start() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = taken.getsockname()

        async def run() -> None:
            HttpServer(asyncio.get_running_loop(), [("127.0.0.1", 0), address], Pages())

        with pytest.raises(StartupError, match=rf"barnabas\.http\.listeners: 127\.0\.0\.1:{address[1]} is in use"):
            asyncio.run(run())


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (b"GET /one HTTP/1.1\r\nHost: x\r\n\r\n", 200),
        (b"GET /one?a=b HTTP/1.0\r\n\r\n", 200),
        (b"HEAD /one HTTP/1.1\r\n\r\n", 200),
        (b"POST /one HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 405),
        (b"GET /two HTTP/1.1\r\n\r\n", 404),
        (b"GET /one\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", 400),
        (b"GET /" + b"x" * MOST_HEADER_BYTES * 2 + b" HTTP/1.1\r\n\r\n", 431),
    ],
    ids=lambda value: value[:20].decode("latin-1") if isinstance(value, bytes) else str(value),
)
def test_what_is_asked_for_decides_what_is_answered(text: bytes, status: int) -> None:
    async def story(server: HttpServer) -> None:
        answer = await asyncio.to_thread(say, server.addresses[0], text)
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 %d " % status)
        assert b"\r\nConnection: close" in head
        assert (body == b"") is text.startswith(b"HEAD")

    serve(story, ONE)


def test_a_page_that_fails_is_an_error_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise ValueError("a bug")

    async def story(server: HttpServer) -> None:
        assert (await asyncio.to_thread(get, server.addresses[0], "/bad"))[0] == 500
        assert (await asyncio.to_thread(get, server.addresses[0], "/one"))[0] == 200

    serve(story, ONE, Page("/bad", "fails", fail, json_answer))
    assert "cannot answer HTTP requests for /bad" in caplog.text


def test_a_loop_that_stands_still_is_told_of() -> None:
    async def story(server: HttpServer) -> None:
        seen: list[tuple[int, bytes]] = []
        answered = threading.Event()

        def look() -> None:
            try:
                seen.append(get(server.addresses[0], "/short"))
            finally:
                answered.set()

        looking = threading.Thread(target=look)
        looking.start()
        # On the loop: it stands still until the answer has come.
        assert answered.wait(PATIENCE_S)
        looking.join()
        assert seen[0][0] == 503
        assert "the event loop has not answered" in json.loads(seen[0][1])["reasons"][0]

    serve(story, Page("/short", "has no time", lambda: 1, json_answer, timeout_s=0.05))


def test_who_says_nothing_takes_no_place_for_ever() -> None:
    async def story(server: HttpServer) -> None:
        address = server.addresses[0]
        silent = [socket.create_connection(address, timeout=PATIENCE_S) for _ in range(3 * MOST_CONNECTIONS)]
        try:
            for sock in silent:
                sock.sendall(b"GET /one HTTP/1.1\r\n")
            assert (await asyncio.to_thread(get, address, "/one"))[0] == 200
            assert has_ended(silent[0])
            assert not has_ended(silent[-1])
        finally:
            for sock in silent:
                sock.close()

    serve(story, ONE)


def test_who_takes_no_answer_holds_up_nobody() -> None:
    large = Page("/large", "is large", lambda: "x" * BODY_BYTES, json_answer)

    async def story(server: HttpServer) -> None:
        address = server.addresses[0]
        with socket.create_connection(address, timeout=PATIENCE_S) as sock:
            sock.sendall(b"GET /large HTTP/1.1\r\n\r\n")
            assert (await asyncio.to_thread(sock.recv, 12)) == b"HTTP/1.1 200"
            assert (await asyncio.to_thread(get, address, "/one"))[0] == 200

    serve(story, ONE, large)


def test_a_client_that_stops_reading_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "ANSWER_S", 1.0)
    large = Page("/large", "is large", lambda: "x" * BODY_BYTES, json_answer)

    async def story(server: HttpServer) -> None:
        before = open_files()
        with socket.create_connection(server.addresses[0], timeout=PATIENCE_S) as sock:
            sock.sendall(b"GET /large HTTP/1.1\r\n\r\n")
            assert (await asyncio.to_thread(sock.recv, 12)) == b"HTTP/1.1 200"
            await asyncio.to_thread(until, lambda: open_files() == before + 1)

    serve(story, large)


def test_an_answer_comes_whole_however_large() -> None:
    async def story(server: HttpServer) -> None:
        _, body = await asyncio.to_thread(get, server.addresses[0], "/large")
        assert len(json.loads(body)) == BODY_BYTES

    serve(story, Page("/large", "is large", lambda: "x" * BODY_BYTES, json_answer))


def test_probes_are_answered_whoever_else_asks() -> None:
    large = Page("/large", "is large", lambda: "x" * BODY_BYTES, json_answer)
    probe = Page("/probe", "a probe", lambda: 1, json_answer, is_probe=True)

    async def story(server: HttpServer) -> None:
        address = server.addresses[0]
        takers = [socket.create_connection(address, timeout=PATIENCE_S) for _ in range(MOST_CONNECTIONS)]
        try:
            # Each has a place, and keeps it: nobody takes more of the answer than its beginning.
            for sock in takers:
                sock.sendall(b"GET /large HTTP/1.1\r\n\r\n")
                assert (await asyncio.to_thread(sock.recv, 12)) == b"HTTP/1.1 200"
            for _ in range(6):
                assert (await asyncio.to_thread(get, address, "/probe"))[0] == 200
            status, body = await asyncio.to_thread(get, address, "/large")
            assert (status, json.loads(body)["reasons"]) == (503, ["16 others are answered: ask again"])
        finally:
            for sock in takers:
                sock.close()

    serve(story, probe, dataclasses.replace(large, kept_s=PATIENCE_S))


def test_a_page_is_made_once_for_all_who_ask_meanwhile() -> None:
    asked: list[Pending[int]] = []
    is_asked = asyncio.Event()

    def ask() -> Pending[int]:
        asked.append(Pending())
        is_asked.set()
        return asked[-1]

    async def story(server: HttpServer) -> None:
        answers = [asyncio.create_task(asyncio.to_thread(get, server.addresses[0], "/kept")) for _ in range(8)]
        await is_asked.wait()
        asked[0].complete(1)
        assert await asyncio.gather(*answers) == [(200, b"1\n")] * 8
        assert len(asked) == 1

    serve(story, Page("/kept", "is kept", ask, json_answer, kept_s=PATIENCE_S))


def test_a_page_that_was_kept_is_made_anew() -> None:
    counting = itertools.count()

    async def story(server: HttpServer) -> None:
        while (await asyncio.to_thread(get, server.addresses[0], "/kept"))[1] != b"1\n":
            continue

    serve(story, Page("/kept", "is kept", lambda: next(counting), json_answer, kept_s=0.01))


def test_answers_that_are_not_taken_are_bounded_in_bytes() -> None:
    body_bytes = MOST_HELD_BYTES // 3

    async def story(server: HttpServer) -> None:
        address = server.addresses[0]
        takers = []
        try:
            for _ in range(4):
                sock = socket.create_connection(address, timeout=PATIENCE_S)
                takers.append(sock)
                sock.sendall(b"GET /large HTTP/1.1\r\n\r\n")
                assert (await asyncio.to_thread(sock.recv, 12)) == b"HTTP/1.1 200"
            taken = [await asyncio.to_thread(take_all, sock) for sock in takers]
            assert [count > body_bytes for count in taken] == [False, False, True, True]
        finally:
            for sock in takers:
                sock.close()

    serve(story, Page("/large", "is large", lambda: "x" * body_bytes, json_answer))


def take_all(sock: socket.socket) -> int:
    """How many bytes came until the end, however it came."""
    count = 0
    try:
        while chunk := sock.recv(1024 * 1024):
            count += len(chunk)
    except ConnectionResetError:
        pass
    return count
