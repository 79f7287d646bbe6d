"""Delegation tokens, request by request, and logging in with them: the same answers as Kafka's."""

import hmac
import time
from base64 import b64encode, urlsafe_b64decode
from collections.abc import Iterator

import pytest

from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from barnabas.wire.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from barnabas.wire.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from barnabas.wire.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from barnabas.wire.security.sasl.scram import SCRAM_MECHANISMS, ScramClient
from tests.compat.conftest import RunningBroker
from tests.compat.raw import ask
from tests.compat.sasl_broker import SaslBroker, sasl_broker
from tests.patience import PATIENCE_S

KEY = "master key"
DAY_MS = 86_400_000
VERSIONS = [0, 1, 2]


@pytest.fixture(scope="module")
def broker() -> Iterator[SaslBroker]:
    with sasl_broker({"delegation.token.master.key": KEY}) as running:
        yield running


@pytest.fixture
def alice(broker):
    with broker.connect() as wire:
        wire.log_in()
        yield wire


@pytest.fixture
def bob(broker):
    with broker.connect() as wire:
        wire.log_in("bob", "bob-secret")
        yield wire


def created(wire, *renewers, max_lifetime_ms=-1, version=2):
    answer = wire.ask(
        CreateDelegationTokenRequest([CreatableRenewers("User", name) for name in renewers], max_lifetime_ms), version
    )
    assert answer.error_code == ErrorCode.NONE
    return answer


def described(wire, *owners, everybody=False, version=2):
    wanted = None if everybody else [DescribeDelegationTokenOwner("User", name) for name in owners]
    answer = wire.ask(DescribeDelegationTokenRequest(wanted), version)
    assert answer.error_code == ErrorCode.NONE
    return {each.token_id: each for each in answer.tokens}


def renew(wire, secret, period_ms, version=2):
    answer = wire.ask(RenewDelegationTokenRequest(secret, period_ms), version)
    return ErrorCode(answer.error_code).name, answer.expiry_timestamp_ms


def expire(wire, secret, period_ms, version=2):
    answer = wire.ask(ExpireDelegationTokenRequest(secret, period_ms), version)
    return ErrorCode(answer.error_code).name, answer.expiry_timestamp_ms


@pytest.mark.parametrize("version", VERSIONS)
def test_a_token_is_made(alice, version):
    token = created(alice, "bob", "carol", version=version)
    assert (token.principal_type, token.principal_name) == ("User", "alice")
    assert token.max_timestamp_ms - token.issue_timestamp_ms == 7 * DAY_MS
    assert token.expiry_timestamp_ms - token.issue_timestamp_ms == DAY_MS
    assert len(urlsafe_b64decode(token.token_id + "==")) == 16
    assert bytes(token.hmac) == hmac.digest(KEY.encode(), token.token_id.encode(), "sha512")
    shown = described(alice, "alice", version=version)[token.token_id]
    assert bytes(shown.hmac) == bytes(token.hmac)
    assert [(each.principal_type, each.principal_name) for each in shown.renewers] == [
        ("User", "bob"),
        ("User", "carol"),
    ]
    assert (shown.issue_timestamp, shown.expiry_timestamp, shown.max_timestamp) == (
        token.issue_timestamp_ms,
        token.expiry_timestamp_ms,
        token.max_timestamp_ms,
    )


@pytest.mark.parametrize(("wanted_ms", "lifetime_ms"), [(0, 7 * DAY_MS), (1000, 1000), (70 * DAY_MS, 7 * DAY_MS)])
def test_how_long_a_token_lasts(alice, wanted_ms, lifetime_ms):
    token = created(alice, max_lifetime_ms=wanted_ms)
    assert token.max_timestamp_ms - token.issue_timestamp_ms == lifetime_ms
    assert token.expiry_timestamp_ms - token.issue_timestamp_ms == min(lifetime_ms, DAY_MS)


def test_renewers_are_users(alice):
    answer = alice.ask(CreateDelegationTokenRequest([CreatableRenewers("Group", "x")], -1), 2)
    assert (answer.error_code, answer.principal_name) == (ErrorCode.INVALID_PRINCIPAL_TYPE, "alice")
    assert (answer.issue_timestamp_ms, answer.token_id, bytes(answer.hmac)) == (-1, "", b"")


@pytest.mark.parametrize("version", VERSIONS)
def test_renewing(alice, bob, version):
    token = created(alice)
    error, end_ms = renew(alice, token.hmac, 3_600_000, version)
    assert (error, end_ms < token.issue_timestamp_ms + DAY_MS) == ("NONE", True)
    assert renew(alice, token.hmac, 70 * DAY_MS, version) == ("NONE", token.max_timestamp_ms)
    error, end_ms = renew(alice, token.hmac, -1, version)
    assert (error, end_ms >= token.expiry_timestamp_ms) == ("NONE", True)
    assert described(alice, "alice")[token.token_id].expiry_timestamp == end_ms
    assert renew(bob, token.hmac, -1, version) == ("DELEGATION_TOKEN_OWNER_MISMATCH", -1)
    assert renew(bob, b"other", -1, version) == ("DELEGATION_TOKEN_NOT_FOUND", -1)


def test_a_renewer_renews(alice, bob):
    token = created(alice, "bob")
    assert renew(bob, token.hmac, -1)[0] == "NONE"
    assert expire(bob, token.hmac, -1)[0] == "NONE"


@pytest.mark.parametrize("version", VERSIONS)
def test_ending(alice, bob, version):
    token = created(alice)
    assert expire(bob, token.hmac, -1, version) == ("DELEGATION_TOKEN_OWNER_MISMATCH", -1)
    assert expire(alice, b"other", -1, version) == ("DELEGATION_TOKEN_NOT_FOUND", -1)
    assert expire(alice, token.hmac, 70 * DAY_MS, version) == ("NONE", token.max_timestamp_ms)
    error, end_ms = expire(alice, token.hmac, -1, version)
    assert (error, end_ms >= token.issue_timestamp_ms) == ("NONE", True)
    assert token.token_id not in described(alice, "alice")
    assert expire(alice, token.hmac, -1, version) == ("DELEGATION_TOKEN_NOT_FOUND", -1)


def test_an_expired_token_can_not_be_brought_back(alice):
    token = created(alice)
    _, end_ms = expire(alice, token.hmac, 0)
    while int(time.time() * 1000) <= end_ms:
        pass
    assert renew(alice, token.hmac, -1) == ("DELEGATION_TOKEN_EXPIRED", -1)
    assert expire(alice, token.hmac, -1) == ("DELEGATION_TOKEN_EXPIRED", -1)


def test_who_sees_which(alice, bob):
    own, lent = created(alice).token_id, created(alice, "bob").token_id
    assert {own, lent} <= described(alice, "alice").keys()
    assert lent in described(bob, "bob")
    assert own not in described(bob, "bob")
    assert described(bob) == {}
    assert {own, lent} <= described(alice, everybody=True).keys()
    # Without access rules anybody may see any token.
    assert {own, lent} <= described(bob, "alice").keys()


def token_login(wire, token_id, password, mechanism="SCRAM-SHA-256"):
    client = ScramClient(SCRAM_MECHANISMS[mechanism], token_id, password, "nonce", is_token=True)
    return wire.log_in_by(client, mechanism)


@pytest.mark.parametrize("mechanism", list(SCRAM_MECHANISMS))
def test_a_token_logs_its_owner_in(broker, alice, mechanism):
    token = created(alice)
    password = b64encode(token.hmac).decode()
    deadline = time.monotonic() + PATIENCE_S
    while True:
        with broker.connect() as wire:
            if token_login(wire, token.token_id, password, mechanism).error_code == ErrorCode.NONE:
                answer = wire.ask(CreateDelegationTokenRequest([], -1), 2)
                assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
                assert answer.principal_name == "alice"
                break
        assert time.monotonic() < deadline
    with broker.connect() as wire:
        assert token_login(wire, token.token_id, "wrong").error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    with broker.connect() as wire:
        client = ScramClient(SCRAM_MECHANISMS[mechanism], token.token_id, password, "nonce")
        assert wire.log_in_by(client, mechanism).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    expire(alice, token.hmac, -1)
    while True:
        with broker.connect() as wire:
            if token_login(wire, token.token_id, password).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED:
                break
        assert time.monotonic() < deadline


REQUESTS = [
    CreateDelegationTokenRequest([], -1),
    RenewDelegationTokenRequest(b"x", -1),
    ExpireDelegationTokenRequest(b"x", -1),
    DescribeDelegationTokenRequest(None),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: type(each).__name__)
def test_nobody_gets_tokens_without_a_login(broker, cluster: RunningBroker, request_):
    for servers in (broker.plaintext, cluster.bootstrap_servers):
        assert ask(servers, request_, 2).error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


def test_without_a_master_key_there_are_none():
    with sasl_broker() as broker, broker.connect() as wire:
        wire.log_in()
        for request in REQUESTS:
            assert wire.ask(request, 2).error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
        renewer = [CreatableRenewers("Group", "x")]
        assert wire.ask(CreateDelegationTokenRequest(renewer, -1), 2).error_code == ErrorCode.INVALID_PRINCIPAL_TYPE
