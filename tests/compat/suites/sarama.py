"""Sarama's functional tests, against one broker and against three.

They want five brokers behind Toxiproxy, by which they cut and reset connections. Here the proxies lead to as many
brokers as there are, whose advertised addresses are the first of them; what brokers say to each other goes there, too.
With one broker the topics that the tests make for themselves get one replica instead of three, by a change in a copy of
the source. Some tests stop and start brokers by Docker's command: what is called so here asks this process to do it.
"""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.clusters import Members
from tests.compat.suites import go_modules
from tests.compat.suites.suite import CACHE, Place, Suite, SuiteError
from tests.patience import PATIENCE_S

_PORT, _FIRST_PROXY, _CONTROL = 9092, 29091, 8474
_PROXY_COUNT = 5
_LIMIT_S = 900
_TESTS = (
    "TestFunc",
    "TestConsumerHighWaterMarkOffset$",
    "TestConsumerPartialBatchRecovery$",
    "TestVersionMatrix",
    "TestReadOnlyAndAllCommittedMessages$",
    "TestConsumerGroupDeadlock$",
    "TestInterceptors$",
    "TestAsyncProducerRemoteBrokerClosed$",
)
"""Those of its files functional_*_test.go; the others need no broker."""
_STOP_BROKERS = (
    "TestFuncAdminListConsumerGroupOffsets$",
    "TestFuncTxnProduceWithBrokerFailure$",
    "TestFuncProducingIdempotentWithBrokerFailure$",
    "TestConsumerFetchFollowerFailover$",
)
"""Those that stop one of several brokers."""
_RUN_CONTAINERS = ("TestFuncIdempotentBufferedSequence$",)
"""Those that run Kafka's tools in a container."""


def _one_replica(source: str) -> str:
    """Return the source of Sarama's set-up with topics of one replica, and one in sync."""
    return re.sub(r"ReplicationFactor:\s*3,", "ReplicationFactor: 1,", source).replace("Isr) != 3", "Isr) != 1")


_ONE = go_modules.GoPackage(
    "sarama", "github.com/IBM/sarama", tags="functional", changed={"functional_test.go": _one_replica}
)
_THREE = go_modules.GoPackage("sarama", "github.com/IBM/sarama", tags="functional")
_TOXIPROXY = go_modules.GoProgram("sarama", "github.com/Shopify/toxiproxy/v2/cmd/server")


def _prepare(package: go_modules.GoPackage) -> None:
    package.built()
    _TOXIPROXY.built()


@contextmanager
def _proxies(broker_count: int) -> Iterator[None]:
    """Run Toxiproxy with five ways to the brokers."""
    with tempfile.TemporaryDirectory(prefix="toxiproxy-") as folder:
        proxies = [
            {"name": f"kafka{number + 1}", "listen": f"127.0.0.1:{_FIRST_PROXY + number}", "enabled": True}
            | {"upstream": f"localhost:{_PORT + number % broker_count}"}
            for number in range(_PROXY_COUNT)
        ]
        config = Path(folder) / "proxies.json"
        config.write_text(json.dumps(proxies))
        command = [str(_TOXIPROXY.built()), "-host", "127.0.0.1", "-port", str(_CONTROL), "-config", str(config)]
        with (CACHE / "sarama-toxiproxy.txt").open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            _wait_for(_FIRST_PROXY + _PROXY_COUNT - 1, process)
            yield
        finally:
            process.kill()
            process.wait()


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return
        except OSError:
            time.sleep(0.01)
    raise SuiteError("Toxiproxy did not start")


_DOCKER = """#!{python}
import socket, sys
with socket.create_connection({address}) as asked:
    asked.sendall(" ".join(sys.argv[1:]).encode() + b"\\n")
    sys.exit(asked.recv(2) != b"ok")
"""


@contextmanager
def _docker(members: Members) -> Iterator[Path]:
    """Do what `docker compose stop kafka-N` and `start kafka-N` ask for; give the directory of such a `docker`."""
    with tempfile.TemporaryDirectory(prefix="docker-") as folder, socket.create_server(("127.0.0.1", 0)) as server:
        stopped: set[str] = set()

        def serve() -> None:
            while True:
                connection, _ = server.accept()
                with connection, connection.makefile() as asked:
                    words = asked.readline().split()
                    if not words:
                        return
                    _, verb, name = words
                    member = members[int(name.removeprefix("kafka-"))]
                    if verb == "stop":
                        stopped.add(name)
                        member.stop()
                    elif name in stopped:
                        # One that runs already is started in vain.
                        member.restart()
                        stopped.remove(name)
                    connection.sendall(b"ok")

        thread = threading.Thread(target=serve)
        thread.start()
        docker = Path(folder) / "docker"
        docker.write_text(_DOCKER.format(python=sys.executable, address=server.getsockname()))
        docker.chmod(0o755)
        try:
            yield Path(folder)
        finally:
            with socket.create_connection(server.getsockname()) as last:
                last.sendall(b"\n")
            thread.join()


def _run(_part: str, place: Place) -> dict[str, str]:
    environment = {"TOXIPROXY_ADDR": f"http://127.0.0.1:{_CONTROL}", "KAFKA_VERSION": "2.7.2"}
    if not place.members:
        return _run_tests(_ONE, place, environment, _TESTS, _STOP_BROKERS + _RUN_CONTAINERS)
    with _docker(place.members) as folder:
        environment["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
        return _run_tests(_THREE, place, environment, _TESTS + _STOP_BROKERS, _RUN_CONTAINERS)


def _run_tests(
    package: go_modules.GoPackage,
    place: Place,
    environment: dict[str, str],
    tests: tuple[str, ...],
    left_out: tuple[str, ...],
) -> dict[str, str]:
    which = ["-test.run=^(" + "|".join(tests) + ")", "-test.skip=^(" + "|".join(left_out) + ")"]
    return go_modules.run(package, place, environment, _LIMIT_S, which)


SUITE = Suite(
    name="sarama",
    version="1.50.3",
    prepare=partial(_prepare, _ONE),
    run=_run,
    beside=partial(_proxies, 1),
    port=_PORT,
    settings={
        "broker.id": "1",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{_FIRST_PROXY}",
        "auto.create.topics.enable": "false",
    },
    fails={
        "TestFuncAdminAlterPartitionReassignments": "wants two brokers",
        "TestFuncAdminDescribeLogDirs": "wants five brokers",
    },
    skips={
        "TestFuncAdminListConsumerGroupOffsetsBatch": "for Kafka 3 and later",
        "TestFuncAdminUpdateFeatures": "for Kafka 4 and later",
        "TestReadOnlyAndAllCommittedMessages": "by its authors",
    },
)
CLUSTER = replace(
    SUITE,
    name="sarama-cluster",
    broker_count=3,
    prepare=partial(_prepare, _THREE),
    beside=partial(_proxies, 3),
    settings={"auto.create.topics.enable": "false", "group.initial.rebalance.delay.ms": "0"},
    own_settings={
        broker_id: {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{_FIRST_PROXY + broker_id - 1}"}
        for broker_id in (1, 2, 3)
    },
    fails={"TestFuncAdminDescribeLogDirs": "wants five brokers"},
)
"""The same against three brokers, of which some tests stop one."""
