"""Stories of several brokers told in text, played in the simulated world; see `scenarios.py`.

| line | what it does |
| --- | --- |
| `brokers n=3` | brokers 1, 2, 3 on one ZooKeeper; first of all |
| `settings name=value ...` | those of all brokers; before the first start |
| `start`, `start 2`, `stop 2`, `kill 2`, `empty-disks 2` | a broker on its host; `start` alone: all |
| `power-cut 2` | all that is not safe on its disk is gone |
| `begin-start 2` | the same, but goes on meanwhile |
| `fail-disk 2 /a`, `mend-disk 2 /a` | the disk below a directory of `log.dirs`; its files stay |
| `empty-disk 2 /a` | another disk, with nothing on it |
| `place 2 t-0 /b`, `until-placed 2 t-0 /b` | a replica is to stand in another directory; waits until it does |
| `alter brokers/2 name=value ...` | settings in the registry |
| `is-up 2` | whether a broker's process lives |
| `stand-still 2`, `go-on 2`, `expire 2` | SIGSTOP, SIGCONT; ZooKeeper ends its session |
| `create-topic t replicas=1,2,3 name=value ...` | one partition, and settings of the topic |
| `delete-topic t`, `topics` | topics there are, and of these those on their way out, as ZooKeeper has them |
| `produce NAME t-0 n=3` | as in `scenarios.py` |
| `append NAME t-0 n=3` | by a producer that waits for the leader alone (acks=1) |
| `apart 1 2`, `cut 1 2` | brokers that can't reach each other; nothing gets from 1 to 2; also `zookeeper`, clients |
| `heal 1 2`, `together` | what was sent from 1 to 2 arrives again; all can reach all |
| `leader t-0` | leader, epoch and replicas in sync, as ZooKeeper has them |
| `offline t-0 at=2` | the leader and the replicas offline, as a broker tells clients |
| `until-state t-0 leader=2 isr=1,2 by=1` | waits until ZooKeeper has it so, and broker 1 its leader epoch |
| `until-equal t-0 on=1,2` | waits until all these replicas end at the same offset, and know that it is replicated |
| `logs t-0` | for each broker what its log holds: leader epoch, offsets, values |
| `warned lost` | what brokers warned of since the last time, the lines that have a word |
| `checkpoint 2 t-0` | the high watermark that a broker would start with |
| `read t-0`, `wait s=5` | as in `scenarios.py` |
"""

import asyncio
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

from barnabas.broker.log.directories.checkpoint import OffsetCheckpoint
from barnabas.broker.replicas.partition import Partition
from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.producer import Producer
from barnabas.core.types import TopicPartition
from barnabas.testing.simulation.ensemble import Ensemble
from barnabas.testing.simulation.world import DATA, PORT, BrokerHost
from barnabas.wire.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from barnabas.wire.registry import paths
from barnabas.wire.registry.configs import change_config
from barnabas.wire.registry.znodes.topics import PartitionStateNode, decode_partition_state
from tests.simulation.cluster import SETTINGS
from tests.simulation.replica_logs import directory_of, entries_of
from tests.simulation.scenarios import Story, place_of, play_story

_MOST_S = 120
_ZOOKEEPER = "zookeeper"


class _FirstOfAll(Random):
    """No dice: what a power cut can take is gone, whatever else was drawn before."""

    def choice(self, seq: Any) -> Any:
        return seq[0]


class ClusterStory(Story):
    """One scenario of several brokers."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.settings = dict(SETTINGS)
        self.ensemble: Ensemble = self.simulation.add_ensemble(3)
        self._count = 0
        self._hosts: dict[int, BrokerHost] = {}
        self._careless: dict[str, Producer] = {}
        self._seen_count = 0

    @property
    def hosts(self) -> dict[int, BrokerHost]:
        if not self._hosts:
            self._hosts = {
                number: self.simulation.add_broker(
                    f"b{number}", {**self.settings, "broker.id": str(number)}, self.ensemble
                )
                for number in range(1, self._count + 1)
            }
        return self._hosts

    async def close(self) -> None:
        for producer in self._careless.values():
            await producer.close()
        await super().close()

    def _some(self, *names: str) -> list[BrokerHost]:
        return [self.hosts[int(name)] for name in names] or list(self.hosts.values())

    def _machines(self, name: str) -> list[str]:
        if name == _ZOOKEEPER:
            return list(self.ensemble.servers)
        return [self.hosts[int(name)].name] if name.isdecimal() else [name]

    def _is_registered(self, host: BrokerHost) -> bool:
        node = self.ensemble.tree.get(paths.broker(int(host.name[1:])))
        return node is not None and host.session is not None and node.ephemeral_owner == host.session.session_id

    async def _until(self, condition: Callable[[], bool]) -> list[str]:
        for _ in range(_MOST_S * 10):
            if condition():
                return []
            await asyncio.sleep(0.1)
        return [f"not so in {_MOST_S} s"]

    # --- brokers

    async def _brokers(self, values: dict[str, str]) -> list[str]:
        self._count = int(values["n"])
        self.servers = ",".join(f"b{number}:{PORT}" for number in range(1, self._count + 1))
        return []

    async def _start(self, values: dict[str, str], *names: str) -> list[str]:
        await self._begin_start(values, *names)
        return await self._until(lambda: all(self._is_registered(host) for host in self._some(*names)))

    async def _begin_start(self, values: dict[str, str], *names: str) -> list[str]:
        for host in self._some(*names):
            # That of the process before may last for a while.
            host.session = None
            host.start()
        return []

    async def _stop(self, values: dict[str, str], *names: str) -> list[str]:
        hosts = self._some(*names)
        for host in hosts:
            host.stop()
        return await self._until(lambda: not any(host.is_up for host in hosts))

    async def _kill(self, values: dict[str, str], *names: str) -> list[str]:
        for host in self._some(*names):
            host.kill()
        return []

    async def _power_cut(self, values: dict[str, str], *names: str) -> list[str]:
        for host in self._some(*names):
            host.cut_power(_FirstOfAll())
        return []

    async def _empty_disks(self, values: dict[str, str], name: str) -> list[str]:
        self.hosts[int(name)].replace_disks()
        return []

    async def _fail_disk(self, values: dict[str, str], name: str, directory: str) -> list[str]:
        self.hosts[int(name)].disk.fail(Path(directory))
        return []

    async def _mend_disk(self, values: dict[str, str], name: str, directory: str) -> list[str]:
        self.hosts[int(name)].disk.mend(Path(directory))
        return []

    async def _empty_disk(self, values: dict[str, str], name: str, directory: str) -> list[str]:
        self.hosts[int(name)].disk.replace_by_empty(Path(directory))
        return []

    async def _place(self, values: dict[str, str], name: str, place: str, directory: str) -> list[str]:
        topic, index = place_of(place)
        wanted = AlterReplicaLogDir(directory, [AlterReplicaLogDirTopic(topic, [index])])
        channel = await self._pool("admin").broker(int(name))
        answer = await channel.ask(AlterReplicaLogDirsRequest([wanted]), AlterReplicaLogDirsResponse)
        return [f"error {each.error_code}" for each in answer.results[0].partitions if each.error_code]

    async def _alter(self, values: dict[str, str], entity: str) -> list[str]:
        session = next(host.session for host in self.hosts.values() if host.session is not None)
        await change_config(session, entity, values)
        return []

    async def _until_placed(self, values: dict[str, str], name: str, place: str, directory: str) -> list[str]:
        disk, log_dirs = self.hosts[int(name)].disk, self.settings["log.dirs"].split(",")
        return await self._until(lambda: [each for each in log_dirs if disk.exists(Path(each) / place)] == [directory])

    async def _is_up(self, values: dict[str, str], name: str) -> list[str]:
        return ["up" if self.hosts[int(name)].is_up else "down"]

    async def _stand_still(self, values: dict[str, str], name: str) -> list[str]:
        self.hosts[int(name)].stand_still()
        return []

    async def _go_on(self, values: dict[str, str], name: str) -> list[str]:
        self.hosts[int(name)].go_on()
        return []

    async def _expire(self, values: dict[str, str], name: str) -> list[str]:
        self.ensemble.expire(self.hosts[int(name)].name)
        return []

    # --- the network

    async def _apart(self, values: dict[str, str], name: str, other: str = _ZOOKEEPER) -> list[str]:
        self.simulation.network.part(self._machines(name), self._machines(other))
        return []

    async def _cut(self, values: dict[str, str], name: str, other: str = _ZOOKEEPER) -> list[str]:
        self.simulation.network.cut_way(self._machines(name), self._machines(other))
        return []

    async def _heal(self, values: dict[str, str], name: str, other: str = _ZOOKEEPER) -> list[str]:
        self.simulation.network.heal_way(self._machines(name), self._machines(other))
        return []

    # --- clients

    async def _create_topic(self, values: dict[str, str], topic: str) -> list[str]:
        replicas = [int(each) for each in values.pop("replicas").split(",")]
        await Admin(self._pool("admin")).create_topic(NewTopic(topic, configs=values, assignments={0: replicas}))
        return []

    async def _delete_topic(self, values: dict[str, str], topic: str) -> list[str]:
        await Admin(self._pool("admin")).delete_topic(topic)
        return []

    async def _topics(self, values: dict[str, str]) -> list[str]:
        there, deleting = (self.ensemble.tree.children(path) for path in (paths.BROKER_TOPICS, paths.DELETE_TOPICS))
        return [f"{' '.join(sorted(there)) or 'none'}; deleting {' '.join(sorted(deleting)) or 'none'}"]

    async def _append(self, values: dict[str, str], name: str, place: str) -> list[str]:
        if name not in self._careless:
            self._producers[name] = self._careless[name] = Producer(
                self._pool(name), acks=1, request_timeout_ms=3_000, delivery_timeout_ms=20_000
            )
        return await self._produce(values, name, place)

    # --- what can be seen

    def _state_of(self, place: str) -> PartitionStateNode | None:
        node = self.ensemble.tree.get(paths.partition_state(*place_of(place)))
        return None if node is None else decode_partition_state(node.data or b"")

    async def _leader(self, values: dict[str, str], place: str) -> list[str]:
        state = self._state_of(place)
        return [f"{place} {'has no state' if state is None else _told(state)}"]

    async def _offline(self, values: dict[str, str], place: str) -> list[str]:
        topic, index = place_of(place)
        node = self.hosts[int(values["at"])].node
        assert node is not None
        state = node._view.image.topics[topic][index]
        return [f"{place} leader={state.leader} offline={','.join(map(str, state.offline)) or 'none'}"]

    async def _until_state(self, values: dict[str, str], place: str) -> list[str]:
        by = values.pop("by", None)

        def is_so() -> bool:
            state = self._state_of(place)
            told = {} if state is None else dict(word.split("=") for word in _told(state).split())
            is_known = by is None or told.get("epoch") == str(self._leader_epoch(self.hosts[int(by)], place_of(place)))
            return is_known and all(told.get(name) == value for name, value in values.items())

        return await self._until(is_so)

    async def _until_equal(self, values: dict[str, str], place: str) -> list[str]:
        hosts = self._some(*values["on"].split(","))

        def are_equal() -> bool:
            found = [self._partition(host, place_of(place)) for host in hosts]
            ends = {offset for each in found if each is not None for offset in each}
            return None not in found and len(ends) == 1

        return await self._until(are_equal)

    def _partition(self, host: BrokerHost, key: TopicPartition) -> tuple[int, int] | None:
        """The log's end and the high watermark of a replica; None: it is not hosted."""
        partition = self._replica(host, key)
        return None if partition is None else (partition.log.log_end_offset, partition.high_watermark)

    def _leader_epoch(self, host: BrokerHost, key: TopicPartition) -> int | None:
        partition = self._replica(host, key)
        return None if partition is None else partition.leader_epoch

    def _replica(self, host: BrokerHost, key: TopicPartition) -> Partition | None:
        replication = None if host.node is None or not host.is_up else host.node._replication
        return None if replication is None else replication.replicas.partition(key)

    async def _logs(self, values: dict[str, str], place: str) -> list[str]:
        log_dirs = [Path(each) for each in self.settings.get("log.dirs", str(DATA)).split(",")]
        return [f"{number}: {_log_of(host, log_dirs, place)}" for number, host in self.hosts.items()]

    async def _warned(self, values: dict[str, str], word: str) -> list[str]:
        lines = self.simulation.history[self._seen_count :]
        self._seen_count += len(lines)
        told = (line.partition(" warning ")[2] for line in lines)
        return [line for line in dict.fromkeys(told) if word in line] or ["of nothing"]

    async def _checkpoint(self, values: dict[str, str], name: str, place: str) -> list[str]:
        checkpoint = OffsetCheckpoint(self.hosts[int(name)].disk, DATA / "replication-offset-checkpoint")
        return [f"{place} {checkpoint.read().get(place_of(place), 'is not in it')}"]


def _told(state: PartitionStateNode) -> str:
    return f"leader={state.leader} epoch={state.leader_epoch} isr={','.join(str(each) for each in sorted(state.isr))}"


def _log_of(host: BrokerHost, log_dirs: list[Path], place: str) -> str:
    directory = directory_of(host.disk, log_dirs, place_of(place))
    if directory is None:
        return "nothing"
    runs = []
    for epoch, entries in groupby(entries_of(host.disk, directory, 0), key=lambda each: each.epoch):
        run = list(entries)
        values = " ".join(each.value or "-" for each in run)
        runs.append(f"epoch {epoch}, {run[0].offset}..{run[-1].offset}: {values}")
    return "; ".join(runs) or "empty"


def play(path: Path) -> str:
    """Play a scenario; returns its text with what was seen in place of what was expected."""
    return play_story(ClusterStory(path.stem), path)
