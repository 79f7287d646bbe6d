"""Who may do what with a node in ZooKeeper where `zookeeper.set.acl` is set. Pure.

Whoever created a node may do everything with it, all others may read it; but not what holds credentials. The root of
the old consumers' groups stays open, as they write there themselves.

Source: zookeeper.md, ZooKeeper ACLs; Kafka 2.7.2, ZkData.
"""

from enum import Enum

from barnabas.registry import paths

_SENSITIVE = (paths.CONFIG_USERS, paths.CONFIG_BROKERS, paths.DELEGATION_TOKENS, paths.LOGIN_SECRET)


class Access(Enum):
    """What others than its creator may do with a node."""

    ALL = "everything"
    READ = "read"
    NONE = "nothing"


def access_of_others(path: str) -> Access:
    """What others may do with a node of this path, below the chroot."""
    if path == paths.CONSUMERS:
        return Access.ALL
    # As Kafka does: whatever begins so, be it the node, one below it, or a namesake with more letters.
    return Access.NONE if path.startswith(_SENSITIVE) else Access.READ
