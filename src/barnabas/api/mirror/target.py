"""Where a stream's messages go: a producer of librdkafka's, and what it has not been told yet.

Invariants:
- `drain` says True only if the target has acknowledged everything that was sent.
- What is under way is bounded by `buffer.memory`: `send` waits where that is full.

Source: design page, the producer; librdkafka's INTRODUCTION.md.
"""

import time
from collections.abc import Callable
from typing import Final, cast

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from barnabas.api.mirror.errors import MirrorError
from barnabas.api.mirror.librdkafka import Notes, started
from barnabas.api.mirror.settings import Options
from barnabas.api.mirror.source import SourceMessage

_METADATA_TIMEOUT_S: Final = 10.0
_WAIT_S: Final = 0.1
# librdkafka takes a timestamp of 0 for none, and puts its own time there.
_FIRST_TIMESTAMP_MS: Final = 1
_ANY_PARTITION: Final = -1


class Target:
    """One stream's producer; used by one thread."""

    def __init__(
        self, options: Options, notes: Notes, *, keeps_partitions: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Args:
        options: As `producer_settings` gives them.
        notes: Told what went wrong and is tried again.
        keeps_partitions: A message goes into the partition of the same number; else by its key.
        clock: Seconds that never go back.

        Raises:
            MirrorError: A setting can't be.
        """
        self._servers = str(options["bootstrap.servers"])
        self._keeps_partitions = keeps_partitions
        self._clock = clock
        self._failure: MirrorError | None = None
        self.acknowledged_count = 0
        self.acknowledged_bytes = 0
        self._producer = started(Producer, options, notes)

    def cluster_id(self) -> str | None:
        """The cluster's id; None where its brokers are older than ids. Raises MirrorError: Nobody answers."""
        try:
            cluster_id: str | None = self._producer.list_topics(timeout=_METADATA_TIMEOUT_S).cluster_id
        except KafkaException as error:
            raise MirrorError(f"no broker of the target answers at {self._servers}: {error.args[0].str()}") from None
        return cluster_id

    def send(self, message: SourceMessage, is_stopped: Callable[[], bool]) -> bool:
        """Hand a message over; False: it was not, because the mirror is to stop while the buffer is full.

        Raises:
            MirrorError: The target refused this message, or one before it.
        """
        while True:
            self._raise_failure()
            try:
                self._producer.produce(
                    message.topic,
                    value=message.value,
                    key=message.key,
                    partition=message.partition if self._keeps_partitions else _ANY_PARTITION,
                    timestamp=0 if message.timestamp_ms is None else max(message.timestamp_ms, _FIRST_TIMESTAMP_MS),
                    headers=cast(list[tuple[str, str | bytes | None]], message.headers or []),
                    on_delivery=self._note_delivery,
                )
            except BufferError:
                self._producer.poll(_WAIT_S)
                if is_stopped():
                    return False
            except KafkaException as error:
                raise self._refusal(message.topic, message.partition, error.args[0]) from None
            else:
                return True

    def serve(self) -> None:
        """Take what the target has answered. Raises MirrorError: It refused a message."""
        self._producer.poll(0)
        self._raise_failure()

    def drain(self, timeout_s: float, is_stopped: Callable[[], bool] = lambda: False) -> bool:
        """Wait until everything is acknowledged; False: it is not, after `timeout_s`, or when the mirror is to stop.

        Raises:
            MirrorError: The target refused a message.
        """
        deadline = self._clock() + timeout_s
        while len(self._producer):
            if self._clock() >= deadline or is_stopped():
                return False
            self._producer.flush(_WAIT_S)
            self._raise_failure()
        self._raise_failure()
        return True

    def close(self) -> None:
        """Give up what was not acknowledged."""
        self._producer.purge(in_queue=True, in_flight=True, blocking=True)
        self._producer.poll(0)

    def _note_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.acknowledged_count += 1
            self.acknowledged_bytes += len(message)
        elif self._failure is None:
            self._failure = self._refusal(cast(str, message.topic()), message.partition(), error)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _refusal(self, topic: str, partition: int | None, error: KafkaError) -> MirrorError:
        # None: it was given up before its partition was known.
        where = f"topic {topic}" if partition is None or partition < 0 else f"partition {topic}-{partition}"
        advice = ""
        match error.code():
            case KafkaError._UNKNOWN_PARTITION:
                advice = "; --keep-partitions wants as many partitions in the target as the source has"
            case KafkaError._UNKNOWN_TOPIC | KafkaError.UNKNOWN_TOPIC_OR_PART:
                advice = "; create the topic there, or let its brokers do it (auto.create.topics.enable)"
            case KafkaError.MSG_SIZE_TOO_LARGE:
                advice = "; the target topic's max.message.bytes and this file's max.request.size are the limits"
        return MirrorError(f"the target at {self._servers} took no message of {where}: {error.str()}{advice}")
