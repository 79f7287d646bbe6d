"""Keeps what happens on a broker, from a moment after clients can connect until it stops.

logs, groups ─ every 10 s (`facts/sampler.py`) ─► series
whatever happens, where it happens ─► events ─► two files (`event_files.py`)
the broker's own figures ─ every minute (`broker_minutes.py`) ─► minutes
"""

from collections.abc import Iterator
from pathlib import Path

from barnabas.broker.facts.sampler import CommitKey, Sampler
from barnabas.broker.facts.store import Facts
from barnabas.broker.requests.services import Services
from barnabas.broker.server.environment import Environment
from barnabas.broker.server.event_files import EventFiles
from barnabas.core.executor import Executor
from barnabas.core.types import TopicPartition


class FactKeeping:
    """The shell around `Facts`."""

    def __init__(self, facts: Facts, services: Services, env: Environment, executor: Executor) -> None:
        """Args:
        executor: Reads and writes the files.
        """
        directory = Path(services.config.log_dirs[0])
        self._services = services
        self._files = EventFiles(facts, directory, env.files, env.timers, executor)
        self._sampler = Sampler(facts, env.clock, env.timers, self._ends, self._commits, self._note_minute)

    def start(self) -> None:
        """Begin."""
        self._files.start()
        self._sampler.start()

    async def close(self) -> None:
        """Write the last of it."""
        self._sampler.close()
        await self._files.close()

    def _ends(self) -> Iterator[tuple[TopicPartition, int]]:
        for partition in list(self._services.replicas.partitions):
            if partition.is_leader:
                yield partition.topic_partition, partition.log.log_end_offset

    def _commits(self) -> Iterator[tuple[CommitKey, int]]:
        for group in list(self._services.groups.groups):
            for topic_partition, committed in list(group.offsets.items()):
                yield (group.group_id, topic_partition), committed.offset

    def _note_minute(self) -> None:
        return
