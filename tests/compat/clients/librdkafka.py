"""librdkafka, through confluent-kafka."""

from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer as RdConsumer
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka import Message as RdMessage
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from tests.compat.clients.model import FETCH_WAIT_MS, HEARTBEAT_INTERVAL_MS, SESSION_TIMEOUT_MS, Message, Record
from tests.patience import PATIENCE_S


class LibrdkafkaClient:
    def __init__(self, bootstrap_servers: str) -> None:
        self._settings: dict[str, Any] = {"bootstrap.servers": bootstrap_servers, "log_level": 3}
        self._admin = AdminClient(dict(self._settings))

    def produce(
        self,
        topic: str,
        messages: Sequence[Message],
        *,
        acks: str = "all",
        codec: str = "none",
        is_idempotent: bool = False,
    ) -> list[tuple[int, int]]:
        places: list[tuple[int, int]] = [(-1, -1)] * len(messages)
        errors: list[KafkaError] = []

        def delivered(index: int, error: KafkaError | None, message: RdMessage) -> None:
            if error is not None:
                errors.append(error)
            else:
                # The broker tells no offset with acks=0.
                offset = message.offset()
                places[index] = (message.partition(), -1 if offset is None else offset)

        settings = {"acks": acks, "compression.type": codec, "enable.idempotence": is_idempotent, "linger.ms": 5}
        producer = Producer({**self._settings, **settings})
        for index, message in enumerate(messages):
            optional: dict[str, Any] = {}
            if message.partition is not None:
                optional["partition"] = message.partition
            if message.timestamp_ms is not None:
                optional["timestamp"] = message.timestamp_ms
            producer.produce(
                topic,
                message.value,
                message.key,
                headers=list(message.headers),
                on_delivery=lambda error, answer, index=index: delivered(index, error, answer),
                **optional,
            )
            producer.poll(0)
        left = producer.flush(PATIENCE_S)
        if errors or left:
            raise KafkaException(errors[0] if errors else f"{left} messages were not answered")
        return places

    def consumer(
        self, topic: str, group: str, *, instance: str | None = None, is_cooperative: bool = False
    ) -> "LibrdkafkaConsumer":
        consumer = RdConsumer(
            {
                **self._settings,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "session.timeout.ms": SESSION_TIMEOUT_MS,
                "heartbeat.interval.ms": HEARTBEAT_INTERVAL_MS,
                "fetch.wait.max.ms": FETCH_WAIT_MS,
                "topic.metadata.refresh.interval.ms": 1_000,
                **({} if instance is None else {"group.instance.id": instance}),
                **({"partition.assignment.strategy": "cooperative-sticky"} if is_cooperative else {}),
            }
        )
        consumer.subscribe([topic])
        return LibrdkafkaConsumer(consumer, topic)

    def create_topic(self, topic: str, partition_count: int, config: dict[str, str]) -> None:
        new_topic = NewTopic(topic, partition_count, 1, config=config)
        self._admin.create_topics([new_topic])[topic].result(PATIENCE_S)

    def topics(self) -> set[str]:
        return set(self._admin.list_topics(timeout=PATIENCE_S).topics)

    def topic_config(self, topic: str, name: str) -> str:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        return str(self._admin.describe_configs([resource])[resource].result(PATIENCE_S)[name].value)

    def delete_topic(self, topic: str) -> None:
        self._admin.delete_topics([topic])[topic].result(PATIENCE_S)

    def group_state(self, group: str) -> tuple[str, int]:
        description = self._admin.describe_consumer_groups([group])[group].result(PATIENCE_S)
        return description.state.name.lower(), len(description.members)

    def group_offset(self, group: str, topic: str, partition: int) -> int:
        asked = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, partition)])
        answer = self._admin.list_consumer_group_offsets([asked])[group].result(PATIENCE_S)
        return int(answer.topic_partitions[0].offset)

    def close(self) -> None:
        self._admin.poll(0)


class LibrdkafkaConsumer:
    def __init__(self, consumer: RdConsumer, topic: str) -> None:
        self._consumer, self._topic = consumer, topic

    def poll(self, timeout_ms: int) -> list[Record]:
        records = []
        first = self._consumer.poll(timeout_ms / 1000)
        messages = [] if first is None else [first, *self._consumer.consume(500, 0)]
        for message in messages:
            if (error := message.error()) is not None:
                if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    continue
                raise KafkaException(error)
            headers: Any = message.headers() or ()
            records.append(
                Record(
                    message.partition(),
                    message.offset(),
                    message.timestamp()[1],
                    message.key(),
                    message.value(),
                    tuple(headers),
                )
            )
        return records

    def commit(self) -> None:
        self._consumer.commit(asynchronous=False)

    def assignment(self) -> set[int]:
        return {partition.partition for partition in self._consumer.assignment()}

    def offset_for_time(self, partition: int, timestamp_ms: int) -> int:
        asked = TopicPartition(self._topic, partition, timestamp_ms)
        found = self._consumer.offsets_for_times([asked], PATIENCE_S)[0]
        if found.error is not None:
            raise KafkaException(found.error)
        return int(found.offset)

    def end_offset(self, partition: int) -> int:
        return int(self._consumer.get_watermark_offsets(TopicPartition(self._topic, partition), PATIENCE_S)[1])

    def close(self) -> None:
        self._consumer.close()
