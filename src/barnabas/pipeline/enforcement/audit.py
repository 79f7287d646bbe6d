"""The audit topic: each step of enforcement, in the order in which they were taken, kept for ever.

It has one partition, so there is one order, and is neither compacted nor cut by age: an older step is the reason of a
newer one, and what is forgotten would be a limit that nobody lifts. A limit gives some records of a kilobyte, and one
for each half of its time that it is renewed.

Source: Kafka's topic settings `cleanup.policy`, `retention.ms`, `retention.bytes`.
"""

import asyncio
from collections.abc import Iterable

from barnabas.clients import Admin, Consumer, Pool, Producer
from barnabas.clients.admin import EARLIEST, LATEST, NewTopic
from barnabas.clients.admin_configs import ConfigAdmin, ConfigResource, ResourceType
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.pipeline.enforcement.entry import Entry, read_entry

AUDIT_TOPIC = "quota-audit"

_SETTINGS = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
_POLL_MS = 5_000
_TIMEOUT_MS = 10_000


class AuditTopic:
    """Reads steps as they come, whoever wrote them, and appends steps."""

    def __init__(self, pool: Pool, topic: str = AUDIT_TOPIC) -> None:
        """Args:
        pool: The cluster; it stays the caller's.
        topic: Its name.
        """
        self.topic = topic
        self._pool = pool
        self._admin = Admin(pool, _TIMEOUT_MS)
        self._partition = TopicPartition(topic, 0)
        self._position: int | None = None
        self._producer: Producer | None = None

    async def create(self) -> None:
        """Make sure that the topic is there. Raises KafkaError."""
        try:
            await self._admin.create_topic(NewTopic(self.topic, 1, -1, _SETTINGS))
        except KafkaError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise

    async def doubts(self) -> list[str]:
        """Say what of the topic's settings endangers the limits, a line each. Raises KafkaError."""
        resource = ConfigResource(ResourceType.TOPIC, self.topic)
        admin = ConfigAdmin(self._pool, _TIMEOUT_MS)
        found = (await admin.describe_configs([resource], include_synonyms=False))[resource]
        return [
            f"topic {self.topic} has {entry.name}={entry.value}: nobody lifts a limit whose steps it has forgotten; "
            f"set {entry.name}={_SETTINGS[entry.name]}"
            for entry in found
            if entry.name in _SETTINGS and entry.value != _SETTINGS[entry.name]
        ]

    async def read(self) -> list[Entry]:
        """Return the steps since the last call; at the first one all.

        Raises:
            KafkaError: OFFSET_OUT_OF_RANGE: the topic was deleted and made anew, or has lost its end: what was read of
                it counts no more, and all is to be read again by another `AuditTopic`.
        """
        if self._position is None:
            self._position = (await self._admin.offsets([self._partition], EARLIEST))[self._partition]
        end = (await self._admin.offsets([self._partition], LATEST))[self._partition]
        if end < self._position:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"topic {self.topic} is shorter than it was")
        if end == self._position:
            return []
        # Where an operator has cut the topic, what is left counts.
        consumer = Consumer(self._pool, auto_offset_reset="earliest")
        consumer.assign({self._partition: self._position})
        entries = []
        try:
            while consumer.positions[self._partition] < end:
                fetched = await consumer.poll(_POLL_MS)
                if not fetched and consumer.positions[self._partition] < end:
                    raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"topic {self.topic} could not be read in time")
                for batch in fetched:
                    entries += [entry for record in batch.records if (entry := read_entry(record.key, record.value))]
        finally:
            await consumer.close()
        self._position = consumer.positions[self._partition]
        return entries

    async def read_if_there(self) -> list[Entry]:
        """Return the steps as `read` does; none where the topic is not there. Raises KafkaError."""
        try:
            return await self.read()
        except KafkaError as error:
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            return []

    async def append(self, entries: Iterable[Entry]) -> None:
        """Append steps; returns once all in-sync replicas have them. Raises KafkaError."""
        if self._producer is None:
            # Not idempotent, which would take a right of its own: a step that is there twice is the same step.
            self._producer = Producer(self._pool, delivery_timeout_ms=_TIMEOUT_MS)
        sent = [
            await self._producer.send(self.topic, entry.value(), entry.key(), partition=0, timestamp_ms=entry.time_ms)
            for entry in entries
        ]
        await self._producer.flush()
        await asyncio.gather(*sent)

    async def close(self) -> None:
        """Let go of the producer."""
        if self._producer is not None:
            await self._producer.close()
            self._producer = None
