"""Search for topics, groups, brokers and clients by a part of their names."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from barnabas.clients.admin_quota_states import QuotaReport, QuotaStateAdmin
from barnabas.core.errors import KafkaError
from barnabas.explain.collector import Part
from barnabas.explain.questions import Question
from barnabas.explain.snapshot import Snapshot
from barnabas.page.cluster import Cluster
from barnabas.page.view import MOST_ROWS, Asked, View, ViewKind, known

_QUESTION: Final = Question(frozenset({Part.GROUPS}), ("holds", "requests"), lambda snapshot: [])
_KINDS: Final = ("topic", "group", "broker", "client")
_LONGEST: Final = 200
# Clients are found if they sent requests within this time.
_OF_LATE_S: Final = 300


class Hit(NamedTuple):
    """A topic, group, broker or client; for a client, `user` is its authenticated user, if known.

    Attributes:
        group: The group if the client is a member of one, for the link.
    """

    kind: str
    name: str
    user: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(View):
    """The search results.

    Attributes:
        hits: The first hits: exact names, then names that begin with the text, then all others.
        hit_count: The number of all hits.
    """

    text: str
    hits: tuple[Hit, ...]
    hit_count: int


async def build(asked: Asked) -> Found:
    """Search for `?text=`. Raises KafkaError."""
    text = asked.query.get("text", "").strip()[:_LONGEST]
    snapshot = await asked.cluster.collect(_QUESTION)
    used = await _used(asked.cluster, snapshot) if text and snapshot.reporters else []
    hits = look_for(text, [*hits_of(snapshot), *clients_of(snapshot, used)])
    return Found(**known(snapshot)._asdict(), text=text, hits=tuple(hits[:MOST_ROWS]), hit_count=len(hits))


async def _used(cluster: Cluster, snapshot: Snapshot) -> list[QuotaReport]:
    """Ask Barnabas's brokers for the clients that sent requests recently."""
    try:
        return await cluster.admin(QuotaStateAdmin).top(_OF_LATE_S)
    except KafkaError as error:
        snapshot.refused.append(f"clients: {error.message}")
        return []


def look_for(text: str, hits: list[Hit]) -> list[Hit]:
    """Return the hits whose name contains a text, the best matches first; no hits for an empty text."""
    wanted = text.casefold()
    found = [each for each in dict.fromkeys(hits) if wanted and wanted in each.name.casefold()]
    return sorted(found, key=lambda each: (_distance(wanted, each.name), _KINDS.index(each.kind), each))


def _distance(wanted: str, name: str) -> int:
    folded = name.casefold()
    return 0 if folded == wanted else 1 if folded.startswith(wanted) else 2


def hits_of(snapshot: Snapshot) -> Iterator[Hit]:
    """Yield all topics, groups and brokers."""
    yield from (Hit("topic", name) for name in {each.topic for each in snapshot.partitions})
    yield from (Hit("group", name) for name in snapshot.groups)
    for each in () if snapshot.cluster is None else snapshot.cluster.brokers.values():
        where = "" if each.address is None else f" at {each.address[0]}:{each.address[1]}"
        yield Hit("broker", f"{each.broker_id}{where}")


def clients_of(snapshot: Snapshot, used: list[QuotaReport]) -> Iterator[Hit]:
    """Yield the known client ids: of members, of throttled or slow clients, and of recent quota usage."""
    members = {each.client_id: group.name for group in snapshot.groups.values() for each in group.members}
    users = {(name, ""): None for name in members}
    users |= {(row["client_id"], row["user"]): None for kind in ("holds", "requests") for row in snapshot.rows(kind)}
    # Clients too small for rows of their own share one row without a name.
    users |= {
        (row["client_id"], row["user"]): None for told in used for row in told["clients"] if row["user"] is not None
    }
    named = {name for name, user in users if user}
    for name, user in users:
        if name and (user or name not in named):
            yield Hit("client", name, user, members.get(name, ""))


VIEW = ViewKind("/find", "Find", "find.html.jinja", build, 10, "")
