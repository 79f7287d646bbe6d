"""The broker's HTTP server for metrics and health, in a thread of its own.

It serves GET and HEAD of the paths in a table (`broker/metrics/pages.py`), queries the event loop, and sends the answer
itself. One request per connection.

Invariants, whatever clients do:
- the event loop spends time only on `Page.ask`, and never waits for this thread;
- a connection has `MOST_HEADER_BYTES` and `REQUEST_S` for its request, `ANSWER_S` for reading the answer;
- at most `MOST_CONNECTIONS` connections are silent: a further one replaces the longest silent one;
- as many connections are answered at a time, and further ones are refused; probes have the same number of their own,
  so that other clients cannot delay them;
- a cached page (`Page.kept_s`) is made once for all requests of that time, and not cached longer;
- answers being sent take at most `MOST_HELD_BYTES` together, otherwise the clients of the oldest are disconnected;
- the thread's CPU time, which the event loop loses, is at most `SHARE` of the time beyond short bursts: the requests of
  very active clients wait, except for `PROBES_PER_S` probes.

Source: RFC 9112 (requests and answers), RFC 9110 (methods, status codes).
"""

import asyncio
import errno
import logging
import socket
import threading
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import NamedTuple

from barnabas.broker.metrics.pages import NOT_FOUND, UNAVAILABLE, Answer, Page, Pages, json_answer, refusal
from barnabas.core.errors import StartupError
from barnabas.core.listening import listening_socket
from barnabas.core.pending import Pending

log = logging.getLogger(__name__)

MOST_HEADER_BYTES = 8 * 1024
MOST_CONNECTIONS = 16
MOST_HELD_BYTES = 64 * 1024 * 1024
PROBES_PER_S = 50
REQUEST_S = 5.0
ANSWER_S = 30.0
SHARE = 0.2
# CPU time that a burst may take; a large answer takes some tenths of it.
_MOST_AT_ONCE_S = 2.0
_CHUNK_BYTES = 64 * 1024
_BACKLOG = 128
_METHODS = ("GET", "HEAD")


class HttpServer:
    """Listens from its construction until `close`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, addresses: Sequence[tuple[str, int]], pages: Pages) -> None:
        """Args:
        loop: The broker's event loop.
        addresses: Host and port of each; port 0 lets the system choose.

        Raises:
            StartupError: An address cannot be bound.
        """
        self._broker_loop = loop
        self._pages = pages
        self._sockets: list[socket.socket] = []
        try:
            for host, port in addresses:
                self._sockets.append(_bind(host, port))
        except StartupError:
            for sock in self._sockets:
                sock.close()
            raise
        self.addresses = [sock.getsockname()[:2] for sock in self._sockets]
        self._loop = asyncio.new_event_loop()
        self._stopping = self._loop.create_future()
        # Connections without a complete request, the longest silent first; and the tasks of all connections.
        self._silent: dict[asyncio.StreamWriter, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        # Connections being answered: probes (True), and others.
        self._counts = {False: 0, True: 0}
        # The answer being sent to each connection, the oldest first.
        self._taking: dict[asyncio.StreamWriter, Answer] = {}
        self._kept: dict[Page, asyncio.Task[Answer]] = {}
        self._budget = _Budget()
        self._probe_budget = _ProbeBudget()
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving; returns when the thread has ended."""
        self._loop.call_soon_threadsafe(self._stop)
        self._thread.join()

    def _stop(self) -> None:
        if not self._stopping.done():
            self._stopping.set_result(None)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except Exception:
            log.exception("the HTTP server failed: metrics and health are no longer available")
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        servers = [
            await asyncio.start_server(self._meet, sock=sock, limit=MOST_HEADER_BYTES, backlog=_BACKLOG)
            for sock in self._sockets
        ]
        await self._stopping
        for server in servers:
            server.close()
        tasks = [*self._tasks, *self._kept.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- one connection

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._silent) >= MOST_CONNECTIONS:
            longest_silent = next(iter(self._silent))
            del self._silent[longest_silent]
            longest_silent.transport.abort()
        self._tasks.add(task)
        self._silent[writer] = None
        # Without a buffer, `drain` waits until the kernel has the whole answer.
        writer.transport.set_write_buffer_limits(0)
        try:
            async with asyncio.timeout(REQUEST_S):
                head = await reader.readuntil(b"\r\n\r\n")
            self._silent.pop(writer, None)
            async with asyncio.timeout(ANSWER_S):
                await self._serve_one(_parsed(head), writer)
        except asyncio.LimitOverrunError:
            await _send(
                writer, refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the request's header is too large")
            )
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError):
            # The client has disconnected, or sends or reads nothing: no answer, no log line.
            pass
        finally:
            self._silent.pop(writer, None)
            self._taking.pop(writer, None)
            self._tasks.discard(task)
            # Not `close`: it waits without limit for a client that does not read.
            writer.transport.abort()

    async def _serve_one(self, request: "_Request", writer: asyncio.StreamWriter) -> None:
        page = self._pages.find(request.path)
        is_probe = page is not None and page.is_probe
        if self._counts[is_probe] >= MOST_CONNECTIONS:
            await _send(writer, refusal(UNAVAILABLE, f"{MOST_CONNECTIONS} others are answered: ask again"))
            return
        self._counts[is_probe] += 1
        try:
            if not (is_probe and self._probe_budget.take()):
                await self._budget.wait()
            answer = await self._answer(request, page)
            self._note_sending(writer, answer)
            await _send(writer, answer, has_body=request.method != "HEAD")
        finally:
            self._counts[is_probe] -= 1

    def _note_sending(self, writer: asyncio.StreamWriter, answer: Answer) -> None:
        """Record an answer being sent; if all together are too large, disconnect the clients of the oldest."""
        taking = self._taking
        taking[writer] = answer
        while sum({id(each): len(each.body) for each in taking.values()}.values()) > MOST_HELD_BYTES:
            oldest = next(iter(taking.values()))
            if oldest is answer:
                return
            for other in [each for each, taken in taking.items() if taken is oldest]:
                del taking[other]
                other.transport.abort()

    async def _answer(self, request: "_Request", page: Page | None) -> Answer:
        if not request.method:
            return refusal(HTTPStatus.BAD_REQUEST, "this is no request of HTTP/1.1")
        if request.method not in _METHODS:
            return refusal(HTTPStatus.METHOD_NOT_ALLOWED, f"only {' and '.join(_METHODS)} are served")
        if page is None:
            return json_answer({"status": "refused", "there are": self._pages.listed()}, NOT_FOUND)
        if not page.kept_s:
            return await self._make(page)
        kept = self._kept.get(page)
        if kept is None:
            kept = self._kept[page] = self._loop.create_task(self._make(page))
            kept.add_done_callback(lambda _: self._loop.call_later(page.kept_s, self._kept.pop, page))
        # A client that disconnects must not cancel the page for others.
        return await asyncio.shield(kept)

    async def _make(self, page: Page) -> Answer:
        try:
            async with asyncio.timeout(page.timeout_s):
                found = await self._ask(page)
        except TimeoutError:
            reason = f"the event loop has not answered for {page.timeout_s:g} s: every client waits"
            return refusal(UNAVAILABLE, reason)
        except _StoppedError:
            return refusal(UNAVAILABLE, "the broker has stopped")
        except Exception:
            log.exception("cannot answer HTTP requests for %s", page.path)
            return refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error: see the broker's log")
        return page.write(found)

    def _ask(self, page: Page) -> "asyncio.Future[object]":
        """Run the page's `ask` on the broker's loop.

        Raises:
            _StoppedError: The loop has been closed.
        """
        future: asyncio.Future[object] = self._loop.create_future()

        def tell(value: object, error: BaseException | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)

        def succeeded(value: object) -> None:
            self._hand_over(tell, value, None)

        def failed(error: BaseException) -> None:
            self._hand_over(tell, None, error)

        def ask() -> None:
            try:
                found = page.ask()
            except Exception as error:
                failed(error)
                return
            if isinstance(found, Pending):
                found.then(succeeded, failed)
            else:
                succeeded(found)

        try:
            self._broker_loop.call_soon_threadsafe(ask)
        except RuntimeError as error:
            # asyncio raises this only if the loop is closed.
            raise _StoppedError from error
        return future

    def _hand_over(self, tell: Callable[..., object], *args: object) -> None:
        try:
            self._loop.call_soon_threadsafe(tell, *args)
        except RuntimeError:
            # The loop has closed meanwhile, so no request waits any more.
            return


class _StoppedError(Exception):
    """The broker's loop is closed."""


class _Request(NamedTuple):
    """Method and path of an HTTP request; both empty if it is malformed."""

    method: str
    path: str


def _parsed(head: bytes) -> _Request:
    words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return _Request("", "")
    return _Request(words[0], words[1].partition("?")[0])


class _Budget:
    """Limits the thread's CPU time to `SHARE` of the time, with bursts of `_MOST_AT_ONCE_S`."""

    def __init__(self) -> None:
        self._left_s = _MOST_AT_ONCE_S
        self._refilled_s = time.monotonic()
        self._used_s = 0.0

    async def wait(self) -> None:
        """Wait until some of the budget is left."""
        # It waits for elapsed time and CPU time, for which no event exists.
        while self._refill() <= 0:  # noqa: ASYNC110
            await asyncio.sleep(-self._left_s / SHARE + 0.001)

    def _refill(self) -> float:
        now_s, used_s = time.monotonic(), time.thread_time()
        gained_s = (now_s - self._refilled_s) * SHARE
        # CPU time of all connections, so that opening and closing them counts as well.
        self._left_s = min(self._left_s + gained_s, _MOST_AT_ONCE_S) - (used_s - self._used_s)
        self._refilled_s, self._used_s = now_s, used_s
        return self._left_s


class _ProbeBudget:
    """Allows `PROBES_PER_S` probes that do not wait for the CPU time limit."""

    def __init__(self) -> None:
        self._second = 0
        self._count = 0

    def take(self) -> bool:
        """Return whether a probe is left in this second."""
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._count = second, 0
        self._count += 1
        return self._count <= PROBES_PER_S


def _bind(host: str, port: int) -> socket.socket:
    try:
        return listening_socket(host, port, _BACKLOG)
    except OSError as error:
        reason = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be bound: {error.strerror or error}"
        raise StartupError(f"barnabas.http.listeners: {host}:{port} {reason}") from None


async def _send(writer: asyncio.StreamWriter, answer: Answer, has_body: bool = True) -> None:
    status = HTTPStatus(answer.status)
    head = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {len(answer.body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    ]
    if status is HTTPStatus.METHOD_NOT_ALLOWED:
        head.append(f"Allow: {', '.join(_METHODS)}")
    writer.write("\r\n".join([*head, "", ""]).encode("latin-1"))
    # In chunks, so that bytes which the client does not read are not copied.
    body = memoryview(answer.body) if has_body else memoryview(b"")
    for start in range(0, len(body), _CHUNK_BYTES):
        writer.write(body[start : start + _CHUNK_BYTES])
        await writer.drain()
    await writer.drain()
