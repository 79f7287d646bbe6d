"""How well a throttle of replication is kept to, on three brokers: held, halved and doubled in flight, then lifted.

A partition gets a replica on broker 3. All replicas of its topic are listed, those of another partition too, which
stays where it is and is written to all the while with acks=all: none of that may wait, nor anybody fall out of sync.

    scripts/soak --throttle --rate 10000000 --seconds 60
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from barnabas.clients.admin_configs import ConfigAdmin, ConfigChange, ConfigOperation, ConfigResource, ResourceType
from barnabas.clients.admin_replicas import ReplicaAdmin
from barnabas.clients.admin_topics import NewTopic, TopicAdmin
from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer
from barnabas.core.types import TopicPartition
from tests.clusters import Members, servers_of, three_brokers
from tests.patience import PATIENCE_S

TOPIC = "moved"
MOVED, STAYING = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)
# Ten batches of one record fill what a follower asks for, or one does: a batch that is cut counts, and is not kept.
_RECORD_BYTES = 104_700
# A rate is measured as finely as answers are small.
SMALL_ANSWERS = {"replica.fetch.max.bytes": "100000", "replica.fetch.response.max.bytes": "100000"}
# What a throttle lets through at once, and what came before the first look, is not in the rate that is held.
_LEAD_IN_S = 1.5
# One window's worth: a rate begins anew when it is set.
_AT_ONCE_S = 1.0


class Held(NamedTuple):
    """What a throttle did.

    Attributes:
        rates: By the rate that was set: bytes per second that were copied, and over how many seconds.
        excess: By how much the bytes that were copied since a rate was set exceed what it allows, in parts of that; of
            the rate that was exceeded most.
        longest_ack_s: Of writes to the partition that stays.
        ack_count: How many of these there were.
        isr_changes: How often those in sync with it were others.
    """

    rates: list[tuple[int, float, float]]
    excess: float
    longest_ack_s: float
    ack_count: int
    isr_changes: int

    @property
    def worst(self) -> float:
        """By how much the rate that is furthest off is, in parts of what was set."""
        return max(abs(measured / rate - 1) for rate, measured, _ in self.rates)


async def fill(pool: Pool, size_bytes: int) -> None:
    """Write to the partition that is to move."""
    async with Producer(pool, acks=1, batch_size_bytes=_RECORD_BYTES) as producer:
        for _ in range(size_bytes // _RECORD_BYTES):
            await producer.send(TOPIC, bytes(_RECORD_BYTES), partition=MOVED.partition)


async def throttle(pool: Pool, rate: int | None) -> None:
    """List all replicas of the topic, and have each broker keep to a rate; or None of it."""
    operation = ConfigOperation.DELETE if rate is None else ConfigOperation.SET
    changes = {
        ConfigResource(ResourceType.TOPIC, TOPIC): [
            ConfigChange(f"{role}.replication.throttled.replicas", operation, None if rate is None else "*")
            for role in ("leader", "follower")
        ]
    }
    for broker in (1, 2, 3):
        changes[ConfigResource(ResourceType.BROKER, str(broker))] = [
            ConfigChange(f"{role}.replication.throttled.rate", operation, None if rate is None else str(rate))
            for role in ("leader", "follower")
        ]
    await ConfigAdmin(pool).alter_configs(changes)


def copied_bytes(members: Members) -> int:
    """What broker 3 has of the partition that moves."""
    return sum(each.stat().st_size for each in (members[3].data_dir / str(MOVED)).glob("*.log"))


async def _is_over(pool: Pool) -> bool:
    return not await ReplicaAdmin(pool).reassignments()


async def _has_begun(members: Members) -> bool:
    return copied_bytes(members) > 0


async def _wait(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await is_so():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def _measure(members: Members, seconds: float) -> tuple[float, float, tuple[float, int]]:
    """Return bytes per second that are copied, over how many seconds, and the last look: when, and what was there.

    The rate is the median of the rates of all spans of a quarter of the time. A throttle limits a mean over seconds, so
    a follower that stood still before, as after an error, catches up at once: that is no rate that is held.
    """
    await asyncio.sleep(_LEAD_IN_S)
    began, looks = time.monotonic(), list[tuple[float, int]]()
    while not looks or looks[-1][0] < began + seconds:
        looks.append((time.monotonic(), copied_bytes(members)))
        await asyncio.sleep(0.05)
    span_s = max(1.0, seconds / 4)
    rates = []
    for first_s, first_bytes in looks:
        later = next((look for look in looks if look[0] >= first_s + span_s), None)
        if later is not None:
            rates.append((later[1] - first_bytes) / (later[0] - first_s))
    # The time after the look: a process that is stopped between the two has seen no rate that is too high.
    return statistics.median(rates), looks[-1][0] - began, (time.monotonic(), looks[-1][1])


class _Staying:
    """Writes to the partition that stays, and watches who is in sync with it."""

    def __init__(self, members: Members) -> None:
        self.longest_ack_s = 0.0
        self.ack_count = self.isr_changes = 0
        self.is_ending = False
        self._members = members

    async def run(self) -> None:
        async with Pool(servers_of(self._members), "staying") as pool, Producer(pool, acks=-1) as producer:
            known = None
            while not self.is_ending:
                began = time.monotonic()
                await (await producer.send(TOPIC, bytes(100), partition=STAYING.partition))
                self.longest_ack_s = max(self.longest_ack_s, time.monotonic() - began)
                self.ack_count += 1
                isr = sorted((await pool.metadata([TOPIC])).topics[TOPIC].partitions[STAYING.partition].isr)
                self.isr_changes += known not in (None, isr)
                known = isr
                await asyncio.sleep(0.02)


async def hold(members: Members, rate: int, seconds: float, tell: Callable[[str], object] = lambda _: None) -> Held:
    """Move a partition at a rate, at half of it, at twice of it, and then as fast as it goes; to the end."""
    plan = [(rate, seconds), (rate // 2, seconds / 2), (rate * 2, seconds / 2)]
    size = sum(each * (for_s + 2 * _LEAD_IN_S + 1) for each, for_s in plan)
    async with Pool(servers_of(members), "mover") as pool:
        await TopicAdmin(pool).create_topic(NewTopic(TOPIC, assignments={0: [1, 2], 1: [1, 2]}))
        await fill(pool, int(size))
        await throttle(pool, rate)
        set_s, set_bytes = time.monotonic(), 0
        staying = _Staying(members)
        writing = asyncio.create_task(staying.run())
        await ReplicaAdmin(pool).alter_reassignments({MOVED: [2, 3]})
        await _wait(lambda: _has_begun(members))
        rates, excesses = [], []
        for number, (each, for_s) in enumerate(plan):
            if number:
                await throttle(pool, each)
                set_s, set_bytes = time.monotonic(), copied_bytes(members)
            measured, taken, (last_s, last_bytes) = await _measure(members, for_s)
            rates.append((each, measured, taken))
            # A median hides a throttle that is in force for half of the time.
            excesses.append((last_bytes - set_bytes) / (each * (last_s - set_s + _AT_ONCE_S)) - 1)
            tell(
                f"throttle {each:,} B/s: {measured:,.0f} B/s over {taken:.1f} s, {measured / each - 1:+.1%}; "
                f"since it was set {excesses[-1]:+.1%} of what it allows"
            )
        await throttle(pool, None)
        await _wait(lambda: _is_over(pool))
        staying.is_ending = True
        await writing
    tell(f"{staying.ack_count} writes with acks=all, {staying.longest_ack_s * 1000:.0f} ms at the longest")
    return Held(rates, max(excesses), staying.longest_ack_s, staying.ack_count, staying.isr_changes)


def main() -> None:
    """Hold a throttle for long, and fail where it is off by more than a twentieth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=10_000_000)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, three_brokers(Path(directory)) as members:
        held = asyncio.run(hold(members, options.rate, options.seconds, print))
    print(json.dumps(held._asdict() | {"worst": held.worst}))
    sys.exit(held.worst > 0.05 or held.excess > 0.05 or held.isr_changes > 0)


if __name__ == "__main__":
    main()
