"""Who may do what with a node: in ZooKeeper where `zookeeper.set.acl` is set, and whoever asks in a broker's own. Pure.

Whoever created a node may do everything with it, all others may read it; but not what holds credentials. The root of
the old consumers' groups stays open, as they write there themselves.

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
    """What others than its creator may do with a node."""

    ALL = "everything"
    READ = "read"
    NONE = "nothing"


def is_brokers_own(path: str) -> bool:
    """Return whether the broker alone writes a node, so that nobody else sets it: what it says must be true."""
    return path in _BROKERS_OWN or path == paths.BARNABAS or path.startswith(f"{paths.BARNABAS}/")


def is_of_skeleton(path: str) -> bool:
    """Return whether a node is one that has to be there as long as the broker is: nobody else deletes it."""
    return path in _SKELETON or paths.parent(path) in (paths.ACLS, paths.PREFIXED_ACLS)


_READ_BY_ALL = (Acl(READ, "world", "anyone"), Acl(ALL, *SUPER))
_HIDDEN = (Acl(ALL, *SUPER),)


def acls_of_secured(path: str) -> Acls:
    """Return the access list of a node of a broker's own tree that has none, where logins are asked for.

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
    """Return what others may do with a node of this path, below the chroot."""
    if path == paths.CONSUMERS:
        return Access.ALL
    # As Kafka does: whatever begins so, be it the node, one below it, or a namesake with more letters.
    return Access.NONE if path.startswith(_SENSITIVE) else Access.READ
