"""What a suite of others is, and how its results on two brokers are compared.

A result is one of three words for each test, by the test's own name: `passed`, `failed` or `skipped`. What fails or is
skipped on Kafka 2.7.2 too is written down in the suite, with the reason; anything else that does is a difference, and
so is a test that runs on one broker alone.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from tests.clusters import Members
from tools.kafka.jars import ROOT

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
CACHE = ROOT / ".cache" / "suites"


class SuiteError(Exception):
    """A suite could not be fetched, built or run to its end; the message says why, with the end of its output."""


class ToolMissingError(SuiteError):
    """What runs a suite is not installed; the message says what to install."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a suite runs.

    Attributes:
        bootstrap_servers: `host:port` of each broker.
        output: A file for all that the suite prints.
        is_long: Whether the suite runs in its long form.
        members: The brokers by id, where there are several; each topic has as many replicas.
    """

    bootstrap_servers: str
    output: Path
    is_long: bool
    members: Members = field(default_factory=dict)

    @property
    def broker_count(self) -> int:
        return len(self.members) or 1


@dataclass(frozen=True, slots=True)
class Suite:
    """Tests that others wrote for their client.

    Attributes:
        name: Of the client.
        version: Which is run.
        prepare: Fetches and builds what is missing; needs the network.
        parts: Names of the parts that get a broker of their own each.
        run: Runs a part against a broker, and gives the result of each test.
        beside: What runs beside the broker, from before it starts.
        settings: Of the broker, above `ONE_BROKER`: what the suite's authors set for theirs.
        own_settings: Of one of several brokers, by its id, above those.
        port: The port of `localhost` that the suite's tests name, or 0 if they can be told another one. Such a suite
            runs in a network namespace of its own, where every port is free. Of several brokers the first one's; the
            others have the next ones.
        broker_count: How many brokers on one ZooKeeper it runs against.
        fails: Tests that fail on Kafka 2.7.2 too, by pattern, and why.
        skips: Tests that are skipped on Kafka 2.7.2 too, by pattern, and why.
        gaps: Tests that fail on Barnabas alone, by pattern, and what is missing. They may pass.
    """

    name: str
    version: str
    prepare: Callable[[], None]
    run: Callable[[str, Place], dict[str, str]]
    parts: tuple[str, ...] = ("",)
    beside: Callable[[], AbstractContextManager[None]] = nullcontext
    settings: Mapping[str, str] = field(default_factory=dict)
    own_settings: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    port: int = 0
    broker_count: int = 1
    fails: Mapping[str, str] = field(default_factory=dict)
    skips: Mapping[str, str] = field(default_factory=dict)
    gaps: Mapping[str, str] = field(default_factory=dict)

    def expected(self, test: str) -> str:
        """Return the result that a test has on Kafka 2.7.2."""
        if _is_among(test, self.fails):
            return FAILED
        return SKIPPED if _is_among(test, self.skips) else PASSED

    def surprises(self, results: Mapping[str, str], is_kafka: bool) -> list[str]:
        """Return a line for each test whose result is not what it is on Kafka 2.7.2.

        Args:
            results: Of all tests, by name.
            is_kafka: Whether they are Kafka's own: no gap is allowed there.
        """
        lines = []
        for test, result in sorted(results.items()):
            if result == self.expected(test):
                continue
            if not is_kafka and _is_among(test, self.gaps):
                continue
            lines.append(f"{test}: {result}, not {self.expected(test)}")
        lines += [f"{pattern}: no such test" for pattern in self._patterns() if not _matches_any(pattern, results)]
        return lines

    def differences(self, kafka: Mapping[str, str], barnabas: Mapping[str, str]) -> list[str]:
        """Return a line for each test whose results differ."""
        return [
            f"{test}: {kafka.get(test, 'absent')} on Kafka, {barnabas.get(test, 'absent')} on Barnabas"
            + ("" if (gap := reason(test, self.gaps)) is None else f" ({gap})")
            for test in sorted(kafka.keys() | barnabas.keys())
            if kafka.get(test) != barnabas.get(test)
        ]

    def _patterns(self) -> list[str]:
        return [*self.fails, *self.skips, *self.gaps]


def reason(test: str, among: Mapping[str, str]) -> str | None:
    """Return what is said about a test by the first pattern that it matches."""
    return next((said for pattern, said in among.items() if fnmatchcase(test, pattern)), None)


def _is_among(test: str, among: Mapping[str, str]) -> bool:
    return reason(test, among) is not None


def _matches_any(pattern: str, results: Mapping[str, str]) -> bool:
    return any(fnmatchcase(test, pattern) for test in results)


def tail(output: Path, line_count: int = 25) -> str:
    """Return the last lines of what a suite printed."""
    return "\n".join(output.read_text(errors="replace").splitlines()[-line_count:])
