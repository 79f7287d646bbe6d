"""Random histories of a cluster that is administered meanwhile: those of `cluster.py`, and beside its clients one who

    moves partitions to other brokers, and back before they are there
    gives preferred leaders back what is theirs
    makes and deletes a topic, of the same name each time

In the end nothing of it is under way: no partition moves, no deletion waits, and all that is assigned is equal.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from random import Random

from barnabas.clients.admin import NewTopic
from barnabas.clients.admin_replicas import ElectionType, ReplicaAdmin
from barnabas.clients.admin_topics import TopicAdmin
from barnabas.clients.pool import Pool
from barnabas.core.errors import BarnabasError
from barnabas.wire.registry import paths
from tests.simulation.cluster import PASSING, ClusterHistory

_TIMEOUT_MS = 5_000


class ClusterAdministrationHistory(ClusterHistory):
    """One history; `play` plays it."""

    def begin(self, group: asyncio.TaskGroup) -> None:
        super().begin(group)
        group.create_task(self._administer())

    def is_whole(self) -> bool:
        tree = self.ensemble.tree
        moving = []
        for topic in tree.children(paths.BROKER_TOPICS):
            node = tree.get(paths.topic(topic))
            assignment = {} if node is None else json.loads(node.data or b"{}")
            moving += [each for name in ("adding_replicas", "removing_replicas") for each in assignment.get(name, ())]
        return not moving and not tree.children(paths.DELETE_TOPICS) and super().is_whole()

    async def _administer(self) -> None:
        dice = self.simulation.new_dice()
        deeds = [self._move, self._move, self._move_back, self._prefer, self._make, self._delete]
        async with Pool(self.servers, "admin", env=self.simulation.client("admin")) as pool:
            admin = _Admin(pool, timeout_ms=_TIMEOUT_MS)
            while not self.is_over():
                await asyncio.sleep(dice.uniform(0.2, 5))
                deed: Callable[[_Admin, Random], Awaitable[object]] = dice.choice(deeds)
                name = deed.__name__.strip("_").replace("_", " ")
                try:
                    told = await deed(admin, dice)
                except BarnabasError as error:
                    self.simulation.note(f"admin: {name}: {error}")
                else:
                    self.simulation.note(f"admin: {name}: {told}")
                    self.outcome.counts[f"asked to {name}"] += 1

    async def _move(self, admin: "_Admin", dice: Random) -> object:
        brokers = [self.broker_id(host) for host in self.hosts]
        return await admin.alter_reassignments({dice.choice(self.partitions): dice.sample(brokers, self.replica_count)})

    async def _move_back(self, admin: "_Admin", dice: Random) -> object:
        return await admin.alter_reassignments(dict.fromkeys(self.partitions))

    async def _prefer(self, admin: "_Admin", dice: Random) -> object:
        return await admin.elect_leaders(ElectionType.PREFERRED, self.partitions)

    async def _make(self, admin: "_Admin", dice: Random) -> None:
        await admin.create_topic(NewTopic(PASSING, dice.randint(1, 3), self.replica_count))

    async def _delete(self, admin: "_Admin", dice: Random) -> None:
        await admin.delete_topic(PASSING)


class _Admin(TopicAdmin, ReplicaAdmin):
    """Administers topics and their replicas."""
