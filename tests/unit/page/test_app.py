"""What the page answers before it asks a cluster anything, without sockets."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from barnabas.page.app import Page
from barnabas.page.settings import Settings


def ask(settings: Settings, path: str, headers: Mapping[str, str]) -> tuple[int, dict[str, str]]:
    """Return the status and the headers of the answer to a GET."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    async def play() -> None:
        page = Page(settings)
        named = [(name.encode(), value.encode()) for name, value in {"host": "127.0.0.1:9645", **headers}.items()]
        scope = {
            "type": "http", "method": "GET", "scheme": "http", "path": path, "raw_path": path.encode(),
            "query_string": b"a=%26", "root_path": "", "headers": named, "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 9645), "state": {},
        }  # fmt: skip
        await page.app(scope, receive, send)
        await page.close()

    asyncio.run(play())
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found


@pytest.mark.parametrize("root_path", ["", "/kafka"])
@pytest.mark.parametrize(
    ("path", "location"),
    [("/", "/c/a/"), ("/c/a", "/c/a/?a=%26"), ("/c/a/topics/", "/c/a/topics?a=%26"), ("/login", "/")],
)
def test_redirects_are_relative(root_path: str, path: str, location: str) -> None:
    settings = Settings({"a": "127.0.0.1:1"}, root_path=root_path)
    status, headers = ask(settings, path, {})
    assert (status // 100, headers["location"]) == (3, root_path + location)


def test_a_request_of_another_site_begins_nothing() -> None:
    settings = Settings({"a": "127.0.0.1:1"})
    stream = {"accept": "text/event-stream", "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}
    assert ask(settings, "/c/a/topics", stream)[0] == 403
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert ask(settings, "/c/a/search", link)[0] == 403
    assert ask(settings, "/", link)[0] == 303
