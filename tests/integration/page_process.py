"""A page in a process of its own, and a browser's side of HTTP, as small as tests want it."""

import http.client
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode

from tests.patience import PATIENCE_S


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str


class Window:
    """Who looks: keeps its cookie, and knows the last page's token."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookie = ""
        self.token = ""

    def ask(self, method: str, path: str, body: str | bytes | None = None, **headers: str) -> Answer:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)) as connection:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, {"cookie": self.cookie, "accept": "text/html", **named})
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            text = answer.read().decode(errors="replace")
        if "set-cookie" in found:
            self.cookie = found["set-cookie"].partition(";")[0]
        token = re.search(r'name="csrf" value="([^"]+)"', text)
        self.token = token[1] if token else self.token
        return Answer(answer.status, found, text)

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, fields: dict[str, str] | None = None, **headers: str) -> Answer:
        form = {"csrf": self.token, **(fields or {})}
        sent = {"content_type": "application/x-www-form-urlencoded", "sec_fetch_site": "same-origin", **headers}
        return self.ask("POST", path, urlencode(form), **sent)

    def search(self, query: str, **more: str) -> Answer:
        """Send the form that starts the search of a query; the answer leads to where the search is shown."""
        self.get("/c/cluster/search")
        return self.post("/c/cluster/search", {**dict(parse_qsl(query)), **more})

    def log_in(self, user: str, password: str, mechanism: str = "PLAIN", cluster: str = "cluster") -> Answer:
        self.get("/login")
        fields = {"cluster": cluster, "mechanism": mechanism, "user": user, "password": password}
        return self.post("/login", fields)


@contextmanager
def running_page(*options: str) -> Iterator[int]:
    """Start `barnabas page`; its port. It ends well with SIGTERM."""
    with page_process(*options) as (port, process):
        yield port
        process.terminate()
        assert process.wait(PATIENCE_S) == 0


@contextmanager
def page_process(
    *options: str, stderr: int | None = None, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Start `barnabas page`; its port and process, which is killed at the end, if it still runs."""
    command = [sys.executable, "-P", "-m", "barnabas.cli.main", "page", "--listeners", "127.0.0.1:0", *options]
    env = None if environment is None else {**os.environ, **environment}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=env) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            yield int(line.rstrip("/\n").rpartition(":")[2]), process
        finally:
            process.kill()
