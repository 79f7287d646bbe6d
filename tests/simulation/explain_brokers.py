"""Causes that lie with brokers: replicas, directories, segments, and lag that comes of these."""

import asyncio
from pathlib import Path

from barnabas.clients.admin_configs import ConfigChange, ConfigOperation, ConfigResource, ResourceType
from barnabas.core.types import TopicPartition
from barnabas.explain.snapshot import Scope
from tests.simulation.explain_causes import cause
from tests.simulation.explain_clients import Acts
from tests.simulation.explain_groups import coordinator
from tests.simulation.explain_world import GROUP, TOPIC, World

PARTITION = TopicPartition(TOPIC, 0)
ASKED = Scope(TOPIC)
SMALL_SEGMENTS = {"log.segment.bytes": "1000", "log.retention.check.interval.ms": "5000"}


async def alter(world: World, **values: str | None) -> None:
    """Change settings of the topic; None takes one back."""
    changes = [
        ConfigChange(name.replace("_", "."), ConfigOperation.DELETE if value is None else ConfigOperation.SET, value)
        for name, value in values.items()
    ]
    await world.admin.alter_configs({ConfigResource(ResourceType.TOPIC, TOPIC): changes})


# --- replicas


@cause("topic", "broker-gone", brokers=3)
async def broker_gone(world: World) -> Acts:
    await world.create(partitions=world.dice.randint(1, 4), replicas=(1, 2))
    await world.write(world.dice.randint(1, 20))
    world.hosts[2].kill() if world.dice.random() < 0.5 else world.hosts[2].cut_power()
    await asyncio.sleep(world.dice.randint(12, 100))
    yield ASKED
    world.hosts[2].start()
    await asyncio.sleep(10)


@cause("topic", "waits-for-replica", ("broker-gone",), brokers=3)
async def offline(world: World) -> Acts:
    await world.create(replicas=(2,))
    world.hosts[2].kill()
    await asyncio.sleep(world.dice.randint(12, 60))
    yield ASKED
    world.hosts[2].start()
    await asyncio.sleep(5)


@cause("topic", "unclean-election-off", ("broker-gone",), brokers=3)
async def unclean_election_off(world: World) -> Acts:
    await world.create(replicas=(1, 2))
    world.hosts[2].kill()
    await asyncio.sleep(12)
    await world.write(world.dice.randint(1, 20))
    world.hosts[1].kill()
    await asyncio.sleep(8)
    world.hosts[2].start()
    await asyncio.sleep(world.dice.randint(12, 60))
    yield ASKED
    world.hosts[1].start()
    await asyncio.sleep(10)


@cause("topic", "under-min-isr", ("broker-gone",), brokers=3)
async def under_min_isr(world: World) -> Acts:
    await world.create(replicas=(1, 2), min_insync_replicas="2")
    await asyncio.sleep(1)
    world.hosts[2].kill()
    await asyncio.sleep(world.dice.randint(12, 60))
    yield ASKED
    world.hosts[2].start()
    await asyncio.sleep(10)


@cause("topic", "log-damaged", ("waits-for-replica",), brokers=3)
async def log_damaged(world: World) -> Acts:
    await world.create(replicas=world.dice.choice(((2,), (1, 2))))
    await world.write(world.dice.randint(1, 20), size=5)
    await stop(world, 2)
    # The length of a batch.
    damage(world, 2, 8)
    world.hosts[2].start()
    await asyncio.sleep(world.dice.randint(12, 60))
    yield ASKED
    await stop(world, 2)
    world.hosts[2].disk.remove_tree(Path("/data") / str(PARTITION))
    world.hosts[2].start()
    await asyncio.sleep(10)


async def stop(world: World, number: int) -> None:
    """Stop a broker in order."""
    world.hosts[number].stop()
    await world.until(lambda: not world.hosts[number].is_up)


@cause("topic", "follower-behind", brokers=3)
async def follower_behind(world: World) -> Acts:
    leader, follower = await world.others()
    await world.create(replicas=(leader, follower))
    await world.write(world.dice.randint(1, 20))
    world.simulation.network.part([f"b{leader}"], [f"b{follower}"])
    async with world.writing(5):
        await asyncio.sleep(world.dice.randint(15, 40))
        yield ASKED
        world.simulation.network.heal()
        await asyncio.sleep(10)


@cause("topic", "throttled", brokers=3, settings={"replica.fetch.max.bytes": "10000"})
async def follower_throttled(world: World) -> Acts:
    await world.create(replicas=(1, 2))
    world.hosts[2].kill()
    await asyncio.sleep(12)
    await world.write(world.dice.randint(80, 120), size=5_000)
    both = ("leader", "follower")
    await alter(world, **{f"{side}.replication.throttled.replicas": "*" for side in both})
    rates = [ConfigChange(f"{side}.replication.throttled.rate", ConfigOperation.SET, "1000") for side in both]
    await world.admin.alter_configs({ConfigResource(ResourceType.BROKER, str(number)): rates for number in (1, 3)})
    world.hosts[2].start()
    await asyncio.sleep(5)
    await world.admin.alter_configs({ConfigResource(ResourceType.BROKER, "2"): rates})
    await asyncio.sleep(world.dice.randint(10, 40))
    yield ASKED
    await alter(world, **{f"{side}.replication.throttled.replicas": None for side in both})
    await asyncio.sleep(10)


@cause("topic", "directory-failed", brokers=3, settings={"log.dirs": "/data,/data2"})
async def directory_failed(world: World) -> Acts:
    await world.create(replicas=(1, 2))
    await world.write(5)
    (there,) = [each for each in await _directories(world, 2) if PARTITION in each[1]]
    world.hosts[2].disk.fail(there[0])
    async with world.writing(5):
        await asyncio.sleep(world.dice.randint(10, 40))
        yield ASKED
    world.hosts[2].disk.mend(there[0])
    world.hosts[2].kill()
    await asyncio.sleep(7)
    world.hosts[2].start()
    await asyncio.sleep(10)


async def _directories(world: World, broker_id: int) -> list[tuple[Path, list[TopicPartition]]]:
    found = (await world.admin.log_dirs([broker_id]))[broker_id]
    return [(Path(each.path), [log.partition for log in each.logs]) for each in found]


@cause("lag", "no-leader", ("waits-for-replica",), brokers=3)
async def no_leader(world: World) -> Acts:
    await world.create(replicas=(1,))
    await world.write(5)
    await world.group(1)
    coordinates = await coordinator(world)
    where = next(each for each in world.hosts if each != coordinates)
    if where != 1:
        await world.admin.alter_reassignments({PARTITION: [where]})
        await asyncio.sleep(5)
    world.hosts[where].kill()
    await asyncio.sleep(world.dice.randint(12, 60))
    yield Scope(GROUP)
    world.hosts[where].start()
    await asyncio.sleep(5)


@cause("lag", "cold")
async def lag_by_cold_reads(world: World) -> Acts:
    host = world.hosts[1]
    host.miss = 1.0
    host.kill()
    host.start()
    await world.create()
    await world.write(1)
    await world.group(1, max_partition_fetch_bytes=100)
    async with world.writing(10):
        await asyncio.sleep(5)
        host.slowness = 600
        await asyncio.sleep(world.dice.randint(60, 90))
        # So slow a broker answers nobody who asks why.
        host.slowness = 1
        await asyncio.sleep(2)
        yield Scope(GROUP)


# --- brokers


@cause("broker", "silent", brokers=3)
async def broker_is_silent(world: World) -> Acts:
    await world.create(replicas=(1, 3))
    if world.dice.random() < 0.5:
        world.hosts[3].stand_still()
    else:
        world.hosts[3].kill()
    await asyncio.sleep(world.dice.choice((0.5, 20)))
    yield Scope("3")
    if world.hosts[3].is_up:
        world.hosts[3].go_on()
    else:
        world.hosts[3].start()


@cause("broker", "may-not-stop", brokers=3)
async def may_not_stop(world: World) -> Acts:
    await world.create(replicas=(1,))
    await asyncio.sleep(1)
    yield Scope("1")
    await world.admin.delete_topic(TOPIC)


@cause("broker", "near-limit", ("may-not-stop",), settings={"max.connections": "40"})
async def near_limit(world: World) -> Acts:
    crowd = [world.pool(f"client-{number}") for number in range(world.dice.randint(31, 32))]
    for pool in crowd:
        await pool.metadata([])
    await asyncio.sleep(1)
    yield Scope("1")
    for pool in crowd:
        await pool.close()


# --- disks


@cause("disk", "nearly-full")
async def nearly_full(world: World) -> Acts:
    await world.create()
    await world.write(world.dice.randint(1, 20))
    world.hosts[1].disk.free_bytes = 1 << world.dice.randint(20, 30)
    yield Scope()
    world.hosts[1].disk.free_bytes = None


@cause("disk", "failed", settings={"log.dirs": "/data,/data2"}, brokers=3)
async def disk_failed(world: World) -> Acts:
    await world.create(replicas=(2,))
    await world.write(5)
    (there,) = [each for each in await _directories(world, 2) if PARTITION in each[1]]
    world.hosts[2].disk.fail(there[0])
    async with world.writing(5):
        await asyncio.sleep(world.dice.randint(10, 40))
        yield Scope()
    world.hosts[2].disk.mend(there[0])
    world.hosts[2].kill()
    await asyncio.sleep(7)
    world.hosts[2].start()
    await asyncio.sleep(10)


async def segments(world: World, **configs: str) -> None:
    """A topic of some segments."""
    await world.create(partitions=1, replicas=(), **configs)
    await world.write(world.dice.randint(30, 60), size=300)


@cause("disk", "kept-forever", ("kept-no-rule",), settings=SMALL_SEGMENTS)
async def kept_forever(world: World) -> Acts:
    await segments(world, retention_ms="-1", retention_bytes="-1")
    yield ASKED
    await alter(world, retention_ms="3600000")


@cause("disk", "kept-retention-ms", settings=SMALL_SEGMENTS)
async def kept_by_time(world: World) -> Acts:
    await segments(world)
    yield ASKED
    await alter(world, retention_ms="1000")


@cause("disk", "kept-retention-bytes", settings=SMALL_SEGMENTS)
async def kept_by_size(world: World) -> Acts:
    await segments(world, retention_ms="-1", retention_bytes="1000000")
    await asyncio.sleep(10)
    yield ASKED
    await alter(world, retention_bytes="-1", retention_ms="3600000")


@cause("disk", "kept-timestamp-in-the-future", ("kept-older-segment",), settings=SMALL_SEGMENTS)
async def kept_by_future_timestamp(world: World) -> Acts:
    await world.create(retention_ms="1000")
    now_ms = world.simulation.clock.now_ms()
    for _ in range(world.dice.randint(5, 20)):
        await world.write(1, size=300, timestamp_ms=now_ms + world.dice.randint(1, 300) * 86_400_000)
    await asyncio.sleep(15)
    yield ASKED
    # In a segment of their own.
    await world.write(5, size=300)
    await world.admin.delete_records({PARTITION: -1})
    await asyncio.sleep(5)


@cause("disk", "kept-compaction", settings=SMALL_SEGMENTS)
async def kept_by_compaction(world: World) -> Acts:
    await segments(world, cleanup_policy="compact")
    yield ASKED
    await alter(world, cleanup_policy="delete")


def damage(world: World, number: int, position: int) -> None:
    """Make another byte of one that a broker has of the topic's first segment."""
    disk, path = world.hosts[number].disk, Path("/data") / str(PARTITION) / f"{0:020}.log"
    data = bytearray(disk.read(path) or b"")
    data[position] ^= 0xFF
    disk.write(path, bytes(data))


@cause("disk", "uncleanable", ("kept-compaction", "kept-older-segment"), settings=SMALL_SEGMENTS)
async def uncleanable(world: World) -> Acts:
    await segments(world, cleanup_policy="compact", min_cleanable_dirty_ratio="1.0")
    # Of a record.
    damage(world, 1, 70)
    await alter(world, min_cleanable_dirty_ratio="0.1")
    await asyncio.sleep(world.dice.randint(20, 60))
    yield ASKED
    # Another one of that name is another log.
    await world.admin.delete_topic(TOPIC)
    await asyncio.sleep(2)
    await segments(world, cleanup_policy="compact")


@cause("disk", "kept-high-watermark", settings=SMALL_SEGMENTS, brokers=3)
async def kept_by_high_watermark(world: World) -> Acts:
    leader, follower = await world.others()
    await world.create(replicas=(leader, follower), retention_ms="1000")
    await asyncio.sleep(2)
    world.simulation.network.part([f"b{leader}"], [f"b{follower}"])
    await world.write(world.dice.randint(10, 20), size=300, acks=1)
    yield ASKED
    world.simulation.network.heal()
