"""Jobs that ask at the same time share one read; what each gets is its own part."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from threading import Thread

import pytest

from barnabas.pipeline.ingest import shared as module
from barnabas.pipeline.ingest.ingest import Request
from barnabas.pipeline.ingest.shared import SharedIngest
from barnabas.pipeline.ingest.source import ReadError
from barnabas.pipeline.ingest.task import Result
from tests.patience import PATIENCE_S

CONSUMER = {"bootstrap.servers": "b:9092"}


def request(start: int, end: int, topic: str = "t") -> Request:
    return Request({}, {topic: {0: start}}, {topic: {0: end}})


class Reads:
    """What Spark was asked for: takes the place of the Spark job, which has tests of its own."""

    def __init__(self, fails: Callable[[Sequence[Request]], bool] = lambda requests: False) -> None:
        self.asked: list[list[Request]] = []
        self._fails = fails

    def __call__(self, spark: object, consumer: Mapping[str, object], requests: Sequence[Request]) -> list[Result]:
        self.asked.append(list(requests))
        if self._fails(requests):
            raise ReadError("not allowed")
        return [Result(ends={topic: dict(ends) for topic, ends in each.ends.items()}) for each in requests]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    found = Reads()
    monkeypatch.setattr(module, "ingest", found)
    return found


def together(shared: SharedIngest, *asks: tuple[Mapping[str, str], Request]) -> list[Result | str]:
    found: list[Result | str] = [""] * len(asks)

    def ask(number: int) -> None:
        try:
            found[number] = shared.run(*asks[number])
        except ReadError as error:
            found[number] = str(error)

    threads = [Thread(target=ask, args=(number,)) for number in range(len(asks))]
    for each in threads:
        each.start()
    for each in threads:
        each.join(PATIENCE_S)
        assert not each.is_alive()
    return found


def shared_by(*runs: str) -> SharedIngest:
    return SharedIngest(None, runs)


def test_all_that_overlap_are_read_together(reads: Reads):
    asks = [({**CONSUMER, "client.id": str(n)}, request(n * 10, 100 + n)) for n in range(3)]
    found = together(shared_by("a", "b", "c"), *asks)
    assert [len(each) for each in reads.asked] == [3]
    assert [each.ends["t"][0] for each in found] == [100, 101, 102]


def test_one_that_is_far_away_or_has_other_options_or_a_quota_reads_by_itself(reads: Reads):
    asks = [
        (CONSUMER, request(0, 100)),
        (CONSUMER, request(101, 200)),
        ({**CONSUMER, "sasl.username": "ann"}, request(0, 100)),
    ]
    together(shared_by("a", "b", "c"), *asks)
    assert [len(each) for each in reads.asked] == [1, 1, 1]
    assert shared_by("a", "b").run({**CONSUMER, "max.partition.fetch.bytes": 1024}, request(0, 1))
    assert len(reads.asked) == 4


def test_two_that_are_far_from_each_other_are_not_read_together_for_a_third(reads: Reads):
    far = [Request({}, {"t": {0: 0}, "u": {0: at}}, {"t": {0: 9}, "u": {0: at + 9}}) for at in (0, 1_000)]
    together(shared_by("a", "b", "c"), (CONSUMER, request(0, 9)), *((CONSUMER, each) for each in far))
    assert not any(far[0] in each and far[1] in each for each in reads.asked)
    assert sorted(len(each) for each in reads.asked) == [1, 2]


def test_a_job_that_does_not_ask_is_not_waited_for_for_long(reads: Reads, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_APART_S", 0.1)
    began_s = time.monotonic()
    shared = shared_by("a", "b")
    shared.run(CONSUMER, request(0, 1))
    assert time.monotonic() - began_s >= 0.1
    # Nor at all once it has left.
    monkeypatch.setattr(module, "_APART_S", 60.0)
    shared.leave("b")
    began_s = time.monotonic()
    shared.run(CONSUMER, request(1, 2))
    assert time.monotonic() - began_s < 60
    assert len(reads.asked) == 2


def test_a_failure_of_one_is_not_the_others(monkeypatch: pytest.MonkeyPatch):
    reads = Reads(lambda requests: any("secret" in each.starts for each in requests))
    monkeypatch.setattr(module, "ingest", reads)
    both = Request({}, {"t": {0: 0}, "secret": {0: 0}}, {"t": {0: 9}, "secret": {0: 9}})
    found = together(shared_by("a", "b"), (CONSUMER, both), (CONSUMER, request(0, 9)))
    assert found[0] == "not allowed"
    assert isinstance(found[1], Result)
    assert sorted(len(each) for each in reads.asked) == [1, 1, 2]
