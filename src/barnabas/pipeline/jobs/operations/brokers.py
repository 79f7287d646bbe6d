"""What is kept of brokers' figures: whom each is of, and in words what the figure does not say.

| metrics | are of (`instance`) | `detail` |
| --- | --- | --- |
| throttle_ms | client ID of user NAME at broker N | the limit, where it stands, the rate, who shares it |
| lag | group ID on topic NAME; the run itself | the partition that is furthest behind |
| others | the broker itself, or the cluster (null) | some of what was counted |

Whoever tells, a broker, the cluster or a run of the pipeline, is the fact's `subject`: by that it is noticed when
nothing is told any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.events.types import CLUSTER, RUN
from barnabas.pipeline.jobs.operations.words import in_words

if TYPE_CHECKING:
    from pyspark.sql import Column


def of_broker() -> dict[str, Column]:
    """Return the columns of a fact, by name, from those of a `broker_metric`."""
    from pyspark.sql import functions as F

    is_hold, is_lag = F.col("metric") == "throttle_ms", F.col("group_id").isNotNull()
    is_named = (F.col("broker") == CLUSTER) | F.col("broker").startswith(RUN)
    subject = F.when(is_named, F.col("broker")).otherwise(F.concat(F.lit("broker "), "broker"))
    client = F.when(F.col("client_id") == "", "without an id").otherwise(F.col("client_id"))
    named = F.format_string("client %s of user %s at %s", client, F.col("user"), subject)
    lagging = F.format_string("group %s on topic %s", F.col("group_id"), F.col("topic"))
    furthest = F.concat(F.lit("partition "), F.col("partition").cast("STRING"), F.lit(" is furthest behind"))
    return {
        "subject": subject,
        "instance": F.when(is_hold, named).when(is_lag, lagging),
        "figure": F.col("metric"),
        "value": F.col("value"),
        "detail": F.when(is_hold, _limit()).when(is_lag, furthest).otherwise(F.col("examples")),
    }


def _limit() -> Column:
    """Say which limit it is that holds a client, as far as it is known; null where nothing is."""
    from pyspark.sql import functions as F

    def amount(name: str) -> Column:
        return F.concat_ws(" ", in_words(name, is_grouped=True), "quota_unit")

    # A null leaves its part out, or all where the limit's name is not known.
    limit = F.when(F.col("quota_limit").isNotNull(), F.concat(F.lit(" of "), amount("quota_limit")))
    level = F.concat(F.lit(" (level "), F.col("quota_level").cast("STRING"), F.lit(")"))
    node = F.concat(F.lit(" in "), F.coalesce("quota_path", F.lit("the broker's file")), level)
    # Between two bursts, and at the end of a hold, the rate is below the limit and explains nothing.
    rate = F.when(F.col("rate") >= F.col("quota_limit"), F.concat(F.lit(", measured "), amount("rate")))
    shared = F.concat(F.lit(", shared with "), F.col("shared_with"))
    parts = (limit, node, rate, shared)
    return F.concat("quota", *(F.coalesce(part, F.lit("")) for part in parts))
