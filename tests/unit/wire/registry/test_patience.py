"""The registry that waits: what a lost connection interrupts is asked again, and is carried out once."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest

from barnabas.broker.administration.producer_ids import ProducerIds
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.core.executor import InlineExecutor
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.registry.bootstrap import bootstrap, register_broker
from barnabas.wire.registry.patience import RETRY_BACKOFF_MS, PatientRegistry
from barnabas.wire.registry.store import (
    BadVersionError,
    CheckOp,
    ConnectionLostError,
    CreateOp,
    DeleteOp,
    NodeExistsError,
    NoNodeError,
    RegistryClosedError,
    SetOp,
    Stat,
)
from barnabas.wire.registry.znodes.brokers import BrokerRegistration

OPERATIONS = ("create", "get", "get_many", "set", "delete", "exists", "children", "multi")


class LossyRegistry(EmbeddedRegistry):
    """Loses the connection at every operation's first time, before it is carried out or after."""

    is_carried_out = True
    is_lossy = False
    loss_count = 0

    def __getattribute__(self, name: str) -> Any:
        real = super().__getattribute__(name)
        if name not in OPERATIONS or not self.is_lossy:
            return real

        async def lossy(*args: Any) -> Any:
            self.is_lossy = False
            if self.is_carried_out:
                await real(*args)
            self.loss_count += 1
            raise ConnectionLostError("/")

        return lossy


Story = Callable[[LossyRegistry, PatientRegistry], Awaitable[None]]


def play(story: Story, is_carried_out: bool = True) -> None:
    async def run() -> None:
        clock = ManualClock()
        lossy = await LossyRegistry.open(None, clock, InlineExecutor())
        assert isinstance(lossy, LossyRegistry)
        lossy.is_carried_out = is_carried_out
        work = asyncio.ensure_future(story(lossy, PatientRegistry(lossy, clock)))
        while not work.done():
            await asyncio.sleep(0)
            clock.advance(RETRY_BACKOFF_MS)
        await work

    asyncio.run(run())


pytestmark = pytest.mark.played(by=play)


@pytest.fixture(params=[True, False], ids=["carried out", "not carried out"])
def is_carried_out(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_each_operation_is_answered_as_if_nothing_had_happened(is_carried_out: bool) -> None:
    async def story(lossy: LossyRegistry, patient: PatientRegistry) -> None:
        async def ask(operation: Awaitable[Any]) -> Any:
            lossy.is_lossy = True
            return await operation

        assert await ask(patient.create("/a", b"x")) == "/a"
        assert await ask(patient.create("/a/mine", b"x", ephemeral=True)) == "/a/mine"
        assert (await ask(patient.get("/a")))[0] == b"x"
        assert [found and found[0] for found in await ask(patient.get_many(["/a", "/none"]))] == [b"x", None]
        assert (await ask(patient.set("/a", b"y", 0))).version == 1
        assert (await ask(patient.exists("/a"))).version == 1
        assert await ask(patient.children("/a")) == ["mine"]
        created, changed, checked, deleted = await ask(
            patient.multi([CreateOp("/b"), SetOp("/a", b"z", 1), CheckOp("/", 0), DeleteOp("/a/mine")])
        )
        assert (created, checked, deleted) == ("/b", None, None)
        assert isinstance(changed, Stat)
        assert changed.version == 2
        assert await ask(patient.delete("/b")) is None
        assert lossy.loss_count == 9

    play(story, is_carried_out)


async def test_what_is_refused_without_a_loss_is_refused(lossy: LossyRegistry, patient: PatientRegistry, /) -> None:
    await patient.create("/a", b"x")
    with pytest.raises(NodeExistsError):
        await patient.create("/a", b"x")
    with pytest.raises(NoNodeError):
        await patient.delete("/b")
    with pytest.raises(BadVersionError):
        await patient.set("/a", b"x", 5)


@pytest.mark.played(by=play, is_carried_out=False)
async def test_what_somebody_else_did_meanwhile_is_not_taken_for_ones_own(
    lossy: LossyRegistry, patient: PatientRegistry, /
) -> None:
    async def refused(patient: PatientRegistry, lossy: LossyRegistry, ask: Awaitable[object], error: type) -> None:
        lossy.is_lossy = True
        with pytest.raises(error):
            await ask

    await lossy.create("/a", b"theirs")
    await lossy.set("/a", b"theirs too")
    await refused(patient, lossy, patient.create("/a", b"mine"), NodeExistsError)
    # Not one's own session's, whatever it says.
    await refused(patient, lossy, patient.create("/a", b"theirs too", ephemeral=True), NodeExistsError)
    await refused(patient, lossy, patient.set("/a", b"mine", 0), BadVersionError)
    await refused(patient, lossy, patient.set("/a", b"theirs too", 5), BadVersionError)
    await refused(patient, lossy, patient.set("/none", b"x", 0), NoNodeError)
    await refused(patient, lossy, patient.multi([CheckOp("/a", 9)]), BadVersionError)
    await refused(patient, lossy, patient.multi([DeleteOp("/none"), CreateOp("/b")]), NoNodeError)


async def test_a_closed_registry_ends_the_wait(lossy: LossyRegistry, patient: PatientRegistry, /) -> None:
    lossy.is_lossy = True
    asked = asyncio.ensure_future(patient.get("/"))
    await asyncio.sleep(0)
    await patient.close()
    with pytest.raises(RegistryClosedError):
        await asked


def test_a_block_of_producer_ids_is_claimed_once(is_carried_out: bool) -> None:
    async def story(lossy: LossyRegistry, patient: PatientRegistry) -> None:
        await bootstrap(patient, Random(1))
        real = patient.set

        async def set_lossily(path: str, data: bytes | None, version: int = -1) -> Stat:
            lossy.is_lossy = True
            return await real(path, data, version)

        patient.set = set_lossily  # type: ignore[method-assign]
        assert await ProducerIds(patient, 0).fetch() == 0
        assert await ProducerIds(patient, 0).fetch() == 1000

    play(story, is_carried_out)


def test_a_broker_whose_registration_was_answered_by_nobody_is_registered(is_carried_out: bool) -> None:
    async def story(lossy: LossyRegistry, patient: PatientRegistry) -> None:
        await bootstrap(patient, Random(1))
        lossy.is_lossy = True
        epoch = await register_broker(patient, BrokerRegistration(0, ()))
        _, stat = await patient.get("/brokers/ids/0")
        assert (stat.czxid, stat.version, stat.ephemeral_owner) == (epoch, 1, patient.session_id)

    play(story, is_carried_out)
