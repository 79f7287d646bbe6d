"""The time until a quota that is written directly to a znode is in force, on both kinds of registry.

    .venv/bin/python -m benchmarks.quotas.in_force

Kazoo writes each kind of limit at each of the eight levels, like an operator: only the entity's node, without a
notification. The benchmark queries the broker repeatedly until the limit is in force.
"""

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient  # type: ignore[import-untyped]

from barnabas.testing import Broker
from barnabas.wire.protocol.messages.explain_quotas import ExplainQuotasRequest
from barnabas.wire.quotas.entities import entities_of
from barnabas.wire.quotas.limits import KINDS_BY_KEY
from benchmarks.whole.wire import Peer
from tools.kafka.server import free_port
from tools.kafka.zookeeper import ZooKeeper

_USER, _CLIENT_ID = "user", "client"
_EXPLAIN = 0
_WAIT_S = 10.0


def _told(peer: Peer) -> str:
    """Return the limits in force for the client, as JSON."""
    answer = peer.ask(ExplainQuotasRequest(_EXPLAIN, _USER, _CLIENT_ID), 0)
    if answer.error_code:
        raise RuntimeError(f"ExplainQuotas: error {answer.error_code}")
    return bytes(answer.answer).decode()


def measure(connect: str, bootstrap_servers: str) -> list[float]:
    """Return the milliseconds from each write until the limit is in force."""
    client: Any = KazooClient(connect)
    client.start()
    peer, times_ms, limit = Peer(bootstrap_servers), [], 70_000
    for entity in entities_of(_USER, _CLIENT_ID):
        path = f"/config/{entity.path}"
        client.ensure_path(path)
        for key in KINDS_BY_KEY:
            limit += 1
            start = time.perf_counter()
            client.set(path, json.dumps({"version": 1, "config": {key: str(limit)}}).encode())
            while str(limit) not in _told(peer):
                if time.perf_counter() - start > _WAIT_S:
                    raise RuntimeError(f"{key} of {path} is not in force after {_WAIT_S:g} s")
                time.sleep(0.001)
            times_ms.append((time.perf_counter() - start) * 1e3)
        # Remove the limit, because otherwise lower levels would have no effect.
        client.set(path, json.dumps({"version": 1, "config": {}}).encode())
    client.stop()
    client.close()
    peer.close()
    return times_ms


def _print(name: str, times_ms: list[float]) -> None:
    middle = statistics.median(times_ms)
    print(f"{name}: {len(times_ms)} limits, median {middle:.1f} ms, longest {max(times_ms):.1f} ms")


def main() -> int:
    port = free_port()
    with Broker(config={"barnabas.registry.listeners": f"127.0.0.1:{port}"}) as broker:
        _print("embedded registry", measure(f"127.0.0.1:{port}", broker.bootstrap_servers))
    with tempfile.TemporaryDirectory() as directory, ZooKeeper(Path(directory)) as zookeeper:
        connect = f"{zookeeper.connect}/barnabas"
        with Broker(config={"zookeeper.connect": connect}) as broker:
            _print("ZooKeeper", measure(connect, broker.bootstrap_servers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
