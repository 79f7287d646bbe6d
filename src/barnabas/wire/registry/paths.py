"""All paths of Kafka's tree in ZooKeeper.

Invariant: no other module spells a path.

Source: zookeeper.md, all tables.
"""

from urllib.parse import quote, unquote

ROOT = "/"
CLUSTER_ID = "/cluster/id"
BROKER_IDS = "/brokers/ids"
BROKER_TOPICS = "/brokers/topics"
BROKER_SEQUENCE = "/brokers/seqid"
CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
DELETE_TOPICS = "/admin/delete_topics"
PREFERRED_ELECTION = "/admin/preferred_replica_election"
REASSIGNMENT = "/admin/reassign_partitions"
CONFIG_TOPICS = "/config/topics"
CONFIG_CLIENTS = "/config/clients"
CONFIG_USERS = "/config/users"
CONFIG_BROKERS = "/config/brokers"
CONFIG_CHANGES = "/config/changes"
TOPICS, BROKERS, CLIENTS, USERS = "topics", "brokers", "clients", "users"
"""The types of entities that have settings, as they are named below /config."""
DEFAULT_ENTITY = "<default>"
"""The one that stands for all of its type."""
CONFIG_CHANGE_PREFIX = "config_change_"
ISR_CHANGES = "/isr_change_notification"
ISR_CHANGE_PREFIX = "/isr_change_notification/isr_change_"
LOG_DIR_EVENTS = "/log_dir_event_notification"
LOG_DIR_EVENT_PREFIX = "/log_dir_event_notification/log_dir_event_"
FEATURES = "/feature"
PRODUCER_ID_BLOCK = "/latest_producer_id_block"
CONSUMERS = "/consumers"
DELEGATION_TOKENS = "/delegation_token/tokens"
ACLS, PREFIXED_ACLS = "/kafka-acl", "/kafka-acl-extended/prefixed"
"""Below them a node for each type of resource, and below that one for each pattern, literal or prefixed."""
ACL_CHANGES, PREFIXED_ACL_CHANGES = "/kafka-acl-changes", "/kafka-acl-extended-changes"
ACL_CHANGE_PREFIX = "acl_changes_"
BARNABAS = "/barnabas"
"""Nodes unknown to Kafka: they are not copied from one registry to another."""
KAFKA_VERSION = "/barnabas/kafka_version"
"""The Kafka version that must be able to read what is written."""
LOGIN_SECRET = "/barnabas/login_secret"
"""The secret behind answers to unknown user names; each registry has its own, ZooKeeper too."""

DELEGATION_TOKENS = "/delegation_token/tokens"
DELEGATION_TOKEN_CHANGES = "/delegation_token/token_changes"
DELEGATION_TOKEN_CHANGE_PREFIX = "token_change_"

PERSISTENT = (
    CONSUMERS,
    BROKER_IDS,
    BROKER_TOPICS,
    CONFIG_CHANGES,
    DELETE_TOPICS,
    BROKER_SEQUENCE,
    ISR_CHANGES,
    PRODUCER_ID_BLOCK,
    LOG_DIR_EVENTS,
    CONFIG_TOPICS,
    CONFIG_CLIENTS,
    CONFIG_USERS,
    CONFIG_BROKERS,
)
"""Nodes that a broker creates at its start, with null data, in Kafka's order."""

WITH_RULES = (ACLS, PREFIXED_ACLS, ACL_CHANGES, PREFIXED_ACL_CHANGES)
"""Additional nodes of a broker with access rules, except those of resource types."""
WITH_TOKENS = (DELEGATION_TOKENS, DELEGATION_TOKEN_CHANGES)
"""Additional nodes of a broker with delegation tokens."""


def parent(path: str) -> str:
    """Return the path one level up; the root's parent is the root."""
    return path.rpartition("/")[0] or ROOT


def name(path: str) -> str:
    """Return the last element of a path."""
    return path.rpartition("/")[2]


def child(path: str, child_name: str) -> str:
    """Return the path of a child."""
    return f"{path.rstrip('/')}/{child_name}"


def ancestors(path: str) -> list[str]:
    """Return every path above this one, from the top, without the root."""
    found = []
    while (path := parent(path)) != ROOT:
        found.append(path)
    return found[::-1]


def is_valid(path: str) -> bool:
    """Return whether ZooKeeper accepts a path: absolute, no empty, `.` or `..` element, no forbidden character."""
    if path == ROOT:
        return True
    if not path.startswith("/") or not ((path.isascii() and path.isprintable()) or _has_good_characters(path)):
        return False
    return all(element not in ("", ".", "..") for element in path[1:].split("/"))


def _has_good_characters(path: str) -> bool:
    """Return whether a path has no control characters, and only characters that are one ordinary UTF-16 unit."""
    return not any(
        each < " " or "\x7f" <= each <= "\x9f" or "\ud800" <= each <= "\uf8ff" or each >= "\ufff0" for each in path
    )


def broker(broker_id: int) -> str:
    return f"{BROKER_IDS}/{broker_id}"


def topic(topic_name: str) -> str:
    return f"{BROKER_TOPICS}/{topic_name}"


def partitions(topic_name: str) -> str:
    return f"{BROKER_TOPICS}/{topic_name}/partitions"


def partition(topic_name: str, partition_index: int) -> str:
    return f"{BROKER_TOPICS}/{topic_name}/partitions/{partition_index}"


def partition_state(topic_name: str, partition_index: int) -> str:
    return f"{BROKER_TOPICS}/{topic_name}/partitions/{partition_index}/state"


def delete_topic(topic_name: str) -> str:
    return f"{DELETE_TOPICS}/{topic_name}"


def config(entity: str) -> str:
    """Return the path of an entity's settings, such as `topics/t` or `brokers/<default>`."""
    return f"/config/{entity}"


def config_entity(path: str) -> str:
    """Return the entity, or the parent of entities, of a node below /config."""
    return path.removeprefix("/config/")


def topic_config(topic_name: str) -> str:
    return f"{CONFIG_TOPICS}/{topic_name}"


def delegation_token(token_id: str) -> str:
    return f"{DELEGATION_TOKENS}/{token_id}"


def consumer_group(group_id: str) -> str:
    """Return the path of a consumer group in ZooKeeper."""
    return f"{CONSUMERS}/{group_id}"


def consumer_ids(group_id: str) -> str:
    return f"{CONSUMERS}/{group_id}/ids"


def consumer_id(group_id: str, consumer: str) -> str:
    return f"{CONSUMERS}/{group_id}/ids/{consumer}"


def consumer_owners(group_id: str) -> str:
    return f"{CONSUMERS}/{group_id}/owners"


def consumer_owner(group_id: str, topic_name: str, partition_index: int) -> str:
    return f"{CONSUMERS}/{group_id}/owners/{topic_name}/{partition_index}"


def consumer_offsets(group_id: str) -> str:
    return f"{CONSUMERS}/{group_id}/offsets"


def consumer_offset(group_id: str, topic_name: str, partition_index: int) -> str:
    return f"{CONSUMERS}/{group_id}/offsets/{topic_name}/{partition_index}"


def sanitize(entity_name: str) -> str:
    """Return a user or client name as an element of a path: URL-encoded with Kafka's two exceptions."""
    return quote(entity_name, safe="-_.").replace("~", "%7E")


def desanitize(element: str) -> str:
    """Return the name behind `sanitize`."""
    return unquote(element)
