"""Delegation tokens over a registry in memory: what other brokers change, what is no token, and how tokens end."""

import asyncio
import logging
from itertools import count
from random import Random

import pytest

from barnabas.broker.net.scheduler import Scheduler
from barnabas.broker.registry.change_notifications import NOTIFICATION_LIFETIME_MS
from barnabas.broker.requests.context import ConnectionInfo, RequestContext
from barnabas.broker.requests.handlers.describe_delegation_token import describe_delegation_token
from barnabas.broker.requests.slices import SLICE_NS, Slices
from barnabas.broker.security.decoy_credentials import DecoyCredentials
from barnabas.broker.security.tokens.manager import TokenManager
from barnabas.broker.security.tokens.token import Token, TokenLimits, decode_token, encode_token, new_token, renewed
from barnabas.core.executor import InlineExecutor
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.create_delegation_token import CreateDelegationTokenResponse
from barnabas.wire.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import ConnectionLostError, EventType, WatchEvent
from barnabas.wire.registry.znodes.payload import MalformedError
from barnabas.wire.security.authorizer import Operation
from barnabas.wire.security.principals import Principal
from barnabas.wire.security.sasl.mechanism import Identity
from barnabas.wire.security.sasl.scram import SHA_256
from tests.unit.broker.handling import recoded, services_of
from tests.unit.broker.requests.denying import Denies
from tests.unit.memory_registry import played_with

DECOYS = DecoyCredentials(b"secret")
ALICE, BOB = Principal("User", "alice"), Principal("User", "bob:x y")
DAY_MS = 86_400_000
LIMITS = TokenLimits(7 * DAY_MS, DAY_MS)
TOKEN = Token("id", ALICE, (BOB,), 1, 3, 2)
STORED = (
    b'{"version":1,"owner":"User%3Aalice","renewers":["User%3Abob%3Ax%20y"],"issueTimestamp":1,"maxTimestamp":3,'
    b'"expiryTimestamp":2,"tokenId":"id"}'
)


def test_a_token_stands_as_kafka_writes_it():
    assert encode_token(TOKEN) == STORED
    assert decode_token(STORED) == TOKEN


@pytest.mark.parametrize(
    "renewer", [Principal("User", ""), Principal("User", ":"), Principal("", "x"), Principal("", "")]
)
def test_a_renewer_may_have_any_name_as_in_kafka(renewer):
    token = TOKEN._replace(renewers=(BOB, renewer))
    assert decode_token(encode_token(token)) == token


def test_a_lifetime_may_have_any_length():
    now_ms, longest_ms = 1_600_000_000_000, 2**63 - 1
    limits = TokenLimits(longest_ms, longest_ms)
    token = new_token("id", ALICE, [], -1, now_ms, limits)
    assert (token.max_ms, token.expiry_ms) == (longest_ms, longest_ms)
    assert renewed(token, ALICE, longest_ms, now_ms, limits) == token
    assert decode_token(encode_token(token)) == token
    response = CreateDelegationTokenResponse(0, "User", "alice", token.issue_ms, token.expiry_ms, token.max_ms)
    assert recoded(response, 2) == response


BAD = [
    None,
    b"",
    b"{",
    b"[]",
    b"{}",
    STORED.replace(b'"id"', b'""'),
    STORED.replace(b'"id"', b"5"),
    STORED.replace(b'["User%3Abob%3Ax%20y"]', b"5"),
    STORED.replace(b'["User%3Abob%3Ax%20y"]', b"[5]"),
    STORED.replace(b"User%3Aalice", b"alice"),
    STORED.replace(b":1,", b":-1,"),
    STORED.replace(b":1,", b":1.5,"),
    STORED.replace(b":1,", b":true,"),
    STORED.replace(b":1,", b":" + b"9" * 30 + b","),
    STORED.replace(b'"maxTimestamp":3,', b""),
]


@pytest.mark.parametrize("data", BAD)
def test_a_node_that_is_none(data):
    with pytest.raises(MalformedError):
        decode_token(data)


class Cluster:
    """A registry, and brokers with their tokens."""

    def __init__(self, registry, clock, spawner):
        self.registry = registry
        self.clock = clock
        self.spawner = spawner

    async def broker(self, seed=1):
        manager = TokenManager(
            self.registry,
            "key",
            LIMITS,
            self.clock,
            self.clock,
            self.spawner,
            InlineExecutor(),
            Random(seed),
            DECOYS.token_salt,
        )
        await manager.start()
        return manager

    async def rest(self):
        for _ in range(500):
            await asyncio.sleep(0)

    async def notify(self, data):
        path = paths.child(paths.DELEGATION_TOKEN_CHANGES, paths.DELEGATION_TOKEN_CHANGE_PREFIX)
        await self.registry.create(path, data, sequence=True)
        await self.rest()


play = played_with(Cluster)


pytestmark = pytest.mark.played(by=play)


def identity(manager, token):
    found = manager.find("SCRAM-SHA-256", token.token_id)
    return None if found is None or found.has_expired else found.identity


async def test_every_broker_learns_of_every_change(cluster, /):
    one, two = await cluster.broker(1), await cluster.broker(2)
    token = await one.create(ALICE, [BOB], -1)
    await cluster.rest()
    assert identity(two, token) == Identity("alice", token.token_id, token.expiry_ms)
    end_ms = await two.renew(BOB, two.secret(token), 5)
    await cluster.rest()
    assert identity(one, token).expires_ms == end_ms
    await one.expire(ALICE, one.secret(token), -1)
    await cluster.rest()
    assert identity(two, token) is None
    assert two.tokens() == []


async def test_tokens_are_there_after_a_start(cluster, /):
    token = await (await cluster.broker(1)).create(ALICE, [], -1)
    again = await cluster.broker(2)
    assert again.tokens() == [token]
    assert identity(again, token) is not None


async def test_a_token_has_the_salt_that_its_id_has_without_it(cluster, /):
    manager = await cluster.broker()
    token = await manager.create(ALICE, (), -1)
    known = manager.find("SCRAM-SHA-256", token.token_id).credential
    nobody = DECOYS.token(SHA_256, token.token_id).credential
    assert (known.salt, known.iterations) == (nobody.salt, nobody.iterations)
    other = await cluster.broker(seed=2)
    assert other.find("SCRAM-SHA-256", token.token_id).credential == known


async def test_an_expired_token_logs_nobody_in_and_is_removed(cluster, /):
    manager = await cluster.broker()
    short, long = await manager.create(ALICE, [], 1_000), await manager.create(ALICE, [], -1)
    cluster.clock.advance(1_001)
    assert identity(manager, short) is None
    assert manager.tokens() == [short, long]
    await manager.remove_expired()
    await cluster.rest()
    assert manager.tokens() == [long]
    assert await cluster.registry.children(paths.DELEGATION_TOKENS) == [long.token_id]


@pytest.mark.parametrize("data", BAD)
def test_a_node_that_is_none_is_passed_over_and_told_once(data, caplog):
    caplog.set_level(logging.WARNING)

    async def story(cluster):
        manager = await cluster.broker()
        token = await manager.create(ALICE, [], -1)
        await cluster.registry.create(paths.delegation_token("id"), data)
        await cluster.notify(b"id")
        assert manager.tokens() == [token]

    play(story)
    assert caplog.text.count("delegation token id") == 1


@pytest.mark.parametrize("data", [None, b"", b"..", b"a/b", b"\xff", b"nobody"])
async def test_a_notification_that_names_no_token_changes_nothing(cluster, /, data):
    manager = await cluster.broker()
    token = await manager.create(ALICE, [], -1)
    await cluster.notify(data)
    assert manager.tokens() == [token]


async def test_old_notifications_are_deleted(cluster, /):
    manager = await cluster.broker()
    await manager.create(ALICE, [], -1)
    cluster.clock.advance(NOTIFICATION_LIFETIME_MS + 1)
    token = await manager.create(ALICE, [], -1)
    await cluster.rest()
    (left,) = await cluster.registry.children(paths.DELEGATION_TOKEN_CHANGES)
    data, _ = await cluster.registry.get(paths.child(paths.DELEGATION_TOKEN_CHANGES, left))
    assert data == token.token_id.encode()


async def test_after_a_broken_session_everything_is_read_again(cluster, /):
    manager = await cluster.broker()
    gone, kept = await manager.create(ALICE, [], -1), await manager.create(ALICE, [], -1)
    await cluster.rest()
    await cluster.registry.delete(paths.delegation_token(gone.token_id))
    manager._changes._changed(WatchEvent(EventType.NONE, ""))
    await cluster.rest()
    assert manager.tokens() == [kept]


async def test_what_can_not_be_read_is_read_later(cluster, /, caplog):
    manager, other = await cluster.broker(1), await cluster.broker(2)
    get, failures = cluster.registry.get, [1]

    async def failing(path, watch=None):
        if failures and path.startswith(paths.DELEGATION_TOKENS):
            failures.pop()
            raise ConnectionLostError(path)
        return await get(path, watch)

    setattr(cluster.registry, "get", failing)  # noqa: B010  # mypy takes a method for read-only
    token = await other.create(ALICE, [], -1)
    await cluster.rest()
    cluster.clock.advance(1_000)
    await cluster.rest()
    assert identity(manager, token) is not None
    assert identity(other, token) is not None


def told(cluster, manager, principal, owners=None, *, rights=0):
    """The ids of the tokens that are described to a user, and the number of the loop's turns that it takes."""

    class Authorizer(Denies):
        def rights(self, *_):
            return rights

    authorizer = Authorizer()
    due = []
    now_ns = count(step=SLICE_NS).__next__
    services = services_of(
        cluster.clock,
        due.append,
        tokens=manager,
        authorizer=authorizer,
        slices=Slices(Scheduler(due.append, now_ns), now_ns, InlineExecutor()),
    )
    ctx = RequestContext(services, ConnectionInfo("10.1.2.3", 5, "SASL", principal, "SASL_SSL"), "client", 2, 1)
    named = None if owners is None else [DescribeDelegationTokenOwner(each.kind, each.name) for each in owners]
    answer = describe_delegation_token(ctx, DescribeDelegationTokenRequest(named))
    turn_count = 0
    while due:
        due.pop(0)()
        turn_count += 1
    response = answer.value if isinstance(answer, Pending) else answer
    assert authorizer.denied == []
    return [each.token_id for each in response.tokens], turn_count


async def test_who_is_nothing_to_a_token_sees_it_by_a_right_alone(cluster, /):
    manager = await cluster.broker()
    token = await manager.create(ALICE, [BOB], -1)
    carol = Principal("User", "carol")
    assert [told(cluster, manager, each)[0] for each in (ALICE, BOB, carol)] == [[token.token_id], [token.token_id], []]
    describe = 1 << Operation.DESCRIBE
    assert told(cluster, manager, carol, rights=describe)[0] == [token.token_id]
    assert told(cluster, manager, carol, [carol], rights=describe)[0] == []
    assert told(cluster, manager, carol, [carol, BOB], rights=describe)[0] == [token.token_id]
