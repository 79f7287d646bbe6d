"""Logins, frame by frame: the same answers as Kafka's, in words where it has any."""

import struct
import time
from collections.abc import Iterator

import pytest

from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.wire.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.wire.protocol.messages.list_groups import ListGroupsRequest
from barnabas.wire.protocol.messages.metadata import MetadataRequest
from barnabas.wire.protocol.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.wire.security.sasl.client import unsecured_token
from barnabas.wire.security.sasl.oauthbearer import OAuthBearerClient
from barnabas.wire.security.sasl.scram import SCRAM_MECHANISMS, ScramClient
from tests.compat.conftest import TARGET
from tests.compat.sasl_broker import MECHANISMS, SaslBroker, Wire, sasl_broker

PLAIN_FAILED = "Authentication failed: Invalid username or password"
ALICE = b"\0alice\0alice-secret"
FRAME_LIMIT = 524_288


def general(mechanism):
    return f"Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}"


@pytest.fixture(scope="module")
def broker() -> Iterator[SaslBroker]:
    with sasl_broker() as running:
        yield running


@pytest.fixture
def wire(broker):
    with broker.connect() as connected:
        yield connected


def is_served(wire):
    answer = wire.ask(ListGroupsRequest(), 0)
    return answer is not None and answer.error_code == ErrorCode.NONE


def told(answer):
    return None if answer is None else (ErrorCode(answer.error_code).name, answer.error_message)


def test_the_handshake_names_the_mechanisms(wire):
    answer = wire.shake("PLAIN")
    assert (answer.error_code, set(answer.mechanisms)) == (ErrorCode.NONE, set(MECHANISMS.split(",")))


@pytest.mark.parametrize("version", [0, 1])
def test_a_mechanism_that_is_not_there(wire, version):
    answer = wire.shake("GSSAPI", version)
    assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert set(answer.mechanisms) == set(MECHANISMS.split(","))
    assert wire.heard() is None


@pytest.mark.parametrize("version", [0, 1, 2])
def test_plain(wire, version):
    assert wire.ask(ApiVersionsRequest("me", "1"), 3).error_code == ErrorCode.NONE
    wire.shake("PLAIN")
    answer = wire.prove(ALICE, version)
    assert (*told(answer), answer.auth_bytes, answer.session_lifetime_ms) == ("NONE", "", b"", 0)
    assert is_served(wire)


def test_plain_in_bare_frames(wire):
    wire.shake("PLAIN", 0)
    wire.say(ALICE)
    assert wire.heard() == b""
    assert is_served(wire)


def test_a_bare_failure_just_closes(wire):
    wire.shake("PLAIN", 0)
    wire.say(b"\0alice\0x")
    assert wire.heard() is None


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (b"\0alice\0wrong", PLAIN_FAILED),
        (b"\0nobody\0alice-secret", PLAIN_FAILED),
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"\0a\0b\0c", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0a\0b\0c\0d", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\0x", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"bob" + ALICE, "Authentication failed: Client requested an authorization id that is different from username"),
        (b"bob\0alice\0wrong", PLAIN_FAILED),
        (b"\0alice\0\xff\xfe", PLAIN_FAILED),
    ],
)
def test_plain_failures(wire, token, reason):
    wire.shake("PLAIN")
    assert told(wire.prove(token)) == ("SASL_AUTHENTICATION_FAILED", reason)
    assert wire.heard() is None


def scram(mechanism, user, password, **options):
    return ScramClient(SCRAM_MECHANISMS[mechanism], user, password, "clientnonce", **options)


@pytest.mark.parametrize("mechanism", list(SCRAM_MECHANISMS))
def test_scram(broker, wire, name, mechanism):
    broker.add_scram(name, "pw", mechanism)
    answer = wire.log_in_by(scram(mechanism, name, "pw"), mechanism)
    assert told(answer) == ("NONE", "")
    assert is_served(wire)


def test_scram_with_an_empty_salt(broker, name):
    # Sarama sends one unless the caller sets a salt.
    broker.add_scram(name, "pw", salt=b"")


def test_scram_in_bare_frames(broker, wire, name):
    broker.add_scram(name, "pw")
    client = scram("SCRAM-SHA-256", name, "pw")
    wire.shake("SCRAM-SHA-256", 0)
    token = client.first()
    while not client.is_complete:
        wire.say(token)
        token = client.answer(wire.heard())
    assert is_served(wire)


def test_scram_of_the_other_hash_is_another_credential(broker, wire, name):
    broker.add_scram(name, "pw", "SCRAM-SHA-512")
    answer = wire.log_in_by(scram("SCRAM-SHA-256", name, "pw"), "SCRAM-SHA-256")
    assert told(answer) == ("SASL_AUTHENTICATION_FAILED", general("SCRAM-SHA-256"))


def test_scram_failures_do_not_tell_who_there_is(broker, name):
    broker.add_scram(name, "pw")
    for user, password in ((name, "wrong"), ("nobody", "pw")):
        with broker.connect() as wire:
            answer = wire.log_in_by(scram("SCRAM-SHA-256", user, password), "SCRAM-SHA-256")
            assert told(answer) == ("SASL_AUTHENTICATION_FAILED", general("SCRAM-SHA-256"))
            assert wire.heard() is None


@pytest.mark.parametrize("first", [b"", b"x", b"y,,n=alice,r=x", b"p=tls,,n=alice,r=x", b"n,,n=,r=x", b"\xff"])
def test_scram_messages_that_are_none(wire, first):
    wire.shake("SCRAM-SHA-256")
    assert told(wire.prove(first)) == ("SASL_AUTHENTICATION_FAILED", general("SCRAM-SHA-256"))
    assert wire.heard() is None


def test_scram_for_somebody_else(broker, wire, name):
    broker.add_scram(name, "pw")
    wire.shake("SCRAM-SHA-256")
    answer = wire.prove(f"n,a=bob,n={name},r=x".encode())
    assert told(answer) == (
        "SASL_AUTHENTICATION_FAILED",
        "Authentication failed: Client requested an authorization id that is different from username",
    )


def test_a_changed_password_counts_for_the_next_login(broker, name):
    broker.add_scram(name, "old")
    broker.add_scram(name, "new")
    with broker.connect() as wire:
        assert told(wire.log_in_by(scram("SCRAM-SHA-256", name, "new"), "SCRAM-SHA-256"))[0] == "NONE"
    with broker.connect() as wire:
        answer = wire.log_in_by(scram("SCRAM-SHA-256", name, "old"), "SCRAM-SHA-256")
        assert told(answer)[0] == "SASL_AUTHENTICATION_FAILED"


# --- what is asked before a login


@pytest.mark.parametrize("request_", [HeartbeatRequest("g", 1, "m"), MetadataRequest(), ListGroupsRequest()])
def test_other_requests_before_the_handshake_close(wire, request_):
    assert wire.ask(request_, 0) is None


@pytest.mark.parametrize(
    ("request_", "version"), [(HeartbeatRequest("g", 1, "m"), 4), (ListGroupsRequest(), 0), (ListGroupsRequest(), 3)]
)
def test_other_requests_within_a_login_are_refused(wire, request_, version):
    wire.shake("PLAIN")
    assert wire.ask(request_, version).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert wire.heard() is None


def test_a_second_handshake_within_a_login_is_refused(wire):
    wire.shake("PLAIN")
    assert wire.shake("PLAIN").error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert wire.heard() is None


def test_api_versions_comes_once(wire):
    assert wire.ask(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE
    assert wire.ask(ApiVersionsRequest(), 0) is None


def test_api_versions_that_failed_may_come_again(wire):
    assert wire.ask(ApiVersionsRequest("no name", "1"), 3).error_code == ErrorCode.INVALID_REQUEST
    wire.say(struct.pack(">hhih", 18, 99, 7, 2) + b"me" + b"\0")
    assert wire.heard()[4:6] == struct.pack(">h", ErrorCode.UNSUPPORTED_VERSION)
    assert wire.ask(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE
    assert wire.log_in().error_code == ErrorCode.NONE


def test_api_versions_within_a_login_is_refused(wire):
    wire.shake("PLAIN")
    assert wire.ask(ApiVersionsRequest(), 0).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert wire.heard() is None


@pytest.mark.parametrize("frame", [b"", b"\x60\x82", b"\xff" * 64, struct.pack(">hhih", 17, 7, 1, -1)])
def test_a_first_frame_that_is_no_request_closes(wire, frame):
    wire.say(frame)
    assert wire.heard() is None


@pytest.mark.parametrize("size", [-1, FRAME_LIMIT + 1, 0x7FFFFFFF])
def test_a_frame_of_an_impossible_size_closes(wire, size):
    wire.sock.sendall(struct.pack(">i", size))
    assert wire.heard() is None


def test_the_largest_token(wire):
    wire.shake("PLAIN", 0)
    wire.say(b"\0alice\0" + b"x" * (FRAME_LIMIT - 7))
    assert wire.heard() is None


def test_after_the_login_there_is_no_other(wire):
    wire.log_in()
    assert wire.shake("PLAIN").error_code == ErrorCode.ILLEGAL_SASL_STATE
    answer = wire.prove(ALICE)
    assert told(answer) == ("ILLEGAL_SASL_STATE", "SaslAuthenticate request received after successful authentication")
    assert is_served(wire)


def test_without_logins_there_is_none(broker):
    with Wire(broker.plaintext) as wire:
        assert wire.shake("PLAIN").error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert told(wire.prove(ALICE))[0] == "ILLEGAL_SASL_STATE"
        assert is_served(wire)


def test_a_client_may_send_ahead(wire):
    """Its frames wait until who it is has been settled."""
    handshake = struct.pack(">hhih", 17, 0, 7, -1) + struct.pack(">h", 5) + b"PLAIN"
    groups = struct.pack(">hhih", 16, 0, 9, -1)
    frames = (handshake, ALICE, groups)
    wire.sock.sendall(b"".join(struct.pack(">i", len(frame)) + frame for frame in frames))
    assert wire.heard()[4:6] == b"\0\0"
    assert wire.heard() == b""
    assert wire.heard()[:6] == struct.pack(">ih", 9, 0)


# --- tokens


def token(user="alice", now_ms=0, **options):
    claims = {"unsecuredLoginStringClaim_sub": user, **options}
    return unsecured_token(claims, now_ms or int(time.time() * 1000))


def test_oauthbearer(wire):
    assert told(wire.log_in_by(OAuthBearerClient(token()), "OAUTHBEARER")) == ("NONE", "")
    assert is_served(wire)


@pytest.mark.parametrize("bad", [token(now_ms=1_000_000), "a.b.", "abc", "e30.e30."])
def test_a_token_that_proves_nothing(wire, bad):
    wire.shake("OAUTHBEARER")
    answer = wire.prove(OAuthBearerClient(bad).first())
    if TARGET == "kafka" and bad == "e30.e30.":
        # It fails where it looks for the user's claim.
        assert answer is None
        return
    assert (told(answer), answer.auth_bytes) == (("NONE", ""), b'{"status":"invalid_token"}')
    answer = wire.prove(b"\x01")
    assert told(answer) == ("SASL_AUTHENTICATION_FAILED", '{"status":"invalid_token"}')
    assert wire.heard() is None


def test_a_token_of_somebody_else(wire):
    wire.shake("OAUTHBEARER")
    answer = wire.prove(b"n,a=bob,\x01auth=Bearer " + token().encode() + b"\x01\x01")
    assert told(answer) == (
        "SASL_AUTHENTICATION_FAILED",
        "Authentication failed: Client requested an authorization id (bob) that is different from the token's "
        "principal name (alice)",
    )


@pytest.mark.parametrize("first", [b"", b"x", b"n,,\x01\x01", b"n,,\x01auth=Basic abc\x01\x01"])
def test_oauthbearer_messages_that_are_none(wire, first):
    wire.shake("OAUTHBEARER")
    answer = told(wire.prove(first))
    if TARGET == "kafka" and b"Basic" in first:
        # It fails where it makes the text of that error.
        assert answer is None
        return
    assert answer == ("SASL_AUTHENTICATION_FAILED", general("OAUTHBEARER"))


def test_the_handshake_names_are_case_sensitive(wire):
    assert wire.ask(SaslHandshakeRequest("plain"), 1).error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
