import asyncio
from random import Random

from barnabas.core.executor import InlineExecutor
from barnabas.registry.bootstrap import bootstrap
from barnabas.registry.configs import change_config
from barnabas.registry.embedded import EmbeddedRegistry
from barnabas.testing.manual_clock import ManualClock


def test_the_node_and_the_notification_are_written_as_kafka_writes_them() -> None:
    async def story() -> None:
        registry = await EmbeddedRegistry.open(None, ManualClock(), InlineExecutor())
        await bootstrap(registry, Random(1))
        await change_config(registry, "users/ref%20user/clients/<default>", {"producer_byte_rate": "1000"})
        await change_config(registry, "users/ref%20user/clients/<default>", {})
        await change_config(registry, "brokers/0", {"log.retention.ms": "1"})

        async def data(path: str) -> bytes | None:
            return (await registry.get(path))[0]

        assert await data("/config/users/ref%20user") is None
        assert await data("/config/users/ref%20user/clients/<default>") == b'{"version":1,"config":{}}'
        assert await data("/config/brokers/0") == b'{"version":1,"config":{"log.retention.ms":"1"}}'
        changes = await registry.children("/config/changes")
        assert changes == [f"config_change_{number:010}" for number in range(3)]
        assert [await data(f"/config/changes/{name}") for name in changes[1:]] == [
            b'{"version":2,"entity_path":"users/ref%20user/clients/<default>"}',
            b'{"version":2,"entity_path":"brokers/0"}',
        ]

    asyncio.run(story())
