"""Changes of settings that come at the same time."""

import asyncio
from random import Random

from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.core.executor import InlineExecutor
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import bootstrap
from barnabas.wire.registry.configs import change_config, update_config
from barnabas.wire.registry.znodes.configs import decode_config


async def opened(path) -> EmbeddedRegistry:
    registry = await EmbeddedRegistry.open(path / "registry.sqlite", ManualClock(), InlineExecutor())
    await bootstrap(registry, Random(1))
    return registry


async def test_no_change_is_lost_where_many_come_at_once(tmp_path):
    registry = await opened(tmp_path)

    def adding(number: int):
        return lambda now: {**now, f"s{number}": str(number)}

    await asyncio.gather(*(update_config(registry, "topics/t", adding(number)) for number in range(20)))
    data, _ = await registry.get(paths.config("topics/t"))
    assert decode_config(data) == {f"s{number}": str(number) for number in range(20)}
    assert len(await registry.children(paths.CONFIG_CHANGES)) == 20
    await registry.close()


async def test_nothing_is_written_where_nothing_is_wanted(tmp_path):
    registry = await opened(tmp_path)
    await change_config(registry, "brokers/0", {"a": "1"})
    await update_config(registry, "brokers/0", lambda now: None)
    _, stat = await registry.get(paths.config("brokers/0"))
    assert (stat.version, len(await registry.children(paths.CONFIG_CHANGES))) == (0, 1)
    await registry.close()
