"""The works of the experiment, each on its own broker, whose quotas are set by AlterClientQuotas.

MB are 1,024 x 1,024 bytes here, as in Kafka's perf tools and in usual quotas.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import NamedTuple

from barnabas.wire.records.builder import BatchBuilder
from benchmarks.load.raw import connect, produce_error, produce_request, receive
from benchmarks.quotas import java
from benchmarks.quotas.brokers import PASSWORD, Target, new_topic
from benchmarks.quotas.clients import Load, Told
from benchmarks.quotas.rates import FIRST_WINDOW_S, MOST_S, WINDOWS_S, average_rate
from tools.kafka.java import die_with_parent

MB = 1024 * 1024
_TOPIC = "experiment"
_FLOODING, _VICTIM = "flood", "victim"
_FLOOD_CONNECTIONS = 20
# Limit of each of 200 clients: together, not more than one process of light clients can send.
_OF_MANY_MB = 0.03125


class Plan(NamedTuple):
    """Durations and amounts.

    Attributes:
        measure_s: Time over which each rate is averaged.
        limits_mb: The limits of clients, one after the other.
        only_user_limit_mb: Limit of a user; half of it for one of the user's clients.
        unlimited_bytes: Bytes that are produced and consumed without a quota.
    """

    measure_s: float
    limits_mb: tuple[float, ...]
    user_limit_mb: float
    unlimited_bytes: int


class Figure(NamedTuple):
    """One line of the table.

    Attributes:
        limit: The expected value; None: no limit.
        goal: The permitted range relative to the limit, or to Kafka's figure without a limit.
    """

    key: str
    title: str
    value: float
    digits: int = 2
    limit: float | None = None
    goal: tuple[float, float] | None = None


WITHIN = (0.95, 1.05)
LIKE_KAFKA = (0.9, 1.1)


# --- Kafka's own tools


def produce(target: Target, plan: Plan) -> Iterator[Figure]:
    """ProducerPerformance without a quota, then with a quota of a client, of a user, and of a user's client."""
    ran = java.produce(target, _TOPIC, "unlimited", plan.unlimited_bytes)
    yield Figure("produce_none", "Java producer, no quota: MB/s", _whole_mb(ran), 1)
    for name, entity, limit_mb in _cases(target, plan):
        with target.quota(entity, producer_byte_rate=limit_mb * MB):
            ran = java.produce(target, _TOPIC, "app", _enough(plan, limit_mb))
        yield from _java_figures("produce", "producer", name, limit_mb, ran, plan)


def consume(target: Target, plan: Plan) -> Iterator[Figure]:
    """ConsumerPerformance with the same quotas."""
    most_mb = max(limit_mb for _, _, limit_mb in _cases(target, plan))
    _fill(target, max(plan.unlimited_bytes, int(_enough(plan, most_mb))))
    ran = java.consume(target, _TOPIC, "unlimited", plan.unlimited_bytes)
    yield Figure("consume_none", "Java consumer, no quota: MB/s", _whole_mb(ran), 1)
    for name, entity, limit_mb in _cases(target, plan):
        with target.quota(entity, consumer_byte_rate=limit_mb * MB):
            ran = java.consume(target, _TOPIC, "app", _enough(plan, limit_mb))
        yield from _java_figures("consume", "consumer", name, limit_mb, ran, plan)


def change(target: Target, plan: Plan) -> Iterator[Figure]:
    """Halve a client's limit while it produces."""
    before_mb = plan.user_limit_mb
    after_mb = before_mb / 2
    change_s = FIRST_WINDOW_S + 3 * WINDOWS_S
    changed_s: list[float] = []

    def on_second(now_s: float) -> None:
        if now_s >= change_s and not changed_s:
            changed_s.append(now_s)
            target.set_quota({"client-id": "app"}, producer_byte_rate=after_mb * MB)

    with target.quota({"client-id": "app"}, producer_byte_rate=before_mb * MB):
        total = before_mb * MB * (change_s + FIRST_WINDOW_S) + _enough(plan, after_mb)
        ran = java.produce(target, _TOPIC, "app", total, on_second)
    before = average_rate(ran.up_to(changed_s[0]).moves, WINDOWS_S) / MB
    after = average_rate(ran.since(changed_s[0]).moves, plan.measure_s) / MB
    yield Figure("change_before", f"before the change, {before_mb:g} MB/s: MB/s", before, limit=before_mb, goal=WITHIN)
    yield Figure("change_after", f"after it, {after_mb:g} MB/s: MB/s", after, limit=after_mb, goal=WITHIN)


def _cases(target: Target, plan: Plan) -> Iterator[tuple[str, dict[str, str | None], float]]:
    for limit_mb in plan.limits_mb:
        yield f"client quota {limit_mb:g} MB/s", {"client-id": "app"}, limit_mb
    yield f"user quota {plan.user_limit_mb:g} MB/s", {"user": target.user}, plan.user_limit_mb
    half = plan.user_limit_mb / 2
    yield f"user and client quota {half:g} MB/s", {"user": target.user, "client-id": "app"}, half


def _java_figures(key: str, who: str, name: str, limit_mb: float, ran: java.Ran, plan: Plan) -> Iterator[Figure]:
    key = f"{key}_{name.replace(' MB/s', '').replace(' ', '_')}"
    rate_mb = average_rate(ran.moves, plan.measure_s) / MB
    yield Figure(key, f"Java {who}, {name}: MB/s", rate_mb, limit=limit_mb, goal=WITHIN)
    yield Figure(f"{key}_throttle", f"Java {who}, {name}: throttle-time-avg, ms", ran.throttle_ms, 0)


def _enough(plan: Plan, limit_mb: float) -> float:
    """Return enough bytes until the end of the measurement, including the burst of the first window."""
    return limit_mb * MB * (FIRST_WINDOW_S + plan.measure_s + MOST_S + WINDOWS_S)


def _whole_mb(ran: java.Ran) -> float:
    (first_s, first), (last_s, last) = ran.moves[0], ran.moves[-1]
    return (last - first) / (last_s - first_s) / MB


def _fill(target: Target, total_bytes: int) -> None:
    new_topic(target, _TOPIC)
    builder = BatchBuilder()
    for _ in range(256):
        builder.append(int(time.time() * 1_000), None, b"x" * java.RECORD_BYTES)
    request = produce_request(_TOPIC, bytes(builder.build()))
    connection = connect(target.address)
    for _ in range(total_bytes // (256 * java.RECORD_BYTES) + 1):
        connection.sendall(request)
        if error := produce_error(receive(connection), _TOPIC):
            raise RuntimeError(f"produce error {error}")
    connection.close()


# --- light clients, which ignore throttle times


def shared(target: Target, plan: Plan) -> Iterator[Figure]:
    """One client, and twenty that share a quota; producers and consumers offer twice their limit.

    A client without its own pace would be throttled for longer by the faster broker, which accepts its burst sooner.
    """
    _fill(target, 4 * MB)
    for mode, kind in (("produce", "producer_byte_rate"), ("fetch", "consumer_byte_rate")):
        for count in (1, 20):
            with target.quota({"client-id": "app"}, **{kind: 5.0 * MB}):
                load = _limited(target, mode, ["app"] * count, 32_768, plan)
                load.pause_s = load.size / (2 * 5.0 * MB)
                told = _run(target, load)
            title = f"{count} light {'producers' if mode == 'produce' else 'consumers'}, client quota 5 MB/s"
            key = f"shared_{mode}_{count}"
            yield Figure(key, f"{title}: MB/s of all", told.all_mb_per_s * 1e6 / MB, limit=5.0, goal=WITHIN)
            yield Figure(f"{key}_throttle", f"{title}: throttle time, ms", told.throttle_ms, 0, goal=LIKE_KAFKA)
            yield Figure(f"{key}_held", f"{title}: part of the time held", told.held_share, goal=LIKE_KAFKA)


def many(target: Target, plan: Plan) -> Iterator[Figure]:
    """200 clients, each with its own default quota; then 200 that share one quota."""
    new_topic(target, _TOPIC)
    with target.quota({"client-id": None}, producer_byte_rate=_OF_MANY_MB * MB):
        told = _run(target, _limited(target, "produce", [f"app-{number}" for number in range(200)], 16_384, plan))
    rates_mb = sorted(rate * 1e6 / MB for rate in told.mb_per_s)
    title = f"200 light producers, default client quota {_OF_MANY_MB} MB/s each: MB/s of the"
    for key, name, value in (
        ("least", "slowest", rates_mb[0]),
        ("median", "middle one", statistics.median(rates_mb)),
        ("most", "fastest", rates_mb[-1]),
    ):
        yield Figure(f"many_{key}", f"{title} {name}", value, 4, limit=_OF_MANY_MB, goal=WITHIN)
    title = f"200 light producers, {_OF_MANY_MB} MB/s each: throttle time, ms"
    yield Figure("many_throttle", title, told.throttle_ms, 0)
    with target.quota({"client-id": "app"}, producer_byte_rate=5.0 * MB):
        told = _run(target, _limited(target, "produce", ["app"] * 200, 16_384, plan))
    yield Figure(
        "many_shared",
        "200 light producers that share 5 MB/s: MB/s of all",
        told.all_mb_per_s * 1e6 / MB,
        limit=5.0,
        goal=WITHIN,
    )


def beside(target: Target, plan: Plan) -> Iterator[Figure]:
    """A client without a limit, alone and beside one with a limit of 1 MB/s, in turn."""
    new_topic(target, _TOPIC)
    unlimited = _limited(target, "produce", ["unlimited"], 65_536, plan)
    unlimited.is_limited, unlimited.measure_s = False, min(5, plan.measure_s)
    limited = _limited(target, "produce", ["app"], 65_536, plan)
    limited.measure_s = 600
    alone_mb, beside_mb = [], []
    with target.quota({"client-id": "app"}, producer_byte_rate=1.0 * MB):
        for _ in range(3):
            alone_mb.append(_run(target, unlimited).all_mb_per_s * 1e6 / MB)
            with _running(limited):
                time.sleep(FIRST_WINDOW_S)
                beside_mb.append(_run(target, unlimited).all_mb_per_s * 1e6 / MB)
    yield Figure("beside_alone", "light producer without a limit, alone: MB/s", statistics.median(alone_mb), 1)
    kept = statistics.median(beside_mb) / statistics.median(alone_mb)
    yield Figure("beside_kept", "the same beside one held to 1 MB/s: part of it", kept, limit=1.0, goal=(0.95, 9.0))


def flood(target: Target, plan: Plan) -> Iterator[Figure]:
    """A small producer's p99 alone, beside a flood of small requests, and beside the same with a request quota."""
    new_topic(target, _TOPIC)
    victim = _limited(target, "produce", [_VICTIM], 100, plan)
    victim.is_limited, victim.measure_s, victim.pause_s = False, min(10, plan.measure_s), 0.001
    flooding = _limited(target, "flood", [_FLOODING] * _FLOOD_CONNECTIONS, 0, plan)
    flooding.measure_s = FIRST_WINDOW_S + victim.measure_s + 8
    figures = [("alone", "alone", _run(target, victim), None)]
    for key, title, percentage in (
        ("beside", "beside it", None),
        ("limited", "beside it at request_percentage=5", 5.0),
    ):
        if percentage is not None:
            target.set_quota({"client-id": _FLOODING}, request_percentage=percentage)
        with _running(flooding) as process:
            time.sleep(FIRST_WINDOW_S)
            told = _run(target, victim)
            figures.append((key, title, told, _told(process)))
    for key, title, told, of_flood in figures:
        yield Figure(f"flood_{key}_p50", f"small produce, flood of small requests, {title}: p50 µs", told.p50_us, 0)
        yield Figure(f"flood_{key}_p99", f"small produce, flood of small requests, {title}: p99 µs", told.p99_us, 0)
        if of_flood is not None:
            yield Figure(f"flood_{key}_requests", f"the flood, {title}: requests/s", of_flood.requests_per_s, 0)


def _limited(target: Target, mode: str, client_ids: list[str], size: int, plan: Plan) -> Load:
    load = Load(target.client_address, mode, _TOPIC, client_ids, size, plan.measure_s, is_limited=True)
    if target.login_address:
        load.user, load.password = target.user, PASSWORD
    return load


def _running(load: Load) -> "_Process":
    return _Process(load)


class _Process:
    """The light clients in their own process, from its start to its end or a kill."""

    def __init__(self, load: Load) -> None:
        command = [sys.executable, "-m", "benchmarks.quotas.clients", json.dumps(asdict(load))]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)

    def __enter__(self) -> "subprocess.Popen[str]":
        return self.process

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


def _told(process: "subprocess.Popen[str]") -> Told:
    text, _ = process.communicate()
    if process.returncode:
        raise RuntimeError("the light clients failed")
    return Told(**json.loads(text))


def _run(target: Target, load: Load) -> Told:
    with _running(load) as process:
        return _told(process)


WORKS: dict[str, Callable[[Target, Plan], Iterable[Figure]]] = {
    "produce": produce,
    "consume": consume,
    "change": change,
    "shared": shared,
    "many": many,
    "beside": beside,
    "flood": flood,
}
