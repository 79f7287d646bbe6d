"""Options of `barnabas quotas`: quota entities and limits."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from barnabas.cli.options import Option, flag, parse_pairs
from barnabas.cli.output import Cell, note, print_json, print_table
from barnabas.clients.admin_quota_states import Limited, by_level
from barnabas.core.errors import BarnabasError
from barnabas.wire.quotas.entities import DEFAULT, Entity
from barnabas.wire.quotas.limits import KINDS_BY_KEY, QuotaKind

User = Annotated[str | None, Option("--user", metavar="NAME", help="Login name of the user.")]
ClientId = Annotated[str | None, Option("--client-id", metavar="ID", help="Value of client.id.")]
UserDefault = Annotated[bool, flag("--user-default", "The default limit of users without their own.")]
ClientDefault = Annotated[bool, flag("--client-default", "The default limit of client ids without their own.")]


def entity_of(user: str | None, is_user_default: bool, client_id: str | None, is_client_default: bool) -> Entity:
    """Return the quota entity given by the options. Raises BarnabasError."""
    if (user is not None and is_user_default) or (client_id is not None and is_client_default):
        raise BarnabasError("a name and its default option exclude each other: leave one of the two options out")
    entity = Entity(DEFAULT if is_user_default else user, DEFAULT if is_client_default else client_id)
    if entity == (None, None):
        raise BarnabasError(
            "no quota entity given: use --user, --user-default, --client-id, --client-default, or a user and a client "
            "option"
        )
    if "" in entity:
        raise BarnabasError("the name of a user or a client id must not be empty")
    return entity


def changes_of(texts: Sequence[str]) -> dict[QuotaKind, float]:
    """Return the limits to set or to simulate. Raises BarnabasError."""
    if not texts:
        raise BarnabasError(f"no limit given: use --set NAME=VALUE, with one of {', '.join(KINDS_BY_KEY)}")
    changes = {}
    for key, value in parse_pairs(texts, "--set").items():
        try:
            kind = kind_of(key, "--set")
            changes[kind] = kind.parse(value)
        except ValueError as error:
            raise BarnabasError(f"--set {error}") from None
    return changes


def kind_of(key: str, option: str) -> QuotaKind:
    """Return the kind of a limit by its name. Raises BarnabasError."""
    kind = KINDS_BY_KEY.get(key)
    if kind is None:
        users = "; `barnabas users add` sets passwords" if key.startswith("SCRAM-") else ""
        raise BarnabasError(f"{option} {key}: must be one of {', '.join(KINDS_BY_KEY)}{users}")
    return kind


def limited_of(entity: Entity) -> Limited:
    """Return the entity as in the protocol."""
    return Limited(*("" if name is DEFAULT else name for name in entity))


def show_limits(limits: Iterable[tuple[Limited, dict[str, float]]], as_json: bool) -> None:
    """Print all limits, in order of precedence."""
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
        note("No limits are set.")
