"""ZooKeeper clients: kazoo, and one that says exactly what it is told to, and tells exactly what it hears.

The second is a reading of its own of the protocol (ZooKeeper 3.5.9, zookeeper.jute): nothing of ours is used, so that
one script of requests can be played to a real server and to ours and what is heard be compared.
"""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NamedTuple, Self

from kazoo.client import KazooClient

from tests.patience import PATIENCE_S

CREATE, DELETE, EXISTS, GET_DATA, SET_DATA, GET_ACL, SET_ACL, GET_CHILDREN, SYNC = range(1, 10)
PING, GET_CHILDREN2, CHECK, MULTI, CREATE2, RECONFIG, CHECK_WATCHES, REMOVE_WATCHES = 11, 12, 13, 14, 15, 16, 17, 18
CREATE_CONTAINER, CREATE_TTL, AUTH, SET_WATCHES, CLOSE_SESSION = 19, 21, 100, 101, -11

Acl = tuple[int, str, str]
OPEN: list[Acl] = [(31, "world", "anyone")]
NOBODY = bytes(16)


def integer(value: int) -> bytes:
    return struct.pack(">i", value)


def buffer(value: bytes | None) -> bytes:
    return integer(-1) if value is None else integer(len(value)) + value


def text(value: str | None) -> bytes:
    return buffer(None if value is None else value.encode("utf-8", "surrogatepass"))


def acls(values: list[Acl]) -> bytes:
    return integer(len(values)) + b"".join(integer(perms) + text(scheme) + text(id_) for perms, scheme, id_ in values)


def creation(path: str, data: bytes | None = b"", flags: int = 0, acl: list[Acl] | None = None) -> bytes:
    return text(path) + buffer(data) + acls(OPEN if acl is None else acl) + integer(flags)


def versioned(path: str, version: int = -1) -> bytes:
    return text(path) + integer(version)


def setting(path: str, data: bytes | None, version: int = -1) -> bytes:
    return text(path) + buffer(data) + integer(version)


def watching(path: str, watch: bool = False) -> bytes:
    return text(path) + bytes([watch])


def multi(*parts: tuple[int, bytes]) -> bytes:
    body = b"".join(struct.pack(">i?i", kind, False, -1) + part for kind, part in parts)
    return body + struct.pack(">i?i", -1, True, -1)


def watch_lists(relative_zxid: int, data: list[str], exist: list[str], child: list[str]) -> bytes:
    return struct.pack(">q", relative_zxid) + b"".join(
        integer(len(paths)) + b"".join(map(text, paths)) for paths in (data, exist, child)
    )


class Stat(NamedTuple):
    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    owner: int
    data_length: int
    child_count: int
    pzxid: int


class Event(NamedTuple):
    """What a watch told."""

    kind: int
    state: int
    path: str


class Answer(NamedTuple):
    """What came back for a request; `events` came before it."""

    xid: int
    zxid: int
    error: int
    body: bytes
    events: list[Event]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0

    def unpack(self, form: str) -> tuple[int, ...]:
        values = struct.unpack_from(form, self.data, self.position)
        self.position += struct.calcsize(form)
        return values

    def buffer(self) -> bytes | None:
        (length,) = self.unpack(">i")
        if length < 0:
            return None
        self.position += length
        return self.data[self.position - length : self.position]

    def text(self) -> str:
        return (self.buffer() or b"").decode()


def decoded(operation: int, answer: Answer) -> object:
    """The body of an answer, or nothing where it is an error; names of children sorted."""
    if answer.error or not answer.body:
        return None
    reader = _Reader(answer.body)
    return _parts(reader) if operation == MULTI else _part(reader, operation)


def _part(reader: _Reader, operation: int) -> object:
    match operation:
        case 1 | 9:
            return reader.text()
        case 15 | 19 | 21:
            return reader.text(), Stat(*reader.unpack(">qqqqiiiqiiq"))
        case 3 | 5 | 7:
            return Stat(*reader.unpack(">qqqqiiiqiiq"))
        case 4:
            return reader.buffer(), Stat(*reader.unpack(">qqqqiiiqiiq"))
        case 6:
            (count,) = reader.unpack(">i")
            found = [(*reader.unpack(">i"), reader.text(), reader.text()) for _ in range(count)]
            return found, Stat(*reader.unpack(">qqqqiiiqiiq"))
        case 8 | 12:
            (count,) = reader.unpack(">i")
            names = sorted(reader.text() for _ in range(count))
            return (names, Stat(*reader.unpack(">qqqqiiiqiiq"))) if operation == GET_CHILDREN2 else names
        case -1:
            return reader.unpack(">i")
        case _:
            return None


def _parts(reader: _Reader) -> list[object]:
    found: list[object] = []
    while True:
        kind, is_done, error = reader.unpack(">i?i")
        if is_done:
            assert reader.position == len(reader.data)
            return found
        found.append((kind, error, _part(reader, kind)))


class ClosedError(Exception):
    """The server ended the connection."""


class RawClient:
    """One connection.

    Attributes:
        session_id, password, timeout_ms: As the server gave them; all 0 where the session is none any more.
        last_zxid: The highest one in an answer.
        events: Those that were not told of yet with an answer.
    """

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self.session_id, self.password, self.timeout_ms, self.last_zxid = 0, NOBODY, 0, 0
        self.events: list[Event] = []
        self._xid = 0

    @classmethod
    def connected(cls, port: int, timeout_ms: int = 10_000) -> Self:
        client = cls(port)
        client.connect(timeout_ms)
        return client

    def connect(
        self, timeout_ms: int, session_id: int = 0, password: bytes = NOBODY, last_zxid: int = 0, flag: bytes = b"\0"
    ) -> bytes:
        """Say who it is; what follows the password in the answer."""
        wish = struct.pack(">iqiq", 0, last_zxid, timeout_ms, session_id) + buffer(password) + flag
        self.send_frame(wish)
        reader = _Reader(self.frame())
        _, self.timeout_ms, self.session_id = reader.unpack(">iiq")
        self.password = reader.buffer() or b""
        return reader.data[reader.position :]

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def send_frame(self, frame: bytes) -> None:
        self.send(integer(len(frame)) + frame)

    def request(self, operation: int, body: bytes = b"", xid: int | None = None) -> int:
        """Send a request; its xid."""
        self._xid += 1
        xid = self._xid if xid is None else xid
        self.send_frame(struct.pack(">ii", xid, operation) + body)
        return xid

    def ask(self, operation: int, body: bytes = b"", xid: int | None = None) -> Answer:
        """Send a request and wait for its answer."""
        xid = self.request(operation, body, xid)
        answer = self.answer()
        assert answer.xid == xid
        return answer

    def answer(self) -> Answer:
        """The next answer, with the events before it."""
        while True:
            found = self._message()
            if isinstance(found, Answer):
                return found

    def event(self) -> Event:
        """The next event; nothing else may come before it."""
        if not self.events:
            found = self._message()
            assert isinstance(found, Event), found
        return self.events.pop(0)

    def _message(self) -> Answer | Event:
        frame = self.frame()
        xid, zxid, error = struct.unpack_from(">iqi", frame)
        if xid == -1:
            reader = _Reader(frame[16:])
            kind, state = reader.unpack(">ii")
            event = Event(kind, state, reader.text())
            self.events.append(event)
            return event
        self.last_zxid = max(self.last_zxid, zxid)
        events, self.events = self.events, []
        return Answer(xid, zxid, error, frame[16:], events)

    def frame(self) -> bytes:
        return self._exactly(struct.unpack(">i", self._exactly(4))[0])

    def rest(self) -> bytes:
        """All that comes until the server ends the connection."""
        data = b""
        try:
            while piece := self._socket.recv(65536):
                data += piece
        except ConnectionResetError:
            pass
        return data

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            try:
                piece = self._socket.recv(count - len(data))
            except ConnectionResetError:
                piece = b""
            if not piece:
                raise ClosedError
            data += piece
        return data

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exception_type: type[BaseException] | None, exception: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def word(port: int, letters: bytes) -> bytes:
    """The answer to a four-letter word."""
    with RawClient(port) as client:
        client.send(letters)
        return client.rest()


@contextmanager
def kazoo_client(connect: str, **options: Any) -> Iterator[KazooClient]:
    """Connect kazoo's client, and close it at the end; a chroot must exist."""
    client = KazooClient(connect, **{"timeout": 60, **options})
    client.start(PATIENCE_S)
    try:
        yield client
    finally:
        client.stop()
        client.close()
