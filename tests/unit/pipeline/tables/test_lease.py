"""The lease of a Delta table on S3: who may write, by what an object says and how old it is."""

from __future__ import annotations

import pytest

from barnabas.pipeline.tables.lease import Lease, _Found
from barnabas.pipeline.tables.table import TableError, TableUnavailableError

PLACE = "s3a://lake/table"


class Object:
    """An object of a store in memory."""

    def __init__(self) -> None:
        self.text: str | None = None
        self.tag = 0
        self.age_s = 0.0
        self.put_count = 0
        # Of the next request: it is done, and its answer lost.
        self.is_mute = False

    def read(self) -> _Found | None:
        return None if self.text is None else _Found(self.text, str(self.tag), self.age_s)

    def put(self, text: str, instead_of: str | None) -> str | None:
        self.put_count += 1
        if (None if self.text is None else str(self.tag)) != instead_of:
            return None
        self.text, self.age_s = text, 0.0
        self.tag += 1
        if self.is_mute:
            self.is_mute = False
            raise TableUnavailableError("the answer was lost")
        return str(self.tag)

    def remove(self) -> None:
        self.text = None


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1_000.0]
    monkeypatch.setattr("barnabas.pipeline.tables.lease.time.monotonic", lambda: now[0])
    return now


def lease_of(stored: Object) -> Lease:
    return Lease(stored, PLACE)  # type: ignore[arg-type]  # an object in memory


def test_the_first_driver_has_the_table_and_asks_again_when_its_answer_is_old(clock: list[float]) -> None:
    stored = Object()
    first = lease_of(stored)
    first.hold()
    first.hold()
    assert stored.put_count == 1
    first.hold(asks=True)
    assert stored.put_count == 2
    clock[0] += 31
    first.hold()
    assert stored.put_count == 3


def test_a_second_driver_is_refused_once_the_first_has_shown_that_it_lives() -> None:
    stored = Object()
    first, second = lease_of(stored), lease_of(stored)
    first.hold()
    for _ in range(2):
        with pytest.raises(TableUnavailableError, match=rf"{PLACE}: another driver .* the table is free in 60 s"):
            second.hold()
    first.renew()
    with pytest.raises(TableError, match=r"is writing to this table\. Delta's log on S3 is safe for one driver"):
        second.hold()
    first.release()
    second.hold()


def test_the_lease_of_a_killed_driver_runs_out() -> None:
    stored = Object()
    killed, second, third = (lease_of(stored) for _ in range(3))
    killed.hold()
    stored.age_s = 59.9
    with pytest.raises(TableUnavailableError):
        second.hold()
    stored.age_s = 60
    second.hold()
    with pytest.raises(TableUnavailableError):
        third.hold()
    # It was only asleep: from now on it is one of those that must ask.
    with pytest.raises(TableUnavailableError, match="has just taken this table"):
        killed.renew()
    with pytest.raises(TableUnavailableError, match="was writing to this table"):
        killed.hold()
    killed.renew()
    killed.release()
    assert stored.text is not None


@pytest.mark.parametrize("is_held", [False, True])
def test_an_answer_that_was_lost_leaves_the_table_with_who_asked(is_held: bool, clock: list[float]) -> None:
    stored = Object()
    first = lease_of(stored)
    if is_held:
        first.hold()
        clock[0] += 31
    stored.is_mute = True
    with pytest.raises(TableUnavailableError, match="the answer was lost"):
        first.hold()
    first.hold()
    first.renew()


def test_who_saw_a_lease_before_its_renewal_can_not_take_its_place() -> None:
    stored = Object()
    first = lease_of(stored)
    first.hold()
    seen = stored.read()
    assert seen is not None
    first.renew()
    assert stored.text != seen.text
    assert stored.put("late", seen.tag) is None
