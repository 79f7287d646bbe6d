"""kafka-python 3."""

import time
from collections.abc import Sequence

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor

from tests.compat.clients.model import FETCH_WAIT_MS, HEARTBEAT_INTERVAL_MS, SESSION_TIMEOUT_MS, Message, Record
from tests.patience import PATIENCE_S

# A join takes milliseconds; where it takes longer than this, asking again does no harm.
_STUCK_AFTER_S = 10


class KafkaPythonClient:
    def __init__(self, bootstrap_servers: str) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._admin_client: KafkaAdminClient | None = None

    @property
    def _admin(self) -> KafkaAdminClient:
        if self._admin_client is None:
            self._admin_client = KafkaAdminClient(bootstrap_servers=self._bootstrap_servers)
        return self._admin_client

    def produce(
        self,
        topic: str,
        messages: Sequence[Message],
        *,
        acks: str = "all",
        codec: str = "none",
        is_idempotent: bool = False,
    ) -> list[tuple[int, int]]:
        producer = KafkaProducer(
            bootstrap_servers=self._bootstrap_servers,
            acks="all" if acks == "all" else int(acks),
            compression_type=None if codec == "none" else codec,
            enable_idempotence=is_idempotent,
            linger_ms=5,
        )
        try:
            futures = [
                producer.send(
                    topic,
                    message.value,
                    message.key,
                    headers=list(message.headers),
                    partition=message.partition,
                    timestamp_ms=message.timestamp_ms,
                )
                for message in messages
            ]
            producer.flush(PATIENCE_S)
            answers = [future.get(PATIENCE_S) for future in futures]
            return [(answer.partition, answer.offset) for answer in answers]
        finally:
            producer.close()

    def consumer(
        self, topic: str, group: str, *, instance: str | None = None, is_cooperative: bool = False
    ) -> "KafkaPythonConsumer":
        consumer = KafkaConsumer(
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
            **({"partition_assignment_strategy": (CooperativeStickyAssignor,)} if is_cooperative else {}),
        )
        return KafkaPythonConsumer(consumer, topic)

    def create_topic(self, topic: str, partition_count: int, config: dict[str, str]) -> None:
        wanted = {"num_partitions": partition_count, "replication_factor": 1, "configs": config}
        self._admin.create_topics({topic: wanted})

    def topics(self) -> set[str]:
        return set(self._admin.list_topics())

    def topic_config(self, topic: str, name: str) -> str:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        answer = self._admin.describe_configs([resource], config_filter="all")
        return str(answer["topic"][topic][name]["value"])

    def delete_topic(self, topic: str) -> None:
        self._admin.delete_topics([topic])

    def group_state(self, group: str) -> tuple[str, int]:
        description = self._admin.describe_groups([group])[group]
        return description["group_state"].lower(), len(description["members"])

    def group_offset(self, group: str, topic: str, partition: int) -> int:
        offsets = self._admin.list_group_offsets({group: None})
        return int(offsets[group][TopicPartition(topic, partition)].offset)

    def close(self) -> None:
        if self._admin_client is not None:
            self._admin_client.close()


class KafkaPythonConsumer:
    def __init__(self, consumer: KafkaConsumer, topic: str) -> None:
        self._consumer, self._topic = consumer, topic
        self._subscribed_s = time.monotonic()

    def poll(self, timeout_ms: int) -> list[Record]:
        self._subscribe_again_when_stuck()
        batches = self._consumer.poll(timeout_ms=timeout_ms)
        return [
            Record(record.partition, record.offset, record.timestamp, record.key, record.value, tuple(record.headers))
            for records in batches.values()
            for record in records
        ]

    def _subscribe_again_when_stuck(self) -> None:
        """Help a consumer that lost its join.

        kafka-python 3.0.12 forgets the answer of a join that comes between two polls (`need_rejoin` is false by then,
        and nobody takes the assignment): on a busy machine it neither reads nor sends heartbeats from then on. It does
        so whoever answers: beside four busy loops on two cores, of 60 groups of two members polled every 100 ms
        without this help, 10 did not come to an assignment within 15 s with Kafka 2.7.2, and 8 with Barnabas. All but
        two of either were in the state above, their group stable at the broker; in the other two the first member's
        join waited for the second, which took itself for stable and noticed nothing.
        """
        now_s = time.monotonic()
        if self._consumer.assignment():
            self._subscribed_s = now_s
        elif now_s - self._subscribed_s > _STUCK_AFTER_S:
            self._subscribed_s = now_s
            self._consumer.unsubscribe()
            self._consumer.subscribe([self._topic])

    def commit(self) -> None:
        self._consumer.commit()

    def assignment(self) -> set[int]:
        return {partition.partition for partition in self._consumer.assignment()}

    def offset_for_time(self, partition: int, timestamp_ms: int) -> int:
        asked = TopicPartition(self._topic, partition)
        found = self._consumer.offsets_for_times({asked: timestamp_ms})[asked]
        return -1 if found is None else int(found.offset)

    def end_offset(self, partition: int) -> int:
        asked = TopicPartition(self._topic, partition)
        return int(self._consumer.end_offsets([asked])[asked])

    def close(self) -> None:
        self._consumer.close(autocommit=False)
