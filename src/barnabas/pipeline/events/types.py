"""The types of activity events, their fields and versions.

Each event has the fields of `ENVELOPE`, then those of its type. A field that is not required may be missing or null.

| envelope | type | meaning |
| --- | --- | --- |
| type | string | the type's name |
| version | int | version of the type's schema that the event was written with (`Field.since`) |
| id | string | the same in each copy of an event that is sent repeatedly: it identifies duplicates |
| time | timestamp | time of the event, UTC; ISO 8601 in JSON, microseconds since 1970 in Avro |

The record's key is the value of the type's `key` field. So a visitor's views, a user's votes or a host's metrics are in
one partition, in the order in which they were sent.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Literal

# How values are encoded.
Format = Literal["json", "avro"]

# Times from the year 1 to the year 9999, in microseconds since 1970: those that a datetime, and so a file's statistics,
# can have.
TIMES_US = range(-62_135_596_800_000_000, 253_402_300_800_000_000)


class Kind(Enum):
    """A field's type; the value is Spark's name for it."""

    STRING = "STRING"
    INT = "INT"
    LONG = "BIGINT"
    DOUBLE = "DOUBLE"
    BOOLEAN = "BOOLEAN"
    TIME = "TIMESTAMP"


@dataclass(frozen=True, slots=True)
class Field:
    """One field; `since` is the version of the event's schema that added it."""

    name: str
    kind: Kind
    is_required: bool = False
    since: int = 1


ENVELOPE = (
    Field("type", Kind.STRING, is_required=True),
    Field("version", Kind.INT, is_required=True),
    Field("id", Kind.STRING, is_required=True),
    Field("time", Kind.TIME, is_required=True),
)


@dataclass(frozen=True, slots=True)
class EventType:
    """One type of event; `key` is the name of the field that is the record's key."""

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
        """The schema in Spark's DDL notation."""
        return ", ".join(f"{field.name} {field.kind.value}" for field in self.fields)


def _first_version(name: str, topic: str, key: str, ddl: str) -> EventType:
    """Return a type whose fields are written as in Spark's DDL."""
    words = [column.split() for column in ddl.split(",")]
    fields = tuple(Field(name, Kind(kind), is_required=bool(not_null)) for name, kind, *not_null in words)
    return EventType(name, topic, 1, key, fields)


# `page` is the request's target as logged, with its query; `latency_ms` is from request to response.
PAGE_VIEW = _first_version(
    "page_view",
    "page-views",
    "address",
    "address STRING NOT NULL, user STRING, session STRING, method STRING NOT NULL, page STRING NOT NULL, "
    "status INT NOT NULL, bytes BIGINT, referrer STRING, agent STRING, latency_ms DOUBLE",
)
# `item` is the target page of the click, `source` the page or site with the link. If the link is a search result,
# `query` is the search and `position` (from 1) the result's position.
CLICK = _first_version(
    "click",
    "clicks",
    "address",
    "address STRING NOT NULL, user STRING, item STRING NOT NULL, source STRING, query STRING, position INT, "
    "agent STRING",
)
# Without an `engine`, it is a search by this site itself.
SEARCH = _first_version(
    "search",
    "searches",
    "address",
    "address STRING NOT NULL, user STRING, query STRING NOT NULL, engine STRING, result_count INT, agent STRING",
)
# `value` is 1 for, -1 against, 0 if the vote is withdrawn.
VOTE = _first_version(
    "vote",
    "votes",
    "user",
    "address STRING, user STRING NOT NULL, item STRING NOT NULL, value INT NOT NULL, agent STRING",
)
# `item` is the post's own name, `parent` the item that the post comments on.
POST = _first_version(
    "post",
    "posts",
    "user",
    "address STRING, user STRING NOT NULL, item STRING NOT NULL, text STRING, parent STRING, agent STRING",
)
FOLLOW = _first_version(
    "follow",
    "follows",
    "user",
    "address STRING, user STRING NOT NULL, followee STRING NOT NULL, is_following BOOLEAN NOT NULL",
)
# `user` is the name that was tried, `service` a path or sshd, `reason` the reason for failure.
LOGIN = _first_version(
    "login",
    "logins",
    "address",
    "address STRING NOT NULL, user STRING, is_success BOOLEAN NOT NULL, service STRING NOT NULL, reason STRING, "
    "method STRING, agent STRING",
)
# `instance` is the disk or the network interface.
HOST_METRIC = _first_version(
    "host_metric",
    "host-metrics",
    "host",
    "host STRING NOT NULL, metric STRING NOT NULL, value DOUBLE NOT NULL, instance STRING",
)
# `level` is DEBUG, INFO, WARN, ERROR or FATAL.
SERVICE_LOG = _first_version(
    "service_log",
    "service-logs",
    "service",
    "service STRING NOT NULL, host STRING, level STRING NOT NULL, message STRING NOT NULL",
)
# Value of `broker` for metrics of the whole cluster; prefix of `broker` for metrics of a run of the pipeline.
CLUSTER, RUN = "cluster", "run "
# `partition` is the partition with the largest lag. `user` and `client_id` (empty: none) are throttled by the limit in
# `quota`, which is stored in the node `quota_path` (none for level 9) of `quota_level` (1 to 9, docs/quotas.md). `rate`
# is the total of all clients that share the limit; `shared_with` names the others as user/client id.
BROKER_METRIC = _first_version(
    "broker_metric",
    "broker-metrics",
    "broker",
    "broker STRING NOT NULL, metric STRING NOT NULL, value DOUBLE NOT NULL, unit STRING, group_id STRING, "
    "topic STRING, partition INT, user STRING, client_id STRING, quota STRING, quota_limit DOUBLE, quota_unit STRING, "
    "quota_level INT, quota_path STRING, rate DOUBLE, shared_with STRING, examples STRING",
)

EVENT_TYPES = {
    event.name: event
    for event in (PAGE_VIEW, CLICK, SEARCH, VOTE, POST, FOLLOW, LOGIN, HOST_METRIC, SERVICE_LOG, BROKER_METRIC)
}
