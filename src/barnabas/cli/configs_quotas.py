"""`barnabas configs` for users and client ids: quotas, with the options of kafka-configs.

SCRAM credentials belong to `barnabas users`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.cli.output import note, print_json, say
from barnabas.cli.quota_options import kind_of, limited_of
from barnabas.cli.quota_views import PER_BROKER
from barnabas.clients.admin_configs import ConfigChange, ConfigOperation
from barnabas.clients.admin_quota_states import Limited, QuotaStateAdmin
from barnabas.core.errors import BarnabasError
from barnabas.wire.quotas.entities import DEFAULT, Entity, Name

TYPES = ("users", "clients")


class QuotaOptions(NamedTuple):
    """The quota entity given by the options.

    Attributes:
        type_name: Value of --entity-type, if it is one of `TYPES`.
        name, is_default: Values of --entity-name and --entity-default.
        user, client: Values of --user and --client.
        is_user_default, is_client_default: Values of --user-defaults and --client-defaults.
    """

    type_name: str | None
    name: str | None
    is_default: bool
    user: str | None
    is_user_default: bool
    client: str | None
    is_client_default: bool

    @property
    def are_given(self) -> bool:
        """Whether the options name a quota entity."""
        return self.type_name in TYPES or self[3:] != (None, False, None, False)

    def entity(self) -> Entity | None:
        """Return the entity of the quotas; None for all entities of the type.

        Raises:
            BarnabasError: The options contradict each other.
        """
        names: dict[str, Name] = {}
        for kind, name, is_default in (
            (self.type_name, self.name, self.is_default),
            ("users", self.user, self.is_user_default),
            ("clients", self.client, self.is_client_default),
        ):
            if kind is None or (name is None and not is_default):
                continue
            if kind not in TYPES or kind in names or (name is not None and is_default):
                raise BarnabasError(
                    "contradictory options: name a user, a client id or both, each once, by name or as the default"
                )
            if name == "":
                raise BarnabasError("the name of a user or a client id must not be empty")
            names[kind] = DEFAULT if name is None else name
        return Entity(names.get("users"), names.get("clients")) if names else None


def check(options: QuotaOptions, is_alter: bool, changes: Sequence[ConfigChange]) -> Entity | None:
    """Return the entity of the quotas, after checking the action.

    Raises:
        BarnabasError: The action is not possible for the entity.
    """
    entity = options.entity()
    if is_alter and entity is None:
        raise BarnabasError("no entity given for the quotas: use --entity-name NAME or --entity-default")
    for change in changes:
        kind = kind_of(change.name, "--add-config" if change.operation is ConfigOperation.SET else "--delete-config")
        if change.operation is ConfigOperation.SET:
            try:
                kind.parse(change.value or "")
            except ValueError as error:
                raise BarnabasError(f"--add-config {error}") from None
    return entity


async def describe(admin: QuotaStateAdmin, options: QuotaOptions, entity: Entity | None, as_json: bool) -> None:
    """Show the quotas of an entity, or of all entities of a type, as kafka-configs does."""
    shown = []
    for limited, limits in sorted((await admin.limits()).items(), key=lambda each: str(each[0])):
        found = limited.entity
        if entity is not None and found != entity:
            continue
        if entity is None and (found.user is None) is not (options.type_name == "clients"):
            continue
        shown.append((limited, limits))
    if as_json:
        print_json([{**_names(limited), "quotas": limits} for limited, limits in shown])
        return
    for limited, limits in shown:
        listed = ", ".join(f"{key}={value!r}" for key, value in sorted(limits.items()))
        say(f"Quota configs for {_called(limited)} are {listed}")
    note(PER_BROKER if shown else "No such quotas are set.")


async def alter(admin: QuotaStateAdmin, entity: Entity, changes: Sequence[ConfigChange], as_json: bool) -> None:
    """Set and delete quotas of an entity."""
    limited = limited_of(entity)
    values = {
        change.name: kind_of(change.name, "").parse(change.value or "")
        if change.operation is ConfigOperation.SET
        else None
        for change in changes
    }
    await admin.alter_limits(limited, values)
    if as_json:
        print_json({**_names(limited), "changed": values})
        return
    say(f"Completed updating config for {_called(limited)}.")
    note(PER_BROKER)


def _names(limited: Limited) -> dict[str, object]:
    return {"user": limited.user, "client_id": limited.client_id}


def _called(limited: Limited) -> str:
    parts = []
    for kind, name in (("user-principal", limited.user), ("client-id", limited.client_id)):
        if name is not None:
            parts.append(f"{kind} '{name}'" if name else f"the default {kind}")
    return ", ".join(parts)
