"""A broker's quotas follow what the registry says, however it came there."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from barnabas.broker.administration.live_config import LiveConfig
from barnabas.broker.cluster.watcher import ConfigWatcher
from barnabas.broker.quotas.manager import UNUSED_MS, Quotas
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.broker.server.broker_quotas import QuotaMaintenance, quotas_of
from barnabas.core.config import BrokerConfig
from barnabas.core.config.dynamic import Layer
from barnabas.core.pending import Spawner
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.quotas.entities import DEFAULT, Entity, Level
from barnabas.wire.quotas.limits import QuotaKind
from barnabas.wire.registry.configs import change_config
from barnabas.wire.registry.znodes.configs import encode_config
from tests.unit.memory_registry import memory_registry

Story = Callable[[Quotas, EmbeddedRegistry, ManualClock, LiveConfig, Callable[[], Awaitable[None]]], Awaitable[None]]


def play(story: Story, **settings: str) -> None:
    async def run() -> None:
        clock = ManualClock()
        registry = await memory_registry(clock, is_kafkas=True)
        config = BrokerConfig.from_properties(
            {"log.dirs": "/x", **{name.replace("_", "."): value for name, value in settings.items()}}, None, "test"
        )
        quotas = quotas_of(config)
        errors: list[object] = []
        configs = ConfigWatcher(registry, clock, clock, Spawner(errors.append))
        maintenance = QuotaMaintenance(quotas, clock, clock)
        live = LiveConfig(config)
        maintenance.start(configs, live, config)
        await configs.start()

        async def rest() -> None:
            for _ in range(200):
                await asyncio.sleep(0)

        await story(quotas, registry, clock, live, rest)
        maintenance.stop()
        assert errors == []

    asyncio.run(run())


pytestmark = pytest.mark.played(by=play)


async def test_a_change_and_a_bare_write_are_both_in_force_at_once(quotas, registry, clock, live, rest, /) -> None:
    await change_config(registry, "users/a%20b/clients/<default>", {"producer_byte_rate": "5"})
    await rest()
    assert quotas.resolve(QuotaKind.PRODUCE, "a b", "c") == (
        ("a b", "c"),
        5,
        Level.USER_DEFAULT_CLIENT,
        Entity("a b", DEFAULT),
    )
    await registry.create("/config/clients/c", encode_config({"producer_byte_rate": "7", "request_percentage": "1.5"}))
    await rest()
    assert quotas.resolve(QuotaKind.PRODUCE, "x", "c").limit == 7
    assert quotas.resolve(QuotaKind.REQUEST, "x", "c").limit == 1.5
    await registry.delete("/config/clients/c")
    await rest()
    assert quotas.resolve(QuotaKind.PRODUCE, "x", "c").limit is None


def test_what_cannot_be_is_logged_once_and_changes_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    async def story(quotas, registry, clock, live, rest) -> None:
        await change_config(registry, "users/u", {"producer_byte_rate": "5", "SCRAM-SHA-256": "secret"})
        for wrong in ("-1", "1e3", "x"):
            settings = {
                "producer_byte_rate": wrong,
                "consumer_byte_rate": "9",
                "unknown": "z",
                "SCRAM-SHA-256": "secret",
            }
            await change_config(registry, "users/u", settings)
            await rest()
            assert quotas.resolve(QuotaKind.PRODUCE, "u", "c").limit == 5
            assert quotas.resolve(QuotaKind.FETCH, "u", "c").limit == 9
        await registry.create("/config/users/u/strange")
        await registry.create("/config/users/u/strange/c")
        await rest()

    play(story)
    assert len(caplog.records) == 3
    assert "secret" not in caplog.text


@pytest.mark.played(
    by=play,
    quota_producer_default="1000",
    quota_window_num="5",
    quota_window_size_seconds="2",
    controller_quota_window_num="3",
    controller_quota_window_size_seconds="4",
)
async def test_the_old_defaults_and_the_windows_are_those_of_the_file(quotas, registry, clock, live, rest, /) -> None:
    assert quotas.windows == (5, 2_000)
    assert quotas.resolve(QuotaKind.PRODUCE, "u", "c")[1:3] == (1_000, Level.STATIC)
    assert quotas.resolve(QuotaKind.FETCH, "u", "c").limit is None
    bucket = quotas.bucket(QuotaKind.CONTROLLER_MUTATION, "u", "c", 0)
    await change_config(registry, "users/<default>", {"controller_mutation_rate": "2"})
    await rest()
    bucket = quotas.bucket(QuotaKind.CONTROLLER_MUTATION, "u", "c", 0)
    assert bucket.tokens(0) == 2 * 3 * 4


async def test_a_percent_is_of_one_of_as_many_threads_as_the_settings_say(quotas, registry, clock, live, rest, /):
    # The whole loop is all eleven threads that Kafka would have.
    assert quotas.percent_of(10**9) == pytest.approx(1_100)
    live.set_overrides(Layer.ALL_BROKERS, {"num.io.threads": "16"})
    assert quotas.percent_of(10**9) == pytest.approx(1_900)


async def test_who_was_not_seen_for_an_hour_is_forgotten(quotas, registry, clock, live, rest, /) -> None:
    quotas.leave(quotas.enter("u", "c", 0), 0)
    clock.advance(UNUSED_MS + 60_000)
    assert quotas.clients == {}
