"""The site's hosts and services: figures of their load, and what the services say."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from barnabas.pipeline.events.types import HOST_METRIC, SERVICE_LOG
from barnabas.pipeline.sources.social.actors import Burst, Happening, Source
from barnabas.pipeline.sources.social.chance import pick, seeded, waiting, whole
from barnabas.pipeline.sources.social.plan import SitePlan
from barnabas.pipeline.sources.social.visits import Rhythm

METRICS = ("cpu_percent", "memory_percent", "disk_percent", "network_bytes_per_s")
SILENT_SERVICE = "mail"
# Host and the services on it. In an outage the database is what is slow.
_HOSTS = {
    "web-1": ("web", "accounts"),
    "web-2": ("web",),
    "search-1": ("search",),
    "db-1": ("database",),
    "mail-1": ("mail",),
}
_STRICKEN = ("web-1", "web-2", "db-1")
_INSTANCES = {"disk_percent": "/", "network_bytes_per_s": "eth0"}
# Mean seconds between two lines of a service in ordinary times.
_PAUSES_S = {"web": 15, "accounts": 20, "search": 20, "database": 30, "mail": 15}
_LINES = {
    "web": ("request served", "cache refreshed", "worker recycled"),
    "accounts": ("session opened", "session closed", "password hash upgraded"),
    "search": ("index refreshed", "segment merged", "slow query logged"),
    "database": ("checkpoint complete", "autovacuum finished", "connection accepted"),
    "mail": ("message queued", "message delivered", "queue run finished"),
}
_WARNINGS = ("retrying a request", "queue is filling", "answer took longer than 1000 ms")
_ERRORS = (
    "connection to db-1:5432 timed out after 5000 ms",
    "could not acquire a connection from the pool (50 in use)",
    "upstream answered 503",
    "transaction aborted: lock wait timeout",
)


@dataclass(slots=True)
class _Level:
    """A host's figure: its mean and how far it swings."""

    rest: float
    swing: float
    in_outage: float


def machines(plan: SitePlan, rhythm: Rhythm) -> list[Source]:
    """Return the figures of all hosts, and the lines of each service."""
    figure_count = len(_HOSTS) * len(METRICS) * (plan.duration_s // plan.metric_interval_s)
    sources = [Source(_figures(plan, rhythm), figure_count)]
    for service, pause_s in _PAUSES_S.items():
        sources.append(Source(_lines(plan, service, pause_s), plan.duration_s // pause_s))
    return sources


def _figures(plan: SitePlan, rhythm: Rhythm) -> Iterator[Burst]:
    random = seeded(plan.seed, "machines")
    levels = {(host, metric): _level(random, host, metric) for host in _HOSTS for metric in METRICS}
    begin_ms, end_ms = plan.outage_ms
    for time_ms in range(plan.start_ms, plan.end_ms, plan.metric_interval_s * 1000):
        is_outage = begin_ms <= time_ms < end_ms
        burst: list[Happening] = []
        for (host, metric), level in levels.items():
            value = level.rest + level.swing * (rhythm.at(time_ms) - 1 + 0.3 * (random.random() - 0.5))
            if is_outage and host in _STRICKEN:
                value = level.in_outage * (0.97 + 0.03 * random.random())
            if metric == "disk_percent":
                value = level.rest + 2 * (time_ms - plan.start_ms) / 86_400_000
            burst.append(
                (
                    time_ms + whole(random, 0, 900),
                    HOST_METRIC,
                    {
                        "host": host,
                        "metric": metric,
                        "value": round(max(value, 0.5), 2),
                        "instance": _INSTANCES.get(metric),
                    },
                    None,
                )
            )
        yield time_ms, burst


def _level(random: Random, host: str, metric: str) -> _Level:
    chance = random.random()
    match metric:
        case "cpu_percent":
            return _Level(25 + 10 * chance, 12, 98)
        case "memory_percent":
            return _Level(50 + 10 * chance, 4, 96)
        case "disk_percent":
            return _Level(40 + 20 * chance, 0, 0)
        case _:
            return _Level(2_000_000 + 1_000_000 * chance, 900_000, 250_000)


def _lines(plan: SitePlan, service: str, pause_s: int) -> Iterator[Burst]:
    random = seeded(plan.seed, "service", service)
    hosts = [host for host, services in _HOSTS.items() if service in services]
    begin_ms, end_ms = plan.outage_ms
    silent_ms, loud_ms = plan.silence_ms if service == SILENT_SERVICE else (0, 0)
    time_ms = float(plan.start_ms)
    while True:
        is_stricken = begin_ms <= time_ms < end_ms and service in ("web", "accounts", "database")
        # Nobody waits longer than three times the usual: silence is what does not happen by chance.
        time_ms += min(waiting(random), 3) * pause_s * 1000 / (6 if is_stricken else 1)
        if time_ms >= plan.end_ms:
            return
        if silent_ms <= time_ms < loud_ms:
            continue
        chance = random.random()
        level, message = "INFO", pick(random, _LINES[service])
        if is_stricken and begin_ms <= time_ms < end_ms and chance < 0.7:
            level, message = "ERROR", pick(random, _ERRORS)
        elif chance < 0.002:
            level, message = "ERROR", "could not parse a request header"
        elif chance < 0.02:
            level, message = "WARN", pick(random, _WARNINGS)
        fields: dict[str, object] = {
            "service": service,
            "host": pick(random, hosts),
            "level": level,
            "message": f"{message} [{whole(random, 1, 9999)}]",
        }
        yield int(time_ms), [(int(time_ms), SERVICE_LOG, fields, None)]
