"""`barnabas configs` of users and client ids: their quotas, with the options of kafka-configs.

SCRAM credentials are no business of this command: `barnabas users`.
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
    """What the options name.

    Attributes:
        type_name: Of --entity-type, where that is one of `TYPES`.
        name, is_default: Of --entity-name and --entity-default.
        user, client: Of --user and --client.
        is_user_default, is_client_default: Of --user-defaults and --client-defaults.
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
        """Whether they are about quotas at all."""
        return self.type_name in TYPES or self[3:] != (None, False, None, False)

    def entity(self) -> Entity | None:
        """Whose quotas; None: those of everybody of the type.

        Raises:
            BarnabasError: They contradict each other.
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
                raise BarnabasError("name a user, a client id or both, each once: a name or the default")
            if name == "":
                raise BarnabasError("there is no quota for a user or a client id without a name")
            names[kind] = DEFAULT if name is None else name
        return Entity(names.get("users"), names.get("clients")) if names else None


def check(options: QuotaOptions, is_alter: bool, changes: Sequence[ConfigChange]) -> Entity | None:
    """Whose quotas, after a look at what is to be done.

    Raises:
        BarnabasError: That can't be done.
    """
    entity = options.entity()
    if is_alter and entity is None:
        raise BarnabasError("say whose quotas: --entity-name NAME or --entity-default")
    for change in changes:
        kind = kind_of(change.name, "--add-config" if change.operation is ConfigOperation.SET else "--delete-config")
        if change.operation is ConfigOperation.SET:
            try:
                kind.parse(change.value or "")
            except ValueError as error:
                raise BarnabasError(f"--add-config {error}") from None
    return entity


async def describe(admin: QuotaStateAdmin, options: QuotaOptions, entity: Entity | None, as_json: bool) -> None:
    """Show the quotas of an entity, or of all of a type, as kafka-configs does."""
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
    note(PER_BROKER if shown else "There are no quotas of that kind.")


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
