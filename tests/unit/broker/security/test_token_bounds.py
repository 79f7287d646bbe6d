"""Whoever logs in may make delegation tokens, but not as many as the broker's memory holds."""

import pytest

from barnabas.broker.security.tokens import manager as module
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.wire.security.principals import Principal
from tests.unit.broker.security.test_tokens import ALICE, BOB, play

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
