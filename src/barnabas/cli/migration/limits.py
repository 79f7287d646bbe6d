"""What this version does not do yet with what a moved directory may hold. Pure.

Each line goes when the feature comes; a plan then has nothing to say about it.
"""

from collections.abc import Mapping

from barnabas.cli.migration.findings import Finding, Kind
from barnabas.cli.migration.tree_copy import Nodes, children
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.errors import ConfigError
from barnabas.wire.registry import paths

_ACL_STORES = ("/kafka-acl", "/kafka-acl-extended")
_DELEGATION_TOKENS = "/delegation_token/tokens"


def topic_limit(overrides: Mapping[str, str]) -> str | None:
    """Return what this version does not do of a topic's settings, or None."""
    try:
        TopicConfig.from_broker(BrokerConfig.single_broker()).with_overrides(overrides)
    except ConfigError as error:
        return str(error)
    return None


def tree_limits(nodes: Nodes) -> list[Finding]:
    """Find what this version only keeps for the way back."""
    kept: list[tuple[str, str, list[str]]] = [
        ("users", "quotas and credentials are kept, not enforced yet", children(nodes, paths.CONFIG_USERS)),
        ("clients", "quotas are kept, not enforced yet", children(nodes, paths.CONFIG_CLIENTS)),
        ("ACLs", "access rules are kept, not enforced yet: everybody may do everything", access_rules(nodes)),
        ("tokens", "delegation tokens are kept, not accepted yet", children(nodes, _DELEGATION_TOKENS)),
    ]
    return [Finding(Kind.LIMITED, subject, f"{len(found)} found: {text}") for subject, text, found in kept if found]


def access_rules(nodes: Nodes) -> list[str]:
    """The nodes that hold access rules, one for each resource."""
    return [path for path, data in nodes.items() if data and path.startswith(tuple(f"{it}/" for it in _ACL_STORES))]
