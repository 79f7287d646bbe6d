"""The clients with one user and client id: throttling and its causes, and the quotas on each level."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.explain.finding import Finding
from barnabas.explain.questions import QUESTIONS
from barnabas.explain.snapshot import Scope, Snapshot
from barnabas.page.view import Asked, View, ViewKind, known


class LevelRow(NamedTuple):
    """A broker's quota on one level; the first level with a quota is effective."""

    broker_id: int
    quota: str
    level: int
    whom: str
    limit: float
    is_in_force: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Client(View):
    """The clients with one user and client id."""

    user: str
    client_id: str
    findings: tuple[Finding, ...]
    levels: tuple[LevelRow, ...]


async def build(asked: Asked) -> Client:
    """Read the clients named by `?user=` and `?client_id=`. Raises KafkaError."""
    user, client_id = asked.query.get("user", ""), asked.query.get("client_id", "")
    question = QUESTIONS["client"]
    snapshot = await asked.cluster.collect(question, Scope(user=user or None, client_id=client_id))
    return Client(
        **known(snapshot)._asdict(),
        user=user,
        client_id=client_id,
        findings=tuple(question.rule(snapshot)),
        levels=tuple(_levels(snapshot)),
    )


def _levels(snapshot: Snapshot) -> Iterator[LevelRow]:
    for told in snapshot.limits:
        for quota in told["quotas"]:
            for each in quota["levels"]:
                if each["limit"] is not None:
                    is_in_force = each["level"] == quota["level"]
                    yield LevelRow(
                        told["broker_id"], quota["key"], each["level"], each["name"], each["limit"], is_in_force
                    )


VIEW = ViewKind("/client", "Client", "client.html.jinja", build, 5, "/clients")
