"""Entities of quotas: the nodes below /config/users and /config/clients, and their levels.

| level | entity                       | node below /config                      |
| ----- | ---------------------------- | --------------------------------------- |
| 1     | a user and a client id       | `users/<user>/clients/<client id>`      |
| 2     | a user, other client ids     | `users/<user>/clients/<default>`        |
| 3     | a user                       | `users/<user>`                          |
| 4     | other users, a client id     | `users/<default>/clients/<client id>`   |
| 5     | other users, other clients   | `users/<default>/clients/<default>`     |
| 6     | other users                  | `users/<default>`                       |
| 7     | a client id                  | `clients/<client id>`                   |
| 8     | other client ids             | `clients/<default>`                     |
| 9     | none of the above            | `quota.producer.default`, `quota.consumer.default` in the broker's file |

The first level with a quota is in force. `<default>` is literal; names are URL-encoded, so no name equals it.

Peers choose their client ids, of up to 32 KB, and brokers that measure them store them. So a long name is stored as its
beginning and a hash of the whole, wherever quotas, measurements, history and metrics have names.

Source: semantics, quotas; zookeeper.md, configs.
"""

from binascii import crc32
from enum import Enum, IntEnum
from typing import Final, Literal, NamedTuple, TypeAlias

from barnabas.wire.registry import paths


class Default(Enum):
    """The name of the default, for all entities without a quota of their own."""

    DEFAULT = paths.DEFAULT_ENTITY

    def __repr__(self) -> str:
        return paths.DEFAULT_ENTITY


DEFAULT: Literal[Default.DEFAULT] = Default.DEFAULT
Name: TypeAlias = str | Literal[Default.DEFAULT]


# differs from Kafka (long-client-ids): it keeps them whole.
LONGEST_NAME: Final = 200
_BEGINNING: Final = LONGEST_NAME - 9


def kept_name(name: str) -> str:
    """Return the stored form of a name: names of at most `LONGEST_NAME` characters stay unchanged."""
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[:_BEGINNING]}~{crc32(name.encode(errors='replace')):08x}"


class Level(IntEnum):
    """The level of a quota; the lowest number with a quota is in force."""

    USER_CLIENT = 1
    USER_DEFAULT_CLIENT = 2
    USER = 3
    DEFAULT_USER_CLIENT = 4
    DEFAULT_USER_DEFAULT_CLIENT = 5
    DEFAULT_USER = 6
    CLIENT = 7
    DEFAULT_CLIENT = 8
    STATIC = 9


class Entity(NamedTuple):
    """The user and client id to which a quota applies.

    Attributes:
        user: A user's name, as it logs in; None: the quota is for client ids, whatever the user.
        client_id: A client id, as it is sent; None: for all of a user's clients together.
    """

    user: Name | None
    client_id: Name | None

    @property
    def level(self) -> Level:
        return _LEVELS[_shape(self.user), _shape(self.client_id)]

    def kept(self) -> "Entity":
        """Return the entity with its names in stored form."""
        user, client_id = self
        return Entity(
            kept_name(user) if isinstance(user, str) else user,
            kept_name(client_id) if isinstance(client_id, str) else client_id,
        )

    @property
    def path(self) -> str:
        """Return the entity's node below /config."""
        parts = []
        if self.user is not None:
            parts += [paths.USERS, _element(self.user)]
        if self.client_id is not None:
            parts += [paths.CLIENTS, _element(self.client_id)]
        return "/".join(parts)

    def __str__(self) -> str:
        parts = []
        if self.user is not None:
            parts.append("the default user" if self.user is DEFAULT else f"user {self.user!r}")
        if self.client_id is not None:
            parts.append("the default client id" if self.client_id is DEFAULT else f"client id {self.client_id!r}")
        return " and ".join(parts)


def entity_of_path(path: str) -> Entity | None:
    """Return the entity of a node below /config; None: the node belongs to no entity."""
    match path.split("/"):
        case [paths.USERS, user]:
            return Entity(_name(user), None)
        case [paths.USERS, user, paths.CLIENTS, client_id]:
            return Entity(_name(user), _name(client_id))
        case [paths.CLIENTS, client_id]:
            return Entity(None, _name(client_id))
        case _:
            return None


def entities_of(user: str, client_id: str) -> tuple[Entity, ...]:
    """Return the entities whose quotas can apply to a client, from the first level to the last."""
    return (
        Entity(user, client_id),
        Entity(user, DEFAULT),
        Entity(user, None),
        Entity(DEFAULT, client_id),
        Entity(DEFAULT, DEFAULT),
        Entity(DEFAULT, None),
        Entity(None, client_id),
        Entity(None, DEFAULT),
    )


def _shape(name: Name | None) -> int:
    return 0 if name is None else 1 if name is DEFAULT else 2


def _element(name: Name) -> str:
    return paths.DEFAULT_ENTITY if name is DEFAULT else paths.sanitize(name)


def _name(element: str) -> Name:
    return DEFAULT if element == paths.DEFAULT_ENTITY else paths.desanitize(element)


_LEVELS = {
    (2, 2): Level.USER_CLIENT,
    (2, 1): Level.USER_DEFAULT_CLIENT,
    (2, 0): Level.USER,
    (1, 2): Level.DEFAULT_USER_CLIENT,
    (1, 1): Level.DEFAULT_USER_DEFAULT_CLIENT,
    (1, 0): Level.DEFAULT_USER,
    (0, 2): Level.CLIENT,
    (0, 1): Level.DEFAULT_CLIENT,
}
