"""Three brokers with very many partitions, each with three replicas: whatever becomes of a broker, none stands still.

10,000 partitions are made by `scripts/soak --tests`; fewer, in every run, show as well whether what goes over all of
them takes turns. What counts is what the event loop of each broker computes at a time, as in `test_limits.py`.
"""

import asyncio
import contextlib
import resource
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.pool import PartitionMetadata, Pool
from barnabas.testing import Broker
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.records.builder import BatchBuilder
from tests.clusters import Members, controller_of, leader_of, three_brokers
from tests.integration.hostile_peers import ask
from tests.integration.test_limits import DESCRIPTOR_COUNT, no_stall
from tests.patience import PATIENCE_S
from tests.replicas import stored_batches, wait_for_equal_replicas

TOPIC_COUNT = 10
COUNTS = [600, pytest.param(10_000, marks=[pytest.mark.whole, pytest.mark.alone])]
# Long enough for a process to be stopped for a moment. A machine with ten times as much to do may stop it for longer.
SESSION_MS, WHOLE_SESSION_MS = 5_000, 10_000
MEGABYTE = 1_000_000


@pytest.fixture
def members(tmp_path: Path, pytestconfig: pytest.Config) -> Iterator[Members]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < DESCRIPTOR_COUNT:
        pytest.skip(f"a process may have {hard} files open, {DESCRIPTOR_COUNT} are needed (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    session_ms = WHOLE_SESSION_MS if pytestconfig.getoption("--whole") else SESSION_MS
    settings = {"zookeeper.session.timeout.ms": str(session_ms), "auto.leader.rebalance.enable": "false"}
    with three_brokers(tmp_path, settings) as members:
        yield members
        for member in members.values():
            # To close so many logs in good order takes long, and says nothing here.
            member.kill()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def broker_of(members: Members, broker_id: int) -> Broker:
    member = members[broker_id]
    assert isinstance(member, Broker)
    return member


@contextlib.contextmanager
def none_stall(members: Members, broker_ids: Sequence[int]) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for broker_id in broker_ids:
            stack.enter_context(no_stall(broker_of(members, broker_id)))
        yield


def wait_for(
    members: Members, broker_ids: Sequence[int], topics: Sequence[str], is_so: Callable[[PartitionMetadata], bool]
) -> None:
    """Wait until something is so for all partitions of topics, as each of these brokers says."""

    async def asked(broker_id: int) -> None:
        async with Pool(members[broker_id].bootstrap_servers, "judge") as pool:
            while True:
                found = (await pool.metadata(topics)).topics.values()
                if all(topic.partitions and all(map(is_so, topic.partitions.values())) for topic in found):
                    return
                await asyncio.sleep(0.5)

    async def all_asked() -> None:
        async with asyncio.timeout(PATIENCE_S):
            for broker_id in broker_ids:
                await asked(broker_id)

    asyncio.run(all_asked())


def are_in_sync(partition: PartitionMetadata) -> bool:
    return len(partition.isr) == 3


def create(members: Members, topic: str, assignments: Sequence[Sequence[int]]) -> None:
    async def create() -> None:
        async with Pool(members[1].bootstrap_servers, "judge") as pool:
            new = NewTopic(topic, assignments=dict(enumerate(assignments)))
            await Admin(pool, timeout_ms=int(PATIENCE_S * 1_000)).create_topic(new)

    asyncio.run(create())


def produce(members: Members, broker_id: int, topic: str, partitions: Iterable[int], size: int = 10) -> None:
    """Have a leader append a batch to each partition, whoever copies it."""
    builder = BatchBuilder()
    builder.append(0, b"key", bytes(size))
    records = bytes(builder.build())
    data = TopicProduceData(topic, [PartitionProduceData(index, records) for index in partitions])
    (answered,) = ask(broker_of(members, broker_id), ProduceRequest(None, 1, 30_000, [data]), 7).responses
    assert {each.error_code for each in answered.partition_responses} == {0}


@pytest.mark.parametrize("count", COUNTS)
def test_brokers_with_very_many_partitions_fail_and_come_back(members: Members, count: int) -> None:
    topics = [f"t{number}" for number in range(TOPIC_COUNT)]
    everybody = list(members)
    with none_stall(members, everybody):
        for topic in topics:
            create(members, topic, [[1 + (index + step) % 3 for step in range(3)] for index in range(count // 10)])
        wait_for(members, everybody, topics, are_in_sync)
    controller = asyncio.run(controller_of(members))
    # First one that only leads, then the controller, of which another broker takes over.
    for killed in (next(each for each in everybody if each != controller), controller):
        standing = [each for each in everybody if each != killed]
        with none_stall(members, standing):
            members[killed].kill()
            wait_for(members, standing, topics, lambda found, standing=standing: set(found.isr) == set(standing))
            for broker_id in standing:
                for _ in range(20):
                    led = asyncio.run(leader_of(members, "t0", broker_id - 1))
                    produce(members, led, "t0", [broker_id - 1], MEGABYTE // 2)
        with none_stall(members, standing):
            broker_of(members, killed).start()
            with none_stall(members, [killed]):
                wait_for(members, everybody, topics, are_in_sync)


def test_a_thousand_partitions_are_cut_at_once(members: Members) -> None:
    """A leader that comes back has what nobody copied, and others have led meanwhile."""
    controller = asyncio.run(controller_of(members))
    killed, other = (each for each in members if each != controller)
    standing, partitions = [controller, other], range(1_100)
    create(members, "cut", [[killed, *standing]] * len(partitions))
    wait_for(members, list(members), ["cut"], are_in_sync)
    produce(members, killed, "cut", partitions)
    wait_for_equal_replicas({each: member.data_dir for each, member in members.items()}, "cut", len(partitions))
    for broker_id in standing:
        members[broker_id].pause()
    # Fetches that were under way are answered with some of it.
    produce(members, killed, "cut", partitions)
    members[killed].kill()
    for broker_id in standing:
        members[broker_id].resume()
    wait_for(members, standing, ["cut"], lambda found: found.leader_id == controller)
    produce(members, controller, "cut", partitions)
    directory = members[killed].data_dir
    before = {index: stored_batches(directory, "cut", index) for index in partitions}
    with none_stall(members, standing):
        broker_of(members, killed).start()
        with none_stall(members, [killed]):
            wait_for(members, list(members), ["cut"], are_in_sync)
    cut = [
        index for index in partitions if stored_batches(directory, "cut", index)[: len(before[index])] != before[index]
    ]
    assert len(cut) >= 1_000
    wait_for_equal_replicas({each: member.data_dir for each, member in members.items()}, "cut", len(partitions))
