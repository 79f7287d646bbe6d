"""Requests that are none, come slowly, or are very many, and processes that are killed: others notice nothing."""

import json
import os
import random
import resource
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event

import pytest
from confluent_kafka import Consumer, Producer

from barnabas.testing import Broker
from tests.integration.page_process import Window, page_process
from tests.integration.test_page import next_event, stream
from tests.integration.test_page_messages import make_topics
from tests.patience import PATIENCE_S, until

COUNTS = [500, pytest.param(10_000, marks=pytest.mark.whole)]
Running = tuple[int, subprocess.Popen[str]]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        make_topics(broker.bootstrap_servers, orders=1, busy=1)
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for _ in range(2_000):
            producer.produce("orders", b"x" * 1_000)
        assert producer.flush(PATIENCE_S) == 0
        yield broker


@pytest.fixture
def running(broker: Broker) -> Iterator[Running]:
    with page_process("--bootstrap-server", broker.bootstrap_servers, "--max-read-rate", "10000") as running:
        yield running


def memory_bytes(process_id: int) -> int:
    """Return what a process has in memory."""
    return int(Path(f"/proc/{process_id}/statm").read_text().split()[1]) * resource.getpagesize()


GOOD = b"GET /c/cluster/topics HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
BAD = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\nhost: 127.0.0.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: evil\r\n\r\n",
    b"GET / HTTP/1.1\r\nhost: \xff\xfe\r\n\r\n",
    b"GET /c/%ff%00/%2e%2e/ HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n",
    b"GET /c/cluster/topics?find=%ff%00%c3&from=%d9%a1 HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n",
    b"GET /c/cluster/topics HTTP/1.1\r\nhost: 127.0.0.1\r\ncookie: barnabas-page-0=\xff\x80;;;==\r\n"
    b"connection: close\r\n\r\n",
    b"POST /logout HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -1\r\n\r\n",
    b"POST /logout HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 99999999999999999999\r\n\r\nx",
    b"POST /login HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\nffffffffffff\r\nx",
    b"POST /login HTTP/1.1\r\nhost: 127.0.0.1\r\nsec-fetch-site: same-origin\r\nconnection: close\r\n"
    b"content-type: application/x-www-form-urlencoded\r\ncontent-length: 10\r\n\r\n%ff%zz&=&=",
    b"\x00" * 20_000,
    b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: " + b"y" * 20_000,
)


def say(port: int, data: bytes) -> bytes:
    """Send bytes, and nothing after them; what is answered, if anything is."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as sock:
        try:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            return sock.recv(65_536)
        except ConnectionError:
            return b""


@pytest.mark.parametrize("count", COUNTS)
def test_malformed_requests_are_refused_and_leave_nothing(running: Running, count: int) -> None:
    port, process = running
    dice = random.Random(28)

    def mutated() -> bytes:
        data = bytearray(dice.choice((*BAD, GOOD)))
        for _ in range(dice.randrange(4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        return bytes(data)

    for each in BAD:
        say(port, each)
    before = memory_bytes(process.pid)
    for _ in range(count):
        data = mutated()
        answer = say(port, data)
        assert not answer.startswith(b"HTTP/1.1 5"), (data, answer)
    # As a browser asks: who closes his side, as `say` does, gets what is there by then.
    assert Window(port).get("/c/cluster/topics").status == 200
    assert memory_bytes(process.pid) - before < 20 << 20


def test_what_a_closed_connection_sent_is_forgotten_at_once(running: Running) -> None:
    port, process = running
    half = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: " + b"y" * 16_000
    say(port, half)
    before = memory_bytes(process.pid)
    for _ in range(1_500):
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as sock:
            sock.sendall(half)
    # So many at once are too many, until it has seen that they are closed.
    until(lambda: Window(port).get("/c/cluster/topics").status == 200)
    assert memory_bytes(process.pid) - before < 20 << 20


def test_who_sends_slowly_is_closed_and_keeps_nobody_out(running: Running) -> None:
    port, _ = running
    post = b"POST /logout HTTP/1.1\r\nhost: 127.0.0.1\r\nsec-fetch-site: same-origin\r\ncontent-length: 1000\r\n"
    post += b"connection: close\r\ncontent-type: application/x-www-form-urlencoded\r\n\r\nx"
    with ExitStack() as stack:
        slow = []
        for each in (b"", b"G", GOOD[:-2], post):
            # Of the 500 connections that there may be, all could be theirs.
            for _ in range(150):
                slow.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)))
                slow[-1].sendall(each)
        assert Window(port).get("/c/cluster/topics").status == 200
        for sock in slow:
            # It ends, by what is refused, by nothing, or as it made room.
            with suppress(ConnectionError):
                while sock.recv(65_536):
                    pass
    assert Window(port).get("/c/cluster/topics").status == 200


def test_a_thousand_streams_of_one_address_end_its_own_and_no_other(running: Running) -> None:
    port, process = running
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4_096)), hard))
    request = b"GET /c/cluster/slow HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n\r\n"

    def begin(stack: ExitStack, address: str) -> socket.socket:
        sock = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S, source_address=(address, 0))
        stack.enter_context(sock).sendall(request)
        assert sock.recv(12) == b"HTTP/1.1 200"
        return sock

    with ExitStack() as stack:
        other = begin(stack, "127.0.0.2")
        # Each of the thousand begins, and is kept up to date until the address has too many.
        first, *_ = [begin(stack, "127.0.0.1") for _ in range(1_000)]
        assert Window(port).get("/c/cluster/topics").status == 200
        with suppress(ConnectionError):
            while first.recv(65_536):
                pass
        # What it is told every five seconds still comes.
        told = b""
        while told.count(b"event: view") < 2:
            more = other.recv(65_536)
            assert more
            told += more
    assert Window(port).get("/c/cluster/topics").status == 200
    assert memory_bytes(process.pid) < 150 << 20


def searcher(page: subprocess.Popen[str]) -> int:
    """Return the process of the page's search; 0: there is none."""
    children = Path(f"/proc/{page.pid}/task/{page.pid}/children").read_text().split()
    return int(children[0]) if children else 0


class Clients:
    """A producer and a consumer that go on, one record at a time."""

    def __init__(self, servers: str) -> None:
        self.count = 0
        self.stopped = Event()
        self.servers = servers

    def run(self) -> list[str]:
        """Go on until they are stopped; return what went wrong."""
        wrong: list[str] = []

        def note(error: object, _: object) -> None:
            wrong.extend([str(error)] if error else [])

        settings = {"bootstrap.servers": self.servers, "error_cb": lambda error: wrong.append(str(error))}
        producer = Producer({**settings, "linger.ms": 0, "retries": 0})
        consumer = Consumer({**settings, "group.id": "others", "auto.offset.reset": "earliest"})
        consumer.subscribe(["busy"])
        while not self.stopped.is_set():
            producer.produce("busy", b"x", on_delivery=note)
            assert producer.flush(PATIENCE_S) == 0
            message = consumer.poll(PATIENCE_S)
            wrong += ["nothing came"] if message is None else [str(message.error())] if message.error() else []
            self.count += 1
        consumer.close()
        return wrong


def test_who_is_killed_in_mid_search_costs_clients_nothing(broker: Broker, running: Running) -> None:
    port, page = running
    clients = Clients(broker.bootstrap_servers)

    def go_on() -> None:
        """Wait until the clients have done much more."""
        count = clients.count
        until(lambda: clients.count > count + 50)

    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(clients.run)
        try:
            go_on()
            with stream(port, Window(port).search("topic=orders&text=nowhere").headers["location"]) as events:
                assert "Search is running" in next_event(events)
                os.kill(searcher(page), signal.SIGKILL)
                while "Search is running" in (told := next_event(events)):
                    pass
            assert "its process ended" in told
            go_on()
            at = Window(port).search("topic=orders&text=no").headers["location"]
            again = json.loads(Window(port).get(at, accept="application/json").text)
            assert again["view"]["progress"]["state"] == "running"
            until(lambda: searcher(page) != 0)
            child = searcher(page)
            page.kill()
            page.wait(PATIENCE_S)
            until(lambda: not Path(f"/proc/{child}").exists())
            go_on()
        finally:
            clients.stopped.set()
        assert work.result(PATIENCE_S) == []
