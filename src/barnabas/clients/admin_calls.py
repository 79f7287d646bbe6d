"""The base of all administrative calls: choice of the broker, retries and timeouts.

Each call retries transient errors (`error_code.RETRIABLE`) until `timeout_ms` has passed, then raises the last error.

Source: KIP-4.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from barnabas.clients.channel import Channel, UnreachableError
from barnabas.clients.pool import RETRY_BACKOFF_MS, Pool
from barnabas.core.error_code import RETRIABLE, ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition

T = TypeVar("T")

LATEST = -1
EARLIEST = -2

DEFAULT_TIMEOUT_MS = 30_000

_GROUP_ERRORS = {
    ErrorCode.GROUP_ID_NOT_FOUND: "does not exist",
    ErrorCode.NON_EMPTY_GROUP: "has members",
    ErrorCode.UNKNOWN_MEMBER_ID: "has members",
    ErrorCode.REBALANCE_IN_PROGRESS: "is rebalancing",
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: "is being loaded by its coordinator",
}


class AdminCalls:
    """Administrative calls to one cluster; each subclass covers a subject."""

    def __init__(self, pool: Pool, timeout_ms: int = DEFAULT_TIMEOUT_MS) -> None:
        self.pool = pool
        self.timeout_ms = timeout_ms

    def check_coordinator(self, group_id: str, error_code: int) -> None:
        """Raise the error in a group coordinator's response, if any; forget the coordinator after NOT_COORDINATOR."""
        if error_code in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE):
            self.pool.forget_coordinator(group_id)
        code = ErrorCode(error_code)
        raise_for(code, f"group {group_id} {_GROUP_ERRORS.get(code, f'is refused: {code.name}')}")

    async def by_leader(self, partitions: Iterable[TopicPartition]) -> dict[Channel, list[TopicPartition]]:
        """Group partitions by the connection to their leader. Raises KafkaError."""
        by_channel: dict[Channel, list[TopicPartition]] = {}
        for partition in partitions:
            channel = self.pool.known_leader(partition) or await self.pool.leader(partition)
            by_channel.setdefault(channel, []).append(partition)
        return by_channel

    async def retry(self, attempt: Callable[[], Awaitable[T]], not_healed: Sequence[ErrorCode] = ()) -> T:
        """Call the function `retry` with this object's timeout."""
        return await retry(attempt, self.timeout_ms, not_healed)


async def retry(attempt: Callable[[], Awaitable[T]], timeout_ms: int, not_healed: Sequence[ErrorCode] = ()) -> T:
    """Call `attempt` until it succeeds; raise an error that is not in RETRIABLE, or the last one before the timeout.

    UnreachableError (no broker has ever answered) is raised at once.

    Args:
        timeout_ms: No attempt starts after this time.
        not_healed: Codes in RETRIABLE that are raised at once all the same.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_ms / 1000
    while True:
        try:
            return await attempt()
        except KafkaError as error:
            heals = error.code in RETRIABLE and error.code not in not_healed and not isinstance(error, UnreachableError)
            if not heals or loop.time() + RETRY_BACKOFF_MS / 1000 >= deadline:
                raise
        await asyncio.sleep(RETRY_BACKOFF_MS / 1000)


def raise_for(error_code: int, message: str) -> None:
    if error_code:
        raise KafkaError(ErrorCode(error_code), message)


def grouped(partitions: Iterable[TopicPartition]) -> list[tuple[str, list[int]]]:
    """Group partitions by topic, both in order."""
    grouped: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        grouped.setdefault(topic, []).append(partition)
    return list(grouped.items())
