"""Sarama's functional tests, those that one broker can serve.

They want five brokers behind Toxiproxy, by which they cut and reset connections. Here all five proxies lead to one
broker, whose advertised address is the first of them; the topics that the tests make for themselves get one replica
instead of three, by a change in a copy of the source.
"""

import json
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.compat.suites import go_modules
from tests.compat.suites.suite import CACHE, Place, Suite, SuiteError
from tests.patience import PATIENCE_S

_PORT, _FIRST_PROXY, _CONTROL = 9092, 29091, 8474
_LIMIT_S = 500
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
_LEFT_OUT = {
    "TestFuncAdminListConsumerGroupOffsets$": "stops one of several brokers",
    "TestFuncTxnProduceWithBrokerFailure$": "stops one of several brokers",
    "TestFuncProducingIdempotentWithBrokerFailure$": "stops one of several brokers",
    "TestFuncIdempotentBufferedSequence$": "runs Kafka's tools in a container",
}


def _one_replica(source: str) -> str:
    """Return the source of Sarama's set-up with topics of one replica, and one in sync."""
    return re.sub(r"ReplicationFactor:\s*3,", "ReplicationFactor: 1,", source).replace("Isr) != 3", "Isr) != 1")


_PACKAGE = go_modules.GoPackage(
    "sarama", "github.com/IBM/sarama", tags="functional", changed={"functional_test.go": _one_replica}
)
_TOXIPROXY = go_modules.GoProgram("sarama", "github.com/Shopify/toxiproxy/v2/cmd/server")


def _prepare() -> None:
    _PACKAGE.built()
    _TOXIPROXY.built()


@contextmanager
def _proxies() -> Iterator[None]:
    """Run Toxiproxy with five ways to the broker."""
    with tempfile.TemporaryDirectory(prefix="toxiproxy-") as folder:
        proxies = [
            {"name": f"kafka{number + 1}", "listen": f"127.0.0.1:{_FIRST_PROXY + number}", "enabled": True}
            | {"upstream": f"localhost:{_PORT}"}
            for number in range(5)
        ]
        config = Path(folder) / "proxies.json"
        config.write_text(json.dumps(proxies))
        command = [str(_TOXIPROXY.built()), "-host", "127.0.0.1", "-port", str(_CONTROL), "-config", str(config)]
        with (CACHE / "sarama-toxiproxy.txt").open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            _wait_for(_FIRST_PROXY + 4, process)
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


def _run(_part: str, place: Place) -> dict[str, str]:
    environment = {"TOXIPROXY_ADDR": f"http://127.0.0.1:{_CONTROL}", "KAFKA_VERSION": "2.7.2"}
    which = ["-test.run=^(" + "|".join(_TESTS) + ")", "-test.skip=^(" + "|".join(_LEFT_OUT) + ")"]
    return go_modules.run(_PACKAGE, place, environment, _LIMIT_S, which)


SUITE = Suite(
    name="sarama",
    version="1.50.3",
    prepare=_prepare,
    run=_run,
    beside=_proxies,
    port=_PORT,
    is_quick=False,
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
