"""The pages of the broker's HTTP server: a table of paths, each with a function to query the broker and one to render.

    connection (a thread of its own) ─► Page.ask (event loop) ─► Page.write (that thread) ─► answer

`ask` returns a value, or a `Pending` of one if it takes several turns of the loop; it must not return objects that the
loop still changes. `write` only encodes the value. The event loop therefore spends time only on the query, never on
encoding, sending or slow clients. The page `/` lists the table.

Source: design page, section 2.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

JSON = "application/json; charset=utf-8"
OK, NOT_FOUND, UNAVAILABLE = 200, 404, 503


class Answer(NamedTuple):
    """An HTTP response."""

    status: int
    content_type: str
    body: bytes


@dataclass(slots=True, frozen=True)
class Page:
    """One path.

    Attributes:
        summary: The contents, in one line.
        ask: Called on the event loop; returns a value, or a `Pending` of one.
        write: Returns the answer for that value; called in the connection's thread.
        timeout_s: Maximum time of `ask`; after it, the answer is 503.
        kept_s: Time for which an answer is cached; requests during its creation get it, too.
        is_probe: Whether the page is a cheap health probe; a supervisor may restart the broker if it gets no answer.
    """

    path: str
    summary: str
    # Any: only the page itself knows the type of its value.
    ask: Callable[[], Any]
    write: Callable[[Any], Answer]
    timeout_s: float = 10.0
    kept_s: float = 0.0
    is_probe: bool = False


class Pages:
    """All pages by path. A page may be added or replaced at any time."""

    def __init__(self, pages: Iterable[Page] = ()) -> None:
        self._by_path: dict[str, Page] = {}
        self.add(Page("/", "this list", lambda: None, lambda _: json_answer(self.listed())))
        for page in pages:
            self.add(page)

    def add(self, page: Page) -> None:
        """Serve this page at its path from now on."""
        self._by_path[page.path] = page

    def find(self, path: str) -> Page | None:
        """Return the page of a path, if there is one."""
        return self._by_path.get(path)

    def listed(self) -> dict[str, str]:
        """List the pages: path and summary."""
        return {page.path: page.summary for page in self._by_path.values()}


def json_answer(content: object, status: int = OK) -> Answer:
    """Return an answer in JSON, indented for readability."""
    return Answer(status, JSON, json.dumps(content, indent=2).encode() + b"\n")


def refusal(status: int, *reasons: str) -> Answer:
    """Return an error response with its reason."""
    return json_answer({"status": "down" if status == UNAVAILABLE else "refused", "reasons": list(reasons)}, status)
