"""Facts of the reporting job: one slim row for each event, with its position in the topic.

| column | of | meaning |
| --- | --- | --- |
| type, id, time | all | as in the event |
| address, agent | all | as in the event; agent: "" if it is missing |
| subject | page_view | the page: the request's target up to its first `?` or `#` |
| | click | the item, cut like a page |
| | vote, post | the item |
| | search | the query, as in `query` |
| | login | the service |
| query | search, click | in lower case; runs of blanks, tabs and line ends become one blank; trimmed |
| referrer_host | page_view | in lower case, without user and port; null: no referrer; "": referrer is not a URL |
| status, bytes | page_view | as in the event |
| is_success | login | as in the event |
| result_count | search | as in the event |
| `_topic`, `_partition`, `_offset`, `_timestamp` | all | position of the record |

Invariants: one row for each received event, repeats included (`results.py` drops them by type and id); a row depends
only on its event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.pipeline.events.types import CLICK, LOGIN, PAGE_VIEW, POST, SEARCH, VOTE
from barnabas.pipeline.facts import rows_of, without_query

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no types

FACTS = "report_facts"

INPUTS = (PAGE_VIEW, CLICK, SEARCH, VOTE, POST, LOGIN)

_BLANKS = r"[ \t\r\n]+"

_COLUMNS = {
    "type": "string",
    "id": "string",
    "time": "time",
    "address": "string",
    "agent": "string",
    "subject": "string",
    "query": "string",
    "referrer_host": "string",
    "status": "int32",
    "bytes": "int64",
    "is_success": "bool",
    "result_count": "int32",
}


def make_facts(type_name: str, events: pa.Table) -> pa.Table:
    """Return the facts of events of one type, with the columns above."""
    import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no types

    made: dict[str, Any] = {"type": type_name, "agent": pc.fill_null(events["agent"], "")}
    match type_name:
        case PAGE_VIEW.name:
            made |= {"subject": without_query(events["page"]), "referrer_host": _host(events["referrer"])}
        case CLICK.name:
            made |= {"subject": without_query(events["item"]), "query": _plain(events["query"])}
        case SEARCH.name:
            query = _plain(events["query"])
            made |= {"subject": query, "query": query}
        case VOTE.name | POST.name:
            made["subject"] = events["item"]
        case LOGIN.name:
            made["subject"] = events["service"]
    return rows_of(events, _COLUMNS, made)


def _plain(query: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    return pc.utf8_lower(pc.utf8_trim(pc.replace_substring_regex(query, _BLANKS, " "), " "))


def _host(referrer: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the host of each URL; "" if it has none, null for null."""
    import pyarrow.compute as pc

    authority = pc.struct_field(pc.extract_regex(referrer, "^[A-Za-z][A-Za-z0-9+.-]*://(?P<authority>[^/?#]*)"), 0)
    host = pc.replace_substring_regex(pc.replace_substring_regex(authority, "^.*@", ""), ":[0-9]*$", "")
    return pc.if_else(pc.is_valid(referrer), pc.fill_null(pc.ascii_lower(host), ""), None)
