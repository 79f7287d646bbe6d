"""What the reporting job keeps of each event: one slim row, with the place it came from.

| column | of | meaning |
| --- | --- | --- |
| type, id, time | all | as in the event |
| address, agent | all | as in the event; an agent that is missing is "" |
| subject | page_view | the page: the request's target up to its first `?` or `#` |
| | click | the item, cut like a page |
| | vote, post | the item |
| | search | the query, as in `query` |
| | login | the service |
| query | search, click | in lower case, blanks (and tabs and line ends) run together, none at its ends |
| referrer_host | page_view | in lower case, without user and port; null: no referrer; "": one that is no URL |
| status, bytes | page_view | as in the event |
| is_success | login | as in the event |
| result_count | search | as in the event |
| `_topic`, `_partition`, `_offset`, `_timestamp` | all | where the record stands |

Invariants: one row for each event that came, repeats included (`results.py` leaves them out, by type and id); what a
row holds depends on its event alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.events.types import CLICK, LOGIN, PAGE_VIEW, POST, SEARCH, VOTE
from barnabas.pipeline.job import PLACE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from barnabas.pipeline.job import Frames, Parameters

FACTS = "report_facts"

INPUTS = (PAGE_VIEW, CLICK, SEARCH, VOTE, POST, LOGIN)

_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
_BLANKS = r"[ \t\r\n]+"


def keep_facts(frames: Frames, parameters: Parameters) -> dict[str, DataFrame]:
    """Return the facts of new events.

    Args:
        frames: Events by the name of their type; types that the run has no topic of may be missing.
        parameters: None is used.

    Returns:
        `report_facts`, columns as above.

    Raises:
        ValueError: there is no input at all.
    """
    parts = [_facts_of(event.name, frames[event.name]) for event in INPUTS if event.name in frames]
    if not parts:
        raise ValueError(f"the reporting job wants at least one of {', '.join(event.name for event in INPUTS)}")
    rows = parts[0]
    for part in parts[1:]:
        rows = rows.unionByName(part)
    return {FACTS: rows}


def _facts_of(type_name: str, events: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    nothing = F.lit(None)
    subject, query, host, status, size = nothing, nothing, nothing, nothing, nothing
    is_success, result_count = nothing, nothing
    match type_name:
        case PAGE_VIEW.name:
            subject, host = _without_query(F.col("page")), _host(F.col("referrer"))
            status, size = F.col("status"), F.col("bytes")
        case CLICK.name:
            subject, query = _without_query(F.col("item")), _plain(F.col("query"))
        case SEARCH.name:
            subject = query = _plain(F.col("query"))
            result_count = F.col("result_count")
        case VOTE.name | POST.name:
            subject = F.col("item")
        case LOGIN.name:
            subject, is_success = F.col("service"), F.col("is_success")
    return events.select(
        F.lit(type_name).alias("type"),
        "id",
        "time",
        "address",
        F.coalesce("agent", F.lit("")).alias("agent"),
        subject.cast("string").alias("subject"),
        query.cast("string").alias("query"),
        host.cast("string").alias("referrer_host"),
        status.cast("int").alias("status"),
        size.cast("bigint").alias("bytes"),
        is_success.cast("boolean").alias("is_success"),
        result_count.cast("int").alias("result_count"),
        *PLACE,
    )


def _without_query(page: Column) -> Column:
    from pyspark.sql import functions as F

    return F.regexp_extract(page, "^[^?#]*", 0)


def _plain(query: Column) -> Column:
    from pyspark.sql import functions as F

    return F.lower(F.trim(F.regexp_replace(query, _BLANKS, " ")))


def _host(referrer: Column) -> Column:
    """Cut the host out of a URL; "" where there is none."""
    from pyspark.sql import functions as F

    authority = F.regexp_extract(referrer, "^[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)", 1)
    host = F.regexp_replace(F.regexp_replace(authority, "^.*@", ""), ":[0-9]*$", "")
    # Not lower(): what it does to letters that no host name has depends on the Java.
    return F.translate(host, _UPPER, _LOWER)
