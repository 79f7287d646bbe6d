"""`control.plane.listener.name`, in a cluster with Kafka 2.7.2: the controller's requests, and those to it, come there.

What is advertised as that listener is a relay, which notes which APIs pass.
"""

import asyncio
import struct
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from barnabas.testing import Broker
from barnabas.testing.cluster import member_config
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.wire.protocol.messages.delete_topics import DeleteTopicsRequest
from tests.clusters import Member, kafka_member, make_controller, wait_for_in_sync, wait_for_members
from tests.compat.raw import ask, create_topic
from tests.patience import PATIENCE_S, until
from tools.kafka.server import QuickKafkaServer, free_port

FROM_THE_CONTROLLER = {ApiKey.LEADER_AND_ISR, ApiKey.UPDATE_METADATA, ApiKey.STOP_REPLICA}


class Relay:
    """Passes on what comes to a port of its own; for a `with` statement.

    Attributes:
        port: Where it listens.
        target_port: Where it passes things on to.
        seen: The keys of the requests that passed.
    """

    def __init__(self, target_port: int) -> None:
        self.port = 0
        self.seen: set[int] = set()
        self.target_port = target_port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> "Relay":
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._relay, "127.0.0.1", 0))
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _close(self) -> None:
        self._server.close()
        mine = asyncio.current_task()
        others = [each for each in asyncio.all_tasks() if each is not mine]
        for each in others:
            each.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            answers, requests = await asyncio.open_connection("127.0.0.1", self.target_port)
        except ConnectionError:
            writer.close()
            return
        back = asyncio.ensure_future(self._answer(answers, writer))
        try:
            while True:
                size = await reader.readexactly(4)
                frame = await reader.readexactly(*struct.unpack(">i", size))
                self.seen.add(struct.unpack_from(">h", frame)[0])
                requests.write(size + frame)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            requests.close()
            await back

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                writer.write(data)
        except ConnectionError:
            pass
        finally:
            writer.close()


class Doored(Broker):
    """A broker of ours with the listeners that it is given.

    Attributes:
        listeners: Their settings.
    """

    listeners: Mapping[str, str]

    def _secure_listener(self) -> list[str]:
        return [word for name, value in self.listeners.items() for word in ("--override", f"{name}={value}")]


def member(kind: str, directory: Path, connect: str, broker_id: int, relay: Relay) -> Broker | QuickKafkaServer:
    port = free_port()
    # Nobody is killed: sessions may outlive a slow start.
    settings = {"zookeeper.session.timeout.ms": "30000"}
    listeners = {
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROL://127.0.0.1:{relay.target_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROL://127.0.0.1:{relay.port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROL:PLAINTEXT",
        "control.plane.listener.name": "CONTROL",
    }
    if kind == "kafka":
        return kafka_member(directory, connect, broker_id, {**settings, **listeners}, port=port)
    broker = Doored(
        config={**member_config(broker_id, connect), **settings},
        port=port,
        security_protocol="CONTROL",
        data_dir=directory,
        start_timeout_s=PATIENCE_S,
    )
    broker.listeners = listeners
    return broker


def create_and_extend(controller: Member, topic: str, replicas: list[int]) -> None:
    """Create a partition on the first of some brokers, and give it replicas on the others."""
    create_topic(controller.bootstrap_servers, topic, 1, [replicas[:1]])
    extended = ReassignableTopic(topic, [ReassignablePartition(0, replicas)])
    answer = ask(controller.bootstrap_servers, AlterPartitionReassignmentsRequest(30_000, [extended]), 0)
    assert answer.responses[0].partitions[0].error_code == 0


def delete_topic(controller: Member, topic: str) -> None:
    answer = ask(controller.bootstrap_servers, DeleteTopicsRequest(topic_names=[topic], timeout_ms=30_000), 3)
    assert answer.responses[0].error_code == 0


@pytest.mark.parametrize(
    "kinds", [pytest.param(("kafka", "kafka"), marks=pytest.mark.whole), ("kafka", "barnabas")], ids="-".join
)
def test_what_the_controller_says_and_is_told_comes_by_the_control_plane(
    kinds: tuple[str, ...], tmp_path: Path, connect: str, name: str
) -> None:
    with ExitStack() as stack:
        relays: dict[int, Relay] = {}
        members: dict[int, Member] = {}
        for broker_id, kind in enumerate(kinds, 1):
            relays[broker_id] = stack.enter_context(Relay(free_port()))
            broker = member(kind, tmp_path / str(broker_id), connect, broker_id, relays[broker_id])
            members[broker_id] = broker
            stack.enter_context(broker)
        wait_for_members(members)
        for controller, other in ((1, 2), (2, 1)):
            make_controller(members, controller)
            for relay in relays.values():
                relay.seen.clear()
            topic = f"{name}-{controller}"
            # Its leader finds another replica in sync, and asks the controller to write it down.
            create_and_extend(members[controller], topic, [other, controller])
            until(lambda relay=relays[controller]: ApiKey.ALTER_ISR in relay.seen)
            wait_for_in_sync(members, topic)
            delete_topic(members[controller], topic)
            until(lambda relay=relays[other]: relay.seen >= FROM_THE_CONTROLLER)
