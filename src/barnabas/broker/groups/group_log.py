"""Appends the records of groups to their partitions of `__consumer_offsets`.

Invariant: every append calls back with its result, even if the append raised or its records could not be encoded.

Source: design page, offset tracking; semantics, group coordinator.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import assert_never

from barnabas.broker.coordination.interfaces import Replicas
from barnabas.broker.groups.events import AppendTombstones, StoreGroup, StoreOffsets, StoreReplacement
from barnabas.broker.groups.group import Group
from barnabas.broker.groups.storage import group_batch, offsets_batch, tombstone_batches
from barnabas.broker.log.append_result import AppendResult
from barnabas.core.config import BrokerConfig
from barnabas.core.config.versions import KafkaVersion
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError, StorageError
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC
from barnabas.core.types import TopicPartition
from barnabas.wire.records.batch import Codec

log = logging.getLogger(__name__)

_NO_ACKS = 0

Append = StoreGroup | StoreReplacement | StoreOffsets | AppendTombstones


class GroupLog:
    """Appends the records of all groups of a broker. Owned by the event loop."""

    def __init__(self, config: BrokerConfig, replicas: Replicas, reader: KafkaVersion) -> None:
        """Args:
        reader: The oldest Kafka that must be able to read the records.
        """
        self._config = config
        self._replicas = replicas
        self._codec = Codec(config.offsets_topic_compression_codec)
        self._reader = reader

    def append(self, group: Group, effect: Append, now_ms: int, then: Callable[[AppendResult], object]) -> None:
        """Encode the current state of a group, and append it.

        Args:
            then: Called with the result of each batch; most effects have one batch.
        """
        acks = _NO_ACKS if isinstance(effect, AppendTombstones) else self._config.offsets_commit_required_acks
        topic_partition = TopicPartition(GROUP_OFFSETS_TOPIC, group.partition)
        failed = partial(_failed, group.group_id, topic_partition, then)
        try:
            appended = [
                self._replicas.append(topic_partition, batch, acks, self._config.offsets_commit_timeout_ms)
                for batch in self._batches(group, effect, now_ms)
            ]
        except KafkaError as error:
            then(AppendResult(error.code))
            return
        except Exception as error:
            failed(error)
            return
        for pending in appended:
            pending.then(then, failed)

    def _batches(self, group: Group, effect: Append, now_ms: int) -> list[bytearray]:
        codec, reader = self._codec, self._reader
        match effect:
            case StoreOffsets(offsets, producer_id, producer_epoch):
                return [offsets_batch(group.group_id, offsets, now_ms, codec, reader, producer_id, producer_epoch)]
            case StoreGroup(_, assignments) | StoreReplacement(_, assignments):
                return [group_batch(group, assignments, now_ms, codec, reader)]
            case AppendTombstones(partitions, is_group_removed):
                # A lost tombstone is written again: after a load, the next expiry check finds the group again.
                return tombstone_batches(group.group_id, partitions, is_group_removed, now_ms, codec)
            case _:
                assert_never(effect)


def _failed(
    group_id: str, topic_partition: TopicPartition, then: Callable[[AppendResult], object], error: BaseException
) -> None:
    log.error("cannot append to %s for group %s", topic_partition, group_id, exc_info=error)
    is_disk = isinstance(error, StorageError)
    then(AppendResult(ErrorCode.KAFKA_STORAGE_ERROR if is_disk else ErrorCode.UNKNOWN_SERVER_ERROR))
