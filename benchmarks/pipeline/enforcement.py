"""Measure enforcement on a generated site: delay and rate of throttling, effects on other clients, state after a kill.

    python -m benchmarks.pipeline.enforcement [--target kafka] [--seed N]

The broker has a login for each user, and half an hour of the generated site's events in its topics. Three kinds of
clients send records:

- 100 KB/s each, by login: users that are spammers, mass followers or ring members in the site's ground truth
- 100 KB/s each, by client id: addresses of scrapers and of credential stuffing
- 100 bytes every 50 ms: five honest clients

`run security --enforce --no-dry-run` is started, killed with SIGKILL once the limits are set, and started again. When
the limits have expired, everything is checked again. One of the accused has a limit set by an operator.

| phase | state |
| --- | --- |
| free | the abusers send without limits, no run |
| held, no run | the run was killed; the same abusers are throttled, and nothing else is different |
| held, run alive | the restarted run has computed its verdicts and waits |
| free again | all limits have expired |

Takes eight minutes on an idle machine. Exits with 1 if a check fails.
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import quantiles
from typing import Any, TypeVar

from barnabas.clients import Pool
from barnabas.clients.admin_quota_states import Limited, QuotaStateAdmin
from barnabas.pipeline.enforcement.audit import AuditTopic
from barnabas.pipeline.enforcement.entry import CLIENT_ID, USER, Entity, Entry, Step
from barnabas.pipeline.sources.social import SitePlan, ground_truth
from benchmarks.pipeline.paced_clients import Answer, Sender, read_answers
from benchmarks.quotas.brokers import TARGETS, Target, new_topic

T = TypeVar("T")

LIMIT_BYTES_PER_S = 10_240
LIMIT_FOR_S = 300
OPERATORS_LIMITS = {"producer_byte_rate": 51_200.0, "consumer_byte_rate": 51_200.0}
ABUSERS_OF_A_KIND = 4
HONEST_COUNT = 5
_PHASE_S = 25.0
# Time during which data sent before a limit still counts.
_WINDOW_S = 11.0
# A client without a limit this long after the first limit is not accused.
_JUDGED_S = 20.0
_PATIENCE_S = 600.0
_SITE_S, _EVENTS_PER_S = 1_800, 10.0
_HONEST_TOPIC, _ABUSED_TOPIC = "honest-traffic", "abusers-traffic"


class Cluster:
    """The broker, queried and changed like an operator does."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def limits(self) -> dict[Limited, dict[str, float]]:
        """Return all limits."""
        found = self._ask(lambda pool: QuotaStateAdmin(pool).limits())
        return {limited: limits for limited, limits in found.items() if limits}

    def limit(self, limited: Limited, changes: Mapping[str, float | None]) -> None:
        """Set limits."""
        self._ask(lambda pool: QuotaStateAdmin(pool).alter_limits(limited, changes))

    def steps(self) -> list[Entry]:
        """Return all steps of enforcement."""
        return self._ask(lambda pool: AuditTopic(pool).read())

    def _ask(self, call: Callable[[Pool], Coroutine[Any, Any, T]]) -> T:
        async def ask() -> T:
            async with Pool(self.target.address, "operator") as pool:
                return await call(pool)

        return asyncio.run(ask())


class Checks:
    """Collects claims that do not hold."""

    def __init__(self) -> None:
        self.wrong: list[str] = []

    def require(self, is_so: bool, claim: str) -> None:
        """Print a claim, and whether it holds."""
        print(f"  {'yes' if is_so else 'NO '}  {claim}", flush=True)
        if not is_so:
            self.wrong.append(claim)


class Phases:
    """The clients' measurements, by phase."""

    def __init__(self, honest: Path, abusers: Path) -> None:
        self._honest = honest
        self._abusers = abusers
        self._times: dict[str, tuple[float, float]] = {}

    def last(self, name: str, seconds: float = _PHASE_S) -> None:
        """Wait for the duration of a phase."""
        begin_s = time.time()
        time.sleep(seconds)
        self._times[name] = begin_s, time.time()
        print(f"{name}: {self.line(name)}", flush=True)

    def line(self, name: str) -> str:
        """Describe the measurements of a phase."""
        _, p50_ms, p99_ms = self.honest_latency(name)
        rate = sum(self.rates(name).values()) / 1024
        return f"abusers {rate:,.0f} KiB/s in all; the honest wait p50 {p50_ms:.1f} ms, p99 {p99_ms:.1f} ms"

    def honest_latency(self, name: str) -> tuple[int, float, float]:
        """Return the number of honest clients' requests in a phase, and p50 and p99 of their latency in ms."""
        latencies = [answer.latency_us / 1_000 for answer in _between(self._honest, *self._times[name])]
        cuts = quantiles(latencies, n=100)
        return len(latencies), cuts[49], cuts[98]

    def rates(self, name: str) -> dict[int, float]:
        """Return each abuser's rate in a phase, in bytes per second."""
        return self.rates_between(*self._times[name])

    def rates_between(self, begin_s: float, end_s: float) -> dict[int, float]:
        """Return each abuser's rate between two times (seconds since 1970), in bytes per second."""
        sent: dict[int, float] = {}
        for answer in _between(self._abusers, begin_s, end_s):
            sent[answer.sender] = sent.get(answer.sender, 0) + answer.request_bytes / (end_s - begin_s)
        return sent

    def honest_throttled_count(self) -> int:
        """Count the honest clients' responses with a throttle time."""
        return sum(answer.throttle_ms > 0 for answer in read_answers(self._honest))

    def first_throttled_ms(self, sender: int, since_ms: int) -> int | None:
        """Return when an abuser was first throttled, in milliseconds since 1970; None: not yet."""
        told = (each for each in read_answers(self._abusers) if each.sender == sender and each.sent_ms >= since_ms)
        return next((each.sent_ms + each.latency_us // 1_000 for each in told if each.throttle_ms), None)


def _between(path: Path, begin_s: float, end_s: float) -> Iterator[Answer]:
    return (each for each in read_answers(path) if begin_s * 1_000 <= each.sent_ms < end_s * 1_000)


@contextmanager
def _process(*words: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as output:
        process = subprocess.Popen([sys.executable, *words], stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _clients(stack: ExitStack, topic: str, senders: Sequence[Sender], size: int, per_s: float, output: Path) -> None:
    load = {"topic": topic, "senders": senders, "size": size, "per_s": per_s}
    words = json.dumps({**load, "output": str(output), "parent": os.getpid()})
    stack.enter_context(_process("-m", "benchmarks.pipeline.paced_clients", words, log=output.with_suffix(".log")))


def _run_words(target: Target, directory: Path) -> list[str]:
    words = ["-m", "barnabas.cli.main", "pipeline", "run", "security", "--bootstrap-server", target.address]
    words += ["--tables", str(directory / "tables"), "--checkpoint", str(directory / "checkpoints")]
    words += ["--enforce", "--no-dry-run", "--limit-for", f"{LIMIT_FOR_S}s", "--refresh", "5"]
    for kind in ("producer", "consumer"):
        words += ["--limit", f"{kind}_byte_rate={LIMIT_BYTES_PER_S}"]
    for subject in ("user=user", "address=client-id:web-{address}", "visitor=client-id:web-{address}"):
        words += ["--subject", subject]
    # The JVM runs for minutes only; its optimizing compiler would use half of the time.
    java = "spark.driver.defaultJavaOptions=-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"
    return [*words, "--no-summary", "--conf", java]


def _wait(what: str, is_so: Callable[[], object], process: subprocess.Popen[bytes] | None = None) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not is_so():
        if time.monotonic() > deadline or (process is not None and process.poll() is not None):
            raise RuntimeError(f"did not come: {what}")
        time.sleep(0.2)


def _abusers(plan: SitePlan) -> tuple[list[str], list[str]]:
    """Return the users and addresses that misbehave, according to the site's ground truth."""
    actors = sorted(ground_truth(plan)["actors"], key=lambda actor: -actor["events"])
    by_users, by_addresses = ("spammer", "mass_follower", "vote_ring"), ("credential_stuffing", "scraper")
    users = [actor["users"][0] for actor in actors if actor["kind"] in by_users]
    # Actors with several addresses are accused by their user agent instead.
    alone = [actor["addresses"] for actor in actors if actor["kind"] in by_addresses and len(actor["addresses"]) == 1]
    addresses = [address for (address,) in alone]
    return users[: ABUSERS_OF_A_KIND + 1], addresses[:ABUSERS_OF_A_KIND]


def _measure(stack: ExitStack, options: argparse.Namespace, checks: Checks) -> None:
    directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="enforcement-", dir=options.place)))
    start = datetime.now(UTC) - timedelta(seconds=_SITE_S)
    plan = SitePlan(options.seed, start.replace(microsecond=0), _SITE_S, _EVENTS_PER_S)
    users, addresses = _abusers(plan)
    logins = {name: f"{name}-secret" for name in (*users, *(f"honest{number}" for number in range(HONEST_COUNT)))}
    target = stack.enter_context(TARGETS[options.target](options.place, True, logins))
    cluster = Cluster(target)
    words = ["--seed", str(plan.seed), "--start", plan.start.isoformat(), "--duration", str(_SITE_S)]
    words += ["--rate", str(_EVENTS_PER_S), "--bootstrap-server", target.address]
    subprocess.run([sys.executable, "-m", "barnabas.cli.main", "pipeline", "generate", *words], check=True)
    for topic in (_HONEST_TOPIC, _ABUSED_TOPIC):
        new_topic(target, topic)

    kept, users = Limited(users[0], None), users[1:]
    cluster.limit(kept, OPERATORS_LIMITS)
    entities = [*(Entity(USER, user) for user in users), *(Entity(CLIENT_ID, f"web-{name}") for name in addresses)]
    senders = [Sender(target.login_address, "app", user, logins[user]) for user in users]
    senders += [Sender(target.address, f"web-{name}") for name in addresses]
    honest = [Sender(target.login_address, "app", name, logins[name]) for name in logins if name.startswith("honest")]
    phases = Phases(directory / "honest", directory / "abusers")
    _clients(stack, _HONEST_TOPIC, honest, 100, 20, directory / "honest")
    _clients(stack, _ABUSED_TOPIC, senders, 10_000, 10, directory / "abusers")
    _wait("clients", lambda: all((directory / name).exists() for name in ("honest", "abusers")))
    time.sleep(_WINDOW_S)
    phases.last("free")

    log = directory / "run.log"

    def limited() -> dict[Entity, Entry]:
        return {entry.entity: entry for entry in cluster.steps() if entry.step is Step.LIMITED}

    def is_judged() -> bool:
        since_ms = min((entry.since_ms for entry in limited().values()), default=None)
        is_late = since_ms is not None and time.time() - since_ms / 1_000 > _JUDGED_S
        return is_late or set(entities) <= limited().keys()

    with _process(*_run_words(target, directory), log=log) as run:
        _wait("limits", is_judged, run)
        os.kill(run.pid, signal.SIGKILL)
    set_ = limited()
    accused = {number: entity for number, entity in enumerate(entities) if entity in set_}
    print(f"{len(set_)} limits were set, {len(accused)} of them for the {len(entities)} who send")
    checks.require(len(accused) > len(entities) // 2, "most of those who send are accused")
    status = directory / "checkpoints" / "security" / "status.json"
    status.write_text(json.dumps({"refresh_count": 0}))
    _show_speed(cluster, phases, accused, set_, checks)
    time.sleep(_WINDOW_S)
    phases.last("held, no run")
    with _process(*_run_words(target, directory), log=log) as run:
        _wait("verdicts after the restart", lambda: json.loads(status.read_text())["refresh_count"], run)
        phases.last("held, run alive", 15.0)
        print(f"a refresh, which ends in verdicts, took {json.loads(status.read_text())['refresh_s']:.1f} s")
        last_ms = max(entry.until_ms for entry in set_.values())
        end_ms = min(set_[entity].until_ms for entity in accused.values())
        checks.require(time.time() * 1_000 < last_ms, "it was killed and started again before the limits expired")
        # Over the whole time, because a client that was throttled for long may then send ten seconds' worth at once.
        first_ms = max(set_[entity].time_ms for entity in accused.values()) + 1_000 * _WINDOW_S
        _wait("the end of the first limit", lambda: time.time() * 1_000 > end_ms, run)
        sent = phases.rates_between(first_ms / 1_000, end_ms / 1_000)
        rates = [sent.get(number, 0.0) for number in accused]
        checks.require(
            max(rates) <= 1.1 * LIMIT_BYTES_PER_S,
            f"each abuser sent {min(rates):,.0f} to {max(rates):,.0f} bytes/s in {(end_ms - first_ms) / 1_000:.0f} s "
            f"of his limit, its first window left out; it is {LIMIT_BYTES_PER_S:,}",
        )
        _wait("the end of all limits", lambda: cluster.limits().keys() <= {kept}, run)
        lifted = {entry.entity: entry for entry in cluster.steps() if entry.step is Step.LIFTED}
        late_s = max(lifted[entity].time_ms - entry.until_ms for entity, entry in set_.items()) / 1_000
        checks.require(
            late_s < 10, f"all {len(set_)} limits were gone {late_s:.1f} s after they had expired, at the most"
        )
    checks.require(
        cluster.limits() == {kept: OPERATORS_LIMITS}, "the operator's limit is as it was, and no other is left"
    )
    steps = [entry.step for entry in cluster.steps() if entry.entity.limited == kept]
    checks.require(steps == [Step.KEPT], "and the audit topic says that it was kept")
    time.sleep(_WINDOW_S)
    phases.last("free again")

    _, _, free_ms = phases.honest_latency("free")
    _, _, held_ms = phases.honest_latency("held, no run")
    checks.require(
        held_ms <= 1.5 * free_ms, f"p99 of the honest: {free_ms:.1f} ms before, {held_ms:.1f} ms while others are held"
    )
    checks.require(phases.honest_throttled_count() == 0, "no answer to them told of a throttle time")


def _show_speed(
    cluster: Cluster, phases: Phases, accused: Mapping[int, Entity], limited: Mapping[Entity, Entry], checks: Checks
) -> None:
    # The step `limiting` is the first visible sign of a verdict. Its topic is written later, or never if the run was
    # killed.
    judged_ms = {entry.entity: entry.time_ms for entry in cluster.steps() if entry.step is Step.LIMITING}
    set_s, held_s = [], []
    for number, entity in accused.items():
        since_ms = judged_ms[entity]
        set_s.append((limited[entity].time_ms - since_ms) / 1_000)
        _wait("an abuser that is held", lambda: phases.first_throttled_ms(number, since_ms))  # noqa: B023
        held_s.append(((phases.first_throttled_ms(number, since_ms) or 0) - since_ms) / 1_000)
    checks.require(max(set_s) < 10, f"limits were in force {min(set_s):.1f} to {max(set_s):.1f} s after the verdict")
    checks.require(max(held_s) < 10, f"abusers were held {min(held_s):.1f} to {max(held_s):.1f} s after the verdict")


def main() -> int:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=list(TARGETS), default="barnabas", help="broker (%(default)s)")
    parser.add_argument("--seed", type=int, default=2001, metavar="N", help="seed of the site (%(default)s)")
    parser.add_argument("--place", type=Path, metavar="DIR", help="directory for the data (the temporary directory)")
    checks = Checks()
    with ExitStack() as stack:
        _measure(stack, parser.parse_args(), checks)
    print(f"{len(checks.wrong)} claims do not hold")
    return 1 if checks.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
