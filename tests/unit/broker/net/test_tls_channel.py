"""TLS over a channel in memory: handshakes, what fails in them, and bytes in both directions."""

import _ssl
import ctypes
import os
import random
import ssl

import pytest

from barnabas.broker.net.tls_channel import NO_TLS, TlsAcceptor, TlsChannel, TlsError, TlsLoop
from barnabas.core.executor import InlineExecutor
from barnabas.testing import ManualClock
from barnabas.testing.certificates import Authority
from barnabas.testing.manual_executor import ManualExecutor
from barnabas.wire.protocol.wire import Region
from tests.unit.broker.net.memory_channel import MemoryPeer

TIMEOUT_MS = 10_000


class Wire(MemoryPeer):
    """One end of a connection in memory: what it sends arrives in the inbox of the other one."""

    def __init__(self):
        super().__init__(room_bytes=1 << 40)
        self.other = None

    def _send(self, data, has_more):
        if self.is_closed:
            raise BrokenPipeError
        count = super()._send(data, has_more)
        self.other.inbox += data[:count]
        return count

    def send_file(self, region, start, length):
        raise AssertionError("there is no sendfile")

    def close(self):
        super().close()
        self.other.has_ended = True


class World:
    """A loop of two ends."""

    def __init__(self, executor=None):
        self.clock = ManualClock()
        self.deferred = []
        self.shared = TlsLoop(executor or InlineExecutor(), self.clock, self.deferred.append, self.clock.monotonic_ns)
        self.near, self.far = Wire(), Wire()
        self.near.other, self.far.other = self.far, self.near

    def run(self):
        """Until nothing happens any more."""
        while True:
            deferred, self.deferred[:] = list(self.deferred), []
            for task in deferred:
                task()
            told = False
            for wire in (self.near, self.far):
                if wire.on_read is not None and (wire.inbox or (wire.has_ended and not wire.is_closed)):
                    told = told or bool(wire.inbox)
                    wire.on_read()
                if wire.on_write is not None and wire.room_bytes:
                    told = True
                    wire.on_write()
            if not deferred and not told and not self.deferred:
                return


class User:
    """Reads all that comes; what it learnt."""

    def __init__(self, channel, space_bytes=16 * 1024):
        self.channel = channel
        self.space = memoryview(bytearray(space_bytes))
        self.received = bytearray()
        self.failure = None
        self.has_ended = False
        channel.watch_reads(self.readable)

    def readable(self):
        try:
            count = self.channel.recv_into(self.space)
        except BlockingIOError:
            return
        except OSError as error:
            self.failure = error
            self.channel.close()
            return
        if count == 0:
            self.has_ended = True
            self.channel.close()
            return
        self.received += self.space[:count]

    def send(self, data, send=None):
        """All of it, as far as the peer takes it; what is left."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[(send or self.channel.send)(rest) :]
            except BlockingIOError:
                break
        return rest


@pytest.fixture(scope="module")
def authority():
    return Authority()


@pytest.fixture(scope="module")
def contexts(authority, tmp_path_factory):
    """A server's and a client's context for each need."""
    directory = tmp_path_factory.mktemp("tls")

    def context(side, certified=None, *, wants_certificate=False, crl=None):
        made = ssl.SSLContext(side)
        if certified is not None:
            path = directory / "pair.pem"
            path.write_bytes(certified.pem())
            made.load_cert_chain(path)
        made.load_verify_locations(cadata=authority.certificate_pem.decode())
        if wants_certificate:
            made.verify_mode = ssl.CERT_REQUIRED
        if crl is not None:
            path = directory / "revoked.pem"
            path.write_bytes(crl)
            made.load_verify_locations(path)
            made.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
        return made

    return context


SERVER, CLIENT = ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT


def connect(world, server_context, client_context, name="localhost", on_refused=None):
    server = User(TlsChannel(world.near, server_context, world.shared, TIMEOUT_MS, on_refused=on_refused))
    client = User(TlsChannel(world.far, client_context, world.shared, TIMEOUT_MS, name))
    world.run()
    return server, client


@pytest.fixture
def world():
    return World()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_bytes_go_both_ways(world, contexts, authority, version):
    context = contexts(SERVER, authority.issue("broker"))
    context.minimum_version = context.maximum_version = version
    server, client = connect(world, context, contexts(CLIENT))
    data = random.Random(1).randbytes(300_000)
    assert not client.send(data)
    world.run()
    assert server.received == data
    assert not server.send(data)
    world.run()
    assert client.received == data
    assert world.clock.timer_count == 0
    client.channel.close()
    world.run()
    assert server.has_ended


def test_a_handshake_computes_in_the_executor_and_nothing_is_read_meanwhile(contexts, authority):
    executor = ManualExecutor()
    world = World(executor)
    server, client = connect(world, contexts(SERVER, authority.issue("broker")), contexts(CLIENT))
    assert executor.waiting_count == 1  # the client's first step
    with pytest.raises(BlockingIOError):
        client.channel.send(b"early")
    while executor.waiting_count:
        executor.run_next()
        world.run()
    client.send(b"hello")
    world.run()
    assert server.received == b"hello"


def test_a_channel_that_is_closed_while_its_handshake_computes_stays_closed(contexts, authority):
    executor = ManualExecutor()
    world = World(executor)
    server, client = connect(world, contexts(SERVER, authority.issue("broker")), contexts(CLIENT))
    client.channel.close()
    executor.run_all()
    world.run()
    assert world.far.is_closed
    assert isinstance(server.failure, TlsError)
    assert "left before" in str(server.failure)
    assert world.clock.timer_count == 0


def test_who_never_ends_its_handshake_is_closed_at_the_deadline(world, contexts, authority):
    server = User(TlsChannel(world.near, contexts(SERVER, authority.issue("broker")), world.shared, TIMEOUT_MS))
    world.near.inbox += b"\x16\x03\x01"
    world.run()
    world.clock.advance(TIMEOUT_MS - 1)
    assert not world.near.is_closed
    world.clock.advance(1)
    assert world.near.is_closed
    assert str(server.failure) == f"its TLS handshake was not over after {TIMEOUT_MS} ms"


def test_who_leaves_while_it_waits_is_not_computed_for(contexts, authority):
    """A flood of handshakes: so many steps at a time are in the executor, and the rest may still go."""
    executor = ManualExecutor()
    context = contexts(SERVER, authority.issue("broker"))
    worlds = [World(executor) for _ in range(10)]
    shared = worlds[0].shared
    servers = [User(TlsChannel(world.near, context, shared, TIMEOUT_MS)) for world in worlds]
    for world in worlds:
        world.near.inbox += b"\x16\x03\x01\x00\x05\x01"

    def run():
        for _ in range(5):
            for world in worlds:
                world.run()

    run()
    assert executor.waiting_count == 4
    for world in worlds[4:9]:
        world.near.has_ended = True
    run()
    assert all("left before" in str(server.failure) for server in servers[4:9])
    executor.run_next()
    run()
    # The last one has its turn, and those who left have none.
    assert executor.waiting_count == 4
    executor.run_all()
    run()
    assert executor.waiting_count == 0


@pytest.mark.parametrize("first", [b"\0\0\0\x15\0\x12\0\0", b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 100])
def test_who_does_not_speak_tls_is_told_from_the_first_byte(world, contexts, authority, first):
    server = User(TlsChannel(world.near, contexts(SERVER, authority.issue("broker")), world.shared, TIMEOUT_MS))
    world.near.inbox += first
    world.run()
    assert str(server.failure) == NO_TLS
    assert world.near.is_closed


def test_garbage_in_a_handshake_ends_the_connection_with_an_alert(contexts, authority):
    seed = random.randrange(1 << 32)
    dice = random.Random(seed)
    context = contexts(SERVER, authority.issue("broker"))
    for _ in range(50):
        world = World()
        server = User(TlsChannel(world.near, context, world.shared, TIMEOUT_MS))
        length = dice.randrange(1, 2_000)
        world.near.inbox += b"\x16\x03\x01" + length.to_bytes(2, "big") + dice.randbytes(length)
        world.run()
        world.clock.advance(TIMEOUT_MS)
        assert isinstance(server.failure, TlsError), seed
        assert world.near.is_closed


def test_a_client_refuses_a_certificate_for_another_host(world, contexts, authority):
    context = contexts(SERVER, authority.issue("broker", hosts=["elsewhere.example"]))
    server, client = connect(world, context, contexts(CLIENT))
    assert "certificate is not valid for 'localhost'" in str(client.failure)
    assert "the TLS handshake failed" in str(server.failure)


@pytest.mark.parametrize(("days", "told"), [((-2, -1), "certificate has expired"), ((1, 2), "not yet valid")])
def test_a_certificate_out_of_its_time_is_refused(world, contexts, authority, days, told):
    context = contexts(SERVER, authority.issue("broker"), wants_certificate=True)
    late = authority.issue("client", valid_days=days)
    refused = []
    server, client = connect(world, context, contexts(CLIENT, late), on_refused=refused.append)
    world.run()
    assert told in str(server.failure)
    assert refused == [str(server.failure)]
    assert client.failure is not None or client.has_ended


def test_who_only_looks_whether_somebody_listens_is_refused_nothing(world, contexts, authority):
    refused = []
    context = contexts(SERVER, authority.issue("broker"))
    server = User(TlsChannel(world.near, context, world.shared, TIMEOUT_MS, on_refused=refused.append))
    world.far.close()
    world.run()
    assert "it left before" in str(server.failure)
    assert refused == []


def test_a_revoked_certificate_is_refused(contexts, authority):
    good, revoked = authority.issue("good"), authority.issue("revoked")
    crl = authority.revocations([revoked])
    for certified, is_refused in ((good, False), (revoked, True)):
        world = World()
        context = contexts(SERVER, authority.issue("broker"), wants_certificate=True, crl=crl)
        server, _ = connect(world, context, contexts(CLIENT, certified))
        assert ("certificate revoked" in str(server.failure)) == is_refused


def test_what_the_peer_has_shown_is_there_with_the_first_bytes(world, contexts, authority):
    mine = authority.issue("client")
    context = contexts(SERVER, authority.issue("broker"), wants_certificate=True)
    server, client = connect(world, context, contexts(CLIENT, mine))
    client.send(b"x")
    world.run()
    assert server.received == b"x"
    assert server.channel.peer_certificate() == mine.certificate_der
    world = World()
    server, _ = connect(world, contexts(SERVER, authority.issue("broker")), contexts(CLIENT))
    assert server.channel.peer_certificate() is None


def test_a_peer_that_takes_nothing_is_sent_no_more_than_a_piece(world, contexts, authority):
    server, client = connect(world, contexts(SERVER, authority.issue("broker")), contexts(CLIENT))
    world.near.room_bytes = 10_000
    data = random.Random(2).randbytes(1_000_000)
    rest = server.send(data)
    assert 900_000 < len(rest) < len(data)
    left = [rest]

    def writable():
        left[0] = server.send(left[0])
        if not left[0]:
            server.channel.stop_writes()

    server.channel.watch_writes(writable)
    for _ in range(100):
        world.near.room_bytes = 50_000
        world.run()
    assert client.received == data
    assert world.near.on_write is None


def test_ciphertext_that_waits_leaves_though_nobody_watches(world, contexts, authority):
    server, client = connect(world, contexts(SERVER, authority.issue("broker")), contexts(CLIENT))
    world.near.room_bytes = 10
    assert server.channel.send(b"answer") == 6
    assert world.near.on_write is not None
    world.near.room_bytes = 1 << 20
    world.run()
    assert client.received == b"answer"
    assert world.near.on_write is None


def test_what_was_decrypted_and_not_taken_is_told_of_again(world, contexts, authority):
    server, client = connect(world, contexts(SERVER, authority.issue("broker")), contexts(CLIENT))
    server.space = memoryview(bytearray(100))
    client.send(bytes(range(256)) * 100)
    world.run()
    assert len(server.received) == 25_600
    # Also where nobody reads for a while.
    server.channel.stop_reads()
    client.send(b"y" * 1_000)
    world.run()
    assert len(server.received) == 25_600
    server.channel.watch_reads(server.readable)
    world.run()
    assert len(server.received) == 26_600


def test_a_slice_of_a_file_is_read_and_encrypted(world, contexts, authority, tmp_path):
    server, client = connect(world, contexts(SERVER, authority.issue("broker")), contexts(CLIENT))
    data = random.Random(3).randbytes(200_000)
    path = tmp_path / "segment"
    path.write_bytes(data)

    class Slice:
        position, length = 100, 150_000

        def __init__(self, fd):
            self.fd = fd

    fd = os.open(path, os.O_RDONLY)
    try:
        region: Region = Slice(fd)
        server.channel.send_more(memoryview(b"head"))
        start = 0
        while start < region.length:
            start += server.channel.send_file(region, start, region.length - start)
        world.run()
        assert client.received == b"head" + data[100:150_100]
        with pytest.raises(OSError, match="shorter than promised"):
            server.channel.send_file(region, 1_000_000, 10)
    finally:
        os.close(fd)


def test_a_connection_that_was_cut_ends(world, contexts, authority):
    server, _ = connect(world, contexts(SERVER, authority.issue("broker")), contexts(CLIENT))
    world.near.has_ended = True
    world.near.on_read()
    assert server.has_ended


def test_tampered_bytes_end_the_connection(world, contexts, authority):
    server, client = connect(world, contexts(SERVER, authority.issue("broker")), contexts(CLIENT))
    client.send(b"hello")
    world.near.inbox[-1] ^= 1
    world.run()
    assert isinstance(server.failure, TlsError)
    assert server.received == b""


def update_keys(user, count):
    """Send key updates that each ask for one of the peer's, as only OpenSSL itself can."""
    tls = user.channel._tls
    # PySSLSocket: PyObject_HEAD, then the socket, then the SSL.
    pointer = ctypes.c_void_p.from_address(id(tls._sslobj) + object.__basicsize__ + ctypes.sizeof(ctypes.c_void_p))
    for _ in range(count):
        assert ctypes.CDLL(getattr(_ssl, "__file__", None)).SSL_key_update(pointer, 1) == 1
        tls.do_handshake()
    user.channel._push()


KEY_UPDATE_BYTES = 27


def test_key_updates_between_requests_are_answered(world, contexts, authority):
    server, client = connect(world, contexts(SERVER, authority.issue("broker")), contexts(CLIENT))
    for number in range(3_000):
        update_keys(client, 1)
        client.send(b"request %04d" % number)
        if number % 100 == 0:
            world.run()
            server.send(bytes(1_000))
    world.run()
    assert (len(server.received), server.failure) == (3_000 * len(b"request 0000"), None)
    assert (len(client.received), client.failure) == (30_000, None)


@pytest.mark.parametrize("data", [b"", b"x"])
def test_key_updates_without_requests_end_the_connection(world, contexts, authority, data):
    server, client = connect(world, contexts(SERVER, authority.issue("broker")), contexts(CLIENT))
    # It would refuse the answers, which have no data either.
    client.channel.stop_reads()
    sent_count = 0
    while server.failure is None:
        update_keys(client, 100)
        sent_count += 100
        if data:
            client.send(data)
        world.run()
        assert sent_count * KEY_UPDATE_BYTES < 64 * 1024
    assert "without data" in str(server.failure)


def test_answers_to_key_updates_wait_for_a_peer_up_to_a_piece(world, contexts, authority):
    server, client = connect(world, contexts(SERVER, authority.issue("broker")), contexts(CLIENT))
    world.near.room_bytes = 0
    sent_count = 0
    while server.failure is None:
        update_keys(client, 100)
        sent_count += 100
        client.send(bytes(1_000))
        world.run()
        assert sent_count * KEY_UPDATE_BYTES < 128 * 1024
    assert "answers to its key updates" in str(server.failure)


def test_records_that_come_in_pieces_are_data(world, contexts, authority):
    server, client = connect(world, contexts(SERVER, authority.issue("broker")), contexts(CLIENT))
    server.space = memoryview(bytearray(100))
    client.send(bytes(60_000))
    ciphertext, world.near.inbox[:] = bytes(world.near.inbox), b""
    for start in range(0, len(ciphertext), 5_000):
        world.near.inbox += ciphertext[start : start + 5_000]
        world.run()
    assert (len(server.received), server.failure) == (60_000, None)


def test_an_acceptor_gives_channels_that_encrypt(world, contexts, authority):
    class Inner:
        address = ("h", 1)
        listen = pause = resume = close = None

        def accept(self):
            return world.near, ("peer", 2)

    context = contexts(SERVER, authority.issue("broker"))
    refused = []
    acceptor = TlsAcceptor(
        Inner(), lambda: context, world.shared, lambda: TIMEOUT_MS, lambda *told: refused.append(told)
    )
    channel, peer = acceptor.accept()
    assert (acceptor.address, peer) == (("h", 1), ("peer", 2))
    server = User(channel)
    client = User(TlsChannel(world.far, contexts(CLIENT), world.shared, TIMEOUT_MS, "localhost"))
    world.run()
    client.send(b"hi")
    world.run()
    assert server.received == b"hi"
    world.near, world.far = Wire(), Wire()
    world.near.other, world.far.other = world.far, world.near
    User(acceptor.accept()[0])
    world.near.inbox += b"GET / HTTP/1.1"
    world.run()
    assert refused == [("peer", NO_TLS)]
