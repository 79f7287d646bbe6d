"""Limits of this version for the contents of adopted directories. Pure.

Each line is removed when the feature is implemented.
"""

from collections.abc import Mapping

from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.errors import ConfigError
from barnabas.migration.findings import Finding, Kind
from barnabas.migration.tree_copy import Nodes, children
from barnabas.wire.registry import paths

_ACL_STORES = ("/kafka-acl", "/kafka-acl-extended")
_DELEGATION_TOKENS = "/delegation_token/tokens"


def topic_limit(overrides: Mapping[str, str]) -> str | None:
    """Return the limit of this version for a topic's settings, or None."""
    try:
        TopicConfig.from_broker(BrokerConfig.single_broker()).with_overrides(overrides)
    except ConfigError as error:
        return str(error)
    return None


def tree_limits(nodes: Nodes) -> list[Finding]:
    """Return findings about data that this version only keeps for the release to Kafka."""
    kept: list[tuple[str, str, list[str]]] = [
        ("users", "quotas and credentials are kept, but not enforced yet", children(nodes, paths.CONFIG_USERS)),
        ("clients", "quotas are kept, but not enforced yet", children(nodes, paths.CONFIG_CLIENTS)),
        ("ACLs", "access rules are kept, but not enforced yet: every client may do everything", access_rules(nodes)),
        ("tokens", "delegation tokens are kept, but not accepted yet", children(nodes, _DELEGATION_TOKENS)),
    ]
    return [Finding(Kind.LIMITED, subject, f"{len(found)} found: {text}") for subject, text, found in kept if found]


def access_rules(nodes: Nodes) -> list[str]:
    """Return the nodes of access rules, one for each resource."""
    return [path for path, data in nodes.items() if data and path.startswith(tuple(f"{it}/" for it in _ACL_STORES))]
