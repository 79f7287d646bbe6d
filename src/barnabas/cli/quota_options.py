"""Whose limits the options of `barnabas quotas` name, and which ones."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from barnabas.cli.options import Option, flag, parse_pairs
from barnabas.cli.output import Cell, note, print_json, print_table
from barnabas.clients.admin_quota_states import Limited, by_level
from barnabas.core.errors import BarnabasError
from barnabas.wire.quotas.entities import DEFAULT, Entity
from barnabas.wire.quotas.limits import KINDS_BY_KEY, QuotaKind

User = Annotated[str | None, Option("--user", metavar="NAME", help="The user, as he logs in.")]
ClientId = Annotated[str | None, Option("--client-id", metavar="ID", help="The client.id.")]
UserDefault = Annotated[bool, flag("--user-default", "The limit of users who have none of their own.")]
ClientDefault = Annotated[bool, flag("--client-default", "The limit of client ids that have none of their own.")]


def entity_of(user: str | None, is_user_default: bool, client_id: str | None, is_client_default: bool) -> Entity:
    """Whose limit the options name. Raises BarnabasError."""
    if (user is not None and is_user_default) or (client_id is not None and is_client_default):
        raise BarnabasError("a limit is for one name or for all that have none: leave one of the two options out")
    entity = Entity(DEFAULT if is_user_default else user, DEFAULT if is_client_default else client_id)
    if entity == (None, None):
        raise BarnabasError("say whose limit: --user, --user-default, --client-id, --client-default, or two of them")
    if "" in entity:
        raise BarnabasError("there is no limit for a user or a client id without a name")
    return entity


def changes_of(texts: Sequence[str]) -> dict[QuotaKind, float]:
    """The limits to set, or to try. Raises BarnabasError."""
    if not texts:
        raise BarnabasError(f"say which limit: --set NAME=VALUE; there are {', '.join(KINDS_BY_KEY)}")
    changes = {}
    for key, value in parse_pairs(texts, "--set").items():
        try:
            kind = kind_of(key, "--set")
            changes[kind] = kind.parse(value)
        except ValueError as error:
            raise BarnabasError(f"--set {error}") from None
    return changes


def kind_of(key: str, option: str) -> QuotaKind:
    """The kind of a limit by its name. Raises BarnabasError."""
    kind = KINDS_BY_KEY.get(key)
    if kind is None:
        users = "; `barnabas users add` sets passwords" if key.startswith("SCRAM-") else ""
        raise BarnabasError(f"{option} {key}: there are {', '.join(KINDS_BY_KEY)}{users}")
    return kind


def limited_of(entity: Entity) -> Limited:
    """The same for the wire."""
    return Limited(*("" if name is DEFAULT else name for name in entity))


def show_limits(limits: Iterable[tuple[Limited, dict[str, float]]], as_json: bool) -> None:
    """All limits, from the first level to the last."""
    ordered = by_level(limits)
    if as_json:
        told: list[dict[str, Any]] = []
        for limited, values in ordered:
            entity = limited.entity
            told.append({"level": int(entity.level), "node": f"/config/{entity.path}", "limits": values})
        print_json(told)
        return
    rows: list[list[Cell]] = []
    for limited, values in ordered:
        entity = limited.entity
        for key, value in sorted(values.items()):
            rows.append([int(entity.level), str(entity), key, f"{value:,.10g}", f"/config/{entity.path}"])
    if rows:
        print_table(["level", "for", "limit", "value", "node"], rows)
    else:
        note("There are no limits.")
