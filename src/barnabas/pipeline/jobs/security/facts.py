"""Of each event what the rules need, one row an event: the table `security_facts`.

| column | page_view | vote | post | follow | login |
| --- | --- | --- | --- | --- | --- |
| target | path and query | item | parent | followee | service |
| number | status | value | | 1 follows, 0 no longer | 1 let in, 0 not |
| is_asset | image, style, script, ... | | | | |
| is_page | GET or HEAD of something else | | | | |
| referrer_key, is_head | as said | | | | |
| text_key, has_link | | | of the text | | |

Clicks and searches are not among them: those of an access log are made from the referrers of its views, and say nothing
that the views do not.

The keys are hashes: the same for the same referrer, and for texts that are the same but for links, figures, signs and
case. A text of fewer than `LEAST_WORDS` words has none: people do write "thank you" often.

All rows have kind, id, time, day, and address, agent and user as far as the event knows them, then `PLACE`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipeline.job import PLACE, Frames, Parameters

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FACTS = "security_facts"

# What a browser fetches by itself for a page that it shows; text, archives and feeds are asked for by somebody.
ASSET_PATTERN = r"(?i)\.(css|js|mjs|map|png|jpe?g|gif|ico|svg|webp|avif|bmp|woff2?|ttf|otf|eot)$"

_IS_ASSET = f"regexp(substring_index(substring_index(page, '?', 1), '#', 1), r'{ASSET_PATTERN}')"

LEAST_WORDS = 4

_LINK_PATTERN = r"(?i)(https?://|www\.)\S+"
_WORDS = (
    f"trim(regexp_replace(regexp_replace(lower(text), r'{_LINK_PATTERN}', ' '), "
    # What is no letter; in SQL's own kind of raw string.
    r"r'[^\p{L}]+', ' '))"
)

# By kind of event: its columns of the table, as Spark SQL; what is left out is null.
_OF_KIND = {
    "page_view": {
        "address": "address",
        "agent": "agent",
        "user": "user",
        "target": "page",
        "number": "status",
        "is_asset": _IS_ASSET,
        "is_page": f"upper(method) IN ('GET', 'HEAD') AND NOT {_IS_ASSET}",
        "referrer_key": "CASE WHEN referrer NOT IN ('', '-') THEN xxhash64(referrer) END",
        "is_head": "upper(method) = 'HEAD'",
    },
    "vote": {"address": "address", "agent": "agent", "user": "user", "target": "item", "number": "value"},
    "post": {
        "address": "address",
        "agent": "agent",
        "user": "user",
        "target": "parent",
        "text_key": f"CASE WHEN size(split({_WORDS}, ' ')) >= {LEAST_WORDS} THEN xxhash64({_WORDS}) END",
        "has_link": f"regexp(text, r'{_LINK_PATTERN}')",
    },
    "follow": {"address": "address", "user": "user", "target": "followee", "number": "int(is_following)"},
    "login": {
        "address": "address",
        "agent": "agent",
        "user": "user",
        "target": "service",
        "number": "int(is_success)",
    },
}
KINDS = tuple(_OF_KIND)

_COLUMNS = {
    "address": "STRING",
    "agent": "STRING",
    "user": "STRING",
    "target": "STRING",
    "number": "INT",
    "is_asset": "BOOLEAN",
    "is_page": "BOOLEAN",
    "referrer_key": "BIGINT",
    "is_head": "BOOLEAN",
    "text_key": "BIGINT",
    "has_link": "BOOLEAN",
}


def facts_of(events: DataFrame, kind: str) -> DataFrame:
    """Return the rows of one kind of event.

    Args:
        events: Columns of the event's type, then `PLACE`.
        kind: The type's name.
    """
    of_kind = _OF_KIND[kind]
    return events.selectExpr(
        f"'{kind}' AS kind",
        "id",
        "time",
        "to_date(time) AS day",
        *(f"CAST({of_kind.get(name, 'NULL')} AS {type_name}) AS {name}" for name, type_name in _COLUMNS.items()),
        *PLACE,
    )


def transform(frames: Frames, parameters: Parameters) -> Frames:
    """Turn a batch of events into facts, all kinds in one frame."""
    facts = None
    for kind in KINDS:
        if kind in frames:
            rows = facts_of(frames[kind], kind)
            facts = rows if facts is None else facts.unionByName(rows)
    assert facts is not None, "a run of the job has at least one of its inputs"
    return {FACTS: facts}


def distinct_of(facts: DataFrame, *kinds: str) -> DataFrame:
    """Return the facts of some kinds, repeats of an event dropped: whichever comes first, as all are the same."""
    from pyspark.sql import functions as F

    return facts.where(F.col("kind").isin(*kinds)).dropDuplicates(["id"])
