"""The broker's HTTP side over real sockets: what it answers, and that hostile peers cost nobody but themselves."""

import asyncio
import http.client
import json
import socket
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from barnabas.core.errors import StartupError
from barnabas.metrics.pages import Page, Pages, json_answer
from barnabas.server.http_door import MOST_CONNECTIONS, MOST_HEADER_BYTES, HttpServer
from barnabas.testing import Broker
from tests.integration.live_broker import Running, play
from tests.patience import PATIENCE_S

SETTINGS = {"barnabas.http.listeners": "127.0.0.1:0"}
BODY_BYTES = 8 * 1024 * 1024


def get(address, path="/health", method="GET"):
    connection = http.client.HTTPConnection(*address, timeout=PATIENCE_S)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def say(address, text: bytes) -> bytes:
    """All that is answered to these bytes, until the end."""
    with socket.create_connection(address, timeout=PATIENCE_S) as sock:
        sock.sendall(text)
        answer = b""
        while chunk := sock.recv(65536):
            answer += chunk
        return answer


def serve(story: Callable[[HttpServer], Awaitable[None]], *pages: Page) -> None:
    """Run a story with a server of these pages; the story's loop is the one that they ask."""

    async def run() -> None:
        server = HttpServer(asyncio.get_running_loop(), [("127.0.0.1", 0)], Pages(pages))
        try:
            await asyncio.wait_for(story(server), PATIENCE_S)
        finally:
            server.close()

    asyncio.run(run())


ONE = Page("/one", "the first", lambda: 1, json_answer)


def test_a_broker_tells_how_it_does(tmp_path: Path) -> None:
    async def story(running: Running) -> None:
        (address,) = running.node.observation.addresses
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
    assert "/bad could not be answered" in caplog.text


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


def test_an_answer_comes_whole_however_large() -> None:
    async def story(server: HttpServer) -> None:
        _, body = await asyncio.to_thread(get, server.addresses[0], "/large")
        assert len(json.loads(body)) == BODY_BYTES

    serve(story, Page("/large", "is large", lambda: "x" * BODY_BYTES, json_answer))
