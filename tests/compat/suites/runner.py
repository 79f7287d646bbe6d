"""Runs a suite against a broker that it starts for it, in a process of its own.

`python -m tests.compat.suites.runner NAME TARGET RESULTS OUTPUT [--long]` is that process. It is its own because of the
suites whose tests name a port: those run with their broker in a network namespace, so that the port is free and nobody
else meets them there.
"""

import argparse
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.clusters import Members, cluster_of, servers_of
from tests.compat.suites import franz_go, kafka_go, kafka_python, sarama
from tests.compat.suites.suite import Place, Suite, SuiteError
from tools.kafka.jars import ROOT
from tools.kafka.server import ONE_BROKER, QuickKafkaServer
from tools.kafka.zookeeper import ZooKeeper

SUITES = {
    suite.name: suite
    for suite in (
        franz_go.SUITE,
        franz_go.CLUSTER,
        kafka_python.NEW,
        kafka_python.OLD,
        kafka_go.SUITE,
        sarama.SUITE,
        sarama.CLUSTER,
    )
}
KAFKA, BARNABAS = "kafka", "barnabas"


def play(suite: Suite, target: str, output: Path, is_long: bool = False) -> dict[str, str]:
    """Run a suite against a fresh broker.

    Args:
        suite: What to run; it is fetched and built first.
        target: `kafka` (2.7.2) or `barnabas`.
        output: A file to which all that the suite prints is added.
        is_long: Whether in its long form.

    Returns:
        The result of each test.

    Raises:
        SuiteError: It could not be fetched, built or run to its end.
    """
    suite.prepare()
    with tempfile.TemporaryDirectory(prefix="suite-") as folder:
        results = Path(folder) / "results.json"
        command = [sys.executable, "-m", "tests.compat.suites.runner", suite.name, target, str(results), str(output)]
        if suite.port:
            # Who is root makes a network namespace, who is not a user namespace around it.
            command = ["unshare", "--net", *(["--user", "--map-root-user"] if os.geteuid() else []), *command]
        command += ["--long"] if is_long else []
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if ended.returncode:
            raise SuiteError(f"{suite.name} on {target}: {ended.stderr[-4000:]}")
        played: dict[str, str] = json.loads(results.read_text())
        return played


@contextmanager
def _brokers(suite: Suite, target: str) -> Iterator[tuple[str, Members]]:
    """Start the brokers of a suite with its settings, and give the `host:port` of each, and several by their ids."""
    if suite.broker_count > 1:
        with tempfile.TemporaryDirectory(prefix="suite-cluster-") as name:
            directory = Path(name)
            with (
                ZooKeeper(directory / "zookeeper") as zookeeper,
                cluster_of(
                    (target,) * suite.broker_count,
                    directory,
                    zookeeper.connect,
                    suite.settings,
                    suite.own_settings,
                    suite.port,
                ) as members,
            ):
                yield servers_of(members), members
        return
    host = "localhost" if suite.port else "127.0.0.1"
    if target == KAFKA:
        settings = {"listeners": f"PLAINTEXT://{host}:{suite.port}"} if suite.port else {}
        with QuickKafkaServer(config={**suite.settings, **settings}, port=suite.port) as kafka:
            yield kafka.bootstrap_servers, {}
        return
    from barnabas.testing import Broker

    with Broker(config={**ONE_BROKER, **suite.settings}, host=host, port=suite.port) as broker:
        yield broker.bootstrap_servers, {}


def _raise_loopback() -> None:
    """Bring the loopback interface up, which is down in a new network namespace (`ip link set lo up`)."""
    get_flags, set_flags, is_up = 0x8913, 0x8914, 1
    with socket.socket() as asked:
        request = struct.pack("16sh22x", b"lo", 0)
        (flags,) = struct.unpack_from("h", fcntl.ioctl(asked, get_flags, request), 16)
        fcntl.ioctl(asked, set_flags, struct.pack("16sh22x", b"lo", flags | is_up))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=SUITES)
    parser.add_argument("target", choices=[KAFKA, BARNABAS])
    parser.add_argument("results", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--long", action="store_true")
    arguments = parser.parse_args()
    suite = SUITES[arguments.name]
    if suite.port:
        _raise_loopback()
    results: dict[str, str] = {}
    for part in suite.parts:
        with suite.beside(), _brokers(suite, arguments.target) as (bootstrap_servers, members):
            results |= suite.run(part, Place(bootstrap_servers, arguments.output, arguments.long, members))
    arguments.results.write_text(json.dumps(results))


if __name__ == "__main__":
    main()
