"""How much memory all that is kept takes, by tracemalloc: within its bound, and flat."""

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from barnabas.broker.diagnostics.rebalances import Note, Reason, Turn, Who
from barnabas.broker.diagnostics.sampler import CommitKey, Sampler
from barnabas.broker.diagnostics.store import DiagnosticStore
from barnabas.broker.diagnostics.transactions import Abort, AbortReason
from barnabas.broker.log.environment import Going
from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.manager import Client, Quotas
from barnabas.broker.server.diagnostic_callbacks import DiagnosticCallbacks
from barnabas.broker.transactions.transaction import Transaction
from barnabas.core.types import TopicPartition
from barnabas.testing import ManualClock
from barnabas.wire.security.authorizer import Operation, ResourceType
from barnabas.wire.security.principals import USER, Principal

MIB: Final = 1024 * 1024
HOST: Final = "10.1.2.3"
# In each minute all offsets grow; in each tick of 10 s something happens to so many of the others.
ONE_OF: Final = 60
GROUP_ONE_OF: Final = 20


class Busy:
    """A broker to which all that is kept happens, all the time: partitions, groups with commits, and clients."""

    def __init__(self, diagnostics: DiagnosticStore, clock: ManualClock, scale: int) -> None:
        self.diagnostics = diagnostics
        self.clock = clock
        self.tick = 0
        self.partitions = [TopicPartition("orders", number) for number in range(10 * scale)]
        self.group_ids = [f"group-{number}" for number in range(scale)]
        self.client_count = 10 * scale
        self.notes = DiagnosticCallbacks(diagnostics, clock)
        self.quotas = Quotas(Windows(11, 1_000))
        self.sampler = Sampler(diagnostics, clock, clock, self.ends, self.commits, self.minute)

    def ends(self) -> Iterator[tuple[TopicPartition, int]]:
        for number, partition in enumerate(self.partitions, 1):
            yield partition, self.tick // 6 * number

    def commits(self) -> Iterator[tuple[CommitKey, int]]:
        for number, partition in enumerate(self.partitions):
            yield (self.group_ids[number // 10], partition), self.tick // 6 * number

    def minute(self) -> None:
        self.diagnostics.minutes.add(
            {"at_ms": self.clock.now_ms(), "produced_bytes_per_s": self.tick, "requests": None}
        )

    def run(self, minutes: int) -> None:
        for _ in range(minutes * 6):
            self.tick += 1
            for group_id in self.group_ids[self.tick % GROUP_ONE_OF :: GROUP_ONE_OF]:
                self.rebalance(group_id)
            for number in range(self.tick % ONE_OF, self.client_count, ONE_OF):
                self.use(f"client-{number}-of-a-name-that-is-long-enough")
                self.change(self.partitions[number])
            self.clock.advance(10_000)

    def rebalance(self, group_id: str) -> None:
        who = [
            Who(f"{group_id}-{self.tick}-{name}" + "x" * 36, f"{group_id}-{name}", f"/{HOST}", None) for name in "ab"
        ]
        now_ms = self.clock.now_ms()
        for note in (
            *(Note(Turn.BEGAN, Reason.JOINED, who[0]), Note(Turn.CAME, Reason.JOINED, who[1])),
            Note(Turn.WENT, Reason.POLL_INTERVAL_EXCEEDED, who[1]),
            *(Note(Turn.GATHERED, who=who[0], generation=self.tick, member_count=2), Note(Turn.STABLE)),
        ):
            self.diagnostics.rebalances.note(group_id, note, now_ms)

    def use(self, client_id: str) -> None:
        """A client is held, refused, slow, and its transaction is aborted."""
        now_ms = self.clock.now_ms()
        self.notes.throttle(Client(self.quotas, "alice", client_id, now_ms), None, 100)
        self.diagnostics.note_full_answer(now_ms, "alice", client_id, "fetch.max.bytes", MIB)
        self.notes.denial(Principal(USER, client_id), HOST, Operation.WRITE, ResourceType.TOPIC, "views", None)
        row = {"at_ms": now_ms, "api": "Produce", "version": 8, "user": "alice", "client_id": client_id, "host": HOST}
        row |= {"software": None, "total_ms": 900, "queue_ms": 1, "local_ms": 2, "remote_ms": 800, "send_ms": 3}
        self.diagnostics.requests.add(row | {"waited_for": "replication", "throttle_ms": 0})
        transaction = Transaction(client_id, 4_711, 1, timeout_ms=60_000, start_timestamp_ms=now_ms - 60_000)
        self.diagnostics.aborts.note(transaction, Abort(AbortReason.TIMEOUT, client_id, HOST), now_ms)

    def change(self, partition: TopicPartition) -> None:
        """A partition has another leader, a segment is removed, and the loop stands still."""
        self.notes.partition(partition, "leader", self.tick, self.tick, [1, 2, 3], [1, 2, 3], "elected")
        self.notes.removal(partition, [Going("retention.ms", self.tick, MIB)])
        self.notes.stall(60, 50, "computing")


@contextmanager
def counted(most_bytes: int) -> Iterator[list[int]]:
    """Give a list for what is used at its end, and hold that and what was used meanwhile against a bound."""
    used: list[int] = []
    tracemalloc.start()
    try:
        yield used
        gc.collect()
        now_bytes, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    used.append(now_bytes)
    assert now_bytes <= peak_bytes <= most_bytes


@pytest.mark.parametrize("scale", [20, pytest.param(1_000, marks=pytest.mark.whole)])
def test_what_happens_for_half_an_hour_is_within_its_bound_and_flat(scale: int) -> None:
    most_bytes = 24 * MIB * scale // 1_000
    clock = ManualClock()
    with counted(most_bytes) as used:
        diagnostics = DiagnosticStore(most_bytes, clock.now_ms())
        diagnostics.set_listener(nobody)
        busy = Busy(diagnostics, clock, scale)
        busy.sampler.start()
        busy.run(15)
        gc.collect()
        used.append(tracemalloc.get_traced_memory()[0])
        busy.run(15)
    assert used[1] <= used[0] * 1.02
    # The estimate is no less than what it is, but for a tenth.
    assert used[1] <= diagnostics.kept_bytes * 1.1
    left_out = diagnostics.left_out()
    assert (left_out.pop("ends"), left_out.pop("commits")) == (0, 0)
    # All else was full.
    assert min(left_out.values()) > 0


def refused(diagnostics: DiagnosticStore, name: str) -> None:
    diagnostics.note_refusal(
        0, "acl", host=HOST, reason="Metadata", user=name, client_id=name, resource="TOPIC", name=name
    )


def began(diagnostics: DiagnosticStore, name: str) -> None:
    for turn in (Turn.BEGAN, Turn.CAME):
        diagnostics.rebalances.note(name, Note(turn, Reason.JOINED, Who(name, name, HOST, name)), 0)


def loaded(diagnostics: DiagnosticStore, name: str) -> None:
    diagnostics.rebalances.note(name, Note(Turn.LOADED), 0)


def aborted(diagnostics: DiagnosticStore, name: str) -> None:
    diagnostics.aborts.note(Transaction(name), Abort(AbortReason.TIMEOUT, name, HOST), 0)


def was_slow(diagnostics: DiagnosticStore, name: str) -> None:
    diagnostics.requests.add({"at_ms": 0, "client_id": name})


def full(diagnostics: DiagnosticStore, name: str) -> None:
    diagnostics.note_full_answer(0, name, name, "fetch.max.bytes", MIB)


@pytest.mark.parametrize("happen", [refused, began, loaded, aborted, was_slow, full])
@pytest.mark.parametrize("letter", ["x", "\N{PILE OF POO}"])
def test_very_long_names_are_within_the_bound(happen: Callable[[DiagnosticStore, str], None], letter: str) -> None:
    most_bytes = 4 * MIB
    with counted(most_bytes) as used:
        diagnostics = DiagnosticStore(most_bytes, 0)
        diagnostics.set_listener(nobody)
        for number in range(1_000):
            happen(diagnostics, f"{number}{letter * 8_000}")
    assert used[0] <= diagnostics.kept_bytes * 1.1 + 100_000


def nobody(kind: str, line: bytes) -> None:
    """Take no event: nobody writes them."""
