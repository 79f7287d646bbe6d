"""Facts of the security job: the fields that the rules need, one row per event, in the table `security_facts`.

| column | page_view | vote | post | follow | login |
| --- | --- | --- | --- | --- | --- |
| target | path and query | item | parent | followee | service |
| number | status | value | | 1 follow, 0 unfollow | 1 success, 0 failure |
| is_asset | image, style, script, ... | | | | |
| is_page | GET or HEAD of anything else | | | | |
| referrer_key, is_head | key of the referrer; HEAD | | | | |
| text_key, has_link | | | of the text | | |

Clicks and searches are left out: in access logs they are derived from the views' referrers and add no information.

The keys are hashes. Equal referrers have the same key. Texts have the same key if they differ only in links, digits,
punctuation and case. A text of fewer than `LEAST_WORDS` words has no key, because people often write "thank you".

All rows have kind, id, time, day, and the event's address, agent and user if it has them, then `PLACE`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.pipeline.facts import believed_micros, rows_of, without_query

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
    from pyspark.sql import DataFrame

FACTS = "security_facts"

# Files that a browser requests by itself to show a page. Text, archives and feeds are requested on purpose.
ASSET_PATTERN = r"(?i)\.(css|js|mjs|map|png|jpe?g|gif|ico|svg|webp|avif|bmp|woff2?|ttf|otf|eot)$"

LEAST_WORDS = 4

_LINK_PATTERN = r"(?i)(https?://|www\.)\S+"

# By kind of event: the fields that become the fact's target and number.
_OF_KIND = {
    "page_view": ("page", "status"),
    "vote": ("item", "value"),
    "post": ("parent", None),
    "follow": ("followee", "is_following"),
    "login": ("service", "is_success"),
}

_COLUMNS = {
    "kind": "string",
    "id": "string",
    "time": "time",
    "day": "date32",
    "address": "string",
    "agent": "string",
    "user": "string",
    "target": "string",
    "number": "int32",
    "is_asset": "bool",
    "is_page": "bool",
    "referrer_key": "int64",
    "is_head": "bool",
    "text_key": "int64",
    "has_link": "bool",
}


def make_facts(kind: str, events: pa.Table) -> pa.Table:
    """Return the facts of events of one type, with the columns above."""
    import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no types

    target, number = _OF_KIND[kind]
    # The day is in UTC.
    made: dict[str, Any] = {"kind": kind, "day": events["time"].cast("timestamp[us]").cast("date32", safe=False)}
    made["target"] = events[target]
    if number is not None:
        made["number"] = events[number]
    if kind == "page_view":
        method, referrer = pc.utf8_upper(events["method"]), events["referrer"]
        is_asset = pc.match_substring_regex(without_query(events["page"]), ASSET_PATTERN)
        is_head = pc.equal(method, "HEAD")
        made |= {"is_asset": is_asset, "is_head": is_head}
        made["is_page"] = pc.and_(pc.or_(is_head, pc.equal(method, "GET")), pc.invert(is_asset))
        is_none = pc.or_(pc.equal(referrer, ""), pc.equal(referrer, "-"))
        made["referrer_key"] = _keys(pc.if_else(is_none, None, referrer))
    if kind == "post":
        text = events["text"]
        links_out = pc.replace_substring_regex(pc.utf8_lower(text), _LINK_PATTERN, " ")
        words = pc.utf8_trim(pc.replace_substring_regex(links_out, r"[^\p{L}]+", " "), " ")
        is_long = pc.greater_equal(pc.count_substring(words, " "), LEAST_WORDS - 1)
        made["text_key"] = _keys(pc.if_else(is_long, words, None))
        made["has_link"] = pc.match_substring_regex(text, _LINK_PATTERN)
    return rows_of(events, _COLUMNS, made)


def with_seen(facts: DataFrame) -> DataFrame:
    """Add to facts the column `seen`: the time, but at most an hour after the record's timestamp (`believed_micros`).

    A verdict's `last_seen` is the latest `seen` of its subject. Otherwise one wrong clock would make all other subjects
    look old, and a verdict would last for years. Records of message format 0 have no timestamp, so their time counts.
    """
    from pyspark.sql import functions as F

    has_timestamp = F.col("_timestamp") >= F.timestamp_seconds(F.lit(0))
    seen = F.when(has_timestamp, F.timestamp_micros(believed_micros())).otherwise(F.col("time"))
    return facts.withColumn("seen", seen)


def _keys(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return hashes of texts, equal to Spark's `xxhash64`."""
    import pyarrow as pa
    from xxhash import xxh64_intdigest

    different = texts.combine_chunks().dictionary_encode()
    found = [xxh64_intdigest(each.encode(), 42) for each in different.dictionary.to_pylist()]
    keys = pa.array([each - (1 << 64) if each >> 63 else each for each in found], pa.int64())
    return keys.take(different.indices)
