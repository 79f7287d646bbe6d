"""Logging in over one connection: what is asked before, how failures are told, and sessions that end."""

import json
import logging
import struct
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.diagnostics.store import DiagnosticStore
from barnabas.broker.net.connection import Connection
from barnabas.broker.net.memory import ReceiveMemory
from barnabas.broker.net.reactor import Reactor
from barnabas.broker.net.scheduler import Scheduler
from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.manager import Quotas
from barnabas.broker.requests.authentication import Authentication
from barnabas.broker.requests.context import ConnectionInfo
from barnabas.broker.requests.handlers import api_versions, heartbeat, produce, sasl_authenticate, sasl_handshake
from barnabas.broker.requests.session import Session
from barnabas.broker.requests.table import Handler, RouteTable
from barnabas.broker.security.logins import (
    MOST_CHECKS,
    MOST_FAILURES,
    MOST_WAITING,
    Checks,
    ListenerLogins,
    LoginRateLimiter,
)
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.testing.manual_clock import ManualClock
from barnabas.testing.manual_executor import ManualExecutor
from barnabas.wire.protocol.api_keys import FIRST_FLEXIBLE_VERSION, response_class
from barnabas.wire.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.wire.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.wire.protocol.messages.produce import ProduceRequest
from barnabas.wire.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.protocol.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.wire.security.principals import ANONYMOUS, Principal
from barnabas.wire.security.sasl.mechanism import Identity
from barnabas.wire.security.sasl.oauthbearer import InvalidTokenError, OAuthBearerServer
from barnabas.wire.security.sasl.plain import PlainServer, verifier
from tests.unit.broker.handling import encoded
from tests.unit.broker.net.memory_channel import MemoryPeer

DELAY_MS = 100
MOST_BYTES = 70_000
LOGIN, WRONG = b"\0alice\0secret", b"\0alice\0wrong"
TOKEN = b"n,,\x01auth=Bearer alice\x01\x01"
PLAIN_FAILED = "Authentication failed: Invalid username or password"


class Ticks:
    tick = 0


class Stranger:
    """A connection on a listener with SASL, and its peer."""

    def __init__(self, max_reauth_ms=0, delay_ms=DELAY_MS, token_life_ms=None):
        self.clock = ManualClock()
        self.peer = MemoryPeer()
        self.deferred = []
        self.waiting = []
        scheduler = Scheduler(self.deferred.append, self.clock.monotonic_ns)
        reactor = Reactor(ReceiveMemory(1 << 24), scheduler, self.clock.monotonic_ns)
        self.connection = Connection(reactor, self.peer, ("10.1.2.3", 5_000), 1 << 20, Ticks(), lambda _: None)
        handlers = (api_versions, produce, sasl_handshake, sasl_authenticate)
        table = RouteTable(
            (*(each.HANDLER for each in handlers), Handler(HeartbeatRequest, 0, 4, self.beat, heartbeat.refuse)),
            response_class,
            FIRST_FLEXIBLE_VERSION.__getitem__,
            api_versions.unsupported_version,
        )
        quotas = Quotas(Windows(11, 1_000))
        config = SimpleNamespace(sasl_server_max_receive_size=MOST_BYTES)
        self.diagnostics = DiagnosticStore(1_000_000, 0)
        services: Any = SimpleNamespace(
            config=config,
            diagnostics=self.diagnostics,
            clock=self.clock,
            timers=self.clock,
            offered=table.offered,
            quotas=quotas,
            finalized_features=None,
        )
        verify = verifier({"alice": "secret", "bob": "hidden"})

        def judge(token):
            if token == "slow.bad":
                return self.find_bad
            now_ms = self.clock.now_ms()
            identity = Identity(
                token.removeprefix("slow."), expires_ms=None if token_life_ms is None else now_ms + token_life_ms
            )
            return (lambda: identity) if token.startswith("slow.") else identity

        servers: dict[str, Any] = {
            "PLAIN": lambda: PlainServer(verify),
            "OAUTHBEARER": lambda: OAuthBearerServer(judge),
        }
        self.executor = ManualExecutor()
        self.logins = ListenerLogins(
            servers, dict.fromkeys(servers, max_reauth_ms), lambda: delay_ms, Checks(self.executor), self.clock
        )
        self.info = ConnectionInfo("10.1.2.3", 5_000, "SASL_PLAINTEXT", security_protocol="SASL_PLAINTEXT")
        session = Session(self.connection, self.info, services, table, 1_000)
        self.authentication = Authentication(self.connection, self.info, session, services, table, self.logins)
        self.connection.start(self.authentication)

    def beat(self, ctx, request):
        if request.group_id == "slow":
            self.waiting.append(Pending())
            return self.waiting[-1]
        return HeartbeatResponse()

    def find_bad(self):
        raise InvalidTokenError("signed by nobody")

    def say(self, frame):
        self.peer.say(struct.pack(">i", len(frame)) + frame)
        self.run_turns()

    def run_turns(self):
        while self.deferred:
            self.deferred.pop(0)()

    def heard(self):
        """The next answer without its size; None: there is none."""
        taken = self.peer.taken
        if not taken:
            return None
        (size,) = struct.unpack_from(">i", taken)
        frame = bytes(taken[4 : 4 + size])
        assert len(frame) == size
        del taken[: 4 + size]
        return frame

    def send(self, request, version):
        is_flexible = version >= FIRST_FLEXIBLE_VERSION[request.API_KEY]
        header = struct.pack(">hhih", request.API_KEY, version, 7, 2) + b"me" + b"\0" * is_flexible
        self.say(header + encoded(request, version))

    def answer(self, api_key, version):
        frame = self.heard()
        if frame is None:
            return None
        start = 4 + (version >= FIRST_FLEXIBLE_VERSION[api_key] and api_key != 18)
        answer, end = response_class(api_key).decode(version, memoryview(frame), start)
        assert (frame[:4], end) == (struct.pack(">i", 7), len(frame))
        return answer

    def ask(self, request, version):
        self.send(request, version)
        return self.answer(request.API_KEY, version)

    def shake(self, mechanism="PLAIN", version=1):
        return self.ask(SaslHandshakeRequest(mechanism), version)

    def prove(self, token=LOGIN, version=2):
        return self.ask(SaslAuthenticateRequest(token), version)

    def log_in(self, token=LOGIN, version=2, mechanism="PLAIN"):
        assert self.shake(mechanism).error_code == ErrorCode.NONE
        answer = self.prove(token, version)
        assert (answer.error_code, answer.error_message, answer.auth_bytes) == (ErrorCode.NONE, "", b"")
        return answer.session_lifetime_ms

    def is_served(self):
        answer = self.ask(HeartbeatRequest("g", 1, "m"), 4)
        return answer is not None and answer.error_code == ErrorCode.NONE

    @property
    def is_closed(self):
        return self.peer.is_closed

    def refused_late(self, api_key, version):
        """What comes when the delay is over; nothing before it."""
        assert not self.is_closed
        self.clock.advance(DELAY_MS - 1)
        assert (self.heard(), self.is_closed) == (None, False)
        self.clock.advance(1)
        assert self.is_closed
        return self.answer(api_key, version)

    @property
    def refusals(self):
        """User, mechanism and reason of each that is kept."""
        rows = [json.loads(line) for line in self.diagnostics.refusals.lines()]
        assert all(row["kind"] == "login" and row["host"] == "10.1.2.3" for row in rows)
        return [(row["user"], row["mechanism"], row["reason"]) for row in rows]

    @property
    def counts(self):
        counts = self.logins.counts
        return (
            counts.success_count,
            counts.failure_count,
            counts.reauthentication_success_count,
            counts.reauthentication_failure_count,
        )


@pytest.fixture
def stranger():
    return Stranger()


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_login_in_requests(stranger, version):
    assert stranger.ask(ApiVersionsRequest("me", "1"), 3).error_code == ErrorCode.NONE
    assert stranger.shake().mechanisms == ["PLAIN", "OAUTHBEARER"]
    answer = stranger.prove(LOGIN, version)
    assert (answer.error_code, answer.auth_bytes, answer.session_lifetime_ms) == (ErrorCode.NONE, b"", 0)
    assert stranger.info.principal == Principal("User", "alice")
    assert stranger.info.sasl_mechanism == "PLAIN"
    assert stranger.is_served()
    assert stranger.counts == (1, 0, 0, 0)
    assert stranger.logins.counts.no_reauthentication_count == (1 if version == 0 else 0)
    assert stranger.connection.max_frame_bytes == 1 << 20


def test_a_login_in_bare_frames(stranger):
    assert stranger.shake(version=0).error_code == ErrorCode.NONE
    stranger.say(LOGIN)
    assert stranger.heard() == b""
    assert stranger.is_served()


def test_a_bare_login_that_fails_just_closes(stranger):
    stranger.shake(version=0)
    stranger.say(WRONG)
    assert stranger.refused_late(36, 0) is None
    assert stranger.counts == (0, 1, 0, 0)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_failed_login_is_told_late_and_then_closes(version, caplog):
    caplog.set_level(logging.DEBUG)
    stranger = Stranger()
    stranger.shake()
    assert stranger.prove(WRONG, version) is None
    answer = stranger.refused_late(36, version)
    assert (answer.error_code, answer.error_message) == (ErrorCode.SASL_AUTHENTICATION_FAILED, PLAIN_FAILED)
    assert (stranger.counts, stranger.info.principal) == ((0, 1, 0, 0), ANONYMOUS)
    assert f"login from 10.1.2.3:5000 on listener SASL_PLAINTEXT failed: {PLAIN_FAILED}" in caplog.text
    assert "wrong" not in caplog.text


def test_without_a_delay_it_is_told_at_once():
    stranger = Stranger(delay_ms=0)
    stranger.shake()
    stranger.prove(WRONG)
    stranger.clock.advance(0)
    assert stranger.answer(36, 2).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert stranger.is_closed


def test_nothing_more_is_heard_of_who_failed(stranger):
    stranger.shake()
    stranger.prove(WRONG)
    stranger.prove(LOGIN)
    assert not stranger.is_served()
    assert stranger.refused_late(36, 2).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert stranger.info.principal == ANONYMOUS


def test_a_peer_that_leaves_meanwhile_is_no_trouble(stranger):
    stranger.shake()
    stranger.prove(WRONG)
    stranger.connection.close()
    stranger.clock.advance(DELAY_MS)
    assert stranger.heard() is None


def test_an_unknown_mechanism_is_told_which_there_are(stranger):
    assert stranger.shake("GSSAPI") is None
    answer = stranger.refused_late(17, 1)
    assert (answer.error_code, answer.mechanisms) == (ErrorCode.UNSUPPORTED_SASL_MECHANISM, ["PLAIN", "OAUTHBEARER"])


def test_any_other_request_before_the_login_closes_without_a_word(stranger):
    assert not stranger.is_served()
    assert stranger.refused_late(12, 4) is None


def test_any_other_request_within_a_login_is_refused_in_its_shape(stranger):
    stranger.shake()
    assert not stranger.is_served()
    assert stranger.refused_late(12, 4).error_code == ErrorCode.ILLEGAL_SASL_STATE


@pytest.mark.parametrize("api_key", [58, 999, 10_000, -5])
def test_an_api_that_nobody_knows_closes_with_one_line(api_key, caplog):
    caplog.set_level(logging.INFO)
    stranger = Stranger()
    stranger.say(struct.pack(">hhih", api_key, 0, 7, -1))
    stranger.clock.advance(DELAY_MS)
    assert stranger.is_closed
    assert [record.exc_info for record in caplog.records] == [None]


def test_a_request_without_answer_within_a_login(stranger):
    stranger.shake()
    stranger.send(ProduceRequest(acks=0), 7)
    assert stranger.heard() is None
    stranger.clock.advance(DELAY_MS)
    assert stranger.is_closed


def test_api_versions_comes_once(stranger):
    assert stranger.ask(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE
    assert stranger.ask(ApiVersionsRequest(), 0) is None
    assert stranger.is_closed


def test_api_versions_that_failed_may_come_again(stranger):
    stranger.say(struct.pack(">hhih", 18, 99, 7, 2) + b"me" + b"\0")
    assert stranger.answer(18, 0).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert stranger.ask(ApiVersionsRequest("no name", "1"), 3).error_code == ErrorCode.INVALID_REQUEST
    assert stranger.ask(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE
    stranger.log_in()


@pytest.mark.parametrize("frame", [b"", b"\x60\x01", b"\xff" * 100, struct.pack(">hhih", 17, 9, 7, -1)])
def test_a_first_frame_that_is_no_request(stranger, frame):
    stranger.say(frame)
    stranger.clock.advance(DELAY_MS)
    assert stranger.is_closed
    assert stranger.heard() is None


@pytest.mark.parametrize("frame", [b"", b"\0", struct.pack(">hhih", 36, 9, 7, -1), struct.pack(">hhih", 36, 2, 7, -1)])
def test_a_token_that_is_no_request_closes(stranger, frame):
    stranger.shake()
    stranger.say(frame)
    assert stranger.is_closed


def test_a_large_frame_closes_before_it_has_come(stranger):
    stranger.shake(version=0)
    stranger.peer.say(struct.pack(">i", MOST_BYTES + 1))
    assert stranger.is_closed


def test_who_is_in_may_not_log_in_again_where_sessions_do_not_end(stranger):
    stranger.log_in()
    assert stranger.shake().error_code == ErrorCode.ILLEGAL_SASL_STATE
    answer = stranger.prove()
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert answer.error_message == "SaslAuthenticate request received after successful authentication"
    assert stranger.is_served()


# --- sessions that end


def test_a_session_ends():
    stranger = Stranger(max_reauth_ms=5_000)
    assert stranger.log_in() == 5_000
    stranger.clock.advance(4_999)
    assert stranger.is_served()
    stranger.clock.advance(1)
    assert not stranger.is_served()
    assert stranger.is_closed
    assert stranger.logins.counts.expired_connection_count == 1


@pytest.mark.parametrize("max_reauth_ms", [0, -1])
def test_a_session_without_a_limit_does_not_end(max_reauth_ms):
    stranger = Stranger(max_reauth_ms=max_reauth_ms)
    assert stranger.log_in() == 0
    stranger.clock.advance(10_000)
    assert stranger.is_served()


def test_a_session_of_an_old_client_ends_as_well():
    stranger = Stranger(max_reauth_ms=5_000)
    stranger.shake(version=0)
    stranger.say(LOGIN)
    assert stranger.heard() == b""
    stranger.clock.advance(5_000)
    assert not stranger.is_served()
    assert stranger.is_closed


@pytest.mark.parametrize("late_ms", [0, 10_000])
def test_who_logs_in_again_goes_on(late_ms):
    stranger = Stranger(max_reauth_ms=5_000)
    stranger.log_in()
    stranger.clock.advance(4_000 + late_ms)
    assert stranger.log_in() == 5_000
    stranger.clock.advance(4_000)
    assert stranger.is_served()
    assert stranger.counts == (1, 0, 1, 0)
    stranger.clock.advance(1_000)
    assert not stranger.is_served()


def test_logging_in_again_and_again_is_refused():
    stranger = Stranger(max_reauth_ms=60_000)
    stranger.log_in()
    stranger.log_in()
    assert stranger.shake().error_code == ErrorCode.ILLEGAL_SASL_STATE
    stranger.clock.advance(1_000)
    stranger.log_in()


def test_nobody_becomes_somebody_else():
    stranger = Stranger(max_reauth_ms=5_000)
    stranger.log_in()
    stranger.shake()
    stranger.prove(b"\0bob\0hidden")
    answer = stranger.refused_late(36, 2)
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == ("Cannot change principals during re-authentication from User.alice: User.bob")
    assert stranger.counts == (1, 0, 0, 1)


def test_another_mechanism_is_agreed_to_and_then_closes():
    stranger = Stranger(max_reauth_ms=5_000)
    stranger.log_in()
    assert stranger.shake("OAUTHBEARER").error_code == ErrorCode.NONE
    assert stranger.prove(b"n,,\x01auth=Bearer alice\x01\x01") is None
    assert stranger.refused_late(36, 2) is None


def test_an_unknown_mechanism_ends_a_session():
    stranger = Stranger(max_reauth_ms=5_000)
    stranger.log_in()
    assert stranger.shake("GSSAPI") is None
    assert stranger.refused_late(17, 1).error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM


def test_a_wrong_password_ends_a_session():
    stranger = Stranger(max_reauth_ms=5_000)
    stranger.log_in()
    stranger.shake()
    stranger.prove(WRONG)
    assert stranger.refused_late(36, 2).error_message == PLAIN_FAILED
    assert (stranger.counts, stranger.refusals) == ((1, 0, 0, 1), [("alice", "PLAIN", PLAIN_FAILED)])


@pytest.mark.parametrize("name", [b"alice", b"a-password-typed-as-a-name"])
def test_a_failed_login_is_kept_without_the_name_that_was_given(stranger, name):
    stranger.shake()
    stranger.prove(b"\0" + name + b"\0wrong-password")
    assert stranger.refusals == [(None, "PLAIN", PLAIN_FAILED)]
    assert b"password-typed" not in b"".join(stranger.diagnostics.refusals.lines())


def test_an_authorization_id_is_not_kept(stranger):
    stranger.shake("OAUTHBEARER")
    stranger.send(SaslAuthenticateRequest(b"n,a=a-password,\x01auth=Bearer alice\x01\x01"), 2)
    assert stranger.refusals == [(None, "OAUTHBEARER", "Authentication failed: Client requested an authorization id")]


def test_a_token_ends_a_session_earlier():
    stranger = Stranger(max_reauth_ms=5_000, token_life_ms=2_000)
    assert stranger.log_in(TOKEN, mechanism="OAUTHBEARER") == 2_000
    assert stranger.info.principal == Principal("User", "alice")
    assert Stranger(max_reauth_ms=5_000, token_life_ms=9_000).log_in(TOKEN, mechanism="OAUTHBEARER") == 5_000
    assert Stranger(token_life_ms=9_000).log_in(TOKEN, mechanism="OAUTHBEARER") == 0


@pytest.mark.parametrize("over_ms", [0, 1, 29_999])
def test_a_token_that_is_over_gives_a_session_that_ends(over_ms):
    """Clocks may differ: it still logs in."""
    stranger = Stranger(max_reauth_ms=4_000, token_life_ms=-over_ms)
    assert stranger.log_in(TOKEN, mechanism="OAUTHBEARER") == 1_500
    assert stranger.is_served()
    stranger.clock.advance(1_500)
    assert not stranger.is_served()
    assert stranger.is_closed
    assert Stranger(token_life_ms=-over_ms).log_in(TOKEN, mechanism="OAUTHBEARER") == 0


def bearer(token):
    return b"n,,\x01auth=Bearer " + token + b"\x01\x01"


def test_a_signature_is_looked_at_elsewhere(stranger):
    stranger.shake("OAUTHBEARER")
    stranger.send(SaslAuthenticateRequest(bearer(b"slow.alice")), 2)
    stranger.send(HeartbeatRequest("g", 1, "m"), 4)
    assert (stranger.heard(), stranger.executor.waiting_count, stranger.info.principal) == (None, 1, ANONYMOUS)
    stranger.executor.run_all()
    stranger.run_turns()
    assert stranger.answer(36, 2).error_code == ErrorCode.NONE
    assert stranger.answer(12, 4).error_code == ErrorCode.NONE
    assert stranger.info.principal == Principal("User", "alice")


def test_a_signature_that_is_none_fails_the_login(stranger):
    stranger.shake("OAUTHBEARER")
    stranger.send(SaslAuthenticateRequest(bearer(b"slow.bad")), 2)
    stranger.executor.run_all()
    # As late as any failure: whoever hangs up then must not begin again sooner.
    stranger.clock.advance(DELAY_MS - 1)
    assert stranger.heard() is None
    stranger.clock.advance(1)
    assert stranger.answer(36, 2).auth_bytes == b'{"status":"invalid_token"}'
    stranger.prove(b"\x01")
    assert stranger.refused_late(36, 2).error_message == '{"status":"invalid_token"}'
    assert stranger.refusals == [(None, "OAUTHBEARER", "its token is refused: signed by nobody")]


def test_whoever_leaves_while_a_signature_is_looked_at_is_nobody(stranger):
    stranger.shake("OAUTHBEARER")
    stranger.send(SaslAuthenticateRequest(bearer(b"slow.alice")), 2)
    stranger.connection.close()
    stranger.executor.run_all()
    assert (stranger.info.principal, stranger.counts) == (ANONYMOUS, (0, 0, 0, 0))


def test_nobody_becomes_somebody_else_by_a_signed_token():
    stranger = Stranger(max_reauth_ms=5_000)
    stranger.log_in(TOKEN, mechanism="OAUTHBEARER")
    stranger.shake("OAUTHBEARER")
    stranger.send(SaslAuthenticateRequest(bearer(b"slow.bob")), 2)
    stranger.executor.run_all()
    assert "Cannot change principals" in stranger.refused_late(36, 2).error_message
    assert stranger.info.principal == Principal("User", "alice")


def test_logins_wait_while_very_many_are_given_up(stranger):
    rate_limiter = stranger.logins.rate_limiter
    for _ in range(MOST_FAILURES - 1):
        rate_limiter.failed()
    gone = Stranger()
    gone.logins.rate_limiter = rate_limiter
    gone.shake()
    gone.prove(WRONG)
    gone.connection.close()
    stranger.shake()
    stranger.prove()
    assert stranger.info.principal == ANONYMOUS
    stranger.clock.advance(DELAY_MS)
    assert stranger.info.principal == Principal("User", "alice")
    assert stranger.answer(36, 2).error_code == ErrorCode.NONE
    assert stranger.is_served()


def test_those_who_wait_come_one_for_each_failure_that_is_forgotten():
    clock, begun = ManualClock(), []
    rate_limiter = LoginRateLimiter(clock.call_later, lambda: DELAY_MS)
    for _ in range(MOST_FAILURES):
        rate_limiter.failed()
        clock.advance(1)
    assert all(rate_limiter.enter(partial(begun.append, number)) for number in range(MOST_WAITING))
    assert not rate_limiter.enter(partial(begun.append, -1))
    clock.advance(DELAY_MS - MOST_FAILURES + 1)
    assert begun == [0, 1]
    clock.advance(MOST_FAILURES)
    assert begun == list(range(MOST_WAITING))
    assert rate_limiter.enter(partial(begun.append, -1))


def test_only_so_many_wait_for_a_signature(stranger):
    stranger.shake("OAUTHBEARER")
    checks, then = stranger.logins.checks, []
    for _ in range(MOST_CHECKS):
        assert checks.run(lambda: lambda: b"", then.append)
    stranger.send(SaslAuthenticateRequest(bearer(b"slow.alice")), 2)
    assert stranger.is_closed
    stranger.executor.run_all()
    assert len(then) == MOST_CHECKS
    later = Stranger()
    later.logins.checks = checks
    later.shake("OAUTHBEARER")
    later.send(SaslAuthenticateRequest(bearer(b"slow.alice")), 2)
    stranger.executor.run_all()
    assert later.info.principal == Principal("User", "alice")


def test_a_login_that_waited_does_not_keep_others_waiting_if_too_many_signatures_wait(stranger):
    for _ in range(MOST_FAILURES):
        stranger.logins.rate_limiter.failed()
    stranger.shake("OAUTHBEARER")
    stranger.send(SaslAuthenticateRequest(bearer(b"slow.alice")), 2)
    other = Stranger()
    other.logins.rate_limiter = stranger.logins.rate_limiter
    other.shake()
    other.prove()
    for _ in range(MOST_CHECKS):
        assert stranger.logins.checks.run(lambda: lambda: b"", lambda _: None)
    stranger.clock.advance(DELAY_MS)
    assert stranger.is_closed
    assert other.info.principal == Principal("User", "alice")


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("mechanism", ["PLAIN", "OAUTHBEARER"])
def test_what_is_too_long_is_not_looked_at(mechanism, version, caplog):
    caplog.set_level(logging.INFO)
    stranger = Stranger()
    stranger.shake(mechanism, version)
    token = b"\0alice\0" + b"x" * 16_384
    if version:
        assert stranger.prove(token) is None
        assert stranger.refused_late(36, 2).error_message == (
            f"Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}"
        )
    else:
        stranger.say(token)
        assert stranger.refused_late(36, 0) is None
    assert "longer than 16384 bytes" in caplog.text
    assert len(caplog.text) < 1_000


def test_what_waits_when_a_session_ends_is_answered():
    stranger = Stranger(max_reauth_ms=5_000)
    stranger.log_in()
    stranger.send(HeartbeatRequest("slow", 1, "m"), 4)
    stranger.clock.advance(5_000)
    stranger.waiting[0].complete(HeartbeatResponse())
    stranger.run_turns()
    assert stranger.answer(12, 4).error_code == ErrorCode.NONE
    stranger.log_in()
    assert stranger.is_served()


def test_a_connection_that_closes_keeps_no_timer():
    stranger = Stranger(max_reauth_ms=5_000)
    stranger.log_in()
    stranger.connection.close()
    assert stranger.clock.timer_count == 0
