"""Limits of this version for the contents of adopted directories. Pure.

Each line is removed when the feature is implemented.
"""

from collections.abc import Mapping

from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.errors import ConfigError
from barnabas.migration.tree_copy import Nodes

_ACL_STORES = ("/kafka-acl", "/kafka-acl-extended")


def topic_limit(overrides: Mapping[str, str]) -> str | None:
    """Return the limit of this version for a topic's settings, or None."""
    try:
        TopicConfig.from_broker(BrokerConfig.single_broker()).with_overrides(overrides)
    except ConfigError as error:
        return str(error)
    return None


def access_rules(nodes: Nodes) -> list[str]:
    """Return the nodes of access rules, one for each resource."""
    return [path for path, data in nodes.items() if data and path.startswith(tuple(f"{it}/" for it in _ACL_STORES))]
