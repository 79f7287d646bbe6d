"""Activity events: JSON objects in a topic, with one explicit schema.

| field | type | meaning |
| --- | --- | --- |
| type | string | `view`; `marker` ends a replay and is no view; `unreadable` is a line of the log that is no view |
| line | long | the line of the log, from 1; the marker has the number after the last |
| time | timestamp | event time, UTC, ISO 8601 with seconds; an unreadable line has none |
| address, method, page, status, bytes, referrer, agent | | as logged; missing where the log has a dash |
| text | string | an unreadable line as it stands; its first LONGEST_LINE + 1 characters where it is longer |

Invariant: the same line always gives the same bytes, so that a replay can tell whether a topic holds its own log.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime

from barnabas.pipeline.sources.access_log import View

VIEW = "view"
MARKER = "marker"
UNREADABLE = "unreadable"

# Spark's own notation, so that this module does not need pyspark.
SCHEMA = (
    "type STRING, line BIGINT, time TIMESTAMP, address STRING, method STRING, page STRING, status INT, bytes BIGINT, "
    "referrer STRING, agent STRING, text STRING"
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a replay stands: the line of an event, and whether it is the marker that ends it."""

    line: int
    is_marker: bool


def encode_view(view: View) -> bytes:
    """Give the event of one page view."""
    return _encode(
        {
            "type": VIEW,
            "line": view.line,
            "time": _iso(view.time_s),
            "address": view.address,
            "method": view.method,
            "page": view.page,
            "status": view.status,
            "bytes": view.size_bytes,
            "referrer": view.referrer,
            "agent": view.agent,
        }
    )


def encode_unreadable(line: int, text: str) -> bytes:
    """Give the event that keeps a line which is no view."""
    return _encode({"type": UNREADABLE, "line": line, "text": text})


def encode_marker(line: int, time_s: int) -> bytes:
    """Give the event that ends a replay: it moves event time on, and is counted nowhere."""
    return _encode({"type": MARKER, "line": line, "time": _iso(time_s)})


def place_of(value: bytes | None) -> Place | None:
    """Tell which line an event stands for; None where it is no event of ours."""
    try:
        event = json.loads(value or b"")
        line, kind = event["line"], event["type"]
    except (ValueError, KeyError, TypeError):
        return None
    if not isinstance(line, int) or kind not in (VIEW, MARKER, UNREADABLE):
        return None
    return Place(line, kind == MARKER)


def _encode(event: dict[str, str | int | None]) -> bytes:
    present = {name: value for name, value in event.items() if value is not None}
    return json.dumps(present, ensure_ascii=False, separators=(",", ":")).encode()


def _iso(time_s: int) -> str:
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
