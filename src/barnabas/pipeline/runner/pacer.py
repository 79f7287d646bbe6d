"""Holds a run so that it keeps to the quotas of its user and client id by itself, at each broker.

Quotas are per broker: what is read is paid for at the partitions' leaders. A batch's end is held until all of it is
paid for, and limits that change meanwhile count at once.

Why hold at all: a broker that has to do it holds connections, for seconds and without a word; Spark's tasks wait with
their cores, other requests on the connection are late, and a hold beyond `request.timeout.ms` becomes an error.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from barnabas.pipeline.runner.cluster import SOURCE_REQUEST_TIMEOUT_MS, KafkaOptions
from barnabas.pipeline.runner.pace import AT_ONCE, Pace, Spread
from barnabas.pipeline.runner.quota_state import READ, WRITE, Quota, longest_hold_s
from barnabas.pipeline.runner.quota_watch import Leaders, QuotaWatch, Sample, Seen
from barnabas.wire.quotas.limits import QuotaKind

__all__ = ["READ", "WRITE", "Hold", "Pacer"]

# A hold looks that often whether something has changed.
_LOOK_S = 0.1
_ASK_TIMEOUT_S = 10.0
# Who was held in the last seconds counts as one that a limit holds.
_HELD_FOR_S = 15.0
# What a producer sends at once at the most, and what an answer holds at least of a partition that has it.
_LARGEST_BATCH_BYTES = 1_048_576
_REQUEST_TIMEOUTS_MS = {READ: SOURCE_REQUEST_TIMEOUT_MS, WRITE: 30_000}

Used = Mapping[str, Mapping[int, float]]
"""Bytes by topic and partition."""


@dataclass(frozen=True, slots=True)
class Debt:
    """What was used and is not paid for yet.

    Attributes:
        limit: The quota that asks for the longest wait; empty: all is paid for.
    """

    kind: QuotaKind
    owed: Mapping[int, float]
    limit: str


@dataclass(frozen=True, slots=True)
class Hold:
    """How long somebody was held, and by which limit; an empty one held nobody."""

    seconds: float
    limit: str


class Stopped(Protocol):
    """What ends a wait, such as a `threading.Event`."""

    def wait(self, timeout: float) -> bool:
        """Wait so many seconds at the most; whether the wait is to end."""


class Pacer:
    """Paces what goes on in this process with one cluster as one user and client id; its methods may be called from
    any thread."""

    def __init__(self, kafka: KafkaOptions, warn: Callable[[str], None], peers: Sequence[str] = ()) -> None:
        """Nothing is asked before `refresh`; until it was, nobody is held.

        Args:
            kafka: The cluster, and as whom: the same options as those of Spark's connector.
            warn: Told in one line what a person should know, some things once.
            peers: Client ids of all runs that go on beside this one, its own included. It matters where the broker does
                not say how many runs share a quota.
        """
        self._kafka = kafka
        self._warn = warn
        self._lock = threading.Lock()
        self._paces: dict[tuple[QuotaKind, int], Pace] = {}
        self._leaders: Leaders = {}
        self._warned: set[tuple[QuotaKind, int, float]] = set()
        # New runs say that they are there, before they use anything.
        self._held_until_s = dict.fromkeys((READ, WRITE), time.monotonic() + _HELD_FOR_S)
        self._limited_by = ""
        self._watch = QuotaWatch(kafka, peers, self._is_held, self._take, warn)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._watch.close()

    def follow(self, topics: Iterable[str]) -> None:
        """Find out who leads these topics, from the next answer on."""
        self._watch.follow(topics)

    def refresh(self) -> None:
        """Ask for quotas and leaders now, and every second from now on; go on without where they are not told."""
        self._watch.ask(_ASK_TIMEOUT_S)

    def sample(self, starts: Mapping[str, Mapping[int, int]]) -> Sample | None:
        """Give what records take on the wire, from a few after these offsets; None: not known."""
        return self._watch.sample({topic: dict(each) for topic, each in starts.items()}, _ASK_TIMEOUT_S)

    @property
    def leaders(self) -> Leaders:
        """Broker ids by topic and partition, of the topics that are followed."""
        return self._leaders

    @property
    def limited_by(self) -> str:
        """The quota that asked for the last wait; empty: what was used last was paid for already."""
        return self._limited_by

    def tightest(self, kind: QuotaKind) -> str:
        """Name the quota that lets the least through; empty: there is none."""
        with self._lock:
            quotas = [pace.quota for pace in self._paces_of(kind)]
        return str(min(quotas, key=lambda each: each.limit / each.sharer_count)) if quotas else ""

    def has_quota(self, kind: QuotaKind) -> bool:
        """Whether any broker limits what is done here."""
        with self._lock:
            return any(each is kind for each, _ in self._paces)

    def limits(self, kind: QuotaKind) -> dict[int, float]:
        """Give the limits of all brokers that have one, in bytes/s, whoever shares them."""
        with self._lock:
            return {broker_id: pace.quota.limit for (each, broker_id), pace in self._paces.items() if each is kind}

    def rates(self, kind: QuotaKind, batch_s: float, read_s: float = 0.0) -> dict[int, float]:
        """Give, for all brokers that have a quota, the bytes/s that may be used there, as estimated by who pays.

        Args:
            batch_s: How many seconds' worth a batch is. The more of it comes at once, the less may be used in all.
            read_s: In so many of them it comes; 0: at once.
        """
        with self._lock:
            return {
                broker_id: pace.rate_in_batches(batch_s, read_s)
                for (each, broker_id), pace in self._paces.items()
                if each is kind
            }

    def expect(self, kind: QuotaKind, batch_s: float, read_s: float) -> None:
        """Take in how batches are planned from now on, as `rates` was asked."""
        with self._lock:
            for pace in self._paces_of(kind):
                pace.expect(batch_s, read_s)

    def begin(self, kind: QuotaKind) -> None:
        """A batch is about to use something, which is noted at its end."""
        with self._lock:
            for pace in self._paces_of(kind):
                pace.begin()

    def ask_soon(self) -> None:
        """Ask for quotas without waiting for the answer: as now nothing is under way."""
        if self._paces:
            self._watch.ask_soon()

    def pay(self, kind: QuotaKind, used: Used, stopped: Stopped) -> Hold:
        """Note what was used, and wait until it is paid for: `owe` and `settle` at once."""
        return self.settle(self.owe(kind, used), stopped)

    def owe(self, kind: QuotaKind, used: Used, spread: Spread = AT_ONCE) -> Debt:
        """Note what was used.

        Args:
            kind: READ or WRITE.
            used: Bytes, about as they were on the wire, by topic and partition. A partition whose leader is not known
                counts everywhere.
            spread: When it was used.
        """
        now_s = time.monotonic()
        with self._lock:
            owed = {
                broker_id: pace.owe(now_s, self._used_at(broker_id, used), spread)
                for (each, broker_id), pace in self._paces.items()
                if each is kind
            }
        self._limited_by = self._longest_wait(kind, owed)[1]
        return Debt(kind, owed, self._limited_by)

    def waste(self, kind: QuotaKind, used: Used, spread: Spread) -> Debt:
        """Note what was used for a batch that was thrown away: windows have it, and nobody pays for it.

        Returns:
            What to `settle` before the next one: until windows have room again.
        """
        now_s = time.monotonic()
        with self._lock:
            paces = {broker_id: pace for (each, broker_id), pace in self._paces.items() if each is kind}
            for broker_id, pace in paces.items():
                pace.waste(now_s, self._used_at(broker_id, used), spread)
            return Debt(kind, {broker_id: pace.owed for broker_id, pace in paces.items()}, "")

    def note_limited(self, kind: QuotaKind) -> None:
        """A run uses all that it may: others who share a quota should know of it."""
        self._held_until_s[kind] = time.monotonic() + _HELD_FOR_S

    def settle(self, debt: Debt, stopped: Stopped) -> Hold:
        """Wait until what is owed is paid for.

        Args:
            stopped: Ends the wait.
        """
        began_s = time.monotonic()
        limit = ""
        while True:
            wait_s, held_by = self._longest_wait(debt.kind, debt.owed)
            if wait_s <= 0:
                break
            limit = held_by
            self.note_limited(debt.kind)
            if stopped.wait(min(wait_s, _LOOK_S)):
                break
        return Hold(time.monotonic() - began_s, limit)

    def _longest_wait(self, kind: QuotaKind, owed: Mapping[int, float]) -> tuple[float, str]:
        """Give the seconds that are left, and the quota that asks for them; (0, "") where all is paid for."""
        now_s = time.monotonic()
        with self._lock:
            waits = [
                (pace.wait_s(now_s, owed[broker_id]), str(pace.quota))
                for (each, broker_id), pace in self._paces.items()
                if each is kind and broker_id in owed
            ]
        wait_s, limit = max(waits, default=(0.0, ""))
        return (wait_s, limit) if wait_s > 0 else (0.0, "")

    def _paces_of(self, kind: QuotaKind) -> list[Pace]:
        return [pace for (each, _), pace in self._paces.items() if each is kind]

    def _used_at(self, broker_id: int, used: Used) -> float:
        return sum(
            count
            for topic, partitions in used.items()
            for number, count in partitions.items()
            if self._leaders.get(topic, {}).get(number, -1) in (broker_id, -1)
        )

    def _is_held(self, kind: QuotaKind) -> bool:
        return time.monotonic() < self._held_until_s[kind]

    def _take(self, seen: Seen) -> None:
        now_s = time.monotonic()
        with self._lock:
            self._leaders = seen.leaders
            paces: dict[tuple[QuotaKind, int], Pace] = {}
            for place, quota in seen.quotas.items():
                pace = self._paces.get(place)
                if pace is None:
                    pace = Pace(quota, now_s)
                else:
                    pace.take(quota, now_s)
                paces[place] = pace
            self._paces = paces
        for quota in seen.quotas.values():
            self._warn_of_hold(quota)

    def _warn_of_hold(self, quota: Quota) -> None:
        """Say where one full batch makes the broker hold longer than clients wait for an answer."""
        place = (quota.kind, quota.broker_id, quota.limit)
        timeout_s = self._request_timeout_s(quota.kind)
        hold_s = longest_hold_s(quota.limit, quota.window_s, _LARGEST_BATCH_BYTES)
        if hold_s < timeout_s or place in self._warned:
            return
        self._warned.add(place)
        self._warn(
            f"{quota}: one batch of a mebibyte may be held for {hold_s:,.0f} s, and request.timeout.ms is "
            f"{timeout_s:,.0f} s: raise the quota, or the timeout by --kafka-option, or write smaller batches"
        )

    def _request_timeout_s(self, kind: QuotaKind) -> float:
        text = self._kafka.options.get("request.timeout.ms", "")
        return (int(text) if text.isdigit() else _REQUEST_TIMEOUTS_MS[kind]) / 1_000
