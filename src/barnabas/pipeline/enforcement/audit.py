"""The audit topic: all steps of enforcement in order, without expiry.

It has one partition, so entries have a total order. It has neither compaction nor retention, because older entries
explain newer ones, and no run lifts a limit whose entry is lost. Source: Kafka's topic settings `cleanup.policy`,
`retention.ms`, `retention.bytes`.
"""

import asyncio
from collections.abc import Sequence

from barnabas.clients import Admin, Consumer, Pool, Producer
from barnabas.clients.admin import EARLIEST, LATEST, NewTopic
from barnabas.clients.admin_configs import ConfigAdmin, ConfigResource, ResourceType
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.pipeline.enforcement.entry import Entry, read_entry

AUDIT_TOPIC = "quota-audit"

_SETTINGS = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
_TIMEOUT_MS = 10_000


class AuditTopic:
    """Reads the entries of all runs, and appends entries; all methods raise KafkaError."""

    def __init__(self, pool: Pool, topic: str = AUDIT_TOPIC) -> None:
        self._pool = pool
        self._topic = topic
        self._admin = Admin(pool, _TIMEOUT_MS)
        self._partition = TopicPartition(topic, 0)
        self._position: int | None = None

    async def create(self) -> list[str]:
        """Create the topic if it does not exist; return a warning for each setting that loses entries."""
        try:
            await self._admin.create_topic(NewTopic(self._topic, 1, -1, _SETTINGS))
        except KafkaError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
        resource = ConfigResource(ResourceType.TOPIC, self._topic)
        configs = await ConfigAdmin(self._pool, _TIMEOUT_MS).describe_configs([resource], include_synonyms=False)
        return [
            f"topic {self._topic} has {entry.name}={entry.value}: no run lifts a limit whose entries it has lost; "
            f"set {entry.name}={_SETTINGS[entry.name]}"
            for entry in configs[resource]
            if entry.name in _SETTINGS and entry.value != _SETTINGS[entry.name]
        ]

    async def read(self) -> list[Entry]:
        """Return the entries since the last call; all of them at the first call, none if the topic does not exist.

        Raises:
            KafkaError: OFFSET_OUT_OF_RANGE: the topic was deleted and created again, or truncated. Discard the
                entries read so far, and read all entries with a new `AuditTopic`.
        """
        try:
            if self._position is None:
                self._position = (await self._admin.offsets([self._partition], EARLIEST))[self._partition]
            end = (await self._admin.offsets([self._partition], LATEST))[self._partition]
        except KafkaError as error:
            if error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and self._position is None:
                return []
            raise
        if end < self._position:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"topic {self._topic} is shorter than it was")
        # `earliest`, because an operator may have deleted records since the last call.
        consumer = Consumer(self._pool, auto_offset_reset="earliest")
        consumer.assign({self._partition: self._position})
        entries = []
        try:
            while (position := consumer.positions[self._partition]) < end:
                for batch in (fetched := await consumer.poll(_TIMEOUT_MS)):
                    entries += [entry for record in batch.records if (entry := read_entry(record.key, record.value))]
                if not fetched and consumer.positions[self._partition] == position:
                    raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"topic {self._topic} could not be read in time")
        finally:
            await consumer.close()
        self._position = position
        return entries

    async def append(self, entries: Sequence[Entry]) -> None:
        """Append entries; return once all in-sync replicas have them."""
        # Not idempotent, because that requires another permission: an entry may be appended twice.
        producer = Producer(self._pool, delivery_timeout_ms=_TIMEOUT_MS)
        try:
            sent = [
                await producer.send(self._topic, entry.value(), entry.key(), partition=0, timestamp_ms=entry.time_ms)
                for entry in entries
            ]
            await producer.flush()
            await asyncio.gather(*sent)
        finally:
            await producer.close()
