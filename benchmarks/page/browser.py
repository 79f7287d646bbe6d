"""`barnabas page` as a process, and a minimal HTTP client for measurements."""

import contextlib
import http.client
import json
import multiprocessing
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any, NamedTuple
from urllib.parse import urlencode

from tools.kafka.java import die_with_parent

_TIMEOUT_S = 60.0
_PING_EACH_S = 0.02
CLUSTER = "/c/cluster"


class Page(NamedTuple):
    """A page that has served its first view, with the times from its start to the first and last byte."""

    port: int
    pid: int
    started_s: float = 0.0
    whole_s: float = 0.0

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=_TIMEOUT_S)

    def ask_s(self, path: str) -> tuple[float, float]:
        """Request a page; return the times to its first byte and to its last."""
        connection = self.connect()
        try:
            begin_s = time.perf_counter()
            connection.request("GET", path, headers={"accept": "text/html"})
            answer = connection.getresponse()
            first_s = time.perf_counter() - begin_s
            answer.read()
            whole_s = time.perf_counter() - begin_s
        finally:
            connection.close()
        if answer.status != http.HTTPStatus.OK:
            raise RuntimeError(f"{path}: {answer.status}")
        return first_s, whole_s

    def value(self, path: str) -> Any:
        """Return a view's JSON."""
        connection = self.connect()
        try:
            connection.request("GET", path, headers={"accept": "application/json"})
            told = json.loads(connection.getresponse().read())
        finally:
            connection.close()
        if told["view"] is None:
            raise RuntimeError(f"{path}: {told['failure']}")
        return told["view"]

    def send(self, path: str, fields: dict[str, str]) -> str:
        """Submit the form of a view, like a browser; return the target of the redirect."""
        connection = self.connect()
        try:
            connection.request("GET", path, headers={"accept": "text/html"})
            token = re.search(r'name="csrf" value="([^"]+)"', connection.getresponse().read().decode())
            assert token is not None
            headers = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}
            connection.request("POST", path, urlencode({"csrf": token[1], **fields}), headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        if answer.status != http.HTTPStatus.SEE_OTHER:
            raise RuntimeError(f"{path}: {answer.status} {text}")
        return answer.headers["location"]


@contextlib.contextmanager
def running_page(address: str) -> Iterator[Page]:
    """Start `barnabas page` as users do, and stop it at the end."""
    command = [sys.executable, "-P", "-m", "barnabas.cli.main", "page", "--bootstrap-server", address]
    command += ["--listeners", "127.0.0.1:0"]
    # Allow bytecode files, as in an installation.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begin_s = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, preexec_fn=die_with_parent
    ) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline().rstrip("/\n").rpartition(":")[2])
            page = Page(port, process.pid)
            asked_s = time.perf_counter() - begin_s
            first_s, whole_s = page.ask_s(f"{CLUSTER}/")
            yield page._replace(started_s=asked_s + first_s, whole_s=asked_s + whole_s)
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


@contextlib.contextmanager
def longest_wait_s(page: Page) -> Iterator[list[float]]:
    """Repeatedly request a static file: the longest response time is the longest stall of the page's loop.

    A dedicated process sends the requests. If other processes use all cores, their share is included.
    """
    ours, its = multiprocessing.get_context("spawn").Pipe()
    asking = multiprocessing.get_context("spawn").Process(target=_ask_again_and_again, args=(page, its), daemon=True)
    asking.start()
    ours.recv()
    found = [0.0]
    try:
        yield found
    finally:
        ours.send(None)
        found[0] = ours.recv()
        asking.join()


def _ask_again_and_again(page: Page, told: Connection) -> None:
    connection = page.connect()
    longest_s = 0.0
    told.send(None)
    while not told.poll(_PING_EACH_S):
        begin_s = time.perf_counter()
        connection.request("GET", "/static/icon.svg")
        connection.getresponse().read()
        longest_s = max(longest_s, time.perf_counter() - begin_s)
    connection.close()
    told.send(longest_s)


@contextlib.contextmanager
def windows(page: Page, paths: list[str]) -> Iterator[None]:
    """Keep windows open that receive updates."""
    connections = [page.connect() for _ in paths]
    threads = []
    for path, connection in zip(paths, connections, strict=True):
        connection.request("GET", path, headers={"accept": "text/event-stream"})
        answer = connection.getresponse()

        def read(answer: http.client.HTTPResponse = answer) -> None:
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError, AttributeError):
                while answer.read1(1 << 16):
                    pass

        threads.append(threading.Thread(target=read, daemon=True))
        threads[-1].start()
    try:
        yield
    finally:
        for connection in connections:
            if connection.sock is not None:
                with contextlib.suppress(OSError):
                    connection.sock.shutdown(2)
            connection.close()
        for each in threads:
            each.join(10)
