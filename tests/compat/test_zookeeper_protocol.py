"""The registry's own listener against a real ZooKeeper: the same requests, and what is heard must be the same.

Numbers that no two servers share are made comparable: transactions are numbered in their order, sessions by who they
are, and of times only whether they are the same is looked at.
"""

import itertools
import random
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from barnabas.testing import Broker
from tests import zookeeper_client as zk
from tests.zookeeper_client import RawClient, Stat
from tools.kafka.server import ONE_BROKER, free_port
from tools.kafka.zookeeper import ZooKeeper

_ROOTS = itertools.count()
_OPEN: list[RawClient] = []


class Ports:
    """Where the two are."""

    def __init__(self, real: int, ours: int) -> None:
        self.real, self.ours = real, ours


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ports]:
    """A real ZooKeeper, and a broker that serves its registry."""
    with ExitStack() as stack:
        server = stack.enter_context(ZooKeeper(Path(tmp_path_factory.mktemp("zookeeper"))))
        port = free_port()
        stack.enter_context(Broker(config={**ONE_BROKER, "barnabas.registry.listeners": f":{port}"}))
        yield Ports(server.port, port)


class Player:
    """Plays a script to one server and notes what is heard.

    Attributes:
        root: An empty node of the script's own.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.root = f"/script-{next(_ROOTS)}"
        self.heard: list[object] = []
        self._clients: list[RawClient] = []
        self.me = self.client()
        assert self.me.ask(zk.CREATE, zk.creation(self.root)).error == 0

    def client(self) -> RawClient:
        """A client with a session of its own."""
        client = RawClient.connected(self.port)
        self._clients.append(client)
        _OPEN.append(client)
        return client

    def note(self, *values: object) -> None:
        self.heard.append(values)

    def ask(self, operation: int, body: bytes = b"", client: RawClient | None = None) -> zk.Answer:
        """Ask, and note error, body and the events before it."""
        answer = (client or self.me).ask(operation, body)
        self.note(operation, answer.error, zk.decoded(operation, answer), answer.events)
        return answer

    def result(self) -> object:
        """What was heard, made comparable."""
        zxids: set[int] = set()
        _each_stat(self.heard, lambda stat: zxids.update((stat.czxid, stat.mzxid, stat.pzxid)))
        rank = {zxid: number for number, zxid in enumerate(sorted(zxids))}
        owners = {client.session_id: number for number, client in enumerate(self._clients, 1)}
        for client in self._clients:
            client.close()
        return _comparable(self.heard, self.root, rank, owners)


def _each_stat(value: object, look: Callable[[Stat], object]) -> None:
    if isinstance(value, Stat):
        look(value)
    elif isinstance(value, (tuple, list)):
        for each in value:
            _each_stat(each, look)


def _comparable(value: object, root: str, rank: dict[int, int], owners: dict[int, int]) -> object:
    if isinstance(value, Stat):
        return value._replace(
            czxid=rank[value.czxid],
            mzxid=rank[value.mzxid],
            pzxid=rank[value.pzxid],
            ctime=0,
            mtime=int(value.mtime >= value.ctime),
            owner=owners.get(value.owner, value.owner),
        )
    if isinstance(value, (tuple, list)):
        return [_comparable(each, root, rank, owners) for each in value]
    return value.replace(root, "ROOT") if isinstance(value, str) else value


def compare(ports: Ports, script: Callable[[Player], None]) -> None:
    """Play a script to both."""
    heard = []
    for port in (ports.real, ports.ours):
        player = Player(port)
        script(player)
        heard.append(player.result())
    real, ours = heard
    assert ours == real


@pytest.fixture(autouse=True)
def every_client_is_closed() -> Iterator[None]:
    """Also where a script fails in the middle."""
    yield
    for client in _OPEN:
        client.close()
    _OPEN.clear()


def test_nodes_and_their_stats(ports: Ports) -> None:
    def script(player: Player) -> None:
        a = f"{player.root}/a"
        player.ask(zk.CREATE2, zk.creation(a, b"one"))
        player.ask(zk.CREATE, zk.creation(a, b"again"))
        player.ask(zk.CREATE, zk.creation(f"{a}/b/c"))
        player.ask(zk.CREATE, zk.creation(f"{a}/b", None))
        player.ask(zk.GET_DATA, zk.watching(f"{a}/b"))
        player.ask(zk.SET_DATA, zk.setting(a, b"two", 0))
        player.ask(zk.SET_DATA, zk.setting(a, b"three", 0))
        player.ask(zk.SET_DATA, zk.setting(a, None))
        player.ask(zk.GET_DATA, zk.watching(a))
        player.ask(zk.EXISTS, zk.watching(a))
        player.ask(zk.EXISTS, zk.watching(f"{a}/none"))
        player.ask(zk.GET_DATA, zk.watching(f"{a}/none"))
        player.ask(zk.GET_CHILDREN, zk.watching(player.root))
        player.ask(zk.GET_CHILDREN2, zk.watching(a))
        player.ask(zk.GET_CHILDREN, zk.watching(f"{a}/none"))
        player.ask(zk.DELETE, zk.versioned(a))
        player.ask(zk.DELETE, zk.versioned(f"{a}/b", 7))
        player.ask(zk.DELETE, zk.versioned(f"{a}/b", 0))
        player.ask(zk.GET_CHILDREN2, zk.watching(a))
        player.ask(zk.DELETE, zk.versioned(f"{a}/b"))
        player.ask(zk.SYNC, zk.text(a))

    compare(ports, script)


def test_sequences(ports: Ports) -> None:
    def script(player: Player) -> None:
        root = player.root
        for flags, name in ((2, "/n-"), (3, "/e-"), (2, "/")):
            player.ask(zk.CREATE, zk.creation(root + name, b"", flags))
        player.ask(zk.DELETE, zk.versioned(f"{root}/n-0000000000"))
        player.ask(zk.CREATE2, zk.creation(f"{root}/n-", b"x", 3))
        player.ask(zk.GET_CHILDREN2, zk.watching(root))

    compare(ports, script)


@pytest.mark.parametrize(
    "path",
    ["", "a", "a/b", "//", "/", "/a/", "/a//b", "/./a", "/../a", "/..a", "/a/.", "/a/..", "/a b", "/\xfc"]
    # Python's own names of them: some are no characters that could be shown.
    + [f"/a{chr(code)}" for code in (0, 1, 0x1F, 0x7F, 0x9F, 0xA0, 0xE000, 0xF8FF, 0xFFEF, 0xFFF0, 0x1F600)],
    ids=ascii,
)
def test_paths_that_are_none(ports: Ports, path: str) -> None:
    def script(player: Player) -> None:
        me = player.me
        for operation, body in (
            (zk.CREATE, zk.creation(path)),
            (zk.CREATE, zk.creation(path, flags=2)),
            (zk.SET_DATA, zk.setting(path, b"", 99)),
            (zk.DELETE, zk.versioned(path, 99)),
            (zk.SET_ACL, zk.text(path) + zk.acls(zk.OPEN) + zk.integer(99)),
            (zk.MULTI, zk.multi((zk.CHECK, zk.versioned(path, 99)))),
        ):
            player.note(operation, me.ask(operation, body).error)
        for operation in (zk.EXISTS, zk.GET_DATA, zk.GET_CHILDREN, zk.GET_CHILDREN2):
            if path not in ("", "/"):
                player.note(operation, me.ask(operation, zk.watching(path)).error)
        # What was made after all, so that the other server is found as it was.
        me.ask(zk.DELETE, zk.versioned(path))

    compare(ports, script)


def test_ephemeral_nodes_go_with_their_session(ports: Ports) -> None:
    def script(player: Player) -> None:
        other, root = player.client(), player.root
        player.ask(zk.CREATE2, zk.creation(f"{root}/e", b"x", 1), other)
        player.ask(zk.CREATE, zk.creation(f"{root}/e/child"), other)
        player.ask(zk.EXISTS, zk.watching(f"{root}/e", True))
        player.ask(zk.GET_CHILDREN, zk.watching(root, True))
        player.ask(zk.GET_CHILDREN, zk.watching(f"{root}/e", True))
        other.request(zk.CREATE, zk.creation(f"{root}/f", b"x", 1))
        player.note(other.ask(zk.CLOSE_SESSION).error if other.answer().error == 0 else None)
        player.note(other.rest())
        player.note(*sorted(player.me.event() for _ in range(2)))
        player.ask(zk.GET_CHILDREN2, zk.watching(root))

    compare(ports, script)


def test_watches_are_told_once_and_before_the_answer(ports: Ports) -> None:
    def script(player: Player) -> None:
        root, other = player.root, player.client()
        for path in ("/a", "/b"):
            player.ask(zk.EXISTS, zk.watching(root + path, True))
        player.ask(zk.GET_DATA, zk.watching(f"{root}/a", True))
        player.ask(zk.GET_CHILDREN, zk.watching(root, True))
        player.ask(zk.CREATE, zk.creation(f"{root}/a"))
        player.ask(zk.CREATE, zk.creation(f"{root}/b"))
        player.ask(zk.GET_DATA, zk.watching(f"{root}/a", True))
        player.ask(zk.EXISTS, zk.watching(f"{root}/a", True))
        player.ask(zk.GET_CHILDREN, zk.watching(f"{root}/a", True))
        player.ask(zk.SET_DATA, zk.setting(f"{root}/a", b"1"))
        player.ask(zk.GET_DATA, zk.watching(f"{root}/a", True))
        player.ask(zk.GET_CHILDREN2, zk.watching(root, True))
        player.ask(zk.DELETE, zk.versioned(f"{root}/a"))
        player.ask(zk.GET_CHILDREN, zk.watching(root, True), other)
        player.ask(zk.GET_DATA, zk.watching(f"{root}/b", True), other)
        acl = zk.text(f"{root}/b") + zk.acls(zk.OPEN) + zk.integer(-1)
        player.ask(zk.SET_ACL, acl)
        player.ask(
            zk.MULTI, zk.multi((zk.SET_DATA, zk.setting(f"{root}/b", b"")), (zk.DELETE, zk.versioned(f"{root}/b")))
        )
        player.note(other.event(), other.event())

    compare(ports, script)


def test_watches_are_looked_for_and_forgotten(ports: Ports) -> None:
    def script(player: Player) -> None:
        root = player.root
        for kind in (1, 2, 3, 4):
            player.ask(zk.CHECK_WATCHES, zk.text(root) + zk.integer(kind))
        player.ask(zk.GET_DATA, zk.watching(root, True))
        player.ask(zk.GET_CHILDREN, zk.watching(root, True))
        for kind in (1, 2, 3, 4):
            player.ask(zk.CHECK_WATCHES, zk.text(root) + zk.integer(kind))
        player.ask(zk.REMOVE_WATCHES, zk.text(root) + zk.integer(2))
        player.ask(zk.REMOVE_WATCHES, zk.text(root) + zk.integer(2))
        player.ask(zk.SET_DATA, zk.setting(root, b"1"))
        player.ask(zk.CREATE, zk.creation(f"{root}/a"))
        player.ask(zk.REMOVE_WATCHES, zk.text(root) + zk.integer(3))

    compare(ports, script)


def test_watches_come_back_with_what_happened_meanwhile(ports: Ports) -> None:
    def script(player: Player) -> None:
        root = player.root
        for name in ("same", "changed", "deleted", "parent"):
            player.ask(zk.CREATE, zk.creation(f"{root}/{name}"))
        seen = player.me.last_zxid
        player.ask(zk.SET_DATA, zk.setting(f"{root}/changed", b"1"))
        player.ask(zk.DELETE, zk.versioned(f"{root}/deleted"))
        player.ask(zk.CREATE, zk.creation(f"{root}/parent/child"))
        player.ask(zk.CREATE, zk.creation(f"{root}/created"))
        names = [f"{root}/{name}" for name in ("same", "changed", "deleted", "parent")]
        lists = zk.watch_lists(seen, names, [f"{root}/created", f"{root}/none"], [*names[:1], *names[2:]])
        answer = player.me.ask(zk.SET_WATCHES, lists, xid=-8)
        player.note(answer.error, answer.body, sorted(answer.events))
        player.ask(zk.SET_DATA, zk.setting(f"{root}/same", b"1"))
        player.ask(zk.CREATE, zk.creation(f"{root}/none"))
        player.ask(zk.CREATE, zk.creation(f"{root}/same/child"))

    compare(ports, script)


def test_transactions(ports: Ports) -> None:
    def script(player: Player) -> None:
        root = player.root
        a, b = f"{root}/a", f"{root}/b"
        parts = [
            (zk.CREATE, zk.creation(a, b"1")),
            (zk.CREATE2, zk.creation(f"{a}/c-", b"22", 3)),
            (zk.SET_DATA, zk.setting(a, b"2", 0)),
            (zk.CHECK, zk.versioned(a, 1)),
            (zk.CREATE, zk.creation(b)),
            (zk.DELETE, zk.versioned(b)),
        ]
        player.ask(zk.MULTI, zk.multi(*parts))
        player.ask(zk.GET_CHILDREN2, zk.watching(a))
        player.ask(zk.MULTI, zk.multi(*parts))
        player.ask(zk.MULTI, zk.multi(parts[4], (zk.CHECK, zk.versioned(a, 9)), parts[5]))
        player.ask(zk.MULTI, zk.multi(parts[4], parts[5], (zk.DELETE, zk.versioned(root))))
        player.ask(zk.MULTI, zk.multi((zk.CREATE, zk.creation(b, acl=[])), parts[5]))
        player.ask(zk.MULTI, zk.multi((zk.CREATE_TTL, zk.creation(b, flags=5) + bytes(8)), parts[4]))
        player.ask(zk.MULTI, zk.multi())
        player.ask(zk.MULTI, zk.multi((zk.EXISTS, zk.watching(a))))
        player.ask(zk.MULTI, zk.multi((zk.MULTI, zk.multi())))
        player.ask(zk.GET_CHILDREN2, zk.watching(root))

    compare(ports, script)


def test_permissions(ports: Ports) -> None:
    def script(player: Player) -> None:
        root, alice, bob = player.root, player.client(), player.client()
        for client, login in ((alice, b"alice:secret"), (bob, b"bob:secret")):
            answer = client.ask(zk.AUTH, zk.integer(0) + zk.text("digest") + zk.buffer(login), xid=-4)
            player.note(answer.error, answer.zxid, answer.body)
        mine = f"{root}/mine"
        player.ask(zk.CREATE, zk.creation(mine, b"x", acl=[(31, "auth", "")]))
        player.ask(zk.CREATE, zk.creation(mine, b"x", acl=[(31, "auth", ""), (1, "world", "anyone")]), alice)
        player.ask(zk.CREATE, zk.creation(f"{mine}/child"), alice)
        for client in (player.me, bob, alice):
            player.ask(zk.GET_DATA, zk.watching(mine), client)
            player.ask(zk.GET_CHILDREN, zk.watching(mine), client)
            player.ask(zk.GET_ACL, zk.text(mine), client)
            player.ask(zk.EXISTS, zk.watching(mine), client)
            player.ask(zk.SET_DATA, zk.setting(mine, b"y", 9), client)
            player.ask(zk.SET_DATA, zk.setting(mine, b"y"), client)
            player.ask(zk.CREATE, zk.creation(f"{mine}/of"), client)
            player.ask(zk.MULTI, zk.multi((zk.CHECK, zk.versioned(mine, 0))), client)
            player.ask(zk.DELETE, zk.versioned(f"{mine}/child"), client)
            player.ask(zk.SET_ACL, zk.text(mine) + zk.acls([(31, "auth", "")]) + zk.integer(0), client)
        for client in (player.me, bob, alice):
            player.ask(zk.GET_DATA, zk.watching(mine, True), client)
            player.ask(zk.GET_CHILDREN2, zk.watching(mine, True), client)
            player.ask(zk.GET_ACL, zk.text(mine), client)
            player.ask(zk.MULTI, zk.multi((zk.SET_DATA, zk.setting(mine, b"z"))), client)
        player.ask(zk.DELETE, zk.versioned(f"{mine}/of"), alice)
        player.ask(zk.DELETE, zk.versioned(mine), bob)

    compare(ports, script)


@pytest.mark.parametrize(
    "acl",
    [
        [],
        [(31, "world", "everyone")],
        [(31, "sasl", "me")],
        [(31, "nothing", "me")],
        [(31, "digest", "me")],
        [(31, "digest", "me:")],
        [(31, "digest", ":me")],
        [(31, "digest", "me:you:")],
        [(31, "digest", "me:you:him")],
        [(31, "ip", "127.0.0.1")],
        [(31, "ip", "127.0.0.0/8")],
        [(31, "ip", "10.0.0.0/8"), (16, "world", "anyone")],
        [(31, "ip", "127.0.0.0/33")],
        [(31, "ip", "127.0.0")],
        [(31, "ip", "127.0.0.256")],
        [(31, "ip", "localhost")],
        [(31, "auth", "me")],
        [(0, "world", "anyone")],
        [(4, "world", "anyone"), (4, "world", "anyone"), (1, "world", "anyone")],
    ],
)
def test_lists_of_permissions(ports: Ports, acl: list[zk.Acl]) -> None:
    def script(player: Player) -> None:
        path = f"{player.root}/a"
        player.ask(zk.CREATE, zk.creation(path, acl=acl))
        player.ask(zk.GET_ACL, zk.text(path))
        player.ask(zk.GET_DATA, zk.watching(path))
        player.ask(zk.SET_DATA, zk.setting(path, b""))
        player.ask(zk.SET_ACL, zk.text(player.root) + zk.acls(acl) + zk.integer(-1))

    compare(ports, script)


@pytest.mark.parametrize(("scheme", "proof"), [("ip", b""), ("world", b""), ("sasl", b"x"), ("", b""), ("digest", b"")])
def test_logins(ports: Ports, scheme: str, proof: bytes) -> None:
    def script(player: Player) -> None:
        answer = player.me.ask(zk.AUTH, zk.integer(0) + zk.text(scheme) + zk.buffer(proof), xid=-4)
        player.note(answer.error, answer.zxid, answer.body)
        player.note(player.me.rest() if answer.error else player.me.ask(zk.PING, xid=-2).error)

    compare(ports, script)


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        (zk.CREATE, zk.creation("/none", flags=7)),
        (zk.CREATE, zk.creation("/none", flags=-1)),
        (zk.CREATE_TTL, zk.creation("/none", flags=5) + bytes(8)),
        (zk.CREATE, b""),
        (zk.CREATE, zk.text("/none")),
        (zk.CREATE, zk.text("/none") + zk.buffer(b"") + zk.integer(-1) + zk.integer(0)),
        (zk.CREATE, zk.text("/none") + zk.integer(1000)),
        (zk.CREATE, zk.text("/none") + zk.integer(-2)),
        (zk.GET_DATA, b""),
        (zk.GET_DATA, zk.text(None) + b"\0"),
        (zk.GET_CHILDREN, zk.integer(1 << 30)),
        (zk.MULTI, b""),
        (zk.MULTI, zk.integer(99)),
        (zk.SET_DATA, zk.text("/none")),
        (zk.SET_WATCHES, b"\0"),
        (zk.RECONFIG, zk.text(None) * 3 + bytes(8)),
        (zk.PING, b"more than is read"),
        (103, b""),
        (0, b""),
        (-10, b""),
        (12345, b"abc"),
    ],
)
def test_requests_that_are_none(ports: Ports, operation: int, body: bytes) -> None:
    def script(player: Player) -> None:
        me = player.me
        answer = me.ask(operation, body, xid=-2 if operation == zk.PING else None)
        player.note(answer.error, answer.body)
        try:
            player.note(me.ask(zk.EXISTS, zk.watching(player.root)).error)
        except (zk.ClosedError, OSError):
            player.note("closed")

    compare(ports, script)


@pytest.mark.parametrize(
    "data",
    [b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", zk.integer(0xFFFFF + 1), zk.integer(0), zk.integer(4) + b"\0\0\0\1"],
)
@pytest.mark.parametrize("is_connected", [True, False])
def test_frames_that_are_none_cost_the_connection_alone(ports: Ports, data: bytes, is_connected: bool) -> None:
    def script(player: Player) -> None:
        client = player.client() if is_connected else RawClient(player.port)
        client.send(data)
        player.note(client.rest())
        if is_connected:
            with RawClient(player.port) as again:
                again.connect(10_000, client.session_id, client.password)
                player.note(again.session_id == client.session_id)
        client.close()
        player.ask(zk.EXISTS, zk.watching(player.root))

    compare(ports, script)


def test_sessions_go_on_in_another_connection(ports: Ports) -> None:
    def script(player: Player) -> None:
        first = player.client()
        player.ask(zk.CREATE, zk.creation(f"{player.root}/e", flags=1), first)
        first.close()
        with RawClient(player.port) as wrong:
            rest = wrong.connect(10_000, first.session_id, b"x" * 16)
            player.note(wrong.session_id, wrong.timeout_ms, wrong.password, rest, wrong.rest())
        with RawClient(player.port) as again:
            rest = again.connect(10_000, first.session_id, first.password, first.last_zxid)
            player.note(again.session_id == first.session_id, again.password == first.password, rest)
            player.ask(zk.EXISTS, zk.watching(f"{player.root}/e"), again)
            player.ask(zk.CLOSE_SESSION, client=again)
        with RawClient(player.port) as ended:
            ended.connect(10_000, first.session_id, first.password)
            player.note(ended.session_id, ended.timeout_ms, ended.password, ended.rest())
        with RawClient(player.port) as ahead:
            ahead.send_frame(struct.pack(">iqiq", 0, 1 << 60, 10_000, 0) + zk.buffer(zk.NOBODY) + b"\0")
            player.note(ahead.rest())
        with RawClient(player.port) as old:
            player.note(old.connect(10_000, flag=b""), old.ask(zk.PING, xid=-2).error)
        player.ask(zk.EXISTS, zk.watching(f"{player.root}/e"))

    compare(ports, script)


def test_requests_that_do_not_wait_are_answered_in_order(ports: Ports) -> None:
    def script(player: Player) -> None:
        me, path = player.me, f"{player.root}/a"
        player.ask(zk.CREATE, zk.creation(path))
        operations = []
        for number in range(200):
            operations.append(zk.SET_DATA if number % 3 else zk.GET_DATA)
            me.request(operations[-1], zk.setting(path, b"%d" % number) if number % 3 else zk.watching(path, True))
        for operation in operations:
            answer = me.answer()
            player.note(answer.error, zk.decoded(operation, answer), answer.events)

    compare(ports, script)


@pytest.mark.parametrize("seed", range(6))
def test_random_requests(ports: Ports, seed: int) -> None:
    print(f"seed {seed}")

    def script(player: Player) -> None:
        rng = random.Random(seed)
        clients = [player.client() for _ in range(3)]
        names = [player.root, *(f"{player.root}/{name}" for name in ("a", "b", "a/x", "a/y", "b/z", "a/x/1"))]

        def write() -> tuple[int, bytes]:
            path, version = rng.choice(names), rng.choice([-1, -1, 0, 1, 2])
            match rng.randrange(6):
                case 0 | 1:
                    # Not beside the root, where other scripts' nodes count, too.
                    path, data = rng.choice(names[1:]), rng.choice([None, b"", b"1"])
                    return rng.choice([zk.CREATE, zk.CREATE2]), zk.creation(path, data, rng.choice([0, 0, 0, 1, 2, 3]))
                case 2:
                    return zk.DELETE, zk.versioned(path, version)
                case 3 | 4:
                    return zk.SET_DATA, zk.setting(path, rng.randbytes(rng.randrange(3)), version)
                case _:
                    return zk.MULTI, zk.multi((zk.CHECK, zk.versioned(path, version)))

        for _ in range(400):
            client = rng.choice(clients)
            match rng.randrange(5):
                case 0 | 1:
                    operation, body = write()
                case 2:
                    parts = [write() for _ in range(rng.randrange(1, 5))]
                    operation, body = zk.MULTI, zk.multi(*(part for part in parts if part[0] != zk.MULTI))
                case _:
                    operation = rng.choice([zk.EXISTS, zk.GET_DATA, zk.GET_CHILDREN, zk.GET_CHILDREN2])
                    body = zk.watching(rng.choice(names), rng.random() < 0.5)
            player.ask(operation, body, client)
            # What others were told of it is there when they are answered.
            for other in clients:
                player.note(other.ask(zk.PING, xid=-2).events)

    compare(ports, script)
