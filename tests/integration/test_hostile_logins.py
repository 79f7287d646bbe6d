"""A running broker and strangers who log in, or try to: they learn of nobody, and hold up nobody."""

import base64
import json
import re
import socket
import time

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from barnabas.core.error_code import ErrorCode
from barnabas.testing import Broker
from barnabas.wire.protocol.api_keys import FIRST_FLEXIBLE_VERSION, response_class
from barnabas.wire.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from barnabas.wire.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from barnabas.wire.protocol.messages.metadata import MetadataRequest
from barnabas.wire.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.protocol.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.wire.security.sasl.scram import SHA_256, SHA_512, ScramClient
from tests.integration.hostile_peers import frame_of, read_answer
from tests.patience import PATIENCE_S, until

MODULES = "org.apache.kafka.common.security"
SCRAM = "SCRAM-SHA-256"
KEY = rsa.generate_private_key(65537, 2048)
SETTINGS = {
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    "security.inter.broker.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        f'{MODULES}.plain.PlainLoginModule required username="broker" password="b" user_broker="b";'
    ),
    "delegation.token.master.key": "master",
    "connections.max.reauth.ms": 4_000,
    "connection.failed.authentication.delay.ms": 1,
}


class Peer:
    """One connection."""

    def __init__(self, broker):
        self.sock = socket.create_connection((broker.host, broker.port), timeout=PATIENCE_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def ask(self, request, version):
        """The answer; None: the connection was closed."""
        self.sock.sendall(frame_of(request, version))
        data = read_answer(self.sock)
        if not data:
            return None
        start = 4 + (version >= FIRST_FLEXIBLE_VERSION[request.API_KEY])
        return response_class(request.API_KEY).decode(version, memoryview(data), start)[0]

    def prove(self, response):
        return self.ask(SaslAuthenticateRequest(response), 1)

    def shake(self, mechanism):
        assert self.ask(SaslHandshakeRequest(mechanism), 1).error_code == ErrorCode.NONE
        return self

    def log_in(self):
        self.shake("PLAIN")
        assert self.prove(b"\0broker\0b").error_code == ErrorCode.NONE
        return self


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    keys = tmp_path_factory.mktemp("keys") / "jwks.json"
    public = jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True)
    keys.write_text(json.dumps({"keys": [{**public, "kid": "k"}]}))
    settings = {**SETTINGS, "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri()}
    with Broker(security_protocol="SASL_PLAINTEXT", config=settings) as broker:
        salt = b"0123456789abcdefghijklmno"
        salted = SHA_256.salted_password(b"secret", salt, 4_096)
        with Peer(broker) as peer:
            upsertion = ScramCredentialUpsertion("alice", SHA_256.code, 4_096, salt, salted)
            peer.log_in().ask(AlterUserScramCredentialsRequest(upsertions=[upsertion]), 0)
        yield broker


def failed(broker, mechanism, client):
    """What a client sees of a login that is no good, the salt and the nonce apart, and its lines in the log."""
    seen = len(broker.log_text())
    with Peer(broker) as peer:
        peer.shake(mechanism)
        challenge = peer.prove(client.first())
        salt = re.search(b",s=([^,]+)", challenge.auth_bytes)
        last = peer.prove(client.answer(challenge.auth_bytes))
        assert read_answer(peer.sock) == b""
    lines = [re.sub(r"^\S+ \S+|:\d+ on", "", line) for line in broker.log_text()[seen:].splitlines()]
    told = (challenge.error_code, re.sub(b"[rs]=[^,]+", b"", challenge.auth_bytes), last.error_code, last.error_message)
    return (*told, lines), salt and len(base64.b64decode(salt[1]))


def token_of(broker):
    with Peer(broker) as peer:
        return peer.log_in().ask(CreateDelegationTokenRequest(), 2).token_id


def test_a_scram_login_tells_nothing_of_who_there_is(broker):
    """Users, nobody, those of another mechanism, tokens, and what is no token."""
    token_id = token_of(broker)
    users = [
        (SHA_256, "alice", False),
        (SHA_256, "bob", False),
        (SHA_256, token_id, False),
        (SHA_256, "b" * 800, False),
    ]
    tokens = [(SHA_256, token_id, True), (SHA_256, "alice", True), (SHA_256, token_id[:-1] + "x", True)]
    for kind in (users, tokens, [(SHA_512, "alice", False), (SHA_512, "bob", False)]):
        seen = [
            failed(broker, mechanism.name, ScramClient(mechanism, name, "wrong", "nonce", is_token))
            for mechanism, name, is_token in kind
        ]
        assert all(told == seen[0][0] for told, _ in seen), seen
        assert {size for _, size in seen} <= ({24} if kind is tokens else {23, 24, 25, 26})
        (_, challenge, error_code, message, (line,)), _ = seen[0]
        mechanism = kind[0][0].name
        assert (challenge, error_code) == (b",,i=4096", ErrorCode.SASL_AUTHENTICATION_FAILED)
        assert message == (
            f"Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}"
        )
        assert "failed: Invalid client credentials" in line


def test_the_salt_of_nobody_is_the_same_after_a_start(broker):
    def salts():
        with Peer(broker) as peer:
            users = peer.shake(SCRAM).prove(b"n,,n=bob,r=x").auth_bytes
        with Peer(broker) as peer:
            return users.split(b",")[1], peer.shake(SCRAM).prove(b"n,,n=t,r=x,tokenauth=true").auth_bytes.split(b",")[1]

    before = salts()
    assert len(set(before)) == 2
    broker.stop()
    broker.start()
    assert salts() == before


def test_a_plain_login_tells_nothing_of_who_there_is(broker):
    told = []
    for response in (b"\0broker\0wrong", b"\0nobody\0wrong", b"x\0broker\0wrong"):
        with Peer(broker) as peer:
            answer = peer.shake("PLAIN").prove(response)
            told.append((answer.error_code, answer.error_message))
    assert len(set(told)) == 1


def oauth(token):
    return f"n,,\x01auth=Bearer {token}\x01\x01".encode()


def signed(**claims):
    return jwt.encode({"sub": "alice", "exp": time.time() + 60, **claims}, KEY, "RS256", headers={"kid": "k"})


def test_a_token_that_is_just_over_gives_a_session_that_ends(broker):
    with Peer(broker) as peer:
        answer = peer.shake("OAUTHBEARER").prove(oauth(signed(exp=time.time() - 10)))
        assert (answer.error_code, answer.session_lifetime_ms) == (ErrorCode.NONE, 1_500)
        until(lambda: peer.ask(MetadataRequest([]), 4) is None)


@pytest.mark.parametrize(
    "claims",
    [{"exp": 10**400}, {"nbf": 10**400}, {"iat": [1]}, {"sub": "\ud800"}, {"sub": "x" * 2_000}, {"sub": {"a": 1}}],
    ids=lambda claims: f"{next(iter(claims))}-{str(next(iter(claims.values())))[:8]}",
)
def test_a_hostile_token_is_a_failed_login_and_no_traceback(broker, claims):
    with Peer(broker) as peer:
        peer.shake("OAUTHBEARER")
        assert peer.prove(oauth(signed(**claims))).auth_bytes == b'{"status":"invalid_token"}'
        answer = peer.prove(b"\x01")
        assert (answer.error_code, answer.error_message) == (
            ErrorCode.SASL_AUTHENTICATION_FAILED,
            '{"status":"invalid_token"}',
        )
    assert "Traceback" not in broker.log_text()


@pytest.mark.parametrize(
    ("mechanism", "response"),
    [
        (SCRAM, b"n,,n=%b,r=x" % (b"x" * 4_096)),
        (SCRAM, b"n,,n=%b,r=x" % (b"=2C" * 1_400)),
        ("PLAIN", b"\0broker\0" + b"b" * 16_384),
        ("OAUTHBEARER", oauth("x" * 16_384)),
    ],
    ids=["scram", "escaped", "plain", "oauthbearer"],
)
def test_what_is_too_long_fails_at_once(broker, mechanism, response):
    with Peer(broker) as peer:
        answer = peer.shake(mechanism).prove(response)
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert answer.error_message.endswith(f"invalid credentials with SASL mechanism {mechanism}")


@pytest.mark.alone
def test_a_long_name_holds_up_nobody(broker):
    """As long as the frame may be; before, each took 60 ms of the loop and more."""
    names = [b"n,,n=%b,r=x" % (b"x" * size) for size in (4_000, 8_000, 500_000)]
    broker.stalls_of_late_ms()
    for name in names * 5:
        with Peer(broker) as peer:
            peer.sock.sendall(frame_of(SaslHandshakeRequest(SCRAM), 1))
            read_answer(peer.sock)
            peer.sock.sendall(frame_of(SaslAuthenticateRequest(name), 1))
            read_answer(peer.sock)
    assert max(broker.stalls_of_late_ms()) < 50


def test_the_broker_keeps_no_password(broker):
    """Nor the salted one: whoever reads its disk, or its log, finds keys to check by."""
    password, salt = b"a password like no other", b"9876543210zyxwvutsrqponml"
    salted = SHA_256.salted_password(password, salt, 4_096)
    upsertion = ScramCredentialUpsertion("carol", SHA_256.code, 4_096, salt, salted)
    with Peer(broker) as peer:
        answer = peer.log_in().ask(AlterUserScramCredentialsRequest(upsertions=[upsertion]), 0)
        assert answer.results[0].error_code == ErrorCode.NONE
    client = ScramClient(SHA_256, "carol", password.decode(), "nonce")
    with Peer(broker) as peer:
        challenge = peer.shake(SCRAM).prove(client.first())
        assert peer.prove(client.answer(challenge.auth_bytes)).error_code == ErrorCode.NONE
    files = [path for path in broker.data_dir.rglob("*") if path.is_file()]
    stored = b"".join(path.read_bytes() for path in files) + broker.log_text().encode()
    assert base64.b64encode(salt) in stored, "there is something of her"
    for secret in (password, salted):
        for form in (secret, base64.b64encode(secret).rstrip(b"="), secret.hex().encode()):
            assert form not in stored
