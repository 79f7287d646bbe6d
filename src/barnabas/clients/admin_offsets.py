"""Administration of partition offsets: start, end and lookup by time, and deletion of records.

Source: protocol guide, ListOffsets, DeleteRecords; KIP-107.
"""

from collections.abc import Iterable, Mapping

from barnabas.clients.admin_calls import AdminCalls, grouped, raise_for
from barnabas.core.error_code import RETRIABLE, ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

_FIRST_WITH_ISOLATION = 2


class OffsetAdmin(AdminCalls):
    """The offsets of partitions."""

    async def offsets(
        self, partitions: Iterable[TopicPartition], timestamp_ms: int, *, is_read_committed: bool = False
    ) -> dict[TopicPartition, int]:
        """Return partitions' start (EARLIEST), end (LATEST) or first offset at or after a timestamp (-1: none).

        Args:
            partitions: The partitions.
            timestamp_ms: See above.
            is_read_committed: Return the last stable offset as the end: no transaction is open below it.

        Raises:
            KafkaError: A partition does not exist, or has no leader for longer than the timeout. UNSUPPORTED_VERSION:
                a broker without transactions.
        """
        found: dict[TopicPartition, int] = {}
        wanted = set(partitions)

        def epoch_of(topic: str, index: int) -> int:
            return self.pool.known_leader_epoch(TopicPartition(topic, index))

        async def attempt() -> None:
            by_channel = await self.by_leader(sorted(wanted - found.keys()))
            for channel, group in by_channel.items():
                if is_read_committed and channel.version_of(ListOffsetsRequest.API_KEY) < _FIRST_WITH_ISOLATION:
                    raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "the broker does not support transactions")
                request = ListOffsetsRequest(
                    -1,
                    int(is_read_committed),
                    [
                        ListOffsetsTopic(t, [ListOffsetsPartition(p, epoch_of(t, p), timestamp_ms) for p in ps])
                        for t, ps in grouped(group)
                    ],
                )
                response = await channel.send(request, ListOffsetsResponse)
                for topic in response.topics:
                    for part in topic.partitions:
                        partition = TopicPartition(topic.name, part.partition_index)
                        if part.error_code:
                            self.pool.forget(topic.name)
                            raise_for(part.error_code, _message(partition, part.error_code))
                        found[partition] = part.offset if not part.old_style_offsets else part.old_style_offsets[0]

        await self.retry(attempt, not_healed=(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,))
        return found

    async def delete_records(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | KafkaError]:
        """Delete partitions' records below an offset; -1 means the high watermark.

        Returns:
            The new log start offset of each partition, or the error if its records were not deleted.

        Raises:
            KafkaError: A partition's leader cannot be reached.
        """
        from barnabas.wire.protocol.messages.delete_records import (
            DeleteRecordsPartition,
            DeleteRecordsRequest,
            DeleteRecordsResponse,
            DeleteRecordsTopic,
        )

        done: dict[TopicPartition, int | KafkaError] = {}

        async def attempt() -> None:
            waiting: KafkaError | None = None
            for channel, group in (await self.by_leader(sorted(offsets.keys() - done.keys()))).items():
                topics = [
                    DeleteRecordsTopic(t, [DeleteRecordsPartition(p, offsets[TopicPartition(t, p)]) for p in ps])
                    for t, ps in grouped(group)
                ]
                request = DeleteRecordsRequest(topics, self.timeout_ms)
                response = await channel.send(request, DeleteRecordsResponse, timeout_ms=self.timeout_ms + 5_000)
                for topic in response.topics:
                    for part in topic.partitions:
                        partition, code = TopicPartition(topic.name, part.partition_index), ErrorCode(part.error_code)
                        error = KafkaError(code, _message(partition, code))
                        if code in RETRIABLE and code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                            self.pool.forget(topic.name)
                            waiting = error
                        else:
                            done[partition] = error if code else part.low_watermark
            if waiting is not None:
                raise waiting

        await self.retry(attempt, not_healed=(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,))
        return done


def _message(partition: TopicPartition, code: int) -> str:
    if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return f"partition {partition} does not exist"
    return f"partition {partition}: {ErrorCode(code).name}"
