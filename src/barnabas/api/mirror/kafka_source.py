"""A source whose group is Kafka's: librdkafka reads, the coordinator keeps the offsets.

Before a partition goes to another member, what was taken of it is brought to the target and committed, so that the next
one begins behind it.

Source: design page, the consumer; librdkafka's INTRODUCTION.md, rebalancing.
"""

import time
from collections.abc import Callable, Collection, Sequence
from typing import Final, cast

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, KafkaException, Message, TopicPartition

from barnabas.api.connector.topic_filter import TopicFilter
from barnabas.api.mirror.errors import MirrorError
from barnabas.api.mirror.librdkafka import Notes, started
from barnabas.api.mirror.settings import Options
from barnabas.api.mirror.source import Headers, SourceMessage

_TAKEN_AT_ONCE: Final = 500
_LOOK_FOR_TOPICS_S: Final = 10.0
_METADATA_TIMEOUT_S: Final = 10.0
# What time does not heal.
_REFUSALS: Final = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.FENCED_INSTANCE_ID,
    KafkaError._AUTO_OFFSET_RESET,
    KafkaError._AUTHENTICATION,
    KafkaError._MAX_POLL_EXCEEDED,
)


class KafkaSource:
    """One member of the group, for one thread."""

    def __init__(
        self,
        options: Options,
        wanted: TopicFilter,
        drained: Callable[[], bool],
        notes: Notes,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args:
        options: As `consumer_settings` gives them.
        wanted: Which topics.
        drained: Waits a while until the target has acknowledged all that was taken; False: it has not.
        notes: Told what went wrong and is tried again.
        clock: Seconds that never go back.

        Raises:
            MirrorError: A setting can't be.
        """
        self._servers = str(options["bootstrap.servers"])
        self._group = options["group.id"]
        self._wanted = wanted
        self._drained = drained
        self._notes = notes
        self._clock = clock
        self._assigned: set[tuple[str, int]] = set()
        # Offsets behind what was taken, and what is committed, of the assigned partitions.
        self._positions: dict[tuple[str, int], int] = {}
        self._committed: dict[tuple[str, int], int] = {}
        self._topics: frozenset[str] = frozenset()
        self._look_at = 0.0
        self._consumer = started(Consumer, options, notes)

    @property
    def name(self) -> str:
        return self._servers

    def cluster_id(self) -> str | None:
        """The cluster's id; None where its brokers are older than ids. Raises MirrorError: Nobody answers."""
        try:
            cluster_id: str | None = self._consumer.list_topics(timeout=_METADATA_TIMEOUT_S).cluster_id
        except KafkaException as error:
            raise MirrorError(f"no broker of the source answers at {self._servers}: {error.args[0].str()}") from None
        return cluster_id

    def take(self, timeout_s: float) -> Sequence[SourceMessage]:
        self._look_for_topics()
        if not self._topics:
            # `consume` says nothing without a subscription; a call of `poll` waits as well.
            self._consumer.poll(timeout_s)
            return ()
        taken = []
        for message in self._consumer.consume(_TAKEN_AT_ONCE, timeout_s):
            error = message.error()
            if error is not None:
                self._judge(error)
                continue
            # What was revoked in the middle of this call has another owner, who takes these messages.
            if (message.topic(), message.partition()) in self._assigned:
                taken.append(_source_message(message))
        for each in taken:
            self._positions[each.topic, each.partition] = each.offset + 1
        return taken

    def commit(self) -> None:
        self._commit(self._positions.keys())

    def close(self) -> None:
        # Without offsets: those that may be stored are.
        self._positions.clear()
        self._consumer.close()

    def _look_for_topics(self) -> None:
        """Subscribe to what is there and wanted, every few seconds anew."""
        now = self._clock()
        if now < self._look_at:
            return
        self._look_at = now + _LOOK_FOR_TOPICS_S
        try:
            there = self._consumer.list_topics(timeout=_METADATA_TIMEOUT_S).topics
        except KafkaException as error:
            self._notes.add(f"{self._servers}: {error.args[0].str()}")
            return
        topics = frozenset(name for name, topic in there.items() if topic.error is None and self._wanted.allows(name))
        # One that is gone is left in the subscription: that costs nothing, and it may come again.
        if topics - self._topics:
            self._topics |= topics
            self._consumer.subscribe(
                sorted(self._topics), on_assign=self._assign, on_revoke=self._revoke, on_lost=self._lose
            )

    def _assign(self, consumer: object, partitions: Sequence[TopicPartition]) -> None:
        self._assigned |= {(each.topic, each.partition) for each in partitions}

    def _revoke(self, consumer: object, partitions: Sequence[TopicPartition]) -> None:
        names = [(each.topic, each.partition) for each in partitions]
        if any(self._is_new(name) for name in names) and self._drained():
            self._commit(names)
        self._forget(names)

    def _lose(self, consumer: object, partitions: Sequence[TopicPartition]) -> None:
        """Others have them already: what they read twice can't be helped."""
        self._forget([(each.topic, each.partition) for each in partitions])

    def _forget(self, names: Sequence[tuple[str, int]]) -> None:
        self._assigned.difference_update(names)
        for name in names:
            self._positions.pop(name, None)
            self._committed.pop(name, None)

    def _is_new(self, name: tuple[str, int]) -> bool:
        return name in self._positions and self._positions[name] != self._committed.get(name)

    def _commit(self, names: Collection[tuple[str, int]]) -> None:
        wanted = [name for name in names if self._is_new(name)]
        if not wanted:
            return
        offsets = [TopicPartition(*name, self._positions[name]) for name in wanted]
        try:
            done = self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            self._judge(error.args[0])
            return
        for each in done or ():
            if each.error is None:
                self._committed[each.topic, each.partition] = each.offset
            else:
                self._judge(each.error)

    def _judge(self, error: KafkaError) -> None:
        """Raises MirrorError: It is one that time does not heal; others are noted."""
        if error.fatal() or error.code() in _REFUSALS:
            raise MirrorError(f"the source at {self._servers} (group {self._group}): {error.str()}")
        self._notes.add(f"{self._servers}: {error.str()}")


def _source_message(message: Message) -> SourceMessage:
    kind, timestamp_ms = message.timestamp()
    # What was consumed without an error has all of these.
    return SourceMessage(
        cast(str, message.topic()),
        cast(int, message.partition()),
        cast(int, message.offset()),
        message.key(),
        message.value(),
        None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp_ms,
        cast(Headers | None, message.headers()),
    )
