"""Limits the new partitions that one request can create, and counts them on the client's quota."""

from barnabas.broker.administration.topic_rules import check_new_partitions
from barnabas.broker.quotas.controller_mutations import ControllerMutationQuota
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError


class PartitionLimit:
    """The number of partitions that one request can still create."""

    __slots__ = ("_new_count", "_room")

    def __init__(self, room: int) -> None:
        """Args:
        room: Number of partitions that the brokers can still add.
        """
        self._room = room
        self._new_count = 0

    def take(self, count: int) -> None:
        """Count new partitions of a topic.

        Raises:
            KafkaError: They are too many for one request, or for the brokers.
        """
        check_new_partitions(self._new_count + count)
        if self._new_count + count > self._room:
            # differs from Kafka (new-partitions-open-files): Kafka creates them, and crashes when its file descriptors
            # are exhausted.
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION,
                f"there is room for {max(self._room - self._new_count, 0)} more partitions only: the broker's limit "
                "of open files allows no more (ulimit -n)",
            )
        self._new_count += count

    def give_back(self, count: int) -> None:
        """Return partitions that were counted but not created."""
        self._new_count -= count


def count_mutations(quota: ControllerMutationQuota | None, partition_count: int) -> None:
    """Count new partitions on the client's quota.

    Args:
        quota: The client's quota; None: no quota.

    Raises:
        KafkaError: THROTTLING_QUOTA_EXCEEDED.
    """
    if quota is not None and not quota.take(partition_count):
        # Without a message, as in Kafka.
        raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, None)
