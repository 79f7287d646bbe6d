"""Events out of a topic, through Spark's own Kafka connector.

Invariant: what does not parse is counted, not lost without a word: it comes through with all columns null, and the
observation `source` tells how many there were in each batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.line_events import SCHEMA, UNREADABLE, VIEW

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OBSERVATION = "source"


def read_topic(spark: SparkSession, bootstrap_server: str, topic: str, client_id: str) -> DataFrame:
    """Give the topic's records as a stream, from its start; data that is gone stops the query.

    The offsets are kept in the query's checkpoint.
    """
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap_server)
        .option("kafka.client.id", client_id)
        # A broker that is restarted is back in a second or two: ask again soon, and give up soon enough to tell.
        .option("kafka.reconnect.backoff.max.ms", 500)
        .option("kafka.request.timeout.ms", 10_000)
        .option("kafka.default.api.timeout.ms", 20_000)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("failOnDataLoss", "true")
        .load()
    )


def parse_events(records: DataFrame) -> DataFrame:
    """Read each record's value as an event, and count by kind what came."""
    from pyspark.sql import functions as F  # noqa: N812

    def count_type(kind: str) -> str:
        return f"count_if(type = '{kind}')"

    parsed = records.select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("event")).select("event.*")
    return parsed.observe(
        OBSERVATION,
        F.count(F.lit(1)).alias("records"),
        F.expr(count_type(VIEW)).alias("views"),
        F.expr(count_type(UNREADABLE)).alias("unreadable"),
        F.expr("count_if(type IS NULL)").alias("unparsed"),
    )
