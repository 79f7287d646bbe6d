import asyncio
import base64
import re
import uuid
from pathlib import Path
from random import Random

import pytest

from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.broker.registry.journal import Journal
from barnabas.broker.registry.tree import Stage
from barnabas.core.config import Endpoint
from barnabas.core.dice import system_dice
from barnabas.core.errors import StartupError
from barnabas.core.executor import InlineExecutor
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import (
    bootstrap,
    cluster_id,
    create_with_parents,
    ensure_cluster_id,
    ensure_login_secret,
    generate_broker_id,
    new_cluster_id,
    register_broker,
)
from barnabas.wire.registry.store import ANY_VERSION, CreateOp, NodeExistsError, Stat
from barnabas.wire.registry.znodes.brokers import BrokerRegistration, decode_registration
from tests.unit.memory_registry import memory_registry

BROKER = BrokerRegistration(0, (Endpoint("PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT"),), timestamp_ms=5)


async def test_brokers_share_a_login_secret() -> None:
    registry = await memory_registry()
    first, second = await asyncio.gather(*(ensure_login_secret(registry, Random(seed)) for seed in (1, 2)))
    assert first == second == await ensure_login_secret(registry, Random(3))
    assert len(first) == 64
    await registry.set(paths.LOGIN_SECRET, b"")
    assert len(await ensure_login_secret(registry, Random(4))) == 64


def test_a_cluster_id_is_a_random_uuid() -> None:
    made = {new_cluster_id(system_dice()) for _ in range(20)}
    assert len(made) == 20
    for text in made:
        value = uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))
        assert (value.variant, value.version) == (uuid.RFC_4122, 4)


async def test_a_start_creates_what_kafka_creates_and_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "registry.sqlite"
    registry = await EmbeddedRegistry.open(path, ManualClock(), InlineExecutor())
    assert await cluster_id(registry) is None
    made = await bootstrap(registry, Random(1))
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", made)
    for wanted in paths.PERSISTENT:
        assert (await registry.get(wanted))[0] is None
    await registry.close()
    registry = await EmbeddedRegistry.open(path, ManualClock(), InlineExecutor())
    assert await bootstrap(registry, Random(1)) == made == await ensure_cluster_id(registry, Random(2))
    await registry.close()
    _, tree = Journal.open(path, keeps_sessions=True)
    assert tree.zxid == 2


async def test_a_registration_has_version_1_and_its_transaction_is_the_epoch() -> None:
    registry = await memory_registry(is_kafkas=True)
    epoch = await register_broker(registry, BROKER)
    data, stat = await registry.get("/brokers/ids/0")
    assert decode_registration(0, data) == BROKER
    assert (stat.version, stat.czxid, stat.ephemeral_owner) == (1, epoch, registry.session_id)
    assert await register_broker(registry, BROKER) == epoch


async def test_a_session_that_ends_before_its_registration_is_written_again_is_followed_by_the_next() -> None:
    class Expiring(EmbeddedRegistry):
        async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat:
            await self.delete(path)
            self._session_id += 1
            return await super().set(path, data, version)

    registry = await Expiring.open(None, ManualClock(), InlineExecutor())
    await bootstrap(registry, Random(1))
    first, first_session = await register_broker(registry, BROKER), registry.session_id
    epoch = await register_broker(registry, BROKER)
    _, stat = await registry.get("/brokers/ids/0")
    assert epoch > first
    assert (stat.czxid, stat.ephemeral_owner) == (epoch, registry.session_id)
    assert registry.session_id != first_session


async def test_a_broker_id_that_is_taken_is_refused() -> None:
    registry = await memory_registry(is_kafkas=True)
    other = Stage(registry._tree, 99)
    other.apply([CreateOp("/brokers/ids/0", b"{}", is_ephemeral=True)], 0)
    registry._tree.commit(other)
    with pytest.raises(StartupError, match=r"broker id 0 is taken"):
        await register_broker(registry, BROKER)


async def test_parents_are_created_on_the_way() -> None:
    registry = await memory_registry()
    await create_with_parents(registry, "/a/b/c", b"x")
    assert (await registry.get("/a/b/c"))[0] == b"x"
    with pytest.raises(NodeExistsError):
        await create_with_parents(registry, "/a/b/c")


async def test_generated_broker_ids_begin_above_the_reserved_ones() -> None:
    registry = await memory_registry(is_kafkas=True)
    assert [await generate_broker_id(registry, 1000) for _ in range(2)] == [1001, 1002]
    assert (await registry.get("/brokers/seqid"))[0] == b""
