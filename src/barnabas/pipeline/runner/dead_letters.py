"""Records that are no event, kept: each goes to `<topic>.dlq` as it is, with the reason and its place in headers.

| header | text |
| --- | --- |
| reason | why it was refused |
| topic, partition, offset | where it stands |
| timestamp | of the record, milliseconds since 1970 |
| job | which run refused it |

They are written before the batch's rows: a kill in between can write one twice (its place tells), never lose one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.pipeline.runner.cluster import Cluster
from barnabas.pipeline.runner.inputs import REASON
from barnabas.pipeline.runner.plan import RunPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SUFFIX = ".dlq"


class DeadLetters:
    """The dead-letter topics of a run."""

    def __init__(self, cluster: Cluster, plan: RunPlan) -> None:
        self._cluster = cluster
        self._options = plan.kafka.for_spark()
        self._run = plan.run
        self._made: set[str] = set()

    def write(self, records: DataFrame) -> None:
        """Write refused records: columns `key`, `value`, `_reason` and those of the place."""
        from pyspark.sql import functions as F

        def header(name: str, text: str) -> str:
            return f"struct('{name}' AS key, CAST({text} AS BINARY) AS value)"

        headers = ", ".join(
            (
                header("reason", REASON),
                header("topic", "_topic"),
                header("partition", "CAST(_partition AS STRING)"),
                header("offset", "CAST(_offset AS STRING)"),
                header("timestamp", "CAST(unix_millis(_timestamp) AS STRING)"),
                header("job", "run"),
            )
        )
        letters = records.withColumn("run", F.lit(self._run)).selectExpr(
            f"concat(_topic, '{SUFFIX}') AS topic", "key", "value", f"array({headers}) AS headers"
        )
        self._make_topics(row["_topic"] for row in records.select("_topic").distinct().collect())
        letters.write.format("kafka").options(**self._options).save()

    def _make_topics(self, topics: Iterable[str]) -> None:
        for topic in topics:
            if topic not in self._made:
                self._cluster.create_topic(topic + SUFFIX, {})
                self._made.add(topic)
