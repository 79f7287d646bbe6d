"""Our follower copies from a broker; `BARNABAS_COMPAT_TARGET=kafka` lets it copy from Kafka 2.7.2.

It is no replica of the topic: what a leader makes of a follower's progress is shown elsewhere.
"""

import asyncio
import time
from collections.abc import Callable

import pytest

from barnabas.broker.interbroker.channels import BrokerChannels
from barnabas.broker.net.sockets import SocketNetwork
from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.replication import ReplicationQuota
from barnabas.broker.replicas.fetching.manager import Fetchers
from barnabas.clients.admin import Admin
from barnabas.clients.admin_topics import NewTopic
from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer
from barnabas.core.clock import SystemClock
from barnabas.core.config import BrokerConfig
from barnabas.core.pending import Spawner
from barnabas.core.timers import LoopTimers
from barnabas.core.types import TopicPartition
from tests.compat.conftest import RunningBroker
from tests.unit.broker.replicas.fetching.followers import MemoryFollower, batch

PARTITION_COUNT = 3
REPLICA = 77


async def until(claim: Callable[[], bool]) -> None:
    """Let time pass until something is so."""
    async with asyncio.timeout(60):
        while not claim():  # noqa: ASYNC110  (nobody tells)
            await asyncio.sleep(0.01)


async def write(pool: Pool, topic: str, count: int, size: int = 50) -> None:
    async with Producer(pool) as producer:
        for number in range(count):
            await (await producer.send(topic, b"%d" % number + b"." * size, partition=number % PARTITION_COUNT))


@pytest.mark.parametrize(
    "spoken", ["2.7", "0.11.0", *(pytest.param(version, marks=pytest.mark.whole) for version in ("2.3", "2.0"))]
)
def test_a_follower_has_what_its_leader_has(cluster: RunningBroker, name: str, spoken: str) -> None:
    host, _, port = cluster.bootstrap_servers.rpartition(":")

    async def story() -> None:
        loop = asyncio.get_running_loop()
        errors: list[BaseException] = []
        spawner, timers = Spawner(errors.append), LoopTimers(loop)
        channels = BrokerChannels(
            SocketNetwork(loop, time.monotonic_ns),
            lambda _: (host, int(port)),
            f"broker-{REPLICA}",
            timers,
            spawner,
            lambda: 30_000,
        )
        settings = {"inter.broker.protocol.version": spoken, "log.message.format.version": "0.11.0"}
        config = BrokerConfig.from_properties(settings, None, "test")
        fetchers = Fetchers(REPLICA, config, channels, ReplicationQuota(Windows(11, 1_000)), timers, SystemClock())
        async with Pool(cluster.bootstrap_servers) as pool:
            admin = Admin(pool)
            await admin.create_topic(NewTopic(name, PARTITION_COUNT, 1))
            await write(pool, name, 30)
            keys = [TopicPartition(name, number) for number in range(PARTITION_COUNT)]
            await admin.delete_records({keys[0]: 4})
            state = (await pool.metadata([name])).topics[name].partitions[0]
            epoch = state.leader_epoch
            followed = [MemoryFollower(key, state.leader_id, epoch) for key in keys]
            # It has more than its leader.
            followed[1].put(0, 9, epoch, batch(0, 10, epoch))
            followed[1].put(10, 19, epoch, batch(10, 10, epoch))
            fetchers.follow([(each, state.leader_id, epoch) for each in followed])
            await until(lambda: [each.log_end_offset for each in followed] == [10, 10, 10])
            assert ("truncate fully", 4) in followed[0].done
            assert ("truncate", 10) in followed[1].done
            await write(pool, name, 6, 900_000)
            await until(lambda: [each.log_end_offset for each in followed] == [12, 12, 12])
            await admin.delete_records({keys[2]: 7})
            await until(lambda: followed[2].log_start_offset == 7)
            # While there is nothing to copy, too.
            await asyncio.sleep(1)
            assert (fetchers.failed_count, fetchers.max_lag) == (0, 0)
        fetchers.close()
        channels.close()
        await spawner.close()
        assert errors == []

    asyncio.run(story())
