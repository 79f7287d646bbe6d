"""A broker of the pure wheel and two of the compiled one are one cluster."""

import asyncio
from pathlib import Path

import pytest

from barnabas.testing import Registry
from tests.cluster_load import ClusterLoad
from tests.cluster_soak.load import PARTITIONS
from tests.clusters import Members, cluster_of, leader_of, servers_of, wait_for_in_sync
from tests.log_tools import damages
from tests.replicas import wait_for_equal_replicas
from tools import wheel

_TOPIC = "numbers"
_PURE, *_COMPILED = 1, 2, 3


@pytest.fixture(autouse=True)
def compiler() -> None:
    reason = wheel.lacking()
    if reason is not None:
        pytest.skip(reason)
    wheel.compiled_environment()


# test_wheel.py runs the compiled hot path; test_cluster.py and test_cluster_mirror.py have such kills.
@pytest.mark.whole
def test_pure_and_compiled_brokers_replicate_and_fail_over(tmp_path: Path) -> None:
    with (
        Registry() as registry,
        cluster_of(("barnabas", "compiled", "compiled"), tmp_path, f"{registry.connect}/wheels") as members,
    ):
        assert [broker_id for broker_id, each in members.items() if _is_compiled(each.pid)] == _COMPILED
        load = ClusterLoad(servers_of(members), _TOPIC)
        asyncio.run(_kill_one_of_each(members, load))
        assert load.wrong() == []
        data_dirs = {broker_id: each.data_dir for broker_id, each in members.items()}
        for topic in (_TOPIC, f"{_TOPIC}-copied"):
            wait_for_equal_replicas(data_dirs, topic, PARTITIONS)
        assert damages(data_dirs) == []


def _is_compiled(pid: int) -> bool:
    return "barnabas/broker/log/" in "".join(
        line for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if line.endswith(".so")
    )


async def _kill_one_of_each(members: Members, load: ClusterLoad) -> None:
    await load.start()
    try:
        await load.goes_on()
        for broker_id in (_PURE, _COMPILED[0]):
            leaders = {await leader_of(members, _TOPIC, index) for index in range(PARTITIONS)}
            assert leaders & {broker_id}, leaders
            members[broker_id].kill()
            await load.goes_on()
            await asyncio.to_thread(members[broker_id].restart)
            await asyncio.to_thread(wait_for_in_sync, members, _TOPIC)
        await load.goes_on()
        await load.end()
    finally:
        await load.close()
