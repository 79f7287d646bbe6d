"""The cost that access rules, quotas and metrics add to a small produce, separately and together.

The brokers with and without them run at the same time and are used in turn, so that other load on the machine affects
all of them equally. No rule denies and no quota throttles: this is the cost of the checks.
"""

import contextlib
import json
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import NamedTuple

from barnabas.wire.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from barnabas.wire.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from benchmarks.load.lines import Line
from benchmarks.load.process import CPU_MICRO
from benchmarks.log_numbers.brokers import Measured
from benchmarks.whole.wire import Peer
from tools.kafka.server import free_port

Figures = dict[str, float]

TOPIC = "guarded"
# Histograms record the first 10,000 requests of an API in full, later ones in samples: the warm-up is longer.
_WARMUP_COUNT, _COUNT, _ROUNDS, _RECORD_BYTES = 12_000, 4_000, 5, 100
_SCRAPE_INTERVAL_S = 5.0
_AUTHORIZER = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    # Everyone may create the rule; from then on, the topic has a rule, and requests are checked.
    "allow.everyone.if.no.acl.found": "true",
}
_TOPIC, _LITERAL, _WRITE, _DESCRIBE, _ALLOW = 2, 3, 4, 8, 3
_UNREACHED = 1e12
_KEYS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage")


class Guard(NamedTuple):
    """One of the compared brokers.

    Attributes:
        name: Prefix of its figure's name.
        has_rules, has_quotas, has_metrics: The enabled features.
    """

    name: str
    has_rules: bool = False
    has_quotas: bool = False
    has_metrics: bool = False


GUARDS = (
    Guard("bare"),
    Guard("rules", has_rules=True),
    Guard("quotas", has_quotas=True),
    Guard("metrics", has_metrics=True),
    Guard("guarded", has_rules=True, has_quotas=True, has_metrics=True),
)
_TITLES = {"rules": "access rules", "quotas": "quotas", "metrics": "metrics", "guarded": "all three"}

LINES = (
    Line("bare_cpu", f"small produce, nothing switched on: {CPU_MICRO}", 1, 0.5),
    Line("guarded_cpu", f"small produce, access rules, quotas and metrics: {CPU_MICRO}", 1, 0.5),
    *(Line(f"{name}_share", f"what {title} add to its CPU, in parts of it", 3) for name, title in _TITLES.items()),
)


def cost_of_guards(new_broker: Callable[[dict[str, str]], Measured], has_http: bool) -> Figures:
    """Produce requests of 100 bytes, one in flight, to brokers with and without the features.

    Args:
        has_http: Whether the broker serves its metrics by HTTP; Kafka's are always on.
    """
    guards = [guard for guard in GUARDS if has_http or guard.name != "metrics"]
    used_us: dict[str, list[float]] = {guard.name: [] for guard in guards}
    with contextlib.ExitStack() as stack:
        running = {}
        for guard in guards:
            config = dict(_AUTHORIZER) if guard.has_rules else {}
            port = free_port()
            if guard.has_metrics and has_http:
                config["barnabas.http.listeners"] = f"127.0.0.1:{port}"
            broker = new_broker(config)
            stack.callback(broker.close)
            broker.start()
            running[guard.name] = broker
            _produce(broker, _WARMUP_COUNT)
            if guard.has_rules:
                _allow(broker)
            if guard.has_quotas:
                _set_quotas(broker)
            if guard.has_metrics and has_http:
                stack.enter_context(_scraped(port))
        for number in range(_ROUNDS):
            # Rotate the order, so that no broker is always the first of a round.
            for guard in guards[number % len(guards) :] + guards[: number % len(guards)]:
                used_us[guard.name].append(_produce(running[guard.name], _COUNT))
    middle_us = {name: statistics.median(values) for name, values in used_us.items()}
    shares = {f"{name}_share": middle_us[name] / middle_us["bare"] - 1 for name in _TITLES if name in middle_us}
    return {"bare_cpu": middle_us["bare"], "guarded_cpu": middle_us["guarded"], **shares}


def _produce(broker: Measured, count: int) -> float:
    """Return the broker's CPU per request, in microseconds."""
    command = [sys.executable, "-m", "benchmarks.load.raw", "latency", broker.address, TOPIC, str(count)]
    command += [str(_RECORD_BYTES), "--pid", str(broker.pid)]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    return float(json.loads(text)["cpu"]) / count * 1e6


def _allow(broker: Measured) -> None:
    peer = Peer(broker.address)
    rules = [
        AclCreation(_TOPIC, TOPIC, _LITERAL, "User:ANONYMOUS", "*", operation, _ALLOW)
        for operation in (_WRITE, _DESCRIBE)
    ]
    answer = peer.ask(CreateAclsRequest(rules), 1)
    peer.close()
    _check({result.error_code for result in answer.results}, "the access rules")


def _set_quotas(broker: Measured) -> None:
    """Set quotas that are never reached, for each client id and for the user of all clients."""
    peer = Peer(broker.address)
    ops = [OpData(key, _UNREACHED, False) for key in _KEYS]
    entities = [[EntityData("client-id", None)], [EntityData("user", "ANONYMOUS")]]
    answer = peer.ask(
        AlterClientQuotasRequest([AlterClientQuotasRequestEntryData(entity, ops) for entity in entities], False), 0
    )
    peer.close()
    _check({entry.error_code for entry in answer.entries}, "the quotas")


def _check(error_codes: set[int], what: str) -> None:
    if error_codes != {0}:
        raise RuntimeError(f"{what} could not be set: errors {sorted(error_codes)}")


@contextlib.contextmanager
def _scraped(port: int) -> Iterator[None]:
    """Scrape the metrics periodically, like Prometheus."""
    is_over = threading.Event()

    def scrape() -> None:
        while not is_over.wait(_SCRAPE_INTERVAL_S):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
                answer.read()

    _wait_for_metrics(port)
    thread = threading.Thread(target=scrape)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _wait_for_metrics(port: int) -> None:
    end = time.monotonic() + 30
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
                answer.read()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
