"""Who mirrors a source: one process for each mirror and cluster, whatever it calls it, and the latest one at that."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from barnabas.clients import Admin, Pool
from barnabas.clients.admin import NewTopic
from barnabas.clients.mirror_offsets import TABLE_CONFIGS, TABLE_TOPIC, Owner
from barnabas.pipeline.mirror.mirror_progress import MirrorProgress
from barnabas.pipeline.mirror.plan import MirrorPlan
from barnabas.pipeline.mirror.table import MirrorFencedError
from barnabas.pipeline.mirror.writer import WriterError, write_owner
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.plan import OnDataLoss, PlanError
from barnabas.testing import Broker

# A claim asks the target alone.
NO_CLUSTER: Any = None


@pytest.fixture(scope="module")
def target() -> Iterator[KafkaOptions]:
    async def create(servers: str) -> None:
        async with Pool(servers) as pool:
            await Admin(pool).create_topic(NewTopic(TABLE_TOPIC, 1, 1, TABLE_CONFIGS))

    with Broker() as broker:
        asyncio.run(create(broker.bootstrap_servers))
        yield KafkaOptions(broker.bootstrap_servers, {})


@pytest.fixture
def plan(target: KafkaOptions, request: pytest.FixtureRequest) -> MirrorPlan:
    return MirrorPlan(request.node.name, "west", KafkaOptions("127.0.0.1:1", {}), target, ("t",), "checkpoints")


@pytest.fixture
def progress_of() -> Iterator[Callable[..., MirrorProgress]]:
    with ExitStack() as stack:

        def make(plan: MirrorPlan, warn: Callable[[str], None] = lambda text: None) -> MirrorProgress:
            made = MirrorProgress(plan, NO_CLUSTER, warn)
            stack.callback(made.table.close)
            return made

        yield make


def test_who_claims_at_the_same_time_does_not_get_the_same_generation(plan: MirrorPlan, progress_of) -> None:
    other = progress_of(plan)

    def while_another_claims() -> Owner:
        other.claim("c-1")
        return Owner(plan.name, plan.alias, 1, "c-1", "host", 1, 0)

    with pytest.raises(WriterError):
        write_owner(plan.target, plan.name, "c-1", while_another_claims)
    other.claim("c-1")
    assert other.generation == 1
    later = progress_of(plan)
    later.claim("c-1")
    assert later.generation == 2


def test_a_cluster_with_two_aliases_has_one_mirror(plan: MirrorPlan, progress_of) -> None:
    first, second = progress_of(plan), progress_of(replace(plan, alias="occident"))
    first.claim("c-1")
    second.claim("c-1")
    with pytest.raises(MirrorFencedError, match="started later, mirrors west, too, which it calls occident: process"):
        first.claim("c-1")
    second.claim("c-1")
    # Another cluster under the same name is another source.
    progress_of(replace(plan, alias="east")).claim("c-2")
    second.claim("c-1")


def test_a_source_that_becomes_another_cluster_is_noticed_while_it_is_mirrored(plan: MirrorPlan, progress_of) -> None:
    careful = progress_of(plan)
    careful.claim("c-1")
    with pytest.raises(PlanError, match="the source is cluster c-2, and was c-1 before"):
        careful.claim("c-2")
    assert careful.source_cluster_id == "c-1"
    warnings: list[str] = []
    bold = progress_of(replace(plan, on_data_loss=OnDataLoss.CONTINUE), warnings.append)
    bold.claim("c-1")
    bold.claim("c-2")
    assert (bold.source_cluster_id, bold.generation) == ("c-2", 3)
    assert len(warnings) == 1
    with pytest.raises(MirrorFencedError):
        careful.claim("c-1")
