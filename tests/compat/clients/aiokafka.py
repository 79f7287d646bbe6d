"""aiokafka, on an event loop in a thread of its own."""

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from typing import TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.compat.clients.model import FETCH_WAIT_MS, HEARTBEAT_INTERVAL_MS, SESSION_TIMEOUT_MS, Message, Record
from tests.patience import PATIENCE_S

T = TypeVar("T")


class AioKafkaClient:
    def __init__(self, bootstrap_servers: str) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="aiokafka", daemon=True)
        self._thread.start()
        self._admin: AIOKafkaAdminClient | None = None

    def run(self, coroutine: Coroutine[object, object, T]) -> T:
        """Run a coroutine on the client's loop and wait for its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE_S)

    def produce(
        self,
        topic: str,
        messages: Sequence[Message],
        *,
        acks: str = "all",
        codec: str = "none",
        is_idempotent: bool = False,
    ) -> list[tuple[int, int]]:
        return self.run(self._produce(topic, messages, acks, codec, is_idempotent))

    async def _produce(
        self, topic: str, messages: Sequence[Message], acks: str, codec: str, is_idempotent: bool
    ) -> list[tuple[int, int]]:
        producer = AIOKafkaProducer(
            bootstrap_servers=self._bootstrap_servers,
            acks="all" if acks == "all" else int(acks),
            compression_type=None if codec == "none" else codec,
            enable_idempotence=is_idempotent,
            linger_ms=5,
        )
        await producer.start()
        try:
            futures = [
                await producer.send(
                    topic,
                    message.value,
                    message.key,
                    partition=message.partition,
                    timestamp_ms=message.timestamp_ms,
                    headers=list(message.headers),
                )
                for message in messages
            ]
            await producer.flush()
            answers = [await future for future in futures]
            return [(-1, -1) if answer is None else (answer.partition, answer.offset) for answer in answers]
        finally:
            await producer.stop()

    def consumer(
        self, topic: str, group: str, *, instance: str | None = None, is_cooperative: bool = False
    ) -> "AioKafkaConsumer":
        assert not is_cooperative

        async def start() -> AIOKafkaConsumer:
            consumer = AIOKafkaConsumer(
                topic,
                bootstrap_servers=self._bootstrap_servers,
                group_id=group,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                session_timeout_ms=SESSION_TIMEOUT_MS,
                heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
                fetch_max_wait_ms=FETCH_WAIT_MS,
                metadata_max_age_ms=1_000,
                group_instance_id=instance,
            )
            await consumer.start()
            return consumer

        return AioKafkaConsumer(self, self.run(start()), topic)

    async def _started_admin(self) -> AIOKafkaAdminClient:
        if self._admin is None:
            self._admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap_servers)
            await self._admin.start()
        return self._admin

    def create_topic(self, topic: str, partition_count: int, config: dict[str, str]) -> None:
        async def create() -> None:
            admin = await self._started_admin()
            await admin.create_topics([NewTopic(topic, partition_count, 1, topic_configs=config)])

        self.run(create())

    def topics(self) -> set[str]:
        async def names() -> list[str]:
            return await (await self._started_admin()).list_topics()

        return set(self.run(names()))

    def topic_config(self, topic: str, name: str) -> str:
        async def value() -> str:
            admin = await self._started_admin()
            answers = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
            entries = answers[0].resources[0][4]
            return next(str(entry[1]) for entry in entries if entry[0] == name)

        return self.run(value())

    def delete_topic(self, topic: str) -> None:
        async def delete() -> None:
            await (await self._started_admin()).delete_topics([topic])

        self.run(delete())

    def group_state(self, group: str) -> tuple[str, int]:
        async def state() -> tuple[str, int]:
            admin = await self._started_admin()
            description = (await admin.describe_consumer_groups([group]))[0].groups[0]
            return description[2].lower(), len(description[5])

        return self.run(state())

    def group_offset(self, group: str, topic: str, partition: int) -> int:
        async def offset() -> int:
            admin = await self._started_admin()
            offsets = await admin.list_consumer_group_offsets(group)
            return int(offsets[TopicPartition(topic, partition)].offset)

        return self.run(offset())

    def close(self) -> None:
        if self._admin is not None:
            self.run(self._admin.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()


class AioKafkaConsumer:
    def __init__(self, client: AioKafkaClient, consumer: AIOKafkaConsumer, topic: str) -> None:
        self._client, self._consumer, self._topic = client, consumer, topic

    def poll(self, timeout_ms: int) -> list[Record]:
        batches = self._client.run(self._consumer.getmany(timeout_ms=timeout_ms))
        return [
            Record(record.partition, record.offset, record.timestamp, record.key, record.value, tuple(record.headers))
            for records in batches.values()
            for record in records
        ]

    def commit(self) -> None:
        self._client.run(self._consumer.commit())

    def assignment(self) -> set[int]:
        return {partition.partition for partition in self._consumer.assignment()}

    def offset_for_time(self, partition: int, timestamp_ms: int) -> int:
        asked = TopicPartition(self._topic, partition)
        found = self._client.run(self._consumer.offsets_for_times({asked: timestamp_ms}))[asked]
        return -1 if found is None else int(found.offset)

    def end_offset(self, partition: int) -> int:
        asked = TopicPartition(self._topic, partition)
        return int(self._client.run(self._consumer.end_offsets([asked]))[asked])

    def close(self) -> None:
        self._client.run(self._consumer.stop())
