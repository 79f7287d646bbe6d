"""The number of partitions that names are spread over is the registry's, whoever leads them."""

import pytest

from barnabas.broker.coordination.partitioning import coordinated_partition_count
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import create_with_parents
from barnabas.wire.registry.znodes.topics import TopicAssignment, encode_assignment
from tests.unit.memory_registry import memory_registry


@pytest.mark.parametrize(
    ("data", "count"),
    [(encode_assignment(TopicAssignment({number: [1] for number in range(3)})), 3), (b"no assignment", 50), (None, 50)],
    ids=["three partitions", "malformed", "null"],
)
async def test_a_topic_has_the_partitions_of_its_node(data: bytes | None, count: int) -> None:
    registry = await memory_registry()
    assert await coordinated_partition_count(registry, GROUP_OFFSETS_TOPIC, 50) == 50
    await create_with_parents(registry, paths.topic(GROUP_OFFSETS_TOPIC), data)
    assert await coordinated_partition_count(registry, GROUP_OFFSETS_TOPIC, 50) == count
