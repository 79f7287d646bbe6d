"""`barnabas registry serve`: brokers on a registry that stands by itself, and may be killed."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError

from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer
from barnabas.testing import Broker, Registry
from tests.clusters import cluster_of, controller_of, create_topic, servers_of, wait_for_in_sync
from tests.commands import run
from tests.integration.test_http import get
from tests.patience import PATIENCE_S
from tests.zookeeper_client import kazoo_client
from tools.kafka.server import free_port

TOPIC = "numbers"


def node(path: str, connect: str) -> dict[str, object]:
    """What a node is, as `barnabas registry get` tells it."""
    found: dict[str, object] = json.loads(run("registry", "get", path, "--zookeeper", connect, "--json").stdout)
    return found


def test_sessions_outlive_a_kill_of_the_registry_and_records_flow_meanwhile(tmp_path: Path) -> None:
    settings = {"zookeeper.session.timeout.ms": "30000"}
    with Registry() as registry:
        connect = f"{registry.connect}/cluster"
        with cluster_of(("barnabas",) * 2, tmp_path, connect, settings) as members:
            create_topic(members, TOPIC, 2)
            wait_for_in_sync(members, TOPIC)
            before = [node(f"/brokers/ids/{each}", connect) for each in members]
            controller = asyncio.run(controller_of(members))
            registry.kill()

            async def produce() -> None:
                async with Pool(servers_of(members), "test") as pool, Producer(pool, acks=-1) as producer:
                    await asyncio.gather(*(producer.send(TOPIC, b"value", partition=index % 2) for index in range(20)))

            asyncio.run(produce())
            registry.start()
            assert [node(f"/brokers/ids/{each}", connect) for each in members] == before
            # A change goes by the controller, whose session went on.
            create_topic(members, "later", 2)
            wait_for_in_sync(members, "later")
            assert asyncio.run(controller_of(members)) == controller
            assert [node(f"/brokers/ids/{each}", connect) for each in members] == before
            for member in members.values():
                member.stop()
            assert run("registry", "ls", "/brokers/ids", "--zookeeper", connect).stdout == ""


def test_a_broker_needs_no_more_than_the_address_of_the_registry_and_keeps_the_id_that_it_is_given() -> None:
    def known(broker: Broker) -> set[int]:
        return set(AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics().brokers)

    with Registry() as registry:
        config = {"zookeeper.connect": registry.connect}
        with Broker(config=config) as first, Broker(config=config) as second:
            assert known(second) == {1001, 1002}
            second.stop()
            second.start()
            assert known(second) == {1001, 1002}
            assert "broker 1001 listens on" in first.log_text()
            assert second.log_text().count("broker 1002 listens on") == 2


def test_set_acl_closes_a_chroot_and_warns_of_an_open_root_as_kafka_leaves_it() -> None:
    settings = {"zookeeper.set.acl": "true", "barnabas.zookeeper.digest": "kafka:secret"}
    warning = "zookeeper.set.acl=true: everyone can create and delete nodes"

    def attack(stranger: KazooClient, root: str) -> list[type[Exception] | None]:
        found: list[type[Exception] | None] = []
        for attempt in (
            lambda: stranger.create(f"{root}/newroot"),
            lambda: stranger.set(f"{root}/brokers/topics", b"x"),
            lambda: stranger.delete(f"{root}/controller"),
        ):
            try:
                attempt()
                found.append(None)
            except NoAuthError as error:
                found.append(type(error))
        return found

    with Registry() as registry, kazoo_client(registry.connect) as stranger:
        for root, attacked in (("", [None, NoAuthError, None]), ("/cluster", [NoAuthError] * 3)):
            config = {**settings, "zookeeper.connect": f"{registry.connect}{root}"}
            with Broker(config=config) as broker:
                assert attack(stranger, root) == attacked
                assert (warning in broker.log_text()) == (root == "")


def test_a_registry_warns_of_its_settings_and_tells_whether_it_is_ready(tmp_path: Path) -> None:
    port = free_port()
    file = tmp_path / "registry.properties"
    file.write_text(f"barnabas.http.listeners={port}\nzookeeper.set.acl=true\nnum.partition=1\n")
    command = [sys.executable, "-m", "barnabas.cli.main", "registry", "serve", str(file)]
    command += ["--data-dir", str(tmp_path / "tree"), "--listeners", "127.0.0.1:0", "--die-with-parent"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            told = ""
            while "registry for ZooKeeper clients" not in told:
                told += process.stderr.readline()
                assert process.poll() is None
            assert "The configuration 'num.partition' was supplied but isn't a known config" in told
            assert "zookeeper.set.acl=true without barnabas.registry.super.users" in told
            status, body = get(("127.0.0.1", port), "/ready")
            assert (status, json.loads(body)["status"]) == (200, "ready")
            status, body = get(("127.0.0.1", port), "/health")
            assert (status, json.loads(body)["status"]) == (200, "up")
            process.terminate()
            process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--data-dir", "{taken}"], "is in use by another process"),
        (["--listeners", "127.0.0.1:{port}"], "127.0.0.1:{port}"),
        (["--listeners", "nowhere"], "must be host:port or a port"),
        (["--override", "nothing"], "must be NAME=VALUE"),
    ],
)
def test_what_can_not_be_served_is_told_in_a_line(tmp_path: Path, options: list[str], expected: str) -> None:
    with Registry() as taken:
        places = {"taken": str(taken.data_dir), "port": str(taken.port)}
        command = [sys.executable, "-m", "barnabas.cli.main", "registry", "serve"]
        for name, value in (("--data-dir", str(tmp_path / "other")), ("--listeners", "127.0.0.1:0")):
            command += [] if name in options else [name, value]
        command += [each.format(**places) for each in options]
        refused = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert refused.returncode == 1
    (line,) = refused.stderr.splitlines()
    assert line.startswith("barnabas registry serve: ")
    assert expected.format(**places) in line
