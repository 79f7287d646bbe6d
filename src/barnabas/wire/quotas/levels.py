"""The quota in force for a client, and the clients that share its measurement.

Usage is measured per pair of tags (user, client id), one of which may be empty: clients with the same tags share one
bucket. The level in force determines the tags: user and client id for levels 1, 2, 4 and 5, the user alone for 3 and 6,
the client id alone for 7 to 9. If quotas of one form only were ever set (for client ids, for users, or for users with
client ids), all clients have tags of that form, even those without a quota in force.

A client without an id has tags as in Kafka: its client id is empty, so quotas of client ids, and of users with client
ids, do not apply to it.

Source: semantics, quotas; Kafka 2.7.2, ClientQuotaManager.DefaultQuotaCallback (quotaMetricTags, quotaLimit).
"""

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.wire.quotas.entities import DEFAULT, Entity, Level, entities_of

_CLIENTS_BIT, _USERS_BIT, _USERS_WITH_CLIENTS_BIT = 1, 2, 4


class Tags(NamedTuple):
    """The tags that clients with a shared measurement have in common.

    Attributes:
        user: Empty where only the client id counts.
        client_id: Empty where only the user counts.
    """

    user: str
    client_id: str


class Resolution(NamedTuple):
    """The quota in force for a client.

    Attributes:
        limit: None: no quota.
        level: The level of the quota; None: no quota.
        entity: The entity of the quota; None also for the static default.
    """

    tags: Tags
    limit: float | None
    level: Level | None
    entity: Entity | None


class LevelLimit(NamedTuple):
    """One of the levels, from a client's view.

    Attributes:
        entity: The entity of this level; None for the static default.
        limit: None: no quota is set.
    """

    level: Level
    entity: Entity | None
    limit: float | None


class Limits:
    """The quotas of one kind, for all entities.

    Attributes:
        is_enabled: Whether there is any quota: otherwise nothing is measured.
    """

    __slots__ = ("_by_entity", "_forms", "_static", "is_enabled")

    def __init__(self, static: float | None = None) -> None:
        """Args:
        static: `quota.producer.default` or `quota.consumer.default`; None: there is none.
        """
        self._static = static
        self._by_entity: dict[Entity, float] = {}
        self._forms = 0
        self._forget_forms()
        self.is_enabled = static is not None

    def _forget_forms(self) -> None:
        # As after a start: Kafka also measures no client before the first quota is set.
        self._forms = 0 if self._static is None else _CLIENTS_BIT

    def set(self, entity: Entity, limit: float | None) -> bool:
        """Set or remove an entity's quota; return whether that changed anything."""
        if limit is None:
            if self._by_entity.pop(entity, None) is None:
                return False
            if not self._by_entity:
                self._forget_forms()
        else:
            if self._by_entity.get(entity) == limit:
                return False
            self._by_entity[entity] = limit
            self._forms |= _form(entity)
        self.is_enabled = bool(self._by_entity) or self._static is not None
        return True

    @property
    def by_entity(self) -> Mapping[Entity, float]:
        """Return the quotas by entity."""
        return self._by_entity

    def resolve(self, user: str, client_id: str) -> Resolution:
        """Return the quota in force for a client."""
        return self.of_tags(self.tags(user, client_id))

    def tags(self, user: str, client_id: str) -> Tags:
        """Return the tags of a client."""
        match self._forms:
            case 0 | 1:  # nobody, or client ids
                return Tags("", client_id)
            case 2:  # users
                return Tags(user, "")
            case 4:  # users with client ids
                return Tags(user, client_id)
        for entity in entities_of(user, client_id):
            if entity in self._by_entity:
                return Tags(user if entity.user is not None else "", client_id if entity.client_id is not None else "")
        return Tags("", client_id)

    def of_tags(self, tags: Tags) -> Resolution:
        """Return the quota in force for clients with these tags."""
        user, client_id = tags
        candidates: tuple[Entity, ...]
        if user and client_id:
            candidates = (
                Entity(user, client_id),
                Entity(user, DEFAULT),
                Entity(DEFAULT, client_id),
                Entity(DEFAULT, DEFAULT),
            )
        elif user:
            candidates = (Entity(user, None), Entity(DEFAULT, None))
        elif client_id:
            candidates = (Entity(None, client_id), Entity(None, DEFAULT))
        else:
            return Resolution(tags, None, None, None)
        for entity in candidates:
            limit = self._by_entity.get(entity)
            if limit is not None:
                return Resolution(tags, limit, entity.level, entity)
        if not user and self._static is not None:
            return Resolution(tags, self._static, Level.STATIC, None)
        return Resolution(tags, None, None, None)

    def levels(self, user: str, client_id: str) -> list[LevelLimit]:
        """Return all levels from a client's view, in order; `resolve` returns the one in force."""
        found = [LevelLimit(each.level, each, self._by_entity.get(each)) for each in entities_of(user, client_id)]
        return [*found, LevelLimit(Level.STATIC, None, self._static)]


def _form(entity: Entity) -> int:
    if entity.user is None:
        return _CLIENTS_BIT
    return _USERS_BIT if entity.client_id is None else _USERS_WITH_CLIENTS_BIT
