"""One connection of a ZooKeeper client.

    connect ─► requests, in order ─► responses, in order; watch events between them

Invariants:

- Responses have the order of the requests, and a read sees the client's earlier writes. Therefore a read waits for
  uncommitted writes; writes do not wait for each other.
- A client gets a watch event before the response to any request after that change. Output is sent in order, and no
  request is handled in the middle of a commit.
- The number of waiting requests is bounded: at the limit, reading from the client pauses. It also pauses while the
  client does not read its responses. Requests that were read before then wait, too: the unsent responses are bounded.
- A malformed frame closes only the connection: the session continues until it times out.
- A write whose commit fails gets no response: the connection closes, and the client may repeat the write.

Source: ZooKeeper programmer's guide, consistency guarantees; ZooKeeper 3.5.9, ZooKeeperServer.processPacket and
processConnectRequest, FinalRequestProcessor.
"""

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, assert_never

from barnabas.broker.net.connection import Connection, Pause
from barnabas.broker.registry.embedded import Outcome
from barnabas.broker.registry.tree import BeginSessionOp, KeptSession
from barnabas.broker.registry.zookeeper_server import messages
from barnabas.broker.registry.zookeeper_server.four_letter_words import WORD_BYTES, WORDS, answer_to
from barnabas.broker.registry.zookeeper_server.jute import JuteReader, MalformedError
from barnabas.broker.registry.zookeeper_server.messages import Code, Operation
from barnabas.broker.registry.zookeeper_server.sessions import Session
from barnabas.broker.registry.zookeeper_server.state import ServerState
from barnabas.core.errors import UnanswerableError
from barnabas.wire.protocol.buffer import WireBuffer
from barnabas.wire.registry import acl
from barnabas.wire.registry.acl import Author, Identity
from barnabas.wire.registry.store import EventType, RegistryError, WatchEvent

if TYPE_CHECKING:
    from barnabas.core.timers import Timer

# The most requests of one client that may wait for a commit or for earlier requests, and their most bytes.
MOST_WAITING = 1_000
MOST_WAITING_BYTES = 4 * 1024 * 1024
# No further request is started while the responses that the client has not read yet have this many bytes.
MOST_UNSENT_BYTES = 256 * 1024
# The most watches that are set or removed in one turn of the event loop; this takes a few milliseconds.
_WATCHES_PER_TURN = 1_000
# A connection without a session is closed after this time.
_SESSIONLESS_MS = 10_000
# The most identities of one connection, and the largest credential of one login.
_MOST_IDENTITIES = 16
_MOST_PROOF_BYTES = 8 * 1024
_NO_PASSWORD = bytes(messages.PASSWORD_BYTES)


class ZooKeeperConnection:
    """Handles the frames of one connection; see `FrameHandler`.

    Attributes:
        session: Its session; None before the first frame, and after the session's end.
        received_count, sent_count: Number of requests received and of responses sent.
    """

    def __init__(self, server: ServerState, connection: Connection) -> None:
        self.session: Session | None = None
        self.received_count = self.sent_count = 0
        self._server = server
        self._connection = connection
        connection.on_sent = self._sent
        self._identities: tuple[Identity, ...] = (Identity("ip", connection.peer_host),)
        # xid, request, time of arrival (ns), bytes.
        self._waiting: deque[tuple[int, messages.Request, int, int]] = deque()
        self._in_flight_count = self._outstanding_bytes = 0
        # Bytes given to the connection since it last sent everything.
        self._unsent_bytes = 0
        self._out = WireBuffer()
        self._is_flush_planned = self._is_ending = self._is_closed = self._ends_session = False
        self._sessionless: Timer | None = server.timers.call_later(
            _SESSIONLESS_MS, connection.close, "it asked for no session"
        )

    @property
    def peer(self) -> str:
        """The client's address, in the format of four-letter words."""
        return f"/{self._connection.peer_host}:{self._connection.peer_port}"

    @property
    def outstanding_count(self) -> int:
        """The number of unanswered requests."""
        return len(self._waiting) + self._in_flight_count

    # --- frames

    def on_frame(self, frame: memoryview, now_ns: int) -> None:
        if self._is_ending or self._ends_session:
            return
        if self.session is not None:
            self._request(self.session, frame, now_ns)
        elif len(frame) == WORD_BYTES and bytes(frame) in WORDS:
            self._word(bytes(frame))
        else:
            self._connect(frame)
        self._send()

    def _sent(self, now_ns: int) -> None:
        self._unsent_bytes = 0
        # Deferred, because this is called in the middle of the connection's work.
        if self._is_ending and not self._out:
            self._connection.scheduler.add(self._connection.close)
        elif self._waiting:
            self._plan_flush()

    def on_closed(self) -> None:
        self._is_closed = True
        self._waiting.clear()
        if self._sessionless is not None:
            self._sessionless.cancel()
        session, self.session = self.session, None
        if session is not None and session.connection is self:
            session.connection = None
        self._server.connections.pop(self, None)
        self._forget_all_watches()

    def _forget_all_watches(self) -> None:
        if self._server.watches.remove_some(self, _WATCHES_PER_TURN):
            self._connection.scheduler.add(self._forget_all_watches)

    def detach(self, reason: str) -> None:
        """Close the connection: the session moved to another one, or ended."""
        self.session = None
        self._connection.close(reason)

    def end(self, reason: str) -> None:
        """Close the connection after this turn; its session may continue on another one."""
        self._is_ending = True
        self._connection.scheduler.add(partial(self._connection.close, reason))

    def _word(self, word: bytes) -> None:
        self._out += answer_to(word, self._server)
        self._is_ending = True

    def _connect(self, frame: memoryview) -> None:
        server = self._server
        self._look_at_certificate()
        wish = messages.decode_connect(JuteReader(frame))
        if wish.last_zxid > server.tree.zxid:
            raise UnanswerableError(f"it has seen transaction {wish.last_zxid:#x}, which this registry does not have")
        if not wish.session_id:
            self._begin(wish)
            return
        session = server.sessions.resume(wish.session_id, wish.password, wish.timeout_ms)
        if session is None:
            messages.write_connected(0, 0, _NO_PASSWORD, wish.knows_read_only, self._out)
            self._is_ending = True
        else:
            self._attach(session, wish)

    def _begin(self, wish: messages.Connect) -> None:
        """Begin a session, and answer when it is committed."""
        session = self._server.sessions.begin(wish.timeout_ms)
        begin = BeginSessionOp(session.id, KeptSession(session.password, session.timeout_ms))

        def begun(outcome: Outcome) -> None:
            if isinstance(outcome.result, BaseException):
                self._server.sessions.end(session)
                self.end(f"cannot store its session: {outcome.result}")
            elif not self._is_closed:
                self._attach(session, wish)
                self._plan_flush()

        self._connection.pause(Pause.ANSWER)
        self._server.registry.perform([begin], Author(session.id, self._identities), begun)

    def _attach(self, session: Session, wish: messages.Connect) -> None:
        if self._sessionless is not None:
            self._sessionless.cancel()
            self._sessionless = None
        self.session, session.connection = session, self
        messages.write_connected(session.timeout_ms, session.id, session.password, wish.knows_read_only, self._out)

    def _request(self, session: Session, frame: memoryview, now_ns: int) -> None:
        reader = JuteReader(frame)
        xid, operation = reader.integer(), reader.integer()
        self.received_count += 1
        self._server.sessions.heard(session)
        if operation == Operation.AUTH:
            self._authenticate(xid, reader)
            return
        self._waiting.append((xid, messages.decode_request(operation, reader, session.id), now_ns, len(frame)))
        self._outstanding_bytes += len(frame)
        self._work()
        if self.outstanding_count >= MOST_WAITING or self._outstanding_bytes >= MOST_WAITING_BYTES:
            self._connection.pause(Pause.ANSWER)

    def _authenticate(self, xid: int, reader: JuteReader) -> None:
        reader.integer()
        scheme, proof = reader.string(), reader.buffer()
        if scheme == "digest" and proof is not None and len(proof) <= _MOST_PROOF_BYTES:
            is_known = self._know(acl.digest_identity(proof))
        else:
            # The certificate's identity was added before.
            is_known = scheme == "ip" or (scheme == "x509" and any(each.scheme == scheme for each in self._identities))
        if is_known:
            self._answer(xid, 0, Code.OK)
        else:
            self._answer(xid, 0, Code.AUTH_FAILED)
            self._is_ending = True

    def _know(self, identity: Identity) -> bool:
        """Add an identity of the client; return False if it has too many."""
        more = [identity, *([acl.SUPER] if identity in self._server.supers else [])]
        known = (*self._identities, *(each for each in more if each not in self._identities))
        if len(known) > _MOST_IDENTITIES:
            return False
        self._identities = known
        return True

    def _look_at_certificate(self) -> None:
        certificate = self._connection.peer_certificate()
        if certificate is None:
            return
        # Imported here, because only TLS listeners need it.
        from barnabas.wire.security.tls.distinguished_name import subject

        try:
            self._know(Identity("x509", subject(certificate)))
        except ValueError:
            raise UnanswerableError("the subject of its certificate is not a distinguished name") from None

    # --- requests, in order

    def _work(self) -> None:
        """Start the requests that need not wait, until the client has to read responses first (`_sent` continues)."""
        waiting = self._waiting
        while waiting and self.session is not None and not self._is_ending and not self._ends_session:
            if self._unsent_bytes + len(self._out) >= MOST_UNSENT_BYTES:
                return
            xid, request, since_ns, frame_bytes = waiting[0]
            if isinstance(request, messages.Write):
                waiting.popleft()
                self._in_flight_count += 1
                author = Author(self.session.id, self._identities)
                answer = partial(self._on_outcome, xid, request, author, since_ns, frame_bytes)
                if request.operation is Operation.CLOSE_SESSION:
                    # Later requests get no response, as in ZooKeeper: their ephemeral nodes would have no session.
                    self._ends_session = True
                    self._server.sessions.end(self.session)
                    self._server.store_end(self.session.id, answer)
                else:
                    self._server.registry.perform(request.ops, author, answer)
            elif self._in_flight_count:
                return
            elif isinstance(request, messages.SetWatches) and not self._set_watches(xid, request):
                # Continue in a later turn of the event loop; later requests wait.
                self._plan_flush()
                return
            else:
                waiting.popleft()
                self._outstanding_bytes -= frame_bytes
                if not isinstance(request, messages.SetWatches):
                    self._read(xid, request)
                self._server.bound_watches()
                self._server.statistics.note(self._server.now_ns() - since_ns)

    def _on_outcome(
        self,
        xid: int,
        request: messages.Write,
        author: Author,
        since_ns: int,
        frame_bytes: int,
        outcome: Outcome,
    ) -> None:
        """Store the response to a write; called in the middle of a commit."""
        self._in_flight_count -= 1
        self._outstanding_bytes -= frame_bytes
        if self._is_closed or self._is_ending:
            return
        result, zxid = outcome.result, outcome.zxid
        self._server.statistics.note(self._server.now_ns() - since_ns)
        if isinstance(result, list):
            body = messages.write_answer_body(request, result, zxid, outcome.time_ms, author.session_id)
            self._answer(xid, zxid, Code.OK, body)
        elif not isinstance(result, RegistryError):
            # Clients repeat a write after a lost connection, but not after an error.
            self.end(f"cannot store a write: {result}")
        elif request.operation is Operation.MULTI:
            self._answer(xid, zxid, Code.OK, messages.refused_multi_body(request, result))
        else:
            self._answer(xid, zxid, messages.code_of(result))
        if request.operation is Operation.CLOSE_SESSION:
            self._is_ending = True
        self._plan_flush()

    def _read(self, xid: int, request: messages.SimpleRead) -> None:
        tree = self._server.tree
        zxid = tree.zxid
        match request:
            case messages.Exists():
                if request.watch:
                    self._server.watches.add_data(request.path, self)
                node = tree.get(request.path)
                if node is None:
                    self._answer(xid, zxid, Code.NO_NODE)
                else:
                    self._answer(xid, zxid, Code.OK, messages.stat_bytes(node.stat()))
            case messages.GetData() | messages.GetChildren() | messages.GetAcl():
                self._read_node(xid, zxid, request)
            case messages.Sync():
                self._answer(xid, zxid, Code.OK, messages.text_answer(request.path))
            case messages.Ping():
                self._answer(messages.PING_XID, zxid, Code.OK)
            case messages.ForgetWatches():
                self._answer(xid, zxid, self._forget_watches(request))
            case messages.Refused():
                self._answer(xid, zxid, request.code)
                self._is_ending = self._is_ending or request.ends_connection
            case _:
                assert_never(request)

    def _read_node(
        self, xid: int, zxid: int, request: messages.GetData | messages.GetChildren | messages.GetAcl
    ) -> None:
        """Answer a read that requires an existing node and the permission to read it."""
        server, path = self._server, request.path
        node = server.tree.get(path)
        if node is None:
            self._answer(xid, zxid, Code.NO_NODE)
            return
        permission = acl.READ | acl.ADMIN if isinstance(request, messages.GetAcl) else acl.READ
        acls = server.tree.acls(path, node)
        if not acl.may(acls, permission, self._identities):
            self._answer(xid, zxid, Code.NO_AUTH)
            return
        body: bytearray
        match request:
            case messages.GetData():
                if request.watch:
                    server.watches.add_data(path, self)
                body = messages.data_answer(node.data, node.stat())
            case messages.GetChildren():
                if request.watch:
                    server.watches.add_children(path, self)
                body = messages.children_answer(server.tree.children(path), node.stat() if request.with_stat else None)
            case messages.GetAcl():
                is_admin = acl.may(acls, acl.ADMIN, self._identities)
                body = messages.acl_answer(acls if is_admin else acl.without_digests(acls), node.stat())
        self._answer(xid, zxid, Code.OK, body)

    def _set_watches(self, xid: int, request: messages.SetWatches) -> bool:
        """Set some of the client's watches, or fire those that missed an event; return whether all are done."""
        code = Code.OK
        try:
            for count, (kind, path) in enumerate(request.watches, 1):
                self._set_watch(kind, path, request.relative_zxid)
                self._server.bound_watches()
                if count == _WATCHES_PER_TURN or self._is_ending:
                    return False
        except MalformedError:
            code = Code.MARSHALLING_ERROR
        self._answer(xid, self._server.tree.zxid, code)
        return True

    def _set_watch(self, kind: messages.WatchList, path: str, relative_zxid: int) -> None:
        watches, node = self._server.watches, self._server.tree.get(path)
        if kind is messages.WatchList.EXIST:
            if node is None:
                watches.add_data(path, self)
            else:
                self._notify(EventType.CREATED, path)
        elif node is None:
            self._notify(EventType.DELETED, path)
        elif kind is messages.WatchList.DATA:
            if node.mzxid > relative_zxid:
                self._notify(EventType.CHANGED, path)
            else:
                watches.add_data(path, self)
        elif node.pzxid > relative_zxid:
            self._notify(EventType.CHILD, path)
        else:
            watches.add_children(path, self)

    def _forget_watches(self, request: messages.ForgetWatches) -> Code:
        data = request.kind in (messages.WatchKind.DATA, messages.WatchKind.ANY)
        children = request.kind in (messages.WatchKind.CHILDREN, messages.WatchKind.ANY)
        if not self._server.watches.has(request.path, self, data, children):
            return Code.NO_WATCHER
        if not request.is_check:
            self._server.watches.remove(request.path, self, data, children)
        return Code.OK

    # --- output

    def on_event(self, event: WatchEvent) -> None:
        """Queue a watch event; called in the middle of a commit."""
        if not self._is_closed:
            self._notify(event.type, event.path)
            self._plan_flush()

    def _notify(self, kind: EventType, path: str) -> None:
        self._server.statistics.sent_count += 1
        messages.write_event(kind, path, self._out)

    def _answer(self, xid: int, zxid: int, code: Code, body: bytes | bytearray = b"") -> None:
        self.sent_count += 1
        self._server.statistics.sent_count += 1
        messages.write_answer(xid, zxid, code, body, self._out)

    def _plan_flush(self) -> None:
        if not self._is_flush_planned:
            self._is_flush_planned = True
            self._connection.scheduler.add(self._flush)

    def _flush(self) -> None:
        """Continue after a commit: process waiting requests, and send the responses."""
        self._is_flush_planned = False
        if not self._is_closed:
            self._work()
            self._send()

    def _send(self) -> None:
        if self._out and not self._is_closed:
            out, self._out = self._out, WireBuffer()
            self._unsent_bytes += len(out)
            self._connection.send(out)
