"""A broker whose listener speaks TLS: who gets in, who does not, what is told of it, and keys that are replaced."""

import random
import socket
import ssl
import struct
import threading
from pathlib import Path

import pytest

from barnabas.core.errors import StartupError
from barnabas.testing import Broker
from barnabas.testing.certificates import Authority
from tests.commands import run
from tests.patience import PATIENCE_S, until

API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 7, -1)


@pytest.fixture(scope="module")
def authority():
    return Authority()


class Files:
    """The stores of a broker and its clients."""

    def __init__(self, directory: Path, authority: Authority):
        self.directory = directory
        self.ca = self.write("ca.pem", authority.certificate_pem)
        self.keystore = self.write("broker.pem", authority.issue("broker").pem())
        self.revoked = self.write("revoked.pem", authority.revocations([]))

    def write(self, name, data):
        """Replace a file as a person should: at once."""
        path = self.directory / name
        fresh = path.with_suffix(".new")
        fresh.write_bytes(data)
        fresh.replace(path)
        return str(path)

    def settings(self, **more):
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": self.keystore,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.ca,
            **{name.replace("_", "."): value for name, value in more.items()},
        }


@pytest.fixture
def files(tmp_path, authority):
    return Files(tmp_path, authority)


def client_context(files, certified=None, version=None):
    context = ssl.create_default_context(cafile=files.ca)
    if certified is not None:
        path = files.directory / "client.pem"
        path.write_bytes(certified.pem())
        context.load_cert_chain(path)
    if version is not None:
        context.minimum_version = context.maximum_version = version
    return context


def ask(broker, context, host="localhost"):
    """Ask for the broker's versions over TLS; the peer's certificate's common name. Raises OSError."""
    with (
        socket.create_connection((broker.host, broker.port), PATIENCE_S) as plain,
        context.wrap_socket(plain, server_hostname=host) as sock,
    ):
        sock.sendall(API_VERSIONS)
        answer = sock.recv(4096)
        if len(answer) < 10:
            raise ConnectionResetError("it was closed")
        assert answer[4:8] == API_VERSIONS[8:12]
        return dict(part[0] for part in sock.getpeercert()["subject"])["commonName"]


def wait_for_line(broker, part):
    try:
        until(lambda: part in broker.log_text())
    except BaseException:
        print(broker.log_text())
        raise


def is_refused(broker, context):
    try:
        ask(broker, context)
    except OSError:
        return True
    return False


def test_clients_speak_either_version(files):
    with Broker(security_protocol="SSL", config=files.settings()) as broker:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            assert ask(broker, client_context(files, version=version)) == "broker"


def test_only_the_versions_and_ciphers_that_are_wanted(files):
    only = files.settings(ssl_enabled_protocols="TLSv1.2", ssl_cipher_suites="TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384")
    with Broker(security_protocol="SSL", config=only) as broker:
        assert is_refused(broker, client_context(files, version=ssl.TLSVersion.TLSv1_3))
        context = client_context(files)
        assert ask(broker, context) == "broker"
        context.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
        assert is_refused(broker, context)


def test_a_certificate_is_asked_for_and_looked_at(files, authority):
    revoked = authority.issue("revoked")
    files.write("revoked.pem", authority.revocations([revoked]))
    config = files.settings(ssl_client_auth="required", barnabas_ssl_crl_location=files.revoked)
    with Broker(security_protocol="SSL", config=config) as broker:
        assert ask(broker, client_context(files, authority.issue("good"))) == "broker"
        refused = []
        for bad, told in (
            (None, "peer did not return a certificate"),
            (revoked, "certificate revoked"),
            (authority.issue("late", valid_days=(-2, -1)), "certificate has expired"),
            (
                Authority("stranger").issue("strange"),
                "the certificate is refused: self-signed certificate in certificate chain",
            ),
        ):
            assert is_refused(broker, client_context(files, bad))
            wait_for_line(broker, told)
            refused.append(told)
        assert ask(broker, client_context(files, authority.issue("good"))) == "broker"
        # And why is told to whoever asks.
        files.write("good.pem", authority.issue("good").pem())
        (files.directory / "client.properties").write_text(
            "security.protocol=SSL\nssl.truststore.type=PEM\nssl.keystore.type=PEM\n"
            f"ssl.truststore.location={files.ca}\nssl.keystore.location={files.directory / 'good.pem'}\n"
        )
        place = (
            "--bootstrap-server",
            broker.bootstrap_servers,
            "--command-config",
            files.directory / "client.properties",
        )
        answer = run("explain", "refused", *place)
        assert answer.returncode == 0, answer.stderr
        for told in refused:
            assert "by TLS on listener SSL failed once: the TLS handshake failed: " in answer.stdout
            assert told in answer.stdout


def test_who_speaks_another_protocol_is_told_apart_in_one_line(files):
    with Broker(security_protocol="SSL", config=files.settings()) as broker:
        with socket.create_connection((broker.host, broker.port), PATIENCE_S) as sock:
            sock.sendall(API_VERSIONS)
            assert sock.recv(100) == b""
        wait_for_line(broker, "it does not speak TLS, as this listener does")
    with Broker() as broker:
        with pytest.raises(OSError, match=r"."):
            ask(broker, client_context(files))
        wait_for_line(broker, "it speaks TLS, and this listener does not")


def test_half_open_connections_are_closed_and_hold_up_nobody(files):
    config = files.settings(barnabas_ssl_handshake_timeout_ms="1500")
    hello = ssl_hello(files)
    with Broker(security_protocol="SSL", config=config) as broker:
        silent = [socket.create_connection((broker.host, broker.port), PATIENCE_S) for _ in range(50)]
        try:
            for number, sock in enumerate(silent):
                sock.sendall(hello[: number % len(hello)])
            assert ask(broker, client_context(files)) == "broker"
            for sock in silent:
                assert drained(sock)
        finally:
            for sock in silent:
                sock.close()
        wait_for_line(broker, "its TLS handshake was not over after 1500 ms")
        assert ask(broker, client_context(files)) == "broker"


def ssl_hello(files):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        client_context(files).wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    return outgoing.read()


def drained(sock):
    """Whether the other side closes it."""
    try:
        while sock.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True


def test_garbage_costs_nobody_but_who_sent_it(files):
    seed = random.randrange(1 << 32)
    dice = random.Random(seed)
    hello = ssl_hello(files)
    with Broker(security_protocol="SSL", config=files.settings(barnabas_ssl_handshake_timeout_ms="1000")) as broker:
        for _ in range(100):
            data = bytearray(hello)
            for _ in range(dice.randrange(1, 20)):
                data[dice.randrange(len(data))] = dice.randrange(256)
            with socket.create_connection((broker.host, broker.port), PATIENCE_S) as sock:
                sock.sendall(data[: dice.randrange(1, len(data))] if dice.random() < 0.3 else data)
        assert ask(broker, client_context(files)) == "broker", seed
        assert "Traceback" not in broker.log_text(), seed


@pytest.mark.alone
def test_a_flood_of_handshakes_leaves_the_loop_to_others(files, authority):
    files.write("broker.pem", authority.issue("broker", is_rsa=True).pem())
    hello = ssl_hello(files)
    stop = threading.Event()

    def flood(broker):
        while not stop.is_set():
            socks = [socket.create_connection((broker.host, broker.port), PATIENCE_S) for _ in range(50)]
            for sock in socks:
                sock.sendall(hello)
            for sock in socks:
                sock.close()

    with Broker(security_protocol="SSL", config=files.settings()) as broker:
        context = client_context(files)
        plain = socket.create_connection((broker.host, broker.port), PATIENCE_S)
        thread = threading.Thread(target=flood, args=(broker,))
        with plain, context.wrap_socket(plain, server_hostname="localhost") as sock:
            broker.stalls_of_late_ms()
            thread.start()
            try:
                for _ in range(200):
                    sock.sendall(API_VERSIONS)
                    assert len(sock.recv(4096)) > 10
                # New ones get in as well.
                assert ask(broker, context) == "broker"
            finally:
                stop.set()
                thread.join()
        assert broker.stalls_of_late_ms()[1] < 50
        assert "Traceback" not in broker.log_text()


def test_a_replaced_keystore_is_noticed_and_a_broken_one_is_not_taken(files, authority):
    with Broker(security_protocol="SSL", config=files.settings()) as broker:
        context = client_context(files)
        plain = socket.create_connection((broker.host, broker.port), PATIENCE_S)
        with plain, context.wrap_socket(plain, server_hostname="localhost") as old:
            files.write("broker.pem", b"nothing")
            wait_for_line(broker, "keeps its old keys: ")
            assert ask(broker, context) == "broker"
            files.write("broker.pem", authority.issue("its successor").pem())
            until(lambda: ask(broker, context) == "its successor")
            # Who is in stays in.
            old.sendall(API_VERSIONS)
            assert len(old.recv(4096)) > 10
        assert broker.log_text().count("keeps its old keys: ") == 1


def test_a_certificate_that_is_revoked_meanwhile_is_refused(files, authority):
    mine = authority.issue("mine")
    config = files.settings(ssl_client_auth="required", barnabas_ssl_crl_location=files.revoked)
    with Broker(security_protocol="SSL", config=config) as broker:
        context = client_context(files, mine)
        assert ask(broker, context) == "broker"
        files.write("revoked.pem", authority.revocations([mine]))
        until(lambda: is_refused(broker, context))


def test_an_expired_list_of_revoked_certificates_refuses_everybody(files, authority):
    config = files.settings(ssl_client_auth="required", barnabas_ssl_crl_location=files.revoked)
    with Broker(security_protocol="SSL", config=config) as broker:
        context = client_context(files, authority.issue("mine"))
        assert ask(broker, context) == "broker"
        files.write("revoked.pem", authority.revocations([], days=-1))
        until(lambda: is_refused(broker, context))
        wait_for_line(broker, "CRL has expired")


def test_pkcs12_and_an_encrypted_key_and_keys_within_the_settings(files, authority):
    certified = authority.issue("broker")
    store = files.write("broker.p12", certified.pkcs12("secret1"))
    encrypted = files.write("encrypted.pem", certified.pem("secret2"))
    for settings in (
        # Kafka's default type is JKS, and what keytool writes is PKCS12.
        {"ssl.keystore.location": store, "ssl.keystore.password": "secret1"},
        {"ssl.keystore.type": "PEM", "ssl.keystore.location": encrypted, "ssl.key.password": "secret2"},
        {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": certified.key_pem("secret3").decode(),
            "ssl.keystore.certificate.chain": certified.certificate_pem.decode(),
            "ssl.key.password": "secret3",
        },
    ):
        with Broker(security_protocol="SSL", config=settings) as broker:
            assert ask(broker, client_context(files)) == "broker"
            assert "secret" not in broker.log_text()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"ssl.keystore.location": "/nowhere", "ssl.keystore.type": "PEM"}, "/nowhere is unusable: no such file"),
        ({"ssl.keystore.location": "", "ssl.client.auth": "none"}, "set ssl.keystore.location"),
        ({"ssl.enabled.protocols": "SSLv3"}, "ssl.enabled.protocols: SSLv3 is not supported"),
        ({"ssl.cipher.suites": "TLS_NO_SUCH"}, "ssl.cipher.suites: TLS_NO_SUCH does not exist"),
        ({"ssl.truststore.location": "/nowhere", "ssl.client.auth": "required"}, "/nowhere is unusable"),
        ({"ssl.principal.mapping.rules": "foo"}, "Invalid rule: `foo`"),
        ({"ssl.keystore.type": "BKS"}, "its type BKS is not supported: use PEM, PKCS12, JKS"),
    ],
)
def test_a_broker_does_not_start_with_keys_that_cant_be(files, settings, told):
    with pytest.raises(StartupError) as refused:
        Broker(security_protocol="SSL", config={**files.settings(), **settings}).start()
    assert told in str(refused.value)


def test_javas_own_format_is_refused_with_what_converts_it(files):
    store = files.write("old.jks", b"\xfe\xed\xfe\xed\0\0\0\2")
    with pytest.raises(StartupError, match=r"keytool -importkeystore .*old\.jks .*old\.p12"):
        Broker(security_protocol="SSL", config={"ssl.keystore.location": store}).start()
