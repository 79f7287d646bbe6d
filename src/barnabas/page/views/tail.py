"""The newest records of a topic, live."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from barnabas.clients.admin_offsets import OffsetAdmin
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.page.messages.decoding import KINDS
from barnabas.page.messages.reading import named_right, with_leaders
from barnabas.page.messages.rows import Row
from barnabas.page.messages.state import MessageState, whole_number
from barnabas.page.messages.tail import MOST_SHOWN_BYTES, Tail
from barnabas.page.view import Asked, View

_MOST_PARTITIONS: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class TailView(View):
    """The newest records since `since_ms`, newest first."""

    topic: str
    asked: Mapping[str, str]
    since_ms: int
    passed_count: int
    dropped_count: int
    rows: tuple[Row, ...]
    kinds: tuple[str, ...] = KINDS


async def build(state: MessageState, asked: Asked) -> TailView:
    """Read new records. Raises KafkaError."""
    topic = asked.query.get("topic", "")
    admin = asked.cluster.admin(OffsetAdmin)
    if asked.cluster.closed.is_set():
        raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, "the session has ended")
    now_ms = admin.pool.env.clock.now_ms()
    key = (asked.cluster.name, asked.cluster.user, tuple(sorted(asked.query.items())))
    try:
        metadata = await admin.pool.topic(topic)
        indexes = sorted(metadata.partitions)
        if (tail := state.tails.get(key)) is None:
            partition = whole_number(asked.query.get("partition"))
            wanted = indexes[:_MOST_PARTITIONS] if partition is None else [partition]
            tail = Tail(
                [TopicPartition(topic, each) for each in wanted],
                state.record_format(topic, asked.query, MOST_SHOWN_BYTES),
                now_ms,
                is_committed=asked.query.get("all") != "yes",
            )
            state.tails.keep(key, tail)
        led, not_told = with_leaders(admin.pool, metadata, [each.partition for each in tail.partitions])
        await tail.look(admin, led)
    except KafkaError as error:
        raise named_right(error, topic) from error
    return TailView(
        now_ms=now_ms,
        silent={},
        not_told=not_told,
        topic=topic,
        asked=asked.query,
        since_ms=tail.since_ms,
        passed_count=len(indexes) - len(tail.partitions) if len(tail.partitions) == _MOST_PARTITIONS else 0,
        dropped_count=tail.dropped_count,
        rows=tuple(tail.rows)[::-1],
    )
