"""ZooKeeper's client protocol: operation numbers, error codes, requests, responses. Pure.

    request  ─► int length, int xid, int operation, record
    answer   ─► int length, int xid, long zxid, int error, record (if error is 0)

A request is either a read, which is answered from the tree, or a `Write`: a transaction for the tree. An unsupported
operation stays in its transaction, so that it is refused in order.

Source: ZooKeeper 3.5.9, zookeeper.jute, ZooDefs.OpCode, KeeperException.Code, MultiTransactionRecord, MultiResponse.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from barnabas.broker.registry.tree import EndSessionOp, RefusedOp, SetAclOp, TreeOp
from barnabas.broker.registry.zookeeper_server.jute import (
    JuteReader,
    MalformedError,
    write_buffer,
    write_int,
    write_string,
    write_strings,
)
from barnabas.wire.registry.acl import OPEN_TO_ALL, Acl, Acls
from barnabas.wire.registry.store import (
    BadArgumentsError,
    BadVersionError,
    CheckOp,
    CreateOp,
    DeleteOp,
    EventType,
    InvalidAclError,
    NoAuthError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    OpResult,
    RegistryError,
    SetOp,
    Stat,
)

MOST_PARTS: Final = 1_000
"""The most operations of one transaction; they take about 50 ms of the event loop."""


class Operation(IntEnum):
    """The operation numbers of requests."""

    CREATE = 1
    DELETE = 2
    EXISTS = 3
    GET_DATA = 4
    SET_DATA = 5
    GET_ACL = 6
    SET_ACL = 7
    GET_CHILDREN = 8
    SYNC = 9
    PING = 11
    GET_CHILDREN2 = 12
    CHECK = 13
    MULTI = 14
    CREATE2 = 15
    RECONFIG = 16
    CHECK_WATCHES = 17
    REMOVE_WATCHES = 18
    CREATE_CONTAINER = 19
    CREATE_TTL = 21
    AUTH = 100
    SET_WATCHES = 101
    CREATE_SESSION = -10
    CLOSE_SESSION = -11
    ERROR = -1


class Code(IntEnum):
    """The error codes of answers."""

    OK = 0
    SYSTEM_ERROR = -1
    RUNTIME_INCONSISTENCY = -2
    MARSHALLING_ERROR = -5
    UNIMPLEMENTED = -6
    BAD_ARGUMENTS = -8
    NO_NODE = -101
    NO_AUTH = -102
    BAD_VERSION = -103
    NO_CHILDREN_FOR_EPHEMERALS = -108
    NODE_EXISTS = -110
    NOT_EMPTY = -111
    INVALID_ACL = -114
    AUTH_FAILED = -115
    NO_WATCHER = -121
    RECONFIG_DISABLED = -123


class UnimplementedError(RegistryError):
    """The server does not implement this operation."""


_CODES: Final[dict[type[RegistryError], Code]] = {
    NoNodeError: Code.NO_NODE,
    NoAuthError: Code.NO_AUTH,
    BadVersionError: Code.BAD_VERSION,
    NoChildrenForEphemeralsError: Code.NO_CHILDREN_FOR_EPHEMERALS,
    NodeExistsError: Code.NODE_EXISTS,
    NotEmptyError: Code.NOT_EMPTY,
    InvalidAclError: Code.INVALID_ACL,
    BadArgumentsError: Code.BAD_ARGUMENTS,
    UnimplementedError: Code.UNIMPLEMENTED,
}


def code_of(error: RegistryError) -> Code:
    """Return the error code of a refusal."""
    return _CODES.get(type(error), Code.SYSTEM_ERROR)


# --- requests


class Exists(NamedTuple):
    path: str
    watch: bool


class GetData(NamedTuple):
    path: str
    watch: bool


class GetChildren(NamedTuple):
    path: str
    watch: bool
    with_stat: bool


class GetAcl(NamedTuple):
    path: str


class Sync(NamedTuple):
    path: str


class Ping(NamedTuple):
    pass


class WatchList(IntEnum):
    """The lists of setWatches, in the order of the protocol: watches by getData, exists, getChildren."""

    DATA = 0
    EXIST = 1
    CHILDREN = 2


class SetWatches(NamedTuple):
    """The watches of a client that reconnects, and the last transaction that it saw.

    There may be very many watches: the iterator decodes them one at a time, and raises `MalformedError` at an invalid
    one.
    """

    relative_zxid: int
    watches: Iterator[tuple[WatchList, str]]


class WatchKind(IntEnum):
    """The kinds of watches that a client removes; the protocol's numbers."""

    CHILDREN = 1
    DATA = 2
    ANY = 3


class ForgetWatches(NamedTuple):
    """checkWatches, or removeWatches."""

    path: str
    kind: WatchKind
    is_check: bool


class Refused(NamedTuple):
    """A request that the server always refuses."""

    code: Code
    ends_connection: bool = False


class Write(NamedTuple):
    """A transaction, and the protocol's operation of each part."""

    operation: Operation
    kinds: list[Operation]
    ops: list[TreeOp]


SimpleRead: TypeAlias = Exists | GetData | GetChildren | GetAcl | Sync | Ping | ForgetWatches | Refused
Read: TypeAlias = SimpleRead | SetWatches
Request: TypeAlias = Read | Write

# The permissions, and the length fields of scheme and id.
_LEAST_ACL_BYTES = 12


def _acls(reader: JuteReader) -> Acls:
    return tuple(
        Acl(reader.integer(), reader.string() or "", reader.string() or "")
        for _ in range(reader.count(_LEAST_ACL_BYTES))
    )


def _create(reader: JuteReader, operation: Operation) -> TreeOp:
    path, data, acls, flags = reader.required_string(), reader.buffer(), _acls(reader), reader.integer()
    if operation is Operation.CREATE_TTL:
        reader.long()
    if not 0 <= flags <= 6:
        return RefusedOp(BadArgumentsError(path))
    if flags > 3:
        # differs from Kafka (registry-containers): ZooKeeper has containers, nodes deleted with their last child.
        return RefusedOp(UnimplementedError(path))
    return CreateOp(path, data, bool(flags & 1), bool(flags & 2), acls)


def _write_op(reader: JuteReader, operation: int) -> tuple[Operation, TreeOp] | None:
    """Return one part of a transaction; None if the operation is not a write."""
    match operation:
        case Operation.CREATE | Operation.CREATE2 | Operation.CREATE_CONTAINER | Operation.CREATE_TTL:
            kind = Operation(operation)
            return kind, _create(reader, kind)
        case Operation.DELETE:
            return Operation.DELETE, DeleteOp(reader.required_string(), reader.integer())
        case Operation.SET_DATA:
            return Operation.SET_DATA, SetOp(reader.required_string(), reader.buffer(), reader.integer())
        case Operation.CHECK:
            return Operation.CHECK, CheckOp(reader.required_string(), reader.integer())
        case _:
            return None


def _multi(reader: JuteReader, _: int) -> Write:
    write = Write(Operation.MULTI, [], [])
    while True:
        if len(write.ops) > MOST_PARTS:
            # differs from Kafka (registry-transaction-parts): in ZooKeeper only the request size limits them.
            raise MalformedError(f"a transaction of more than {MOST_PARTS} parts")
        operation, is_done, _error = reader.integer(), reader.boolean(), reader.integer()
        if is_done:
            return write
        part = _write_op(reader, operation)
        if part is None:
            raise MalformedError(f"a transaction with operation {operation}")
        write.kinds.append(part[0])
        write.ops.append(part[1])


def _single(reader: JuteReader, operation: int) -> Write:
    part = _write_op(reader, operation)
    assert part is not None
    return Write(part[0], [part[0]], [part[1]])


def _set_acl(reader: JuteReader, _: int) -> Write:
    op = SetAclOp(reader.required_string(), _acls(reader), reader.integer())
    return Write(Operation.SET_ACL, [Operation.SET_ACL], [op])


def _watch_lists(reader: JuteReader) -> Iterator[tuple[WatchList, str]]:
    for kind in WatchList:
        for _ in range(reader.count(4)):
            yield kind, reader.required_string()


def _exists(reader: JuteReader) -> Exists | Refused:
    path, watch = reader.required_string(), reader.boolean()
    # Of all reads, only exists validates its path.
    return Refused(Code.BAD_ARGUMENTS) if "\0" in path else Exists(path, watch)


def _forget_watches(reader: JuteReader, is_check: bool) -> ForgetWatches:
    path, kind = reader.required_string(), reader.integer()
    try:
        return ForgetWatches(path, WatchKind(kind), is_check)
    except ValueError:
        raise MalformedError(f"{kind} is no kind of watch") from None


_DECODERS: Final[dict[int, Callable[[JuteReader, int], Request]]] = {
    **dict.fromkeys(
        (
            Operation.CREATE,
            Operation.CREATE2,
            Operation.CREATE_CONTAINER,
            Operation.CREATE_TTL,
            Operation.DELETE,
            Operation.SET_DATA,
        ),
        _single,
    ),
    Operation.MULTI: _multi,
    Operation.SET_ACL: _set_acl,
    Operation.EXISTS: lambda reader, _: _exists(reader),
    Operation.GET_DATA: lambda reader, _: GetData(reader.required_string(), reader.boolean()),
    Operation.GET_CHILDREN: lambda reader, _: GetChildren(reader.required_string(), reader.boolean(), False),
    Operation.GET_CHILDREN2: lambda reader, _: GetChildren(reader.required_string(), reader.boolean(), True),
    Operation.GET_ACL: lambda reader, _: GetAcl(reader.required_string()),
    Operation.SYNC: lambda reader, _: Sync(reader.required_string()),
    Operation.PING: lambda reader, _: Ping(),
    Operation.SET_WATCHES: lambda reader, _: SetWatches(reader.long(), _watch_lists(reader.rest())),
    Operation.CHECK_WATCHES: lambda reader, _: _forget_watches(reader, True),
    Operation.REMOVE_WATCHES: lambda reader, _: _forget_watches(reader, False),
    Operation.RECONFIG: lambda reader, _: Refused(Code.RECONFIG_DISABLED),
    # Only the server itself may send this operation.
    Operation.CREATE_SESSION: lambda reader, _: Refused(Code.MARSHALLING_ERROR),
}


def decode_request(operation: int, reader: JuteReader, session_id: int) -> Request:
    """Decode the part of a request after its header."""
    if operation == Operation.CLOSE_SESSION:
        return Write(Operation.CLOSE_SESSION, [Operation.CLOSE_SESSION], [EndSessionOp(session_id)])
    decoder = _DECODERS.get(operation)
    if decoder is None:
        return Refused(Code.UNIMPLEMENTED, ends_connection=True)
    try:
        return decoder(reader, operation)
    except MalformedError:
        # As in ZooKeeper: the frame was complete, so the next one can be read.
        return Refused(Code.MARSHALLING_ERROR)


class Connect(NamedTuple):
    """The first frame of a connection.

    Attributes:
        last_zxid: The last transaction that the client has seen.
        timeout_ms: The requested session timeout.
        session_id: The session to resume; 0: begin a new one.
        knows_read_only: Whether the response must contain the read-only flag (clients since 3.4).
    """

    last_zxid: int
    timeout_ms: int
    session_id: int
    password: bytes
    knows_read_only: bool


def decode_connect(reader: JuteReader) -> Connect:
    """Read the first frame. Raises MalformedError."""
    reader.integer()
    last_zxid, timeout_ms, session_id, password = reader.long(), reader.integer(), reader.long(), reader.buffer()
    knows_read_only = reader.left_bytes > 0
    if knows_read_only:
        reader.boolean()
    return Connect(last_zxid, timeout_ms, session_id, password or b"", knows_read_only)


# --- answers

_HEADER = Struct(">iiqi")
_HEADER_BYTES = 16
_STAT = Struct(">qqqqiiiqiiq")
_PART = Struct(">i?i")
_END_OF_PARTS = _PART.pack(-1, True, -1)
_CONNECTED = Struct(">iiiqi16s")

NOTIFICATION_XID: Final = -1
PING_XID: Final = -2
_CONNECTED_STATE = 3
"""KeeperState.SyncConnected, which is part of every watch event."""
PASSWORD_BYTES: Final = 16


def write_answer(xid: int, zxid: int, code: int, body: bytes | bytearray, out: bytearray) -> None:
    """Encode a response with its length."""
    out += _HEADER.pack(_HEADER_BYTES + len(body), xid, zxid, code)
    out += body


def write_event(kind: EventType, path: str, out: bytearray) -> None:
    """Encode a watch event."""
    body = bytearray()
    write_int(kind, body)
    write_int(_CONNECTED_STATE, body)
    write_string(path, body)
    write_answer(NOTIFICATION_XID, -1, Code.OK, body, out)


def write_connected(timeout_ms: int, session_id: int, password: bytes, knows_read_only: bool, out: bytearray) -> None:
    """Encode the response to the first frame; all fields are zero if the session no longer exists."""
    length = _CONNECTED.size - 4 + knows_read_only
    out += _CONNECTED.pack(length, 0, timeout_ms, session_id, PASSWORD_BYTES, password)
    if knows_read_only:
        out.append(0)


def stat_bytes(stat: Stat) -> bytes:
    return _STAT.pack(*stat)


def data_answer(data: bytes | None, stat: Stat) -> bytearray:
    out = bytearray()
    write_buffer(data, out)
    out += _STAT.pack(*stat)
    return out


def children_answer(names: list[str], stat: Stat | None) -> bytearray:
    out = bytearray()
    write_strings(names, out)
    if stat is not None:
        out += _STAT.pack(*stat)
    return out


def acl_answer(acls: Acls, stat: Stat) -> bytearray:
    out = bytearray()
    shown = acls or OPEN_TO_ALL
    write_int(len(shown), out)
    for acl in shown:
        write_int(acl.permissions, out)
        write_string(acl.scheme, out)
        write_string(acl.id, out)
    out += _STAT.pack(*stat)
    return out


def text_answer(text: str) -> bytearray:
    out = bytearray()
    write_string(text, out)
    return out


def write_answer_body(write: Write, results: Sequence[OpResult], zxid: int, time_ms: int, session_id: int) -> bytearray:
    """Encode the body of the response to a successful transaction.

    Args:
        zxid, time_ms: The transaction's, for the stat of created nodes.
    """
    if write.operation is not Operation.MULTI:
        return _part_body(write.kinds[0], write.ops[0], results[0], zxid, time_ms, session_id)
    out = bytearray()
    for asked, op, result in zip(write.kinds, write.ops, results, strict=True):
        # In a transaction ZooKeeper answers a create2 as a create.
        kind = Operation.CREATE if asked is Operation.CREATE2 else asked
        out += _PART.pack(kind, False, 0)
        out += _part_body(kind, op, result, zxid, time_ms, session_id)
    out += _END_OF_PARTS
    return out


def refused_multi_body(write: Write, error: RegistryError) -> bytearray:
    """Encode the body of the response to a transaction with a refused operation."""
    out = bytearray()
    for index in range(len(write.ops)):
        code = Code.OK if index < error.op_index else Code.RUNTIME_INCONSISTENCY
        if index == error.op_index:
            code = code_of(error)
        out += _PART.pack(Operation.ERROR, False, code)
        write_int(code, out)
    out += _END_OF_PARTS
    return out


def _part_body(kind: Operation, op: TreeOp, result: OpResult, zxid: int, time_ms: int, session_id: int) -> bytearray:
    out = bytearray()
    if isinstance(result, str):
        write_string(result, out)
        if kind is not Operation.CREATE:
            assert isinstance(op, CreateOp)
            owner = session_id if op.is_ephemeral else 0
            out += _STAT.pack(zxid, zxid, time_ms, time_ms, 0, 0, 0, owner, len(op.data or b""), 0, zxid)
    elif isinstance(result, Stat):
        out += _STAT.pack(*result)
    return out
