"""Dead letters: records that a run refused, written to `<topic>.dlq` with the reason and their place in headers.

| header | text |
| --- | --- |
| reason | why the record was refused |
| topic, partition, offset | place of the record |
| timestamp | of the record, milliseconds since 1970 |
| job | name of the run |
| key_bytes, value_bytes | length of the record's key or value, only where the dead letter has its beginning alone |

A dead letter fits `max.message.bytes` of its topic: a key or a value that is too large for it is cut.

A dead letter of a dead-letter topic is written nowhere: the run logs it. So a topic never feeds itself.

Dead letters are written before the rows of their batch. A kill in between can write one twice, and never loses one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.pipeline.job import DEAD_LETTER_SUFFIX
from barnabas.pipeline.runner.cluster import Cluster
from barnabas.pipeline.runner.inputs import REASON
from barnabas.pipeline.runner.plan import RunPlan

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# A reason quotes names of fields, which can be of any length.
_REASON_CHARACTERS = 500
# What a batch of one record has beside key, value, reason and names: lengths, the headers' names, numbers.
_OVERHEAD_BYTES = 512
# Larger ones are not sent in one request: a producer has a buffer of 32 MB.
_MAX_LETTER_BYTES = 16 << 20
_MAX_LOGGED = 10


class DeadLetters:
    """The dead-letter topics of a run."""

    def __init__(self, cluster: Cluster, plan: RunPlan, warn: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._options = plan.kafka.for_writer()
        self._run = plan.run
        self._warn = warn
        # Bytes that a letter can have, by topic of its record.
        self._limits: dict[str, int] = {}

    def write(self, records: DataFrame) -> None:
        """Write refused records: columns `key`, `value`, `_reason` and those of the place."""
        from pyspark.sql import functions as F

        topics = {row["_topic"] for row in records.select("_topic").distinct().collect()}
        if unwritten := {topic for topic in topics if topic.endswith(DEAD_LETTER_SUFFIX)}:
            self._log(records.where(records["_topic"].isin(*unwritten)))
            records = records.where(~records["_topic"].isin(*unwritten))
        limits = {topic: self._limit(topic) for topic in topics - unwritten}
        if not limits:
            return
        limit = F.create_map(*(F.lit(each) for pair in limits.items() for each in pair))[F.col("_topic")]
        names = F.octet_length("_topic") + len(self._run.encode())
        letters = records.withColumn("_room", F.greatest(F.lit(0), limit - names - _OVERHEAD_BYTES))
        # Of up to four bytes each.
        letters = letters.withColumn("_characters", F.least(F.lit(_REASON_CHARACTERS), F.expr("int(_room div 8)")))
        key = F.substring("key", F.lit(1), F.expr("_room - 4 * _characters"))
        value = F.expr("substring(value, 1, _room - 4 * _characters - least(coalesce(length(key), 0), _room))")

        def header(name: str, text: Column) -> Column:
            return F.struct(F.lit(name).alias("key"), text.cast("string").cast("binary").alias("value"))

        headers = F.array(
            header("reason", F.substring(REASON, F.lit(1), F.col("_characters"))),
            header("topic", F.col("_topic")),
            header("partition", F.col("_partition")),
            header("offset", F.col("_offset")),
            header("timestamp", F.unix_millis("_timestamp")),
            header("job", F.lit(self._run)),
            *(
                F.when(F.length(name) > F.length(kept), header(f"{name}_bytes", F.length(name)))
                for name, kept in (("key", key), ("value", value))
            ),
        )
        letters = letters.select(
            F.concat("_topic", F.lit(DEAD_LETTER_SUFFIX)).alias("topic"),
            key.alias("key"),
            value.alias("value"),
            F.array_compact(headers).alias("headers"),
        )
        # A request has the topic's name beside the record.
        size = str(max(limits.values()) + _OVERHEAD_BYTES)
        letters.write.format("kafka").options(**self._options).option("kafka.max.request.size", size).save()

    def _limit(self, topic: str) -> int:
        if topic not in self._limits:
            self._cluster.create_topic(topic + DEAD_LETTER_SUFFIX, {})
            limit = self._cluster.max_message_bytes(topic + DEAD_LETTER_SUFFIX)
            self._limits[topic] = min(limit, _MAX_LETTER_BYTES)
        return self._limits[topic]

    def _log(self, records: DataFrame) -> None:
        rows = records.select("_topic", "_partition", "_offset", REASON)
        for row in rows.orderBy("_topic", "_partition", "_offset").limit(_MAX_LOGGED).collect():
            self._warn(f"{self._run}: refused {row[0]}-{row[1]} offset {row[2]}: {row[3][:_REASON_CHARACTERS]}")
        if (count := rows.count()) > _MAX_LOGGED:
            self._warn(f"{self._run}: refused {count - _MAX_LOGGED:,} more records of dead-letter topics")
