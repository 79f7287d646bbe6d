"""Whoever logs in may make delegation tokens, but not as many as the broker's memory holds."""

import pytest

from barnabas.broker.registry.change_notifications import NOTIFICATION_LIFETIME_MS
from barnabas.broker.security.tokens import manager as module
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.wire.security.principals import Principal
from tests.unit.broker.security.test_tokens import ALICE, BOB, identity, play, told

pytestmark = pytest.mark.played(by=play)


async def refused(manager, *args):
    with pytest.raises(KafkaError) as raised:
        await manager.create(*args)
    return raised.value.code


async def test_one_owner_has_so_many(cluster, /, monkeypatch):
    monkeypatch.setattr(module, "MOST_OF_ONE", 3)
    broker = await cluster.broker(1)
    tokens = [await broker.create(ALICE, [], -1) for _ in range(3)]
    assert await refused(broker, ALICE, [], -1) == ErrorCode.POLICY_VIOLATION
    await broker.create(BOB, [], -1)
    await broker.expire(ALICE, broker.secret(tokens[0]), -1)
    await broker.create(ALICE, [], -1)


async def test_renewers_are_named_in_so_many_characters(cluster, /):
    broker = await cluster.broker(1)
    renewers = [Principal("User", f"{number}" + 99 * "x") for number in range(100)]
    assert await refused(broker, ALICE, renewers, -1) == ErrorCode.POLICY_VIOLATION
    await broker.create(ALICE, renewers[:90], -1)


async def test_a_user_makes_so_many_changes_in_the_time_that_notifications_stay(cluster, /, monkeypatch):
    monkeypatch.setattr(module, "MOST_CHANGES", 3)
    broker = await cluster.broker(1)
    token = await broker.create(ALICE, [BOB], -1)
    secret = broker.secret(token)
    await broker.renew(ALICE, secret, -1)
    await broker.expire(ALICE, secret, 1_000_000)

    async def codes_of(principal):
        codes = []
        for change in (broker.renew(principal, secret, -1), broker.expire(principal, secret, 1_000_000)):
            try:
                await change
                codes.append(ErrorCode.NONE)
            except KafkaError as error:
                codes.append(error.code)
        return codes

    assert await codes_of(ALICE) == [ErrorCode.POLICY_VIOLATION] * 2
    assert await refused(broker, ALICE, [], -1) == ErrorCode.POLICY_VIOLATION
    assert await codes_of(BOB) == [ErrorCode.NONE] * 2
    cluster.clock.advance(NOTIFICATION_LIFETIME_MS + 1)
    assert await codes_of(ALICE) == [ErrorCode.NONE] * 2
    await broker.create(ALICE, [], -1)
    # However many changes there were, an owner can always remove a token.
    await broker.expire(ALICE, secret, -1)
    assert identity(broker, token) is None


async def test_tokens_with_very_many_renewers_are_described_in_many_turns(cluster, /):
    broker = await cluster.broker(1)
    renewers = [Principal("User", f"{number:03}") for number in range(600)]
    tokens = [await broker.create(ALICE, renewers, -1) for _ in range(5)]
    await broker.create(BOB, [], -1)
    token_ids, turn_count = told(cluster, broker, ALICE)
    assert set(token_ids) == {token.token_id for token in tokens}
    assert turn_count >= len(tokens)


class Counted(Principal):
    """Counts how often it is compared."""

    comparisons = 0

    __hash__ = Principal.__hash__

    def __eq__(self, other):
        Counted.comparisons += 1
        return super().__eq__(other)


async def test_very_many_owners_are_not_compared_with_every_renewer(cluster, /):
    broker = await cluster.broker(1)
    token = await broker.create(ALICE, [Principal("User", f"{number:03}") for number in range(600)], -1)
    owners = {Counted("User", f"owner {number}") for number in range(1_000)}
    assert not token.is_of_any(owners)
    assert token.is_of_any(owners | {Principal("User", "599")})
    assert Counted.comparisons < 1_000
