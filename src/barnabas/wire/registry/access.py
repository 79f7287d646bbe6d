"""Permissions of Kafka's nodes: in ZooKeeper with `zookeeper.set.acl`, and for clients of a broker's own tree. Pure.

The creator of a node has all permissions; all others may read it, except for nodes with credentials. The root of the
old consumers' groups stays open, because they write there themselves.

Source: zookeeper.md, ZooKeeper ACLs; Kafka 2.7.2, ZkData.
"""

from enum import Enum

from barnabas.wire.registry import paths
from barnabas.wire.registry.acl import ALL, READ, SUPER, Acl, Acls

_BROKERS_OWN = frozenset((paths.CLUSTER_ID, paths.CONTROLLER_EPOCH, paths.PRODUCER_ID_BLOCK))
_SKELETON = frozenset(
    each
    for path in (*paths.PERSISTENT, *paths.WITH_RULES, *paths.WITH_TOKENS, paths.CLUSTER_ID, paths.CONTROLLER)
    for each in (*paths.ancestors(path), path)
)
_SENSITIVE = (paths.CONFIG_USERS, paths.CONFIG_BROKERS, paths.DELEGATION_TOKENS, paths.LOGIN_SECRET)


class Access(Enum):
    """The permissions of clients other than a node's creator."""

    ALL = "everything"
    READ = "read"
    NONE = "nothing"


def is_brokers_own(path: str) -> bool:
    """Return whether only the broker writes a node, because its content must be reliable."""
    return path in _BROKERS_OWN or path == paths.BARNABAS or path.startswith(f"{paths.BARNABAS}/")


def is_of_skeleton(path: str) -> bool:
    """Return whether a node must exist as long as the broker runs, so that clients may not delete it."""
    return path in _SKELETON or paths.parent(path) in (paths.ACLS, paths.PREFIXED_ACLS)


_READ_BY_ALL = (Acl(READ, "world", "anyone"), Acl(ALL, *SUPER))
_HIDDEN = (Acl(ALL, *SUPER),)


def acls_of_secured(path: str) -> Acls:
    """Return the access list of a node of a broker's own tree without one, if logins are required.

    What old consumers write stays open to them.
    """
    # differs from Kafka (registry-secured): lists are given when a node is made, or by a tool.
    if path.startswith(f"{paths.CONSUMERS}/"):
        return ()
    match access_of_others(path):
        case Access.ALL:
            return ()
        case Access.READ:
            return _READ_BY_ALL
        case Access.NONE:
            return _HIDDEN


def access_of_others(path: str) -> Access:
    """Return the others' permissions on a node of this path, below the chroot."""
    if path == paths.CONSUMERS:
        return Access.ALL
    # As Kafka does: whatever begins so, be it the node, one below it, or a namesake with more letters.
    return Access.NONE if path.startswith(_SENSITIVE) else Access.READ
