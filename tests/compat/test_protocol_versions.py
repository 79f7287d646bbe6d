"""`inter.broker.protocol.version` is raised in a mixed cluster under load, in rolling steps: from 0.11 to 2.7.

Two brokers run Barnabas, one runs Kafka: 2.7.2, or 2.3.1 until the last step, as in an upgrade of Kafka.
"""

import asyncio
import json
from pathlib import Path

import pytest

from tests.cluster_load import ClusterLoad
from tests.cluster_soak.load import PARTITIONS
from tests.compat.machines import (
    MAY_STOP,
    START_BARNABAS,
    START_KAFKA,
    STOP_BARNABAS,
    STOP_KAFKA,
    WAIT,
    Machine,
    three_machines,
)
from tests.replicas import wait_for_equal_replicas
from tools.kafka.jars import KAFKA

_TOPIC = "numbers"
_PROTOCOL = "inter.broker.protocol.version"
_KAFKAS = 1


@pytest.mark.parametrize(
    ("jar_set", "versions"),
    [
        ("kafka-2.3.1", ["2.7"]),
        pytest.param("kafka-2.3.1", ["2.3", "2.7"], marks=pytest.mark.whole),
        pytest.param(KAFKA, ["2.3", "2.7"], marks=pytest.mark.whole),
    ],
)
def test_the_protocol_is_raised_in_rolling_steps_under_load(
    jar_set: str, versions: list[str], tmp_path: Path, connect: str
) -> None:
    settings = {_PROTOCOL: "0.11.0", "log.message.format.version": "0.11.0"}
    starts = {_KAFKAS: START_KAFKA, 2: START_BARNABAS, 3: START_BARNABAS}
    with three_machines(tmp_path, connect, starts, settings, jar_set) as machines:
        servers = ",".join(each.servers for each in machines.values())
        admin = tmp_path / "admin.properties"
        admin.touch()
        load = ClusterLoad(servers, _TOPIC, pause_s=0.1)

        async def story() -> None:
            await load.start()
            try:
                await load.goes_on(10)
                for version in versions:
                    release = KAFKA if version == versions[-1] else jar_set
                    for machine in machines.values():
                        await asyncio.to_thread(_restart, machine, version, release)
                        await load.goes_on(10)
                    told = machines[1].paste("barnabas cluster status --bootstrap-server $SERVERS --json")
                    found = [each["inter_broker_protocol_version"] for each in json.loads(told)["brokers"]]
                    assert all(each.startswith(version) for each in found), found
                await load.end()
            finally:
                await load.close()

        for machine in machines.values():
            machine.paste(f"SERVERS={servers} ADMIN={admin}")
        asyncio.run(story())
        assert load.wrong() == []
        for topic in (_TOPIC, f"{_TOPIC}-copied"):
            data_dirs = {broker_id: each.data_dir for broker_id, each in machines.items()}
            wait_for_equal_replicas(data_dirs, topic, PARTITIONS)


def _restart(machine: Machine, version: str, release: str) -> None:
    is_kafkas = machine.broker_id == _KAFKAS
    machine.paste(MAY_STOP)
    machine.paste(STOP_KAFKA if is_kafkas else STOP_BARNABAS)
    machine.install(release)
    machine.configure({_PROTOCOL: version})
    machine.paste(START_KAFKA if is_kafkas else START_BARNABAS)
    machine.paste(WAIT)
