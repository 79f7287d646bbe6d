"""The site's hosts and services: values of the hosts' metrics, and lines that the services log."""

from collections.abc import Iterator

from barnabas.pipeline.events.types import HOST_METRIC, SERVICE_LOG
from barnabas.pipeline.sources.social.actors import Burst, Happening, Source
from barnabas.pipeline.sources.social.random_numbers import WAITS, pick, seeded, whole
from barnabas.pipeline.sources.social.site import Site

SILENT_SERVICE = "mail"
# By metric: instance, lowest and highest mean, swing over the day, value in an outage.
_METRICS: dict[str, tuple[str | None, float, float, float, float]] = {
    "cpu_percent": (None, 25, 35, 12, 98),
    "memory_percent": (None, 50, 60, 4, 96),
    "disk_percent": ("/", 40, 60, 0, 0),
    "network_bytes_per_s": ("eth0", 2_000_000, 3_000_000, 900_000, 250_000),
}
_HOSTS = ("web-1", "web-2", "search-1", "db-1", "mail-1")
_HOSTS_IN_OUTAGE = ("web-1", "web-2", "db-1")
_SERVICES_IN_OUTAGE = ("web", "accounts", "database")
# By service: its hosts, mean seconds between two lines, and the lines.
_SERVICES = {
    "web": (("web-1", "web-2"), 15, ("request served", "cache refreshed", "worker recycled")),
    "accounts": (("web-1",), 20, ("session opened", "session closed", "password hash upgraded")),
    "search": (("search-1",), 20, ("index refreshed", "segment merged", "slow query logged")),
    "database": (("db-1",), 30, ("checkpoint complete", "autovacuum finished", "connection accepted")),
    "mail": (("mail-1",), 15, ("message queued", "message delivered", "queue run finished")),
}
_WARNINGS = ("retrying a request", "queue is filling", "answer took longer than 1000 ms")
_ERRORS = (
    "connection to db-1:5432 timed out after 5000 ms",
    "could not acquire a connection from the pool (50 in use)",
    "upstream answered 503",
    "transaction aborted: lock wait timeout",
)


def machines(site: Site) -> list[Source]:
    """Return the metrics of all hosts, and the lines of each service."""
    plan = site.plan
    value_count = len(_HOSTS) * len(_METRICS) * (plan.duration_s // plan.metric_interval_s)
    lines = [
        Source(_lines(site, service), plan.duration_s // pause_s) for service, (_, pause_s, _) in _SERVICES.items()
    ]
    return [Source(_values(site), value_count), *lines]


def _values(site: Site) -> Iterator[Burst]:
    plan = site.plan
    random = seeded(plan.seed, "machines")
    means = {(host, metric): random.random() for host in _HOSTS for metric in _METRICS}
    for time_ms in range(plan.start_ms, plan.end_ms, plan.metric_interval_s * 1000):
        is_outage = site.outage_ms[0] <= time_ms < site.outage_ms[1]
        burst: list[Happening] = []
        for (host, metric), chance in means.items():
            instance, low, high, swing, in_outage = _METRICS[metric]
            value = low + (high - low) * chance
            if metric == "disk_percent":
                value += 2 * (time_ms - plan.start_ms) / 86_400_000
            elif is_outage and host in _HOSTS_IN_OUTAGE:
                value = in_outage * (0.97 + 0.03 * random.random())
            else:
                value += swing * (site.rhythm(time_ms) - 1 + 0.3 * (random.random() - 0.5))
            fields = {"host": host, "metric": metric, "value": round(max(value, 0.5), 2), "instance": instance}
            burst.append((time_ms + whole(random, 0, 900), HOST_METRIC, fields, None))
        yield time_ms, burst


def _lines(site: Site, service: str) -> Iterator[Burst]:
    plan = site.plan
    random = seeded(plan.seed, "service", service)
    hosts, pause_s, messages = _SERVICES[service]
    begin_ms, end_ms = site.outage_ms if service in _SERVICES_IN_OUTAGE else (0, 0)
    silent_ms, loud_ms = plan.silence_ms if service == SILENT_SERVICE else (0, 0)
    time_ms = float(plan.start_ms)
    while True:
        # A pause of more than three times the mean never occurs by chance, only in a silence.
        pause_ms = min(pick(random, WAITS), 3) * pause_s * 1000
        time_ms += pause_ms / 6 if begin_ms <= time_ms < end_ms else pause_ms
        if time_ms >= plan.end_ms:
            return
        if silent_ms <= time_ms < loud_ms:
            continue
        chance = random.random()
        level, message = "INFO", pick(random, messages)
        if begin_ms <= time_ms < end_ms and chance < 0.7:
            level, message = "ERROR", pick(random, _ERRORS)
        elif chance < 0.002:
            level, message = "ERROR", "could not parse a request header"
        elif chance < 0.02:
            level, message = "WARN", pick(random, _WARNINGS)
        text = f"{message} [{whole(random, 1, 9999)}]"
        fields = {"service": service, "host": pick(random, hosts), "level": level, "message": text}
        yield int(time_ms), [(int(time_ms), SERVICE_LOG, fields, None)]
