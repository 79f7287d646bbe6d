"""A broker whose ZooKeeper goes away under load: the whole by `scripts/soak --zookeeper`, a short form in the tests.

Sound: every record that was acknowledged is read, once and in order; records are acknowledged and read during the whole
outage; afterwards the broker is registered again, and what was asked for meanwhile is done.
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.consumer import Consumer
from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer
from barnabas.clients.zookeeper.registry import ZooKeeperRegistry
from barnabas.core.types import TopicPartition
from barnabas.testing import Broker
from barnabas.wire.registry import paths
from barnabas.wire.registry.configs import change_config
from tests.patience import PATIENCE_S
from tools.kafka.server import ONE_BROKER
from tools.kafka.zookeeper import ZooKeeper

TOPIC = "load"
SESSION_TIMEOUT_MS = 2_000
# How many records must come through while ZooKeeper is away, besides the seconds that it is.
_AT_LEAST = 200


class Gate:
    """A way to a server that can be cut: connections through it end, and none is made until it is open again."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._is_open = True
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> int:
        """Listen; the port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    def cut(self) -> None:
        self._is_open = False
        for task in self._tasks:
            task.cancel()

    def open(self) -> None:
        self._is_open = True

    async def close(self) -> None:
        self.cut()
        if self._server is not None:
            self._server.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            if self._is_open:
                self._tasks.add(task)
                there, back = await asyncio.open_connection("127.0.0.1", self._port)
                try:
                    await asyncio.gather(_pump(reader, back), _pump(there, writer))
                finally:
                    back.close()
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    writer.close()


class Load:
    """Writes numbers into a topic and reads them, as fast as one at a time goes."""

    def __init__(self, servers: str) -> None:
        self._pool = Pool(servers, "load")
        self.acknowledged: list[int] = []
        self.read: list[int] = []
        self._is_ending = False
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        self._tasks = [asyncio.create_task(work) for work in (self._produce(), self._consume())]

    async def end(self) -> None:
        """Stop writing, and read what is left."""
        self._is_ending = True
        await asyncio.wait_for(asyncio.gather(*self._tasks), PATIENCE_S)
        await self._pool.close()

    async def goes_on(self, count: int = _AT_LEAST) -> None:
        """Wait until so many more records were acknowledged and read."""
        acknowledged, read = len(self.acknowledged) + count, len(self.read) + count
        await until(lambda: len(self.acknowledged) >= acknowledged and len(self.read) >= read)

    async def _produce(self) -> None:
        producer = Producer(self._pool, enable_idempotence=True)
        number = 0
        while not self._is_ending:
            await (await producer.send(TOPIC, str(number).encode(), partition=0))
            self.acknowledged.append(number)
            number += 1
        await producer.close()

    async def _consume(self) -> None:
        consumer = Consumer(self._pool, auto_offset_reset="none")
        partition = TopicPartition(TOPIC, 0)
        consumer.assign({partition: 0})
        while not (self._is_ending and self._tasks[0].done() and len(self.read) >= len(self.acknowledged)):
            for batch in await consumer.poll(200):
                self.read += [int(record.value or b"") for record in batch.records]
        await consumer.close()


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@dataclass
class Outcome:
    """What an outage showed.

    Attributes:
        epochs: The broker's before and after.
        wrong: What must not be, a line for each.
    """

    during_count: int = 0
    epochs: tuple[int, int] = (0, 0)
    session_ids: tuple[int, int] = (0, 0)
    record_count: int = 0
    wrong: list[str] = field(default_factory=list)


Interrupt = Callable[[], Awaitable[None]]


async def outage(
    broker: Broker, direct: str, begin: Interrupt, end: Interrupt, seconds: float, is_reachable: bool
) -> Outcome:
    """Play one outage under load.

    Args:
        direct: The way to ZooKeeper that stays as it is.
        begin, end: Interrupt the broker's way to ZooKeeper, and restore it.
        seconds: How long; where others reach it, until the broker's session has expired, too.
        is_reachable: Whether others reach ZooKeeper meanwhile, and change something.
    """
    outcome = Outcome()
    admin_pool = Pool(broker.bootstrap_servers, "admin")
    # What is asked for while ZooKeeper is away may take as long as that, and longer.
    admin = Admin(admin_pool, int((seconds + PATIENCE_S) * 1_000))
    await admin.create_topic(NewTopic(TOPIC, 1, 1))
    load = Load(broker.bootstrap_servers)
    await load.start()
    await load.goes_on()
    zookeeper = await ZooKeeperRegistry.open(direct)
    before, _ = (await zookeeper.get(paths.broker(0)))[1], None
    if not is_reachable:
        await zookeeper.close()

    async def has_expired() -> bool:
        return not is_reachable or await zookeeper.exists(paths.broker(0)) is None

    await begin()
    began_s, began_count = time.monotonic(), len(load.acknowledged)
    # Asked for while there is nobody to ask: done when there is.
    asked = asyncio.create_task(admin.create_topic(NewTopic("asked-for-meanwhile", 3, 1)))
    if is_reachable:
        await change_config(zookeeper, f"{paths.TOPICS}/{TOPIC}", {"retention.ms": "123456789"})
    await load.goes_on()
    async with asyncio.timeout(seconds + PATIENCE_S):
        while time.monotonic() - began_s < seconds or not await has_expired():
            await load.goes_on(1)
    outcome.during_count = len(load.acknowledged) - began_count
    await end()
    if not is_reachable:
        zookeeper = await ZooKeeperRegistry.open(direct)
    async with asyncio.timeout(PATIENCE_S):
        await asked
        while (after := await zookeeper.exists(paths.broker(0))) is None:
            continue
        while await zookeeper.exists(paths.CONTROLLER) is None:
            continue
        await admin.create_topic(NewTopic("asked-for-afterwards", 1, 1))
    if is_reachable:
        while not await _has_retention(broker, 123456789):
            continue
    await load.goes_on()
    await load.end()
    outcome.epochs = before.czxid, after.czxid
    outcome.session_ids = before.ephemeral_owner, after.ephemeral_owner
    outcome.record_count = len(load.acknowledged)
    if load.read != load.acknowledged:
        outcome.wrong.append(f"{len(load.acknowledged)} were acknowledged, and others read: {len(load.read)}")
    await zookeeper.close()
    await admin_pool.close()
    return outcome


async def _has_retention(broker: Broker, value_ms: int) -> bool:
    from barnabas.wire.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
    from tests.compat.raw import ask

    request = DescribeConfigsRequest([DescribeConfigsResource(2, TOPIC, ["retention.ms"])])
    answer = await asyncio.to_thread(ask, broker.bootstrap_servers, request, 2)
    return bool(answer.results[0].configs[0].value == str(value_ms))


def new_broker(connect: str, data_dir: Path | None = None, config: Mapping[str, str] | None = None) -> Broker:
    """A broker of a ZooKeeper, with a session that soon expires."""
    settings = {
        "zookeeper.connect": connect,
        "zookeeper.session.timeout.ms": str(SESSION_TIMEOUT_MS),
        "zookeeper.connection.timeout.ms": "20000",
    }
    return Broker(config={**ONE_BROKER, **settings, **(config or {})}, data_dir=data_dir)


def play_stop(directory: Path, seconds: float, is_killed: bool) -> Outcome:
    """ZooKeeper stands still, or is killed and started again."""

    async def run(server: ZooKeeper, broker: Broker) -> Outcome:
        async def begin() -> None:
            if is_killed:
                server.close()
            else:
                os.kill(server.pid, signal.SIGSTOP)

        async def end() -> None:
            if is_killed:
                await asyncio.to_thread(server.start)
            else:
                os.kill(server.pid, signal.SIGCONT)

        return await outage(broker, f"{server.connect}/kafka", begin, end, seconds, is_reachable=False)

    with ZooKeeper(directory / "zookeeper") as server, new_broker(f"{server.connect}/kafka") as broker:
        return asyncio.run(run(server, broker))


def play_cut(directory: Path, seconds: float) -> Outcome:
    """The broker does not reach ZooKeeper, and others do."""

    async def run(server: ZooKeeper) -> Outcome:
        gate = Gate(server.port)
        broker = new_broker(f"127.0.0.1:{await gate.start()}/kafka")
        await asyncio.to_thread(broker.start)

        async def begin() -> None:
            gate.cut()

        async def end() -> None:
            gate.open()

        try:
            return await outage(broker, f"{server.connect}/kafka", begin, end, seconds, is_reachable=True)
        finally:
            await asyncio.to_thread(broker.close)
            await gate.close()

    with ZooKeeper(directory / "zookeeper") as server:
        return asyncio.run(run(server))


TRIALS: dict[str, Callable[[Path, float], Outcome]] = {
    "stopped": lambda directory, seconds: play_stop(directory, seconds, is_killed=False),
    "killed": lambda directory, seconds: play_stop(directory, seconds, is_killed=True),
    "expired": play_cut,
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Take ZooKeeper away from a broker under load.")
    parser.add_argument("--seconds", type=float, default=30, help="for how long (%(default)s)")
    parser.add_argument("--only", choices=TRIALS, action="append", help="one trial; may be given again")
    arguments = parser.parse_args()
    wrong = 0
    for trial in arguments.only or TRIALS:
        with tempfile.TemporaryDirectory(prefix="barnabas-soak-") as directory:
            outcome = TRIALS[trial](Path(directory), arguments.seconds)
        wrong += bool(outcome.wrong)
        print(
            f"{trial}: ZooKeeper away for {arguments.seconds:g} s, {outcome.during_count} records acknowledged then, "
            f"{outcome.record_count} in all, broker epoch {outcome.epochs[0]} -> {outcome.epochs[1]}: "
            f"{'; '.join(outcome.wrong) or 'nothing lost, nothing twice'}",
            flush=True,
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
