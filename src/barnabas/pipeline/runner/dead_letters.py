"""Dead letters: records that a run refused, written to `<topic>.dlq` with the reason and their position in headers.

| header | text |
| --- | --- |
| reason | why the record was refused |
| topic, partition, offset | position of the record |
| timestamp | of the record, milliseconds since 1970 |
| job | name of the run |
| key_bytes, value_bytes | length of the record's key or value, only if it is truncated in the dead letter |

A key or a value that exceeds `max.message.bytes` of the dead-letter topic is truncated.

A run warns of the first refused record of each topic. A refused record of a dead-letter topic is only logged, so that a
topic never feeds itself.

Dead letters are written before the rows of their batch. A kill in between can duplicate a dead letter, but not lose it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from barnabas.pipeline.job import DEAD_LETTER_SUFFIX
from barnabas.pipeline.runner.cluster import Cluster
from barnabas.pipeline.runner.plan import RunPlan
from barnabas.pipeline.runner.topic_output import Headers, record_producer

# A reason quotes names of fields, which can have any length.
_REASON_CHARACTERS = 500
# Size of a batch of one record without key, value, reason and names: lengths, the headers' names, numbers.
_OVERHEAD_BYTES = 512
# Maximum size of a dead letter: a producer has a buffer of 32 MB.
_MAX_LETTER_BYTES = 16 << 20
_MAX_LOGGED = 10
_BATCH_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that a run refused, and the reason."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    reason: str


class DeadLetters:
    """The dead-letter topics of a run."""

    def __init__(self, cluster: Cluster, plan: RunPlan, warn: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._settings = plan.kafka.for_producer()
        self._run = plan.run
        self._warn = warn
        # Maximum size of a dead letter in bytes, by topic of its record.
        self._limits: dict[str, int] = {}
        self._warned: set[str] = set()

    def write(self, letters: Iterable[DeadLetter]) -> None:
        """Write refused records to their dead-letter topics; return when all are acknowledged.

        Raises:
            ClusterUnavailableError: a dead-letter topic cannot be created or described.
            TopicWriteError: a record was not written.
        """
        written: list[DeadLetter] = []
        logged: list[DeadLetter] = []
        for letter in letters:
            (logged if letter.topic.endswith(DEAD_LETTER_SUFFIX) else written).append(letter)
        self._log_letters(logged)
        if not written:
            return
        limits = [self._limit(topic) for topic in {letter.topic for letter in written}]
        settings = {
            **self._settings,
            "message.max.bytes": _MAX_LETTER_BYTES + _OVERHEAD_BYTES,
            # librdkafka does not divide a batch that is too large for the topic.
            "batch.size": min(_BATCH_BYTES, *limits),
        }
        with record_producer(settings) as producer:
            for letter in written:
                producer.send(*self._record_of(letter))
        for letter in written:
            if letter.topic not in self._warned:
                self._warned.add(letter.topic)
                self._warn(f"{self._said(letter)}; refused records are in {letter.topic}{DEAD_LETTER_SUFFIX}")

    def _record_of(self, letter: DeadLetter) -> tuple[str, bytes | None, bytes | None, Headers]:
        """Return a dead letter's topic, key, value and headers; truncate a key or value that is too large."""
        names_bytes = len(letter.topic.encode()) + len(self._run.encode())
        room_bytes = max(0, self._limit(letter.topic) - names_bytes - _OVERHEAD_BYTES)
        reason = letter.reason[: min(_REASON_CHARACTERS, room_bytes // 8)]
        # A character has up to four bytes.
        room_bytes -= 4 * min(_REASON_CHARACTERS, room_bytes // 8)
        key = None if letter.key is None else letter.key[:room_bytes]
        value = None if letter.value is None else letter.value[: room_bytes - len(key or b"")]
        headers: Headers = [
            ("reason", reason.encode(errors="replace")),
            ("topic", letter.topic),
            ("partition", str(letter.partition)),
            ("offset", str(letter.offset)),
            ("timestamp", str(letter.timestamp_ms)),
            ("job", self._run),
        ]
        for name, whole, kept in (("key", letter.key, key), ("value", letter.value, value)):
            if len(whole or b"") > len(kept or b""):
                headers.append((f"{name}_bytes", str(len(whole or b""))))
        return letter.topic + DEAD_LETTER_SUFFIX, key, value, headers

    def _log_letters(self, letters: list[DeadLetter]) -> None:
        for each in sorted(letters, key=lambda each: (each.topic, each.partition, each.offset))[:_MAX_LOGGED]:
            self._warn(self._said(each))
        if len(letters) > _MAX_LOGGED:
            self._warn(f"{self._run}: refused {len(letters) - _MAX_LOGGED:,} more records of dead-letter topics")

    def _said(self, letter: DeadLetter) -> str:
        reason = letter.reason[:_REASON_CHARACTERS]
        return f"{self._run}: refused {letter.topic}-{letter.partition} offset {letter.offset}: {reason}"

    def _limit(self, topic: str) -> int:
        if topic not in self._limits:
            self._cluster.create_topic(topic + DEAD_LETTER_SUFFIX, {})
            limit = self._cluster.max_message_bytes(topic + DEAD_LETTER_SUFFIX)
            self._limits[topic] = min(limit, _MAX_LETTER_BYTES)
        return self._limits[topic]
