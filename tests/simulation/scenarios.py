"""Stories told in text, played in the simulated world.

    power-cut                     what happens
    start
    read t-0
    ----
    t-0 0..4: p0 p1 p2 p3 p4      what can be seen

    (an empty line, and the next piece)

| line | what it does |
| --- | --- |
| `settings name=value ...` | the broker's settings; before it is first started |
| `start`, `stop`, `kill`, `power-cut` | a broker on its host; `start` waits until clients can connect |
| `create-topic t partitions=1` | |
| `produce NAME t-0 n=3` | by an idempotent producer; tells the offsets once all were acknowledged |
| `begin NAME t-0 n=3`, `end NAME` | the same, but goes on meanwhile; `end` tells what came of it |
| `alter topics/t name=value ...` | settings in the registry, as another program changes them |
| `allow topic:t User:u read`, `deny …` | an access rule |
| `forget topic:t User:u`, `rules` | a principal's rules go; what rules there are |
| `earliest t-0` | where a partition begins |
| `read t-0` | what a consumer finds from the beginning |
| `join NAME g t`, `leave NAME` | a member of a group; tells what it was assigned and where it goes on |
| `commit NAME t-0=5` | |
| `committed g` | |
| `slow x=100`, `full bytes=0`, `room` | the disk |
| `cut NAME`, `apart NAME`, `together` | a client's connections; a client that can't reach the broker |
| `wait s=5` | |
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from zlib import crc32

from barnabas.clients.admin import EARLIEST, LATEST, Admin, NewTopic
from barnabas.clients.admin_acls import AclAdmin
from barnabas.clients.consumer import Consumer
from barnabas.clients.group import GroupMember
from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer, RecordMetadata
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition
from barnabas.testing.simulation.world import PORT, BrokerHost, Simulation
from barnabas.wire.registry.configs import change_config
from barnabas.wire.security.acls import (
    ANY_NAME,
    Binding,
    BindingFilter,
    Entry,
    EntryFilter,
    Pattern,
    PatternFilter,
    Permission,
)
from barnabas.wire.security.authorizer import Operation, ResourceType
from barnabas.wire.security.principals import parse_principal
from tests.simulation.histories import BROKER, SERVERS, SETTINGS

_SEPARATOR = "----"


class Story:
    """One scenario in its world."""

    def __init__(self, name: str) -> None:
        # Its own seed, the same whatever other stories there are.
        self.simulation = Simulation(crc32(name.encode()))
        self.settings = dict(SETTINGS)
        self.servers = SERVERS
        self._host: BrokerHost | None = None
        self._pools: dict[str, Pool] = {}
        self._producers: dict[str, Producer] = {}
        self._begun: dict[str, list[asyncio.Future[RecordMetadata]]] = {}
        self._counts: dict[str, int] = {}
        self._members: dict[str, GroupMember] = {}

    @property
    def host(self) -> BrokerHost:
        if self._host is None:
            self._host = self.simulation.add_broker(BROKER, self.settings)
        return self._host

    async def play(self, line: str) -> list[str]:
        """Let one line happen; returns what can be seen of it."""
        verb, *words = line.split()
        places = [word for word in words if "=" not in word]
        values = dict(word.split("=", 1) for word in words if "=" in word)
        act: Callable[..., Awaitable[list[str]]] = getattr(self, f"_{verb.replace('-', '_')}")
        try:
            return await act(values, *places)
        except BarnabasError as error:
            return [f"{verb}: {error}"]

    async def close(self) -> None:
        for member in self._members.values():
            await member.leave()
        for producer in self._producers.values():
            await producer.close()
        for pool in self._pools.values():
            await pool.close()

    def _pool(self, name: str) -> Pool:
        if name not in self._pools:
            self._pools[name] = Pool(self.servers, name, env=self.simulation.client(name))
        return self._pools[name]

    # --- the broker

    async def _settings(self, values: dict[str, str]) -> list[str]:
        self.settings |= values
        return []

    async def _start(self, values: dict[str, str]) -> list[str]:
        self.host.start()
        for _ in range(600):
            try:
                _, writer = await self.simulation.network.connect("knocking", BROKER, PORT)
            except OSError:
                if not self.host.is_up:
                    return ["did not start: " + self.simulation.history[-2].split(": ", 1)[-1]]
                await asyncio.sleep(0.1)
            else:
                writer.close()
                return []
        return ["did not start"]

    async def _stop(self, values: dict[str, str]) -> list[str]:
        self.host.stop()
        for _ in range(600):
            if not self.host.is_up:
                return []
            await asyncio.sleep(0.1)
        return ["has not stopped"]

    async def _kill(self, values: dict[str, str]) -> list[str]:
        self.host.kill()
        return []

    async def _power_cut(self, values: dict[str, str]) -> list[str]:
        self.host.cut_power()
        return []

    async def _slow(self, values: dict[str, str]) -> list[str]:
        self.host.slowness = int(values["x"])
        return []

    async def _full(self, values: dict[str, str]) -> list[str]:
        self.host.disk.free_bytes = int(values["bytes"])
        return []

    async def _room(self, values: dict[str, str]) -> list[str]:
        self.host.disk.free_bytes = None
        return []

    async def _state(self, values: dict[str, str]) -> list[str]:
        return ["up" if self.host.is_up else "down"]

    # --- the network, time

    async def _cut(self, values: dict[str, str], name: str) -> list[str]:
        network = self.simulation.network
        for pair in list(network.open_connections()):
            if name in (pair[0].host, pair[1].host):
                network.cut(pair)
        return []

    async def _apart(self, values: dict[str, str], name: str) -> list[str]:
        self.simulation.network.part([name], [BROKER])
        return []

    async def _together(self, values: dict[str, str]) -> list[str]:
        self.simulation.network.heal()
        return []

    async def _wait(self, values: dict[str, str]) -> list[str]:
        await asyncio.sleep(float(values["s"]))
        return []

    # --- clients

    async def _create_topic(self, values: dict[str, str], topic: str) -> list[str]:
        await Admin(self._pool("admin")).create_topic(NewTopic(topic, int(values["partitions"]), 1))
        return []

    async def _begin(self, values: dict[str, str], name: str, place: str) -> list[str]:
        topic, _, partition = place.rpartition("-")
        if name not in self._producers:
            self._producers[name] = Producer(
                self._pool(name), enable_idempotence=True, request_timeout_ms=3_000, delivery_timeout_ms=20_000
            )
        begun = self._begun.setdefault(name, [])
        for _ in range(int(values["n"])):
            number = self._counts[name] = self._counts.get(name, -1) + 1
            value = f"{name}{number}".encode()
            begun.append(await self._producers[name].send(topic, value, partition=int(partition)))
        return []

    async def _end(self, values: dict[str, str], name: str) -> list[str]:
        outcomes = await asyncio.gather(*self._begun.pop(name), return_exceptions=True)
        offsets = [outcome.offset for outcome in outcomes if isinstance(outcome, RecordMetadata)]
        told = [f"{name}: offsets {_ranges(offsets)}"] if offsets else []
        errors = dict.fromkeys(str(outcome) for outcome in outcomes if isinstance(outcome, BaseException))
        return [*told, *(f"{name}: {error}" for error in errors)]

    async def _produce(self, values: dict[str, str], name: str, place: str) -> list[str]:
        return [*await self._begin(values, name, place), *await self._end(values, name)]

    async def _alter(self, values: dict[str, str], entity: str) -> list[str]:
        session = self.host.registry.session
        assert session is not None
        await change_config(session, entity, values)
        return []

    async def _allow(self, values: dict[str, str], resource: str, principal: str, operation: str) -> list[str]:
        return await self._rule(resource, principal, operation, Permission.ALLOW)

    async def _deny(self, values: dict[str, str], resource: str, principal: str, operation: str) -> list[str]:
        return await self._rule(resource, principal, operation, Permission.DENY)

    async def _rule(self, resource: str, principal: str, operation: str, permission: Permission) -> list[str]:
        entry = Entry(parse_principal(principal), ANY_NAME, Operation[operation.upper()], permission)
        await AclAdmin(self._pool("admin")).create_acls([Binding(_pattern(resource), entry)])
        return []

    async def _forget(self, values: dict[str, str], resource: str, principal: str) -> list[str]:
        wanted = BindingFilter(PatternFilter(*_pattern(resource)), EntryFilter(principal))
        gone = await AclAdmin(self._pool("admin")).delete_acls([wanted])
        return [f"{len(gone)} gone"]

    async def _rules(self, values: dict[str, str]) -> list[str]:
        found = await AclAdmin(self._pool("admin")).describe_acls(BindingFilter())
        return [
            f"{pattern.resource_type.name.lower()}:{pattern.name} {entry.principal} "
            f"{entry.operation.name.lower()} {entry.permission.name.lower()}"
            for pattern, entry in found
        ]

    async def _earliest(self, values: dict[str, str], place: str) -> list[str]:
        offsets = await Admin(self._pool("admin")).offsets([place_of(place)], EARLIEST)
        return [f"{place} begins at {offsets[place_of(place)]}"]

    async def _read(self, values: dict[str, str], place: str) -> list[str]:
        topic, _, partition = place.rpartition("-")
        topic_partition = TopicPartition(topic, int(partition))
        pool = self._pool("reader")
        ends = await Admin(pool).offsets([topic_partition], LATEST)
        consumer = Consumer(pool, auto_offset_reset="none")
        consumer.assign({topic_partition: 0})
        found: dict[int, str] = {}
        while consumer.positions[topic_partition] < ends[topic_partition]:
            for batch in await consumer.poll(1_000):
                found |= {record.offset: bytes(record.value or b"").decode() for record in batch.records}
        await consumer.close()
        return [f"{place} {_ranges(list(found))}: {' '.join(found.values())}" if found else f"{place} is empty"]

    async def _join(self, values: dict[str, str], name: str, group: str, topic: str) -> list[str]:
        if name not in self._members:
            self._members[name] = GroupMember(
                self._pool(name), group, [topic], session_timeout_ms=6_000, rebalance_timeout_ms=10_000
            )
        positions = await self._members[name].join("earliest")
        return [f"{name}: {_positions(positions) or 'nothing'}"]

    async def _leave(self, values: dict[str, str], name: str) -> list[str]:
        await self._members.pop(name).leave()
        return []

    async def _commit(self, values: dict[str, str], name: str) -> list[str]:
        offsets = {place_of(place): int(offset) for place, offset in values.items()}
        await self._members[name].commit(offsets)
        return ["ok"]

    async def _committed(self, values: dict[str, str], group: str) -> list[str]:
        found = await Admin(self._pool("admin")).committed_offsets(group)
        return [f"{group}: {_positions(found) or 'nothing'}"]


def place_of(text: str) -> TopicPartition:
    """The partition that `t-0` names."""
    topic, _, partition = text.rpartition("-")
    return TopicPartition(topic, int(partition))


def _pattern(text: str) -> Pattern:
    kind, _, name = text.partition(":")
    return Pattern(ResourceType[kind.upper()], name)


def _positions(positions: dict[TopicPartition, int]) -> str:
    return " ".join(f"{partition}={offset}" for partition, offset in sorted(positions.items()))


def _ranges(numbers: list[int]) -> str:
    """`0..4,6`: consecutive ones together."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] + 1 == number:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(f"{first}..{last}" for first, last in ranges)


def play(path: Path) -> str:
    """Play a scenario; returns its text with what was seen in place of what was expected."""
    return play_story(Story(path.stem), path)


def play_story(story: Story, path: Path) -> str:
    """Let a story be told by the text of a scenario."""
    heads = [piece.split(f"\n{_SEPARATOR}")[0] for piece in path.read_text().strip().split("\n\n")]

    async def tell() -> str:
        pieces = []
        for head in heads:
            seen: list[str] = []
            for line in head.splitlines():
                if not line.startswith("#"):
                    seen += await story.play(line)
            is_comment = all(line.startswith("#") for line in head.splitlines())
            pieces.append(head if is_comment else "\n".join([head, _SEPARATOR, *(seen or ["ok"])]))
        await story.close()
        return "\n\n".join(pieces) + "\n"

    return story.simulation.run(tell())
