"""What happens to a simulated cluster, one thing after the other and many at once; in the end all is mended.

Two kinds: what a cluster has to bear at any number, and what it has to bear alone (`_ALONE`), which begins when every
replica is in sync and is over when all are again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from barnabas.testing.simulation.world import BrokerHost

if TYPE_CHECKING:
    from random import Random

    from tests.simulation.cluster import ClusterHistory

_MOST_TO_BE_WHOLE_S = 120
_WHOLE_S = 4
_CLIENTS = ("p0", "p1", "m0", "m1", "watcher")


class Faults:
    """Breaks one history's world until its end, then mends it."""

    def __init__(self, history: "ClusterHistory") -> None:
        self._history = history
        self._simulation = history.simulation
        self._network = history.simulation.network
        self._ensemble = history.ensemble
        self._hosts = history.hosts
        self._dice: Random = history.simulation.new_dice()
        self._tasks: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        """Let something happen every few seconds."""
        dice, history = self._dice, self._history
        faults = self._faults()
        keeping = asyncio.ensure_future(self._keep_running())
        while not history.is_over():
            await asyncio.sleep(dice.uniform(0.2, 6))
            fault = dice.choice(faults)
            name = fault.__name__.strip("_").replace("_", " ")
            history.outcome.counts[name] += 1
            self._simulation.note(f"fault: {name}")
            if fault in self._alone:
                await self._settle()
                await fault()
                # The next one that is not alone, too, may take a broker that has what this one lost.
                await self._wait_until_whole()
            else:
                self._tasks.append(asyncio.ensure_future(fault()))
        await self._settle()
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        await self._mend()

    def _faults(self) -> list[Callable[[], Awaitable[None]]]:
        history = self._history
        faults = [
            self._kill,
            self._kill_leader,
            self._kill_controller,
            self._stop,
            self._stand_still,
            self._stand_still,
            self._cut_connections,
            self._part_brokers,
            self._part_from_zookeeper,
            self._cut_one_way,
            self._part_clients,
            self._slow_network,
            self._slow_disk,
            self._full_disk,
            self._expire,
            self._drop_session,
            self._lag_behind,
            self._stop_zookeeper,
            self._set_clock,
        ]
        self._alone: list[Callable[[], Awaitable[None]]] = []
        if history.is_flushed:
            faults += [self._cut_power, self._cut_power]
        elif history.min_insync > 1:
            self._alone.append(self._cut_power)
        if history.replica_count > 1:
            self._alone.append(self._lose_disks)
        return faults + self._alone

    # --- keeping it going

    async def _keep_running(self) -> None:
        """Start what is down, as somebody in charge would, sooner or later."""
        while True:
            await asyncio.sleep(self._dice.uniform(0.5, 8))
            for host in self._hosts:
                if not host.is_up:
                    host.start()

    async def _settle(self) -> None:
        """Wait for what goes on to end."""
        tasks, self._tasks = self._tasks, []
        await asyncio.gather(*tasks)

    async def _mend(self) -> None:
        self._simulation.note("mended")
        self._network.heal()
        self._network.loss = 0.0
        for name, server in self._ensemble.servers.items():
            self._ensemble.set_lag(name, 0)
            if not server.is_up:
                self._ensemble.start(name)
        for host in self._hosts:
            host.go_on()
            host.slowness = 1
            host.disk.free_bytes = None
            host.clock.drift(0)
        # One that is stopping, as its disk was full, or was starting, as ZooKeeper was away, may not be there to stay.
        while not self._history.are_registered():
            for host in self._hosts:
                if not host.is_up:
                    host.start()
            await asyncio.sleep(1)

    async def _wait_until_whole(self) -> bool:
        """Wait until all replicas are in sync, and the controller has seen all that happened; returns whether it is so.

        What follows may take from one broker what it has in memory, or all.
        """
        whole_s = 0
        for _ in range(_MOST_TO_BE_WHOLE_S):
            whole_s = whole_s + 1 if self._history.is_whole() else 0
            if whole_s == _WHOLE_S:
                return True
            await asyncio.sleep(1)
        return False

    # --- processes

    def _some_host(self) -> BrokerHost:
        return self._dice.choice(self._hosts)

    def _host_of(self, broker_id: int) -> BrokerHost | None:
        return next((host for host in self._hosts if self._history.broker_id(host) == broker_id), None)

    async def _wait_for_a_bad_moment(self) -> None:
        """Any moment, or one right after a record is acknowledged, or the leader or those in sync of a partition are
        others: what was promised then must hold already.
        """
        answered, decided = self._history.answered, self._history.decided
        moment = self._dice.choice((answered, answered, decided, decided, None))
        if moment is not None:
            moment.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(2 if moment is answered else 8):
                    await moment.wait()
            await asyncio.sleep(self._dice.choice((0.0, self._dice.uniform(0, 0.002))))

    async def _kill(self) -> None:
        await self._wait_for_a_bad_moment()
        self._some_host().kill()

    async def _kill_controller(self) -> None:
        await self._wait_for_a_bad_moment()
        self._kill_broker(self._history.controller_id())

    async def _kill_leader(self) -> None:
        partition = self._dice.choice(self._history.partitions)
        await self._wait_for_a_bad_moment()
        self._kill_broker(self._history.leader_id(partition))

    def _kill_broker(self, broker_id: int) -> None:
        host = self._host_of(broker_id)
        if host is not None:
            host.kill()

    async def _cut_power(self) -> None:
        if not self._history.is_flushed and not await self._wait_until_whole():
            return
        await self._wait_for_a_bad_moment()
        controller = self._host_of(self._history.controller_id())
        host = self._some_host() if controller is None or self._dice.random() < 0.5 else controller
        host.cut_power()
        if self._dice.random() < 0.5:
            # It is back before anybody has seen it go.
            others = [each for each in self._hosts if each is not host]
            for each in others:
                each.stand_still()
            host.start()
            await asyncio.sleep(self._dice.uniform(0.5, 3))
            for each in others:
                each.go_on()

    async def _stop(self) -> None:
        await self._end(self._some_host())

    async def _end(self, host: BrokerHost) -> None:
        host.stop()
        for _ in range(self._dice.choice((50, 300))):
            if not host.is_up:
                return
            await asyncio.sleep(0.1)
        host.kill()

    async def _stand_still(self) -> None:
        host = self._some_host()
        host.stand_still()
        await asyncio.sleep(self._dice.choice((1, 3, 8, 20)) * self._dice.uniform(0.5, 1.5))
        host.go_on()

    # --- the network

    async def _cut_connections(self) -> None:
        self._network.loss = self._dice.choice((0.0, 0.05, 0.3))
        for pair in list(self._network.open_connections()):
            if self._dice.random() < 0.5:
                self._network.cut(pair)

    def _some_brokers(self) -> tuple[list[str], list[str]]:
        """Some brokers, and the others."""
        names = [host.name for host in self._hosts]
        self._dice.shuffle(names)
        count = self._dice.randint(1, len(names))
        return names[:count], names[count:]

    async def _apart(self, some: list[str], others: list[str], *, is_both_ways: bool = True) -> None:
        self._simulation.note(f"apart {some} {others}")
        ways = [(some, others), (others, some)] if is_both_ways else [(some, others)]
        for sources, targets in ways:
            self._network.cut_way(sources, targets)
        await asyncio.sleep(self._dice.choice((1, 5, 15)) * self._dice.uniform(0.5, 1.5))
        self._simulation.note(f"together {some} {others}")
        for sources, targets in ways:
            self._network.heal_way(sources, targets)

    async def _part_brokers(self) -> None:
        await self._apart(*self._some_brokers())

    async def _part_from_zookeeper(self) -> None:
        some, _ = self._some_brokers()
        await self._apart(some[:1], list(self._ensemble.servers))

    async def _cut_one_way(self) -> None:
        some, others = self._some_brokers()
        everybody = [*others, *self._ensemble.servers, *_CLIENTS]
        targets = [name for name in everybody if self._dice.random() < 0.5]
        pair = (some[:1], targets) if self._dice.random() < 0.5 else (targets, some[:1])
        await self._apart(*pair, is_both_ways=False)

    async def _part_clients(self) -> None:
        clients = [name for name in _CLIENTS if self._dice.random() < 0.5]
        await self._apart(clients, self._some_brokers()[0])

    async def _slow_network(self) -> None:
        some, others = self._some_brokers()
        more_us = self._dice.choice((5_000, 100_000, 1_000_000))
        self._network.slow_way(some[:1], [*others, *_CLIENTS], more_us)
        await asyncio.sleep(self._dice.uniform(1, 10))
        self._network.slow_way(some[:1], [*others, *_CLIENTS], 0)

    # --- disks and clocks

    async def _slow_disk(self) -> None:
        host = self._some_host()
        host.slowness = self._dice.choice((1, 20, 200))

    async def _full_disk(self) -> None:
        host, self._history.disk_was_full = self._some_host(), True
        host.disk.free_bytes = self._dice.randint(0, 3_000)
        await asyncio.sleep(self._dice.uniform(0.1, 5))
        host.disk.free_bytes = None
        # A directory that failed once stays so until somebody starts the broker anew.
        await self._end(host)

    async def _lose_disks(self) -> None:
        """A machine is replaced by another one with the same id."""
        if not await self._wait_until_whole():
            return
        host = self._some_host()
        host.kill()
        host.replace_disks()

    async def _set_clock(self) -> None:
        clock = self._some_host().clock
        if self._dice.random() < 0.5:
            clock.jump(self._dice.choice((-1, 1)) * self._dice.choice((10, 5_000, 3_600_000)))
        else:
            clock.drift(self._dice.choice((-50_000, -100, 0, 100, 50_000)))

    # --- ZooKeeper

    async def _expire(self) -> None:
        self._ensemble.expire(self._some_host().name)

    async def _drop_session(self) -> None:
        self._ensemble.drop(self._some_host().name)

    async def _lag_behind(self) -> None:
        name = self._dice.choice(list(self._ensemble.servers))
        self._ensemble.set_lag(name, self._dice.choice((50_000, 1_000_000, 4_000_000)))
        await asyncio.sleep(self._dice.uniform(1, 15))
        self._ensemble.set_lag(name, 0)

    async def _stop_zookeeper(self) -> None:
        names = [name for name, server in self._ensemble.servers.items() if server.is_up]
        some = self._dice.sample(names, min(len(names), self._dice.choice((1, 1, 2))))
        for name in some:
            self._ensemble.stop(name)
        await asyncio.sleep(self._dice.uniform(0.5, 15))
        for name in some:
            self._ensemble.start(name)
