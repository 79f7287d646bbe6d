"""Sends chunks to the brokers, retries failures that can be retried, and reports messages that were given up.

    begin ─► begin ─► … ─► finish          an async producer hands over batch by batch, and finishes after a failure
    begin ─► finish                        a sync producer waits for each

Handling of failures:

| failure | handling |
| --- | --- |
| a retriable error, a lost connection | librdkafka retries the same partition, in order |
| no broker is reachable, or a partition has no leader | unsent messages are taken back and partitioned again |
| any other error of a broker | final |

Messages are partitioned again with fresh metadata; messages without a key go to a partition with a leader. Either kind
of retry happens `message.send.max.retries` times, after `retry.backoff.ms` each time.

Invariants:

- Messages that are partitioned again stay in order; librdkafka's retries stay in order if
  max.in.flight.requests.per.connection is 1.
- Each message is acknowledged or reported as failed. If a connection broke after a message was sent, it may be stored
  although it is reported as failed, or stored twice.

Source: configuration document of 0.8.2, message.send.max.retries, retry.backoff.ms; DefaultEventHandler of 0.8.2.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError

from barnabas.api.producer.chunk import Chunk, Failure, as_data, gathered
from barnabas.api.producer.connections import Connections
from barnabas.api.producer.errors import PartitionerError, SendError
from barnabas.api.producer.metadata import Metadata, MetadataError
from barnabas.api.producer.partitioners import Partitioner
from barnabas.core.clock import Clock

if TYPE_CHECKING:
    from random import Random

# Errors after which messages are partitioned again.
_TRIED_AGAIN = {
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._PURGE_QUEUE,
    KafkaError._TRANSPORT,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._UNKNOWN_TOPIC,
}
# Time to wait for answers before checking that a broker is reachable; doubled each time.
_FIRST_STEP_S, _LONGEST_STEP_S = 0.1, 2.0
# The time without an answer after which the brokers are probed.
_STUCK_MS = 500


class Delivery:
    """Delivers chunks with retries; owned by one thread at a time."""

    def __init__(
        self,
        connections: Connections,
        metadata: Metadata,
        partitioner: Partitioner,
        dice: "Random",
        pause: Callable[[float], object],
        clock: Clock,
        retries: int,
        backoff_s: float,
    ) -> None:
        """Args:
        dice: Random numbers, for the partition of messages without a key.
        pause: Sleeps for a number of seconds.
        """
        self._connections = connections
        self._metadata = metadata
        self._partitioner = partitioner
        self._dice = dice
        self._pause = pause
        self._clock = clock
        self._retries = retries
        self._backoff_s = backoff_s
        self._failures: list[Failure] = []
        # The partitions of unsettled messages.
        self._under_way: set[tuple[str, int]] = set()
        self._number = 0
        # The last known number of unsettled messages, and when it last changed.
        self._unsettled_before = self._moved_ms = 0

    @property
    def unsettled(self) -> int:
        """Return how many messages have no answer."""
        return self._connections.unsettled

    @property
    def has_failures(self) -> bool:
        """Return whether a failure is known."""
        return bool(self._failures)

    @property
    def is_in_trouble(self) -> bool:
        """Return whether `finish` must do more than wait: a message failed, or no answers arrive."""
        if self._failures:
            return True
        unsettled = self._connections.unsettled
        if unsettled != self._unsettled_before:
            self._unsettled_before, self._moved_ms = unsettled, self._clock.monotonic_ms()
        is_stuck = self._clock.monotonic_ms() - self._moved_ms >= _STUCK_MS
        return unsettled > 0 and (is_stuck or self._connections.trouble is not None)

    def open(self) -> None:
        """Connect. Raises ConfigError if the settings are invalid."""
        self._connections.open()

    def begin(self, chunks: Sequence[Chunk], *, may_raise: bool = False) -> None:
        """Hand chunks to librdkafka; `finish` reports those that fail at once.

        Args:
            may_raise: Raise the partitioner's errors and hand nothing over; otherwise its chunk fails.

        Raises:
            PartitionerError: The partitioner rejects a key, or returns a partition that does not exist.
        """
        if not self._connections.unsettled:
            self._under_way.clear()
            self._connections.trouble = None
            if self._connections.are_worn:
                self._connections.drop()
        for chunk in chunks:
            self._number += 1
            chunk.number, chunk.failures = self._number, self._failures
        failed_before = len(self._failures)
        try:
            placed = self._choose_partitions(chunks, may_raise)
        except BaseException:
            # `finish` must not report chunks that were not handed over.
            del self._failures[failed_before:]
            raise
        for chunk, partition in placed:
            self._under_way.add((chunk.topic, partition))
            self._connections.hand_over(chunk, partition)

    def _choose_partitions(self, chunks: Sequence[Chunk], may_raise: bool) -> list[tuple[Chunk, int]]:
        """Choose a partition for each chunk; record chunks without one as failed."""
        placed: list[tuple[Chunk, int]] = []
        # All messages without a key of one call go to one partition, for larger batches; the next call draws another.
        keyless: dict[str, int] = {}
        # Metadata is requested once per topic. If a later request succeeded, later chunks would overtake failed ones.
        unknown: dict[str, MetadataError] = {}
        for chunk in chunks:
            try:
                if chunk.topic not in unknown:
                    partitions = self._metadata.partitions(chunk.topic)
            except MetadataError as error:
                unknown[chunk.topic] = error
            if chunk.topic in unknown:
                chunk.fail(chunk.values, unknown[chunk.topic].code, str(unknown[chunk.topic]))
                continue
            if chunk.key is None:
                partition = keyless.get(chunk.topic, -1)
                if partition < 0:
                    choice = partitions.led or range(partitions.partition_count)
                    number = self._dice.randrange(len(choice)) if len(choice) > 1 else 0
                    partition = keyless[chunk.topic] = choice[number]
            else:
                try:
                    partition = self._partition_of(chunk, partitions.partition_count)
                except Exception as error:
                    # An error of the program's partitioner, possibly in the producer's own thread.
                    if may_raise:
                        raise
                    reason = f"{type(error).__name__}: {error}"
                    chunk.fail(chunk.values, KafkaError._INVALID_ARG, reason)
                    continue
            placed.append((chunk, partition))
        return placed

    def _partition_of(self, chunk: Chunk, partition_count: int) -> int:
        partition = self._partitioner.partition(chunk.key, partition_count)
        if not 0 <= partition < partition_count:
            raise PartitionerError(
                f"{type(self._partitioner).__name__} gave {partition} for a key of {chunk.topic}, which has "
                f"{partition_count} partitions"
            )
        return partition

    def poll(self) -> None:
        """Process the results of messages in flight."""
        self._connections.poll()

    def close(self) -> None:
        """Close the connections; everything must be finished."""
        self._connections.drop()

    def finish(self) -> None:
        """Wait until every message has its answer, and retry failures that can be retried.

        Raises:
            SendError: Messages were given up.
        """
        tries, given_up = 1, list[Failure]()
        while True:
            self._settle()
            failed, self._failures = self._failures, []
            again = [failure for failure in failed if failure.code in _TRIED_AGAIN]
            given_up += [failure for failure in failed if failure.code not in _TRIED_AGAIN]
            if not again:
                break
            if tries > self._retries:
                given_up += again
                break
            self._pause(self._backoff_s)
            self._metadata.forget()
            if self._connections.have_moved:
                self._connections.drop()
            tries += 1
            self.begin(gathered(again))
        if given_up:
            raise SendError(as_data(gathered(given_up)), self._reason(given_up[-1]), tries)

    def _reason(self, failure: Failure) -> str:
        if failure.code != KafkaError._PURGE_QUEUE:
            return failure.reason
        trouble = self._connections.trouble
        return "no broker takes them" + (f": {trouble.str()}" if trouble is not None else "")

    def _settle(self) -> None:
        """Wait for all answers; take unsent messages back if no broker can answer."""
        step_s = _FIRST_STEP_S
        while before := self._connections.unsettled:
            self._connections.wait(step_s)
            unsettled = self._connections.unsettled
            if unsettled < before and self._connections.trouble is None:
                step_s = _FIRST_STEP_S
            elif unsettled and self._has_nobody_to_wait_for():
                self._connections.give_up()
            else:
                step_s = min(2 * step_s, _LONGEST_STEP_S)

    def _has_nobody_to_wait_for(self) -> bool:
        """Return whether no broker is reachable, or a message in flight belongs to a partition without a leader."""
        if not self._metadata.accepts_connections():
            return True
        self._metadata.forget()
        try:
            return any(partition not in self._metadata.partitions(topic).led for topic, partition in self._under_way)
        except MetadataError:
            return True
