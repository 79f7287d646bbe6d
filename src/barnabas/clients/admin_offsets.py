"""Where partitions begin and end.

Source: protocol guide, ListOffsets.
"""

from collections.abc import Iterable

from barnabas.clients.admin_calls import AdminCalls, grouped, raise_for
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)


class OffsetAdmin(AdminCalls):
    """The offsets of partitions."""

    async def offsets(self, partitions: Iterable[TopicPartition], timestamp_ms: int) -> dict[TopicPartition, int]:
        """Where partitions begin (EARLIEST), end (LATEST), or first reach a timestamp (-1: they never do).

        Raises:
            KafkaError: A partition does not exist, or has no leader for longer than the timeout.
        """
        found: dict[TopicPartition, int] = {}
        wanted = set(partitions)

        async def attempt() -> None:
            by_channel = await self.by_leader(sorted(wanted - found.keys()))
            for channel, group in by_channel.items():
                request = ListOffsetsRequest(
                    -1,
                    0,
                    [
                        ListOffsetsTopic(t, [ListOffsetsPartition(p, -1, timestamp_ms) for p in ps])
                        for t, ps in grouped(group)
                    ],
                )
                response = await channel.send(request, ListOffsetsResponse)
                for topic in response.topics:
                    for part in topic.partitions:
                        partition = TopicPartition(topic.name, part.partition_index)
                        if part.error_code:
                            self.pool.forget(topic.name)
                        raise_for(part.error_code, f"offsets of partition {partition}")
                        found[partition] = part.offset if not part.old_style_offsets else part.old_style_offsets[0]

        await self.retry(attempt, not_healed=(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,))
        return found
