"""Describes and alters the quotas in the registry on behalf of administrators.

An entity has a user, a client id or both. A null name means all users or client ids without a quota of their own.

Source: KIP-546; semantics, ClientQuotas; Kafka 2.7.2, AdminManager.describeClientQuotas, alterClientQuotas.
"""

import asyncio
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple

from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.wire.quotas.entities import DEFAULT, Entity, Name, entity_of_path
from barnabas.wire.quotas.limits import KINDS_BY_KEY
from barnabas.wire.registry import paths
from barnabas.wire.registry.configs import update_config
from barnabas.wire.registry.store import NoNodeError, Registry
from barnabas.wire.registry.znodes.configs import decode_config

USER, CLIENT_ID = "user", "client-id"
# Kafka accepts a value this close to a whole number as that number.
_EPSILON = 1e-6
_READ_TOGETHER = 500
# Names that URL-encoding does not change, but that ZooKeeper does not allow as path elements.
_NO_ELEMENTS = frozenset((".", ".."))


class MatchType(IntEnum):
    """How a filter component matches an entity's name; the protocol's numbers."""

    EXACT = 0
    DEFAULT = 1
    ANY = 2


class Component(NamedTuple):
    """The filter component of one entity type.

    Attributes:
        match: The name, for EXACT.
    """

    entity_type: str
    match_type: int
    match: str | None


class Alteration(NamedTuple):
    """A change of one quota of an entity.

    Attributes:
        value: None: remove the quota.
    """

    key: str
    value: float | None


class _Wanted(NamedTuple):
    """A decoded filter: the condition for each entity type.

    Attributes:
        user, client_id: The name to match; None: any.
        has_user, has_client_id: Whether the filter has a component of this type.
        is_strict: Whether an entity must not have types without a component in the filter.
    """

    user: Name | None
    client_id: Name | None
    has_user: bool
    has_client_id: bool
    is_strict: bool

    def matches(self, entity: Entity) -> bool:
        return self._is_wanted(entity.user, self.user, self.has_user) and self._is_wanted(
            entity.client_id, self.client_id, self.has_client_id
        )

    def _is_wanted(self, name: Name | None, wanted: Name | None, is_said: bool) -> bool:
        if not is_said:
            return name is None or not self.is_strict
        return name is not None if wanted is None else name == wanted


class ClientQuotaAdmin:
    """Reads and writes the znodes of users and client ids."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def describe(self, components: Iterable[Component], is_strict: bool) -> list[tuple[Entity, dict[str, float]]]:
        """Return the limits of all entities that match a filter and have limits.

        Raises:
            KafkaError: The filter is invalid.
        """
        wanted = _wanted(components, is_strict)
        entities = [each for each in await self._entities(wanted) if wanted.matches(each)]
        found = []
        for start in range(0, len(entities), _READ_TOGETHER):
            some = entities[start : start + _READ_TOGETHER]
            nodes = await self._registry.get_many([paths.config(each.path) for each in some])
            for entity, node in zip(some, nodes, strict=True):
                limits = {} if node is None else _limits(decode_config(node[0]))
                if limits:
                    found.append((entity, limits))
            await asyncio.sleep(0)
        return found

    async def alter(self, entity: Entity, alterations: Sequence[Alteration], validate_only: bool) -> None:
        """Change some limits of an entity; other limits are unchanged.

        Raises:
            KafkaError: INVALID_REQUEST: a limit is invalid; nothing was changed.
        """
        # Validated before the read, because validity does not depend on existing limits.
        changes = {each.key: _text(each) for each in alterations}
        if validate_only:
            return

        def update(settings: dict[str, str]) -> dict[str, str]:
            for key, text in changes.items():
                if text is not None:
                    settings[key] = text
                elif key in KINDS_BY_KEY:
                    # differs from Kafka (quota-removes-others): in Kafka this can also remove a user's credentials.
                    settings.pop(key, None)
            return settings

        await update_config(self._registry, entity.path, update)

    async def _entities(self, wanted: _Wanted) -> list[Entity]:
        """Return the entities with a znode that may match: users, client ids, then both."""
        no_user = wanted.is_strict and not wanted.has_user
        no_client_id = wanted.is_strict and not wanted.has_client_id
        found: list[str] = []
        users = [] if no_user else await self._names(paths.USERS, wanted.user)
        found += [f"{paths.USERS}/{each}" for each in users]
        if not no_client_id:
            found += [f"{paths.CLIENTS}/{each}" for each in await self._names(paths.CLIENTS, wanted.client_id)]
        if not no_user and not no_client_id:
            for number, user in enumerate(users):
                clients = f"{paths.USERS}/{user}/{paths.CLIENTS}"
                found += [f"{clients}/{each}" for each in await self._names(clients, wanted.client_id)]
                if number % _READ_TOGETHER == 0:
                    await asyncio.sleep(0)
        entities = [entity_of_path(each) for each in found]
        return [each for each in entities if each is not None]

    async def _names(self, list_name: str, wanted: Name | None) -> list[str]:
        if wanted is not None:
            return [paths.DEFAULT_ENTITY if wanted is DEFAULT else paths.sanitize(wanted)]
        try:
            return await self._registry.children(paths.config(list_name))
        except NoNodeError:
            return []


def entity_of(parts: Iterable[tuple[str, str | None]]) -> Entity:
    """Return the entity in an administrator's request.

    Args:
        parts: Types and names; a null name is the default.

    Raises:
        KafkaError: INVALID_REQUEST: the entity is invalid.
    """
    names: dict[str, Name] = {}
    for entity_type, name in parts:
        if entity_type not in (USER, CLIENT_ID):
            raise _invalid(f"Unhandled client quota entity type: {entity_type}")
        if name == "":
            raise _invalid(f"Empty {entity_type} not supported")
        if name in _NO_ELEMENTS:
            # differs from Kafka (quota-of-dots): Kafka fails to write the znode, without a reason in the response.
            raise _invalid(f"There can be no quota of a {entity_type} '{name}': no node can be called so")
        names[entity_type] = DEFAULT if name is None else name
    if not names:
        raise _invalid("Invalid empty client quota entity")
    return Entity(names.get(USER), names.get(CLIENT_ID))


def parts_of(entity: Entity) -> list[tuple[str, str | None]]:
    """Return the types and names of an entity."""
    named = ((USER, entity.user), (CLIENT_ID, entity.client_id))
    return [(kind, None if name is DEFAULT else name) for kind, name in named if name is not None]


def _wanted(components: Iterable[Component], is_strict: bool) -> _Wanted:
    names: dict[str, Name | None] = {}
    for entity_type, match_type, match in components:
        if entity_type == "":
            raise _invalid("Unexpected empty filter component entity type")
        if entity_type not in (USER, CLIENT_ID):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"Custom entity type '{entity_type}' not supported")
        if entity_type in names:
            what = "user" if entity_type == USER else "client"
            raise _invalid(f"Duplicate {what} filter component entity type")
        match match_type:
            case MatchType.EXACT:
                names[entity_type] = match or ""
            case MatchType.DEFAULT:
                names[entity_type] = DEFAULT
            case MatchType.ANY:
                names[entity_type] = None
            case _:
                raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"Unexpected match type: {match_type}")
    return _Wanted(names.get(USER), names.get(CLIENT_ID), USER in names, CLIENT_ID in names, is_strict)


def _limits(settings: dict[str, str]) -> dict[str, float]:
    """Return the valid limits among settings."""
    found = {}
    for key, text in settings.items():
        kind = KINDS_BY_KEY.get(key)
        try:
            if kind is not None:
                found[key] = kind.parse(text)
        except ValueError:
            continue
    return found


def _text(alteration: Alteration) -> str | None:
    """Return the text to write for an alteration; None: remove the setting."""
    key, value = alteration
    if value is None:
        return None
    kind = KINDS_BY_KEY.get(key)
    if kind is None:
        raise _invalid(f"Invalid configuration key {key}")
    try:
        kind.check(value)
    except ValueError as error:
        raise _invalid(str(error)) from None
    if kind.is_long:
        whole = int(value + _EPSILON)
        if abs(whole - value) > _EPSILON:
            raise _invalid(f"Configuration {key} must be a Long value")
        value = whole
    return kind.text(value)


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
