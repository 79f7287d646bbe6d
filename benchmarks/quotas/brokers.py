"""The two brokers, with a listener without logins and one with logins, and their quotas."""

import asyncio
import contextlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from barnabas.clients.channel import Channel
from barnabas.core.errors import KafkaError
from barnabas.wire.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    EntityData,
    OpData,
)
from benchmarks.load.raw import prepare
from tools.kafka.java import die_with_parent
from tools.kafka.server import ONE_BROKER, KafkaServer, free_port

USER, PASSWORD = "alice", "alice-secret"
LOGINS = MappingProxyType({USER: PASSWORD})
_STOP_TIMEOUT_S = 60
_START_TIMEOUT_S = 60
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
# A topic keeps only the newest records of some seconds, so that no run fills the disk.
_SMALL_LOGS = {
    "log.segment.bytes": str(64 * 1024 * 1024),
    "log.retention.check.interval.ms": "5000",
    "num.partitions": "1",
}


@dataclass(slots=True)
class Target:
    """A running broker.

    Attributes:
        address: The listener without logins, where all clients are ANONYMOUS.
        login_address: The listener where `USER` logs in; "" without that listener.
    """

    address: str
    login_address: str
    pid: int

    @property
    def user(self) -> str:
        """Return the user of the experiment's clients."""
        return USER if self.login_address else "ANONYMOUS"

    @property
    def client_address(self) -> str:
        """Return the address to which the clients connect."""
        return self.login_address or self.address

    def set_quota(self, entity: Mapping[str, str | None], **values: float | None) -> None:
        """Set quotas of an entity (type to name, None for the default); a quota with the value None is deleted."""
        entities = [EntityData(kind, name) for kind, name in entity.items()]
        ops = [OpData(key, value or 0.0, value is None) for key, value in values.items()]
        request = AlterClientQuotasRequest([AlterClientQuotasRequestEntryData(entities, ops)], False)

        async def change() -> None:
            host, _, port = self.address.rpartition(":")
            channel = await Channel.connect(host, int(port), "quota-experiment")
            try:
                answer = await channel.send(request, AlterClientQuotasResponse)
            finally:
                await channel.close()
            for entry in answer.entries:
                if entry.error_code:
                    raise RuntimeError(f"{entity}: error {entry.error_code}: {entry.error_message}")

        asyncio.run(change())

    @contextlib.contextmanager
    def quota(self, entity: Mapping[str, str | None], **values: float) -> Iterator[None]:
        """Set quotas for the duration of a `with`."""
        self.set_quota(entity, **values)
        try:
            yield
        finally:
            self.set_quota(entity, **dict.fromkeys(values))


def _settings(port: int, login_port: int, logins: Mapping[str, str]) -> dict[str, str]:
    settings = {**ONE_BROKER, **_SMALL_LOGS, "listeners": f"PLAINTEXT://127.0.0.1:{port}"}
    if login_port:
        settings["listeners"] += f",SASL_PLAINTEXT://127.0.0.1:{login_port}"
        settings["sasl.enabled.mechanisms"] = "PLAIN"
        users = " ".join(f'"user_{name}"="{password}"' for name, password in logins.items())
        settings["listener.name.sasl_plaintext.plain.sasl.jaas.config"] = f"{_LOGIN} {users};"
    return settings


@contextlib.contextmanager
def kafka(place: Path | None, with_login: bool, logins: Mapping[str, str] = LOGINS) -> Iterator[Target]:
    """Run Kafka 2.7.2 with its ZooKeeper."""
    directory = Path(tempfile.mkdtemp(prefix="kafka-quotas-", dir=place))
    port, login_port = free_port(), free_port() if with_login else 0
    server = KafkaServer(directory, _settings(port, login_port, logins), port=port)
    try:
        server.start()
        yield Target(f"127.0.0.1:{port}", f"127.0.0.1:{login_port}" if login_port else "", server.pid)
    finally:
        server.close()
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def barnabas(place: Path | None, with_login: bool, logins: Mapping[str, str] = LOGINS) -> Iterator[Target]:
    """Run Barnabas in pure Python, as a process."""
    directory = Path(tempfile.mkdtemp(prefix="barnabas-quotas-", dir=place))
    port, login_port = free_port(), free_port() if with_login else 0
    properties = directory / "server.properties"
    settings = {**_settings(port, login_port, logins), "log.dirs": str(directory / "data")}
    properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    program = str(Path(sys.executable).with_name("barnabas"))
    with (directory / "broker.log").open("wb") as log:
        process = subprocess.Popen(
            [program, "broker", str(properties)], stdout=log, stderr=log, preexec_fn=die_with_parent
        )
    try:
        _wait_for(port, process, directory / "broker.log")
        yield Target(f"127.0.0.1:{port}", f"127.0.0.1:{login_port}" if login_port else "", process.pid)
    finally:
        process.terminate()
        try:
            process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(directory, ignore_errors=True)


def _wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    async def is_there() -> bool:
        try:
            await (await Channel.connect("127.0.0.1", port, "quota-experiment")).close()
        except KafkaError:
            return False
        return True

    deadline = time.monotonic() + _START_TIMEOUT_S
    while not asyncio.run(is_there()):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the broker did not start: {log.read_text(errors='replace')}")
        time.sleep(0.1)


def new_topic(target: Target, name: str) -> None:
    """Create a topic by automatic creation, and wait until it has a leader."""
    prepare(target.address, name).close()


TARGETS = {"kafka": kafka, "barnabas": barnabas}
