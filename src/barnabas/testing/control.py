"""The test's end of the socket to its broker: receives requests and sends verdicts.

One thread of this process makes all decisions, in the order in which the broker received the requests. Any thread may
add and remove interceptions.

Source: `broker/requests/interception_messages.py` for the messages.
"""

import contextlib
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

from barnabas.broker.requests.interception_messages import Fields, Splitter, Verdict, encode
from barnabas.testing.received_request import ReceivedRequest, api_name
from barnabas.wire.protocol.api_keys import ApiKey, request_class, response_class
from barnabas.wire.protocol.wire import UNLIMITED_ELEMENTS, Budget, Message, WireBuffer

# Receives the decoded message; changes it, or returns another one of its class.
ChangeRequest: TypeAlias = Callable[[Any], Message | None]
ChangeAnswer: TypeAlias = Callable[[Any, ReceivedRequest], Message | None]

_READ_BYTES = 65_536
_PROCESS_SHIFT = 40
_AS_IT_CAME = Verdict()
# How long to wait for the broker, which may be paused.
_ANSWER_S = 10.0
_NO_ANSWER = "the broker does not answer: is it paused or starting, or does a function of a test still run?"


@dataclass(frozen=True, slots=True)
class Action:
    """The handling of a request.

    Attributes:
        verdict: The verdict that is sent to the broker.
        holds: Send no verdict yet; the interception sends it later.
        change_request, change_answer: Functions of the test; None: no change.
    """

    verdict: Verdict = _AS_IT_CAME
    holds: bool = False
    change_request: ChangeRequest | None = None
    change_answer: ChangeAnswer | None = None


class Taker(Protocol):
    """Receives the requests of one API and decides on them: an `Interception`."""

    api: ApiKey

    def selects(self, request: ReceivedRequest) -> bool:
        """Return whether the request is selected."""
        ...

    def take(self, number: int, request: ReceivedRequest, *, may_act: bool) -> Action | None:
        """Record a selected request and return its handling. The caller holds `Control.changed`."""
        ...

    def note(self, error: Exception) -> None:
        """Record an exception of the test's function."""
        ...


class _Change(NamedTuple):
    """A change to a response that does not exist yet."""

    taker: Taker
    change: ChangeAnswer
    api_key: int
    request: ReceivedRequest


class Control:
    """The socket to a broker's process; a new one after each restart.

    Attributes:
        changed: Guards the takers' state, and is notified of every request.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self._takers: list[Taker] = []
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._sending = threading.Lock()
        self._watch_id = self._heard_id = 0
        self._not_served: list[int] = []
        self._asks_for_stalls = False
        self._stalls_ms: tuple[int, int] | None = None
        self._changes: dict[int, _Change] = {}
        # Each process numbers its requests from the start, so held requests do not carry over.
        self._process_count = 0

    # --- the process

    def open(self) -> socket.socket:
        """Create the socket for a new process; its first message is the list of watched APIs.

        Returns:
            The process's end; the caller closes it.
        """
        self.close()
        ours, theirs = socket.socketpair()
        with self.changed:
            self._changes.clear()
            self._process_count += 1
            self._socket = ours
        self._send_watch()
        self._thread = threading.Thread(
            target=self._listen,
            args=(ours, self._process_count << _PROCESS_SHIFT),
            name="barnabas-control",
            daemon=True,
        )
        self._thread.start()
        return theirs

    def close(self) -> None:
        """Close the socket; interceptions stay for the next process."""
        with self.changed:
            ours, self._socket = self._socket, None
            self.changed.notify_all()
        if ours is None:
            return
        # Wakes the thread, which closes it; the process may have ended before.
        with contextlib.suppress(OSError):
            ours.shutdown(socket.SHUT_RDWR)

    # --- interceptions

    def add(self, taker: Taker) -> None:
        """Report requests to a taker from now on; a running broker has confirmed this on return.

        Raises:
            ValueError: The broker does not serve the API.
            RuntimeError: The broker does not answer, for example because it is paused.
        """
        with self.changed:
            self._takers.append(taker)
        not_served = self._tell()
        if not_served is None:
            with self.changed:
                self._takers.remove(taker)
            self._send_watch()
            raise RuntimeError(_NO_ANSWER)
        if int(taker.api) in not_served:
            self.remove(taker)
            raise ValueError(f"the broker does not serve {api_name(taker.api)}")

    def remove(self, taker: Taker) -> None:
        """Stop reporting requests to a taker; does nothing if it was removed already."""
        with self.changed:
            if taker not in self._takers:
                return
            self._takers.remove(taker)
        # A paused broker reads the list when it resumes.
        self._tell()

    def say(self, number: int, verdict: Verdict, changed_request: WireBuffer | None = None) -> None:
        """Send the verdict on a request to the broker, with a replacement request if there is one.

        Args:
            number: As in `Taker.take`; numbers of a process that has ended are ignored.
        """
        is_changed = changed_request is not None
        self._answer(number, {"op": "verdict", "verdict": verdict._asdict(), "is_changed": is_changed}, changed_request)

    def stalls_of_late_ms(self) -> tuple[int, int]:
        """Return the longest stalls of the broker's event loop since the last call, and those caused by computation.

        Raises:
            RuntimeError: The broker is not running, or does not answer.
        """
        with self._sending:
            with self.changed:
                self._stalls_ms = None
                self._asks_for_stalls = True
            self._send({"op": "stalls", "id": 0})
        with self.changed:
            if not self.changed.wait_for(lambda: not self._asks_for_stalls or self._socket is None, _ANSWER_S):
                raise RuntimeError(_NO_ANSWER)
            if self._stalls_ms is None:
                raise RuntimeError("the broker is not running")
            return self._stalls_ms

    def _answer(self, number: int, fields: Fields, body: WireBuffer | None) -> None:
        process, request_id = divmod(number, 1 << _PROCESS_SHIFT)
        with self._sending:
            if process == self._process_count:
                self._send({**fields, "id": request_id}, body or b"")

    def _tell(self) -> list[int] | None:
        """Send the list of watched APIs; return the APIs that the broker does not serve, None if it does not answer."""
        watch_id = self._send_watch()
        if threading.current_thread() is self._thread:
            # Called by a function of the test, in the thread that would read the answer: it is read later.
            return []
        with self.changed:
            if not self.changed.wait_for(lambda: self._heard_id >= watch_id or self._socket is None, _ANSWER_S):
                return None
            return [] if self._socket is None else self._not_served

    def _send_watch(self) -> int:
        # Under the lock, so that the broker receives the newest list last.
        with self._sending:
            with self.changed:
                self._watch_id += 1
                api_keys = sorted({int(taker.api) for taker in self._takers})
            self._send({"op": "watch", "id": self._watch_id, "api_keys": api_keys})
            return self._watch_id

    def _send(self, fields: Fields, body: bytes | bytearray = b"") -> None:
        ours = self._socket
        if ours is not None:
            try:
                ours.sendall(encode(fields, body))
            except OSError:
                # The process has ended, so there is no waiter.
                self._lost(ours)

    # --- in the thread

    def _listen(self, ours: socket.socket, first_number: int) -> None:
        splitter = Splitter()
        with ours:
            while data := _received(ours):
                for fields, body in splitter.feed(data):
                    self._hear(fields, first_number, body)
        self._lost(ours)

    def _lost(self, ours: socket.socket) -> None:
        """Handle the end of the process: wake all threads that wait for its messages."""
        with self.changed:
            if self._socket is ours:
                self._heard_id = self._watch_id
                self._not_served = []
                self._asks_for_stalls = False
                self.changed.notify_all()

    def _hear(self, fields: Fields, first_number: int, body: bytearray) -> None:
        match fields["op"]:
            case "watching":
                with self.changed:
                    self._heard_id = fields["id"]
                    self._not_served = fields["not_served"]
                    self.changed.notify_all()
            case "stalls":
                with self.changed:
                    longest_ms, computing_ms = fields["stalls"]
                    self._stalls_ms = (longest_ms, computing_ms)
                    self._asks_for_stalls = False
                    self.changed.notify_all()
            case "request":
                self._decide(first_number + fields["id"], fields, body)
            case "answer":
                self._change(first_number + fields["id"], body)

    def _decide(self, number: int, fields: Fields, body: bytearray) -> None:
        api_key, api_version = fields["api_key"], fields["api_version"]
        message = _decoded(request_class(api_key), api_version, body)
        request = ReceivedRequest(api_name(ApiKey(api_key)), api_version, fields["client_id"], message)
        with self.changed:
            # The newest interception comes first.
            takers = [taker for taker in reversed(self._takers) if int(taker.api) == api_key]
        meant = [taker for taker in takers if taker.selects(request)]
        action, actor = None, None
        with self.changed:
            for taker in meant:
                taken = taker.take(number, request, may_act=action is None)
                if taken is not None:
                    action, actor = taken, taker
            self.changed.notify_all()
        if action is None or actor is None:
            self.say(number, _AS_IT_CAME)
        elif not action.holds:
            self._act(number, action, actor, api_key, request, body)

    def _act(
        self, number: int, action: Action, taker: Taker, api_key: int, request: ReceivedRequest, body: bytearray
    ) -> None:
        changed_request = None
        if action.change_request is not None:
            try:
                # A copy: the test keeps the original.
                mine = _decoded(request_class(api_key), request.api_version, body)
                changed_request = WireBuffer()
                _checked(action.change_request(mine), mine).encode(request.api_version, changed_request)
            except Exception as error:
                taker.note(error)
                changed_request = None
        if action.change_answer is not None:
            self._changes[number] = _Change(taker, action.change_answer, api_key, request)
        self.say(number, action.verdict, changed_request)

    def _change(self, number: int, body: bytearray) -> None:
        change = self._changes.pop(number)
        version = change.request.api_version
        changed = WireBuffer(body)
        try:
            answer = _decoded(response_class(change.api_key), version, body)
            out = WireBuffer()
            _checked(change.change(answer, change.request), answer).encode(version, out)
            changed = out
        except Exception as error:
            change.taker.note(error)
        self._answer(number, {"op": "answer"}, changed)


def _received(ours: socket.socket) -> bytes:
    """Receive the process's next bytes; empty when it has ended."""
    try:
        return ours.recv(_READ_BYTES)
    except OSError:
        return b""


def _checked(changed: Message | None, message: Message) -> Message:
    """Return the message that a test's function returned; None: the original, which it may have changed.

    Raises:
        TypeError: it returned anything but a message of this class.
    """
    if changed is None:
        return message
    if not isinstance(changed, type(message)):
        raise TypeError(f"the function must return a {type(message).__name__} or None, not {type(changed).__name__}")
    return changed


def _decoded(message_class: type[Message], version: int, body: bytearray) -> Message:
    return message_class.decode(version, memoryview(bytes(body)), 0, Budget(UNLIMITED_ELEMENTS))[0]
