"""What tests of several brokers use of them, be they Kafka's or ours."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from barnabas.clients.pool import Pool


class Member(Protocol):
    """One broker of several, as `barnabas.testing.Broker` and `tools.kafka.server.KafkaServer` are."""

    @property
    def bootstrap_servers(self) -> str: ...

    @property
    def data_dir(self) -> Path: ...

    @property
    def pid(self) -> int: ...

    def stop(self) -> None: ...

    def kill(self) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def restart(self) -> None: ...


def servers_of(members: Mapping[int, Member]) -> str:
    """Return the addresses of all brokers, for a client."""
    return ",".join(member.bootstrap_servers for member in members.values())


async def controller_of(members: Mapping[int, Member]) -> int:
    """Return the id of the broker that is the controller, as the cluster says; -1 while it says none."""
    async with Pool(servers_of(members), "judge") as pool:
        return (await pool.metadata([])).controller_id


async def leader_of(members: Mapping[int, Member], topic: str, partition: int) -> int:
    """Return the id of the broker that leads a partition; -1 while none does."""
    async with Pool(servers_of(members), "judge") as pool:
        return (await pool.metadata([topic])).topics[topic].partitions[partition].leader_id
