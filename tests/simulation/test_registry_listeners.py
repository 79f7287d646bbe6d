"""ZooKeeper's clients in a simulated world: a session ends with its machine, and what was answered survives kills."""

import asyncio
import itertools
import struct

import pytest

from barnabas.testing.simulation.world import Simulation
from tests import zookeeper_client as zk

PORT = 2181
SEED_COUNT = 5


class Client:
    """A client on a machine of its own."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.session_id = 0
        self.password = zk.NOBODY

    @classmethod
    async def connected(cls, simulation: Simulation, name: str) -> "Client":
        while True:
            try:
                client = cls(*await simulation.network.host(name).dial("broker", PORT))
            except OSError:
                await asyncio.sleep(0.1)
                continue
            try:
                await client.connect()
                return client
            except (OSError, asyncio.IncompleteReadError):
                client.close()

    async def connect(self) -> None:
        self._send(struct.pack(">iqiq", 0, 0, 6_000, self.session_id) + zk.buffer(self.password) + b"\0")
        _, _, self.session_id, _, self.password = struct.unpack_from(">iiqi16s", await self._frame())

    async def ask(self, operation: int, body: bytes = b"") -> int:
        """Ask; the error of the answer."""
        self._send(struct.pack(">ii", 1, operation) + body)
        error: int = struct.unpack_from(">iqi", await self._frame())[2]
        return error

    async def names(self, path: str) -> list[str]:
        """The names of a node's children."""
        self._send(struct.pack(">ii", 1, zk.GET_CHILDREN) + zk.watching(path))
        answer = zk.Answer(1, 0, 0, (await self._frame())[16:], [])
        names = zk.decoded(zk.GET_CHILDREN, answer)
        assert isinstance(names, list)
        return names

    def _send(self, frame: bytes) -> None:
        self._writer.write(zk.integer(len(frame)) + frame)

    async def _frame(self) -> bytes:
        (length,) = struct.unpack(">i", await self._reader.readexactly(4))
        return await self._reader.readexactly(length)

    def close(self) -> None:
        self._writer.close()


@pytest.mark.parametrize("seed", range(SEED_COUNT))
def test_a_session_ends_when_its_machine_is_gone(seed: int) -> None:
    simulation = Simulation(seed)
    host = simulation.add_broker("broker", {"barnabas.registry.listeners": f"broker:{PORT}"})

    async def story() -> tuple[int, int, int]:
        host.start()
        lost, other = await Client.connected(simulation, "lost"), await Client.connected(simulation, "other")
        assert await lost.ask(zk.CREATE, zk.creation("/e", flags=1)) == 0
        simulation.network.cut_power("lost")
        found = [await other.ask(zk.EXISTS, zk.watching("/e"))]
        for _ in range(2):
            await asyncio.sleep(3.5)
            found.append(await other.ask(zk.EXISTS, zk.watching("/e")))
        for client in (lost, other):
            client.close()
        host.stop()
        await asyncio.sleep(1)
        first, second, third = found
        return first, second, third

    assert simulation.run(story()) == (0, 0, -101)
    assert simulation.errors == []


@pytest.mark.parametrize("seed", range(SEED_COUNT))
def test_what_was_answered_survives_kills(seed: int) -> None:
    simulation = Simulation(seed)
    host = simulation.add_broker("broker", {"barnabas.registry.listeners": f"broker:{PORT}"})

    async def story() -> tuple[set[int], set[int]]:
        answered: set[int] = set()
        for round_number in range(4):
            host.start()
            client = await Client.connected(simulation, "client")

            async def write(client: Client = client, first: int = round_number * 10_000) -> None:
                for number in itertools.count(first):
                    if await client.ask(zk.CREATE, zk.creation(f"/n-{number}")) == 0:
                        answered.add(number)

            writing = asyncio.ensure_future(write())
            await asyncio.sleep(0.05 + simulation.dice.random() * 0.3)
            host.kill()
            with pytest.raises((OSError, asyncio.IncompleteReadError)):
                await writing
            client.close()
        host.start()
        client = await Client.connected(simulation, "client")
        kept = {int(name[2:]) for name in await client.names("/") if name.startswith("n-")}
        client.close()
        host.stop()
        await asyncio.sleep(1)
        return answered, kept

    answered, kept = simulation.run(story())
    assert answered
    assert answered <= kept
    assert len(kept) <= len(answered) + 4
