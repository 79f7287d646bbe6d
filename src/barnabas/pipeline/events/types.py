"""The types of activity events, their fields and versions.

Each event has the fields of `ENVELOPE`, then those of its type. A field that is not required may be missing or null.

| envelope | type | meaning |
| --- | --- | --- |
| type | string | the type's name |
| version | int | of the type's schema that it was written with; a field says which version brought it |
| id | string | the same event always has the same id, however often it was sent: a repeat is known by it |
| time | timestamp | when it happened, UTC; ISO 8601 in JSON, microseconds since 1970 in Avro |

What stays in order is keyed: the record's key is the value of the type's `key` field, so that a visitor's views, a
user's votes, a host's figures stand in one partition in the order in which they were sent.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Literal

# How values are encoded.
Format = Literal["json", "avro"]


class Kind(Enum):
    """A field's type; the value is Spark's name of it."""

    STRING = "STRING"
    INT = "INT"
    LONG = "BIGINT"
    DOUBLE = "DOUBLE"
    BOOLEAN = "BOOLEAN"
    TIME = "TIMESTAMP"


@dataclass(frozen=True, slots=True)
class Field:
    """One field; `since` is the version of the event's schema that brought it."""

    name: str
    kind: Kind
    meaning: str
    is_required: bool = False
    since: int = 1


ENVELOPE = (
    Field("type", Kind.STRING, "the event's type", is_required=True),
    Field("version", Kind.INT, "of the schema", is_required=True),
    Field("id", Kind.STRING, "the same for a repeat of the same event", is_required=True),
    Field("time", Kind.TIME, "when it happened", is_required=True),
)


@dataclass(frozen=True, slots=True)
class EventType:
    """One type of event: `key` names the field that the record's key is made of."""

    name: str
    topic: str
    version: int
    key: str
    own_fields: tuple[Field, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        """All fields in order, those of the envelope first."""
        return ENVELOPE + self.own_fields

    @property
    def ddl(self) -> str:
        """The schema in Spark's own notation."""
        return ", ".join(f"{field.name} {field.kind.value}" for field in self.fields)


_ADDRESS = Field("address", Kind.STRING, "of the client, as logged", is_required=True)
_USER = Field("user", Kind.STRING, "who is logged in")
_AGENT = Field("agent", Kind.STRING, "the User-Agent header")

PAGE_VIEW = EventType(
    "page_view",
    "page-views",
    1,
    "address",
    (
        _ADDRESS,
        _USER,
        Field("session", Kind.STRING, "the site's own session, where it has one"),
        Field("method", Kind.STRING, "of the request", is_required=True),
        Field("page", Kind.STRING, "the request's target as logged, query and all", is_required=True),
        Field("status", Kind.INT, "HTTP status", is_required=True),
        Field("bytes", Kind.LONG, "of the answer's body"),
        Field("referrer", Kind.STRING, "the Referer header"),
        _AGENT,
        Field("latency_ms", Kind.DOUBLE, "from request to answer"),
    ),
)
CLICK = EventType(
    "click",
    "clicks",
    1,
    "address",
    (
        _ADDRESS,
        _USER,
        Field("item", Kind.STRING, "what was clicked: the page that it leads to", is_required=True),
        Field("source", Kind.STRING, "the page or site that it was clicked on"),
        Field("query", Kind.STRING, "the search whose results it was clicked in"),
        Field("position", Kind.INT, "among the results, from 1"),
        _AGENT,
    ),
)
SEARCH = EventType(
    "search",
    "searches",
    1,
    "address",
    (
        _ADDRESS,
        _USER,
        Field("query", Kind.STRING, "what was searched for", is_required=True),
        Field("engine", Kind.STRING, "the site that searched; missing: this one"),
        Field("result_count", Kind.INT, "how many results were shown"),
        _AGENT,
    ),
)
VOTE = EventType(
    "vote",
    "votes",
    1,
    "user",
    (
        Field("address", Kind.STRING, "of the client"),
        Field("user", Kind.STRING, "who voted", is_required=True),
        Field("item", Kind.STRING, "what was voted on", is_required=True),
        Field("value", Kind.INT, "1 for, -1 against, 0 taken back", is_required=True),
        _AGENT,
    ),
)
POST = EventType(
    "post",
    "posts",
    1,
    "user",
    (
        Field("address", Kind.STRING, "of the client"),
        Field("user", Kind.STRING, "who wrote it", is_required=True),
        Field("item", Kind.STRING, "the post's own name", is_required=True),
        Field("text", Kind.STRING, "what it says"),
        Field("parent", Kind.STRING, "the item that it comments on"),
        _AGENT,
    ),
)
FOLLOW = EventType(
    "follow",
    "follows",
    1,
    "user",
    (
        Field("address", Kind.STRING, "of the client"),
        Field("user", Kind.STRING, "who follows", is_required=True),
        Field("followee", Kind.STRING, "who is followed", is_required=True),
        Field("is_following", Kind.BOOLEAN, "false: no longer", is_required=True),
    ),
)
LOGIN = EventType(
    "login",
    "logins",
    1,
    "address",
    (
        _ADDRESS,
        Field("user", Kind.STRING, "the name that was tried"),
        Field("is_success", Kind.BOOLEAN, "whether it was let in", is_required=True),
        Field("service", Kind.STRING, "what was logged in to: a path, sshd", is_required=True),
        Field("reason", Kind.STRING, "why not"),
        Field("method", Kind.STRING, "password, publickey, ..."),
        _AGENT,
    ),
)
HOST_METRIC = EventType(
    "host_metric",
    "host-metrics",
    1,
    "host",
    (
        Field("host", Kind.STRING, "its name", is_required=True),
        Field(
            "metric",
            Kind.STRING,
            "cpu_percent, memory_percent, disk_percent, network_bytes_per_s, ...",
            is_required=True,
        ),
        Field("value", Kind.DOUBLE, "the figure", is_required=True),
        Field("instance", Kind.STRING, "which disk, which network interface"),
    ),
)
SERVICE_LOG = EventType(
    "service_log",
    "service-logs",
    1,
    "service",
    (
        Field("service", Kind.STRING, "which service", is_required=True),
        Field("host", Kind.STRING, "where it runs"),
        Field("level", Kind.STRING, "DEBUG, INFO, WARN, ERROR or FATAL", is_required=True),
        Field("message", Kind.STRING, "what it said", is_required=True),
    ),
)
# The `broker` of what is of no single one.
CLUSTER = "cluster"
# What it begins with where it is a run of the pipeline, by its name.
RUN = "run "

BROKER_METRIC = EventType(
    "broker_metric",
    "broker-metrics",
    1,
    "broker",
    (
        Field("broker", Kind.STRING, "its id, or `CLUSTER`; or `RUN` and a run's name", is_required=True),
        Field("metric", Kind.STRING, "throttle_ms, lag, loop_stalled_ms, ...", is_required=True),
        Field("value", Kind.DOUBLE, "the figure", is_required=True),
        Field("unit", Kind.STRING, "of the figure: ms, records, partitions, percent, ..."),
        Field("group_id", Kind.STRING, "which consumer group lags"),
        Field("topic", Kind.STRING, "behind which topic"),
        Field("partition", Kind.INT, "the one that is furthest behind"),
        Field("user", Kind.STRING, "whose client is held"),
        Field("client_id", Kind.STRING, "what the client calls itself; empty: nothing"),
        Field("quota", Kind.STRING, "the limit that holds it: producer_byte_rate, ..."),
        Field("quota_limit", Kind.DOUBLE, "the limit's value"),
        Field("quota_unit", Kind.STRING, "of the limit and of the rate: bytes/s, percent, partitions/s"),
        Field("quota_level", Kind.INT, "where the limit stands, 1 to 9 (docs/quotas.md)"),
        Field("quota_path", Kind.STRING, "the node that the limit stands in; missing for level 9"),
        Field("rate", Kind.DOUBLE, "what was measured of all whom the limit counts together"),
        Field("shared_with", Kind.STRING, "others whom the limit counts with it, as user/client id"),
        Field("examples", Kind.STRING, "some of what was counted, by name"),
    ),
)

EVENT_TYPES = {
    event.name: event
    for event in (PAGE_VIEW, CLICK, SEARCH, VOTE, POST, FOLLOW, LOGIN, HOST_METRIC, SERVICE_LOG, BROKER_METRIC)
}
