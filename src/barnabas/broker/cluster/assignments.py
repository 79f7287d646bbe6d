"""Decodes the assignments of topics without blocking the event loop for a large one.

A topic's znode may have up to 1 MB: decoding 60,000 partitions takes 200 ms.

Source: zookeeper.md, topic assignment.
"""

import asyncio

from barnabas.wire.registry.znodes.topics import TopicAssignment, decoding_steps

_PARTITIONS_PER_TURN = 500


async def read_assignment(data: bytes | None) -> TopicAssignment:
    """Decode an assignment, some partitions in each turn of the event loop.

    Raises:
        MalformedError: See `decode_assignment`.
    """
    steps = decoding_steps(data)
    count = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            assignment: TopicAssignment = end.value
            return assignment
        count += 1
        if count % _PARTITIONS_PER_TURN == 0:
            await asyncio.sleep(0)
