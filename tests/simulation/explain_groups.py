"""Causes of rebalances, and of lag that comes of the group."""

import asyncio
from collections.abc import AsyncGenerator

from barnabas.clients.admin_topics import NewPartitions
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC
from barnabas.core.types import TopicPartition
from barnabas.explain.snapshot import Scope
from tests.simulation.explain_causes import cause
from tests.simulation.explain_world import GROUP, TOPIC, Member, World

Acts = AsyncGenerator[Scope, None]
ASKED = Scope(GROUP)
PARTITION = TopicPartition(TOPIC, 0)


async def formed(world: World, least: int = 1) -> list[Member]:
    """A group of some members, which has been stable for a while."""
    await world.create(partitions=world.dice.randint(2, 5))
    return await world.group(world.dice.randint(least, 3))


@cause("group", "joined", happened=True)
async def joined(world: World) -> Acts:
    members = await formed(world)
    await world.stable(*members, world.member("newcomer").start())
    yield ASKED


@cause("group", "left", happened=True)
async def left(world: World) -> Acts:
    first, *others = await formed(world)
    await first.leave()
    await world.stable(*others)
    yield ASKED


@cause("group", "session-expired", happened=True)
async def session_expired(world: World) -> Acts:
    first, *others = await formed(world)
    if world.dice.random() < 0.5:
        await first.die()
    else:
        world.simulation.network.part([first.client_id], ["b1"])
    await asyncio.sleep(7)
    await world.stable(*others)
    yield ASKED


@cause("group", "poll-interval-exceeded", ("joined",), happened=True)
async def poll_interval_exceeded(world: World) -> Acts:
    busy, *others = await formed(world)
    busy.is_busy = True
    # Somebody has to begin a rebalance: only there it is missed.
    await world.stable(*others, world.member("newcomer").start())
    yield ASKED


@cause("group", "subscription-changed", happened=True)
async def subscription_changed(world: World) -> Acts:
    members = await formed(world)
    await world.create("u")
    members[-1].topics.append("u")
    members[-1].must_join = True
    await world.stable(*members)
    yield ASKED


@cause("group", "leader-rejoined", happened=True)
async def leader_rejoined(world: World) -> Acts:
    members = await formed(world)
    await world.admin.create_partitions({TOPIC: NewPartitions(9)})
    next(each for each in members if each.is_leader).must_join = True
    await world.stable(*members)
    yield ASKED


@cause("group", "static-replaced", happened=True)
async def static_replaced(world: World) -> Acts:
    others = await formed(world)
    static = world.member("static", instance_id="one").start()
    await world.stable(*others, static)
    await asyncio.sleep(61)
    await static.die()
    again = world.member("static", instance_id="one", protocols=["roundrobin"]).start()
    await world.stable(*others, again)
    yield ASKED


@cause("group", "removed", ("joined",), happened=True)
async def removed(world: World) -> Acts:
    first, *others = await formed(world, 2)
    admin = world.member("administrator")
    # It does not come back.
    await first.die()
    await admin.remove(first)
    await world.stable(*others)
    yield ASKED


@cause("refused", "refused-limit:group.max.size", happened=True, settings={"group.max.size": "2"})
async def group_full(world: World) -> Acts:
    await world.create(partitions=2)
    await world.group(2)
    third = world.member("third").start()
    await world.until(lambda: third.failure)
    yield Scope()
    await third.die()


async def coordinator(world: World) -> int:
    await world.admin.pool.coordinator(GROUP)
    groups = {number: await world.admin.coordinated_by(number) for number in world.hosts}
    return next(number for number, found in groups.items() if any(each.group_id == GROUP for each, _ in found))


@cause("group", "coordinator-moved", ("leader-rejoined", "joined"), happened=True, brokers=3)
async def coordinator_moved(world: World) -> Acts:
    members = await formed(world)
    was = await coordinator(world)
    world.hosts[was].kill()
    await asyncio.sleep(8)
    # As clients do that lost it.
    members[0].must_join = True
    await asyncio.sleep(5)
    await world.stable(*members)
    yield ASKED
    world.hosts[was].start()


@cause(
    *("group", "assignment-not-stored", ("joined",)), happened=True, brokers=3, settings={"min.insync.replicas": "2"}
)
async def assignment_not_stored(world: World) -> Acts:
    await world.create(partitions=3)
    members = await world.group(2)
    was = await coordinator(world)
    topic = (await world.admin.pool.metadata([GROUP_OFFSETS_TOPIC])).topics[GROUP_OFFSETS_TOPIC]
    follower = next(
        each for part in topic.partitions.values() if part.leader_id == was for each in part.replicas if each != was
    )
    world.hosts[follower].kill()
    await asyncio.sleep(15)
    newcomer = world.member("newcomer").start()
    await world.until(lambda: newcomer.generation > 0 or newcomer.failure, 60)
    await asyncio.sleep(10)
    yield ASKED
    world.hosts[follower].start()
    await asyncio.sleep(15)
    await world.stable(*members, newcomer)


# --- lag


@cause("lag", "never-committed")
async def never_committed(world: World) -> Acts:
    await world.create(partitions=world.dice.randint(1, 3))
    await world.write(world.dice.randint(1, 200))
    members = [world.member(f"reader-{number}") for number in range(2)]
    for member in members:
        member.commits = False
        member.start()
    await world.stable(*members)
    yield ASKED
    for member in members:
        member.commits = True


@cause("lag", "behind-start")
async def behind_start(world: World) -> Acts:
    (member,) = await one_reader(world)
    member.reads = member.commits = False
    end = await written(world, world.dice.randint(20, 200))
    await world.admin.delete_records({PARTITION: end - world.dice.randint(1, 10)})
    yield ASKED
    member.reads = member.commits = True


@cause("lag", "beyond-end")
async def beyond_end(world: World) -> Acts:
    (member,) = await one_reader(world)
    await member.leave()
    await asyncio.sleep(2)
    end = await written(world, 5)
    await world.admin.commit_offsets(GROUP, {PARTITION: end + world.dice.randint(1, 1_000)})
    yield ASKED
    await world.admin.commit_offsets(GROUP, {PARTITION: end})


@cause("lag", "group-empty")
async def group_empty(world: World) -> Acts:
    (member,) = await one_reader(world)
    await member.leave()
    async with world.writing(world.dice.choice((1, 5))):
        await asyncio.sleep(world.dice.randint(15, 90))
        yield ASKED
        world.member("reader-again").start()
        await asyncio.sleep(10)


@cause("lag", "rebalancing")
async def rebalancing(world: World) -> Acts:
    await world.create(partitions=2)
    await world.write(5)
    busy, other = await world.group(2, rebalance_ms=60_000)
    busy.is_busy = True
    newcomer = world.member("newcomer", rebalance_ms=60_000).start()
    async with world.writing(2, (0, 1)):
        await asyncio.sleep(world.dice.randint(15, 40))
        yield ASKED
        busy.is_busy, busy.must_join = False, True
        await world.stable(busy, other, newcomer)


@cause("lag", "not-assigned")
async def not_assigned(world: World) -> Acts:
    await world.create()
    await world.create("u")
    await world.write(3)
    await world.write(3, "u")
    members = await world.group(2, (TOPIC, "u"))
    for member in members:
        member.topics, member.must_join = [TOPIC], True
    await world.stable(*members)
    await world.write(world.dice.randint(1, 50), "u")
    yield ASKED
    for member in members:
        member.topics, member.must_join = [TOPIC, "u"], True
    await world.stable(*members)


@cause("lag", "not-assigned")
async def new_partition_not_assigned(world: World) -> Acts:
    members = await formed(world)
    await world.admin.create_partitions({TOPIC: NewPartitions(6)})
    await world.write(world.dice.randint(1, 50), partition=5)
    yield ASKED
    next(each for each in members if each.is_leader).must_join = True
    await world.stable(*members)


@cause("lag", "commits-nothing")
async def commits_nothing(world: World) -> Acts:
    (member,) = await one_reader(world)
    async with world.writing(world.dice.choice((1, 3))):
        await asyncio.sleep(10)
        member.commits = False
        await asyncio.sleep(world.dice.randint(45, 120))
        yield ASKED
        member.commits = True
        await asyncio.sleep(5)


@cause("lag", "falls-behind")
async def falls_behind(world: World) -> Acts:
    (member,) = await one_reader(world)
    member.most_per_s = 2
    async with world.writing(world.dice.choice((5, 10))):
        await asyncio.sleep(world.dice.randint(90, 150))
        yield ASKED
        # It is behind, and is so no more.
        member.most_per_s = world.dice.choice((30, None))


@cause("lag", "asks-seldom")
async def asks_seldom(world: World) -> Acts:
    (member,) = await one_reader(world)
    member.most_per_s, member.works_s = 10, world.dice.randint(5, 9)
    async with world.writing(5):
        await asyncio.sleep(world.dice.randint(60, 120))
        yield ASKED
        member.works_s = 0.0


@cause("lag", "answers-full")
async def answers_full(world: World) -> Acts:
    (member,) = await one_reader(world, max_partition_fetch_bytes=70)
    async with world.writing(world.dice.choice((5, 10))):
        await asyncio.sleep(world.dice.randint(90, 150))
        yield ASKED
        await member.fetch_freely()
        await asyncio.sleep(5)


@cause("lag", "catches-up")
async def catches_up(world: World) -> Acts:
    (member,) = await one_reader(world)
    member.most_per_s = world.dice.choice((10, 20))
    await world.write(3_000)
    async with world.writing(1):
        await asyncio.sleep(world.dice.randint(45, 80))
        yield ASKED
        member.most_per_s = None
        await asyncio.sleep(5)


@cause("lag", "one-partition", ("falls-behind",))
async def one_partition(world: World) -> Acts:
    await world.create(partitions=world.dice.randint(3, 6))
    for partition in range(3):
        await world.write(3, partition=partition)
    (member,) = await world.group(1)
    member.most_per_s = 2
    async with world.writing(6, (world.dice.randint(0, 2),)):
        await asyncio.sleep(world.dice.randint(60, 120))
        yield ASKED
        member.most_per_s = None
        await asyncio.sleep(5)


async def one_reader(world: World, **more: int) -> list[Member]:
    """A topic of one partition, and a group of one that has read and committed it for a while."""
    await world.create()
    await world.write(world.dice.randint(1, 50))
    return await world.group(1, (TOPIC,), **more)


async def written(world: World, count: int) -> int:
    """Write records; the log's end."""
    await world.write(count)
    return (await world.admin.offsets([PARTITION], -1))[PARTITION]
