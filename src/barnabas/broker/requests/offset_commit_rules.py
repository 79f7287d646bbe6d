"""Shared by OffsetCommit and TxnOffsetCommit: decides which offsets of a request may be stored.

Source: semantics, OffsetCommit and TxnOffsetCommit.
"""

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.slices import MORE, Step
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.offset_commit import OffsetCommitRequestPartition
from barnabas.wire.protocol.messages.txn_offset_commit import TxnOffsetCommitRequestPartition
from barnabas.wire.security.authorizer import Operation, ResourceType

# Partitions with these errors are not part of the commit, so the commit's error does not apply to them.
_OF_NO_COMMIT = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.TOPIC_AUTHORIZATION_FAILED)

P = TypeVar("P", OffsetCommitRequestPartition, TxnOffsetCommitRequestPartition)


class CommitTopic(Protocol[P]):
    """One topic of a commit request."""

    name: str
    partitions: list[P]


@dataclass(slots=True)
class OffsetsToCommit(Generic[P]):
    """The accepted and refused offsets of a request.

    Attributes:
        accepted: The offsets that may be stored.
        errors: The errors of the others.
        has_known_partition: Whether any of the partitions exists and may be read by this principal; if not, the group
            is not called.
    """

    accepted: dict[TopicPartition, P] = field(default_factory=dict)
    errors: dict[TopicPartition, ErrorCode] = field(default_factory=dict)
    has_known_partition: bool = False

    def error_of(self, topic: str, index: int, error_code: ErrorCode) -> ErrorCode:
        """Return the answer for one partition.

        Args:
            error_code: The error of the whole commit, for every partition in it.
        """
        if not self.errors:
            return error_code
        own = self.errors.get(TopicPartition(topic, index), ErrorCode.NONE)
        return own if own in _OF_NO_COMMIT else error_code or own


def sort_out(ctx: RequestContext, topics: Iterable[CommitTopic[P]]) -> Generator[Step, None, OffsetsToCommit[P]]:
    """Separate the accepted and refused offsets; yield steps for each topic and partition of a large request."""
    offsets: OffsetsToCommit[P] = OffsetsToCommit()
    max_length = ctx.services.config.offset_metadata_max_bytes
    for topic in topics:
        may_read = ctx.may(Operation.READ, ResourceType.TOPIC, topic.name)
        if ctx.is_large:
            yield MORE
        for partition in topic.partitions:
            if ctx.is_large:
                yield MORE
            key = TopicPartition(topic.name, partition.partition_index)
            if not may_read:
                offsets.errors[key] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                continue
            if ctx.services.cluster.image.partition(*key) is None:
                offsets.errors[key] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                continue
            offsets.has_known_partition = True
            if _java_length(partition.committed_metadata or "") > max_length:
                offsets.errors[key] = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                offsets.accepted[key] = partition
    return offsets


def _java_length(text: str) -> int:
    """Return Java's length of a string: UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2
