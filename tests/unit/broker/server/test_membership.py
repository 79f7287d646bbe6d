"""A broker's registration: at the start, and in every session that follows."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine

import pytest

from barnabas.broker.cluster.image import ClusterView
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.broker.server.cluster_control import LOOK_AGAIN_MS, Membership
from barnabas.core.config import Endpoint
from barnabas.core.errors import BarnabasError, StartupError, StorageError
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import NoAuthError, Stat, Watch
from barnabas.wire.registry.znodes.brokers import BrokerRegistration, decode_registration
from barnabas.wire.registry.znodes.cluster import encode_controller
from tests.unit.memory_registry import memory_registry

TIMEOUT_MS = 6_000


class Place:
    """A registry with a broker that is to join."""

    def __init__(self, registry: EmbeddedRegistry, clock: ManualClock) -> None:
        self.registry = registry
        self.clock = clock
        self.view = ClusterView("cluster")
        self.port = 9092
        self.asked_ms: list[int] = []
        self.membership = Membership(
            registry,
            clock,
            clock,
            self.view,
            self.registration,
            TIMEOUT_MS,
            lambda: self.asked_ms.append(clock.monotonic_ms()),
        )

    def registration(self) -> BrokerRegistration:
        return BrokerRegistration(0, (Endpoint("PLAINTEXT", "here", self.port, "PLAINTEXT"),))

    def expire(self) -> None:
        """Begin another session; what the one before left stays for the test to remove."""
        self.registry._session_id += 1

    async def leave(self, path: str, data: bytes | None = None) -> None:
        """Leave a node of another session."""
        await self.registry.create(path, data, ephemeral=True)
        self.expire()

    async def joined(self) -> None:
        """Join, while time goes by."""
        await self.done(self.membership.join())

    async def done(self, work: Coroutine[None, None, None]) -> None:
        """Wait for work, while time goes by."""
        task = asyncio.ensure_future(work)
        for _ in range(200):
            await asyncio.sleep(0)
            self.clock.advance(LOOK_AGAIN_MS // 10)
            if task.done():
                break
        await task

    async def registered(self) -> tuple[int, int, int]:
        """Port, epoch and owner."""
        data, stat = await self.registry.get(paths.broker(0))
        return decode_registration(0, data).endpoints[0].port, stat.czxid, stat.ephemeral_owner


def play(story: Callable[[Place], Awaitable[None]]) -> None:
    async def run() -> None:
        clock = ManualClock()
        registry = await memory_registry(clock, is_kafkas=True)
        await story(Place(registry, clock))

    asyncio.run(run())


pytestmark = pytest.mark.played(by=play)


async def test_a_start_registers_the_broker(place: Place, /) -> None:
    await place.joined()
    assert await place.registered() == (9092, place.view.broker_epoch, place.registry.session_id)


async def test_what_a_killed_broker_left_is_waited_for(place: Place, /) -> None:
    await place.leave(paths.broker(0))
    joining = asyncio.ensure_future(place.membership.join())
    for _ in range(10):
        await asyncio.sleep(0)
        place.clock.advance(LOOK_AGAIN_MS)
    assert not joining.done()
    await place.registry.delete(paths.broker(0))
    for _ in range(20):
        await asyncio.sleep(0)
        place.clock.advance(LOOK_AGAIN_MS)
    await joining
    assert (await place.registered())[2] == place.registry.session_id
    # What came in between was for the one that is gone.
    assert len(place.asked_ms) > 3
    assert len(set(place.asked_ms)) == len(place.asked_ms)


async def test_another_broker_of_the_same_id_ends_the_start(place: Place, /) -> None:
    await place.leave(paths.broker(0))
    began_ms = place.clock.monotonic_ms()
    joining = asyncio.ensure_future(place.membership.join())
    while not joining.done():
        await asyncio.sleep(0)
        place.clock.advance(LOOK_AGAIN_MS)
    with pytest.raises(StartupError, match="broker id 0 is taken by a broker that is alive"):
        await joining
    assert place.clock.monotonic_ms() - began_ms > TIMEOUT_MS


async def test_another_session_is_registered_in_anew_with_what_is_so_then(place: Place, /) -> None:
    await place.joined()
    first = place.view.broker_epoch
    await place.membership.ensure()
    assert (await place.registered())[1] == first
    place.expire()
    await place.registry.delete(paths.broker(0))
    place.port = 9093
    await place.membership.update()
    assert await place.registry.exists(paths.broker(0)) is None
    await place.membership.ensure()
    assert place.view.broker_epoch > first
    assert await place.registered() == (9093, place.view.broker_epoch, place.registry.session_id)


def test_a_session_that_begins_while_one_is_asked_for_is_registered_in_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(place: Place) -> None:
        await place.joined()
        real, is_late = place.registry.exists, False

        async def exists_late(path: str, watch: Watch | None = None) -> Stat | None:
            nonlocal is_late
            if not is_late:
                is_late = True
                await place.registry.delete(paths.broker(0))
                place.expire()
            return await real(path, watch)

        monkeypatch.setattr(place.registry, "exists", exists_late)
        await place.membership.ensure()
        assert place.membership.is_registered
        assert "was deleted" not in caplog.text
        registered = await place.registry.get(paths.broker(0))
        await place.membership.ensure()
        # Nothing was written again.
        assert await place.registry.get(paths.broker(0)) == registered

    play(story)


async def test_what_ones_own_expired_session_left_is_made_anew(place: Place, /) -> None:
    await place.joined()
    first = place.view.broker_epoch
    place.expire()
    await place.membership.ensure()
    assert place.view.broker_epoch > first
    assert await place.registered() == (9092, place.view.broker_epoch, place.registry.session_id)


async def test_what_is_no_registration_is_passed_over(place: Place, /) -> None:
    # One that no session owns is no broker's, whatever it is called: also where this one's is to be.
    for name in ("7", "0", "0/child", "00000000004", "x"):
        await place.registry.create(f"{paths.BROKER_IDS}/{name}")
    await place.leave(f"{paths.BROKER_IDS}/y")
    # Others are what a cluster is made of.
    await place.leave(paths.broker(9))
    await place.registry.create(paths.CONTROLLER, encode_controller(7, 0))
    await place.joined()
    assert (await place.registered())[2] == place.registry.session_id


async def test_a_registration_that_somebody_deleted_is_made_anew(place: Place, /) -> None:
    await place.joined()
    epoch = place.view.broker_epoch
    await place.registry.delete(paths.broker(0))
    await place.membership.ensure()
    assert (await place.registered())[1] == place.view.broker_epoch > epoch


@pytest.mark.parametrize("error", [StorageError("disk is full"), NoAuthError(paths.LOG_DIR_EVENTS)])
def test_the_controller_is_notified_of_a_failed_directory_as_soon_as_the_registry_can_be_written(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: BarnabasError
) -> None:
    async def story(place: Place) -> None:
        failures, create = [error, error], place.registry.create

        async def create_later(path: str, data: bytes, *, sequence: bool) -> str:
            if failures:
                raise failures.pop()
            return await create(path, data, sequence=sequence)

        monkeypatch.setattr(place.registry, "create", create_later)
        await place.done(place.membership.report_failed_directory())
        (name,) = await place.registry.children(paths.LOG_DIR_EVENTS)
        data, _ = await place.registry.get(paths.child(paths.LOG_DIR_EVENTS, name))
        assert (name, data) == ("log_dir_event_0000000000", b'{"version":1,"broker":0,"event":1}')
        assert caplog.text.count(str(error)) == 1

    play(story)
