"""Rules for topic names and for the creation of topics. Pure.

Source: semantics, topics and partitions (names, order of the checks of CreateTopics).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import ConfigError, KafkaError
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from barnabas.core.types import MOST_TOPIC_NAME_CHARACTERS, is_topic_name

NOT_GIVEN = -1
# differs from Kafka (new-partitions-in-a-request): Kafka 2.7 has no limit and runs out of memory; this is the limit of
# Kafka's later controllers.
MOST_NEW_PARTITIONS = 10_000


@dataclass(slots=True)
class NewTopic:
    """A topic that a client wants to create.

    Attributes:
        partition_count: -1: the broker's default, or the number of assignments.
        replication_factor: -1: the broker's default, or the number of assigned brokers.
        assignments: Partition and its brokers, from the request; empty: assigned automatically.
        configs: Setting and value, from the request; a value of None is refused.
    """

    name: str
    partition_count: int = NOT_GIVEN
    replication_factor: int = NOT_GIVEN
    assignments: Sequence[tuple[int, list[int]]] = ()
    configs: Sequence[tuple[str, str | None]] = field(default_factory=tuple)


def check_name(name: str) -> None:
    """Refuse an invalid topic name.

    Raises:
        KafkaError: INVALID_TOPIC_EXCEPTION.
    """
    reason = None
    if not name:
        reason = "Topic name is illegal, it can't be empty"
    elif name in (".", ".."):
        reason = 'Topic name cannot be "." or ".."'
    elif len(name) > MOST_TOPIC_NAME_CHARACTERS:
        most = MOST_TOPIC_NAME_CHARACTERS
        reason = f"Topic name is illegal, it can't be longer than {most} characters, topic name: {name}"
    elif not is_topic_name(name):
        reason = (
            f'Topic name "{name}" is illegal, it contains a character other than ASCII alphanumerics, '
            "'.', '_' and '-'"
        )
    if reason is not None:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)


def check_collisions(name: str, existing: Collection[str]) -> None:
    """Refuse a name that differs from an existing name only in `.` and `_`: their metrics would have the same name.

    Raises:
        KafkaError: INVALID_TOPIC_EXCEPTION.
    """
    flat = name.replace(".", "_")
    colliding = [other for other in existing if other != name and other.replace(".", "_") == flat]
    if colliding:
        raise KafkaError(
            ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topics: {', '.join(colliding)}"
        )


def check_size(partition_count: int, replication_factor: int, broker_count: int) -> None:
    """Refuse invalid numbers of partitions and replicas, and more replicas than live brokers.

    Raises:
        KafkaError: INVALID_PARTITIONS or INVALID_REPLICATION_FACTOR.
    """
    if partition_count <= 0:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0.")
    check_new_partitions(partition_count)
    if replication_factor <= 0:
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0.")
    if replication_factor > broker_count:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Replication factor: {replication_factor} larger than available brokers: {broker_count}.",
        )


def check_new_partitions(partition_count: int) -> None:
    """Refuse more new partitions than one request can create.

    Raises:
        KafkaError: INVALID_PARTITIONS.
    """
    if partition_count > MOST_NEW_PARTITIONS:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"{partition_count} new partitions are too many: one request may create {MOST_NEW_PARTITIONS} at the most",
        )


def check_assignment(assignments: Sequence[tuple[int, list[int]]]) -> dict[int, list[int]]:
    """Check an assignment from the client, and return it as a mapping, partition 0 first.

    If a partition occurs twice, its last entry is used, as in Kafka.

    Raises:
        KafkaError: INVALID_REPLICA_ASSIGNMENT.
    """
    replicas = dict(sorted(dict(assignments).items()))
    if len({len(brokers) for brokers in replicas.values()}) != 1:
        reason = "All partitions should have the same number of replicas"
    elif any(len(set(brokers)) != len(brokers) for brokers in replicas.values()):
        reason = f"Duplicate replica assignment found: {replicas}"
    elif list(replicas) != list(range(len(replicas))):
        reason = "partitions should be a consecutive 0-based integer sequence"
    elif not replicas[0]:
        # differs from Kafka (no-replicas): Kafka creates partitions that can never have a leader.
        reason = "a partition needs one replica at least"
    else:
        return replicas
    raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)


def check_configs(config: BrokerConfig, overrides: Mapping[str, str]) -> TopicConfig:
    """Return the settings of a new topic.

    Raises:
        KafkaError: INVALID_CONFIG.
    """
    try:
        return TopicConfig.from_broker(config).with_overrides(overrides)
    except ConfigError as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from error


def internal_topic(name: str, config: BrokerConfig) -> NewTopic:
    """Return the definition of an internal topic from the broker's settings."""
    if name == GROUP_OFFSETS_TOPIC:
        return NewTopic(
            name,
            config.offsets_topic_num_partitions,
            config.offsets_topic_replication_factor,
            configs=(
                ("cleanup.policy", "compact"),
                ("segment.bytes", str(config.offsets_topic_segment_bytes)),
                ("compression.type", "producer"),
            ),
        )
    if name == TRANSACTION_STATE_TOPIC:
        return NewTopic(
            name,
            config.transaction_state_log_num_partitions,
            config.transaction_state_log_replication_factor,
            configs=(
                ("unclean.leader.election.enable", "false"),
                ("compression.type", "uncompressed"),
                ("cleanup.policy", "compact"),
                ("min.insync.replicas", str(config.transaction_state_log_min_isr)),
                ("segment.bytes", str(config.transaction_state_log_segment_bytes)),
            ),
        )
    raise ValueError(f"{name} is no internal topic")
