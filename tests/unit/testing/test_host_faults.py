"""What happens to hosts of the simulation: clocks that go wrong, disks that fail alone, ways that are cut, stops."""

import asyncio
from contextvars import copy_context
from pathlib import Path

import pytest

from barnabas.broker.net.channel import SocketOptions
from barnabas.core.errors import StorageError
from barnabas.testing.simulation.clocks import VirtualClock
from barnabas.testing.simulation.disk import MemoryDisk
from barnabas.testing.simulation.loop import CURRENT_PROCESS, Process
from barnabas.testing.simulation.world import Simulation


def test_a_wall_clock_jumps_and_drifts_and_the_other_one_does_not() -> None:
    simulation = Simulation(1)
    clock, right = VirtualClock(simulation.loop), VirtualClock(simulation.loop)

    async def story() -> None:
        clock.jump(-5_000)
        clock.drift(-1_000)
        await asyncio.sleep(100)
        assert right.now_ms() - clock.now_ms() == 5_000 + 100
        clock.drift(0)
        clock.jump(5_100)
        await asyncio.sleep(100)
        assert clock.now_ms() == right.now_ms()
        assert clock.monotonic_ms() == right.monotonic_ms() == 200_000

    simulation.run(story())


def test_one_disk_fails_and_the_other_one_works() -> None:
    disk = MemoryDisk(lambda: 0)
    one, other = Path("/data0"), Path("/data1")
    for directory in (one, other):
        disk.make_directory(directory)
        disk.write(directory / "f", b"x")
    file = disk.open_records(one / "f")
    disk.fail(one)
    for use in (lambda: disk.read(one / "f"), lambda: file.append(b"y"), lambda: disk.list(one), file.sync):
        with pytest.raises(StorageError):
            use()
    assert disk.read(other / "f") == b"x"
    disk.mend(one)
    assert disk.read(one / "f") == b"x"
    disk.fail(one)
    disk.replace_by_empty(one)
    assert disk.list(one) == []
    assert disk.read(other / "f") == b"x"


def test_a_way_is_cut_in_one_direction_and_what_was_on_it_arrives_later() -> None:
    simulation = Simulation(1)
    network = simulation.network

    async def story() -> None:
        acceptor = network.host("server").bind("server", 1, SocketOptions())
        channels = []
        acceptor.listen(lambda: channels.append(acceptor.accept()[0]))
        reader, writer = await network.connect("client", "server", 1)
        await asyncio.sleep(1)
        (channel,) = channels
        network.cut_way(["client"], ["server"])
        writer.write(b"there")
        channel.send(memoryview(b"back"))
        assert await reader.readexactly(4) == b"back"
        with pytest.raises(BlockingIOError):
            channel.recv_into(memoryview(bytearray(5)))
        assert network.is_cut("client", "server")
        assert not network.is_cut("server", "client")
        network.heal_way(["client"], ["server"])
        await asyncio.sleep(1)
        assert channel.recv_into(memoryview(bytearray(5))) > 0
        network.slow_way(["server"], ["client"], 3_000_000)
        channel.send(memoryview(b"late"))
        begun_s = simulation.loop.time()
        await reader.readexactly(4)
        assert simulation.loop.time() - begun_s > 3
        writer.close()

    simulation.run(story())


def test_a_process_that_stands_still_does_all_it_missed_in_order_when_it_goes_on() -> None:
    simulation = Simulation(1)
    loop, process = simulation.loop, Process("p")
    seen: list[tuple[str, float]] = []

    def begin() -> None:
        for delay_s in (2.0, 1.0, 7.0):
            loop.call_later(delay_s, lambda delay_s=delay_s: seen.append((f"timer {delay_s}", loop.time())))

    async def story() -> None:
        token = CURRENT_PROCESS.set(process)
        begin()
        CURRENT_PROCESS.reset(token)
        process.is_standing = True
        await asyncio.sleep(5)
        assert seen == []
        loop.go_on(process)
        await asyncio.sleep(5)
        assert seen == [("timer 1.0", 5), ("timer 2.0", 5), ("timer 7.0", 7)]

    simulation.run(story())


def test_what_the_dead_do_when_a_world_ends_is_in_vain() -> None:
    """They hear of their end then, and what they try in answer, which may be anything, finds no loop any more."""
    simulation = Simulation(0)
    host = simulation.add_broker("b1", {})

    async def stubborn() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.Queue[None]().get()

    def begin() -> None:
        CURRENT_PROCESS.set(host._process)
        simulation.loop.create_task(stubborn())

    async def story() -> None:
        host.start()
        copy_context().run(begin)
        await asyncio.sleep(0)

    simulation.run(story())
