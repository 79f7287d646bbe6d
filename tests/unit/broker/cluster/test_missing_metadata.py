"""What a broker that has just started has yet to be told of, by what stands in the registry."""

import asyncio
from random import Random

from barnabas.broker.cluster.image import ClusterView
from barnabas.broker.cluster.missing_metadata import partitions_without_metadata
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.broker.registry.tree import Tree
from barnabas.core.executor import InlineExecutor
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import bootstrap
from barnabas.wire.registry.znodes.topics import PartitionStateNode, TopicAssignment, encode_assignment
from barnabas.wire.registry.znodes.topics import encode_partition_state as encode_state
from tests.unit.broker.cluster.test_image import update

STATE = encode_state(PartitionStateNode(0, 0, (0,), 1))


def missing(
    topics: dict[str, dict[int, bytes | None]], told: dict[str, dict[int, int]], deleted: str = ""
) -> list[str]:
    """Ask with topics in the registry (partition to its state, if it has one) and in the image (to its leader)."""

    async def ask() -> list[str]:
        registry = EmbeddedRegistry(Tree(), None, ManualClock(), InlineExecutor())
        await bootstrap(registry, Random(1))
        for topic, states in topics.items():
            assignment = TopicAssignment({index: [0] for index in states}, {}, {})
            await registry.create(paths.topic(topic), encode_assignment(assignment))
            await registry.create(paths.partitions(topic))
            for index, state in states.items():
                await registry.create(paths.partition(topic, index))
                if state is not None:
                    await registry.create(paths.partition_state(topic, index), state)
        await registry.create(paths.topic("malformed"), b"{")
        if deleted:
            await registry.create(paths.delete_topic(deleted))
        view = ClusterView("cluster")
        view.update_metadata(update(told))
        return [str(each) for each in await partitions_without_metadata(registry, view.image)]

    return asyncio.run(ask())


def test_what_has_a_state_and_was_not_told_of_is_named() -> None:
    topics = {"t": {0: STATE, 1: STATE}, "u": {0: STATE}}
    assert missing(topics, {"t": {1: 0}}) == ["t-0", "u-0"]
    assert missing(topics, {"t": {0: 0, 1: -1}, "u": {0: 0}}) == []


def test_what_a_controller_may_never_tell_of_is_not_waited_for() -> None:
    assert missing({"t": {0: None, 1: b"{", 2: STATE}, "u": {0: STATE}}, {}, deleted="u") == ["t-2"]
