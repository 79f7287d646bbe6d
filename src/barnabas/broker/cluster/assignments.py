"""Decodes the assignments of topics without stopping the event loop for a large one.

A topic's node may have 1 MB, whoever wrote it: 60,000 partitions take 200 ms to decode.

Source: zookeeper.md, topic assignment.
"""

import asyncio

from barnabas.wire.registry.znodes.topics import TopicAssignment, decode_assignment

LARGE_BYTES = 64 * 1024


async def read_assignment(data: bytes | None) -> TopicAssignment:
    """Decode an assignment, in a thread when it is large.

    Raises:
        MalformedError: See `decode_assignment`.
    """
    if data is None or len(data) <= LARGE_BYTES:
        return decode_assignment(data)
    return await asyncio.to_thread(decode_assignment, data)
