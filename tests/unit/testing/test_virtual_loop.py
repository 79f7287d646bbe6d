"""The loop whose time moves when nothing is left to do."""

import asyncio
from contextvars import copy_context

import pytest

from barnabas.testing.simulation.loop import CURRENT_PROCESS, Process, VirtualLoop


@pytest.fixture
def loop():
    made = VirtualLoop()  # type: ignore[abstract]  # what it lacks raises when it is called
    yield made
    made.close()


def test_an_hour_takes_no_time(loop):
    async def sleep() -> float:
        await asyncio.sleep(3_600)
        return asyncio.get_running_loop().time()

    assert loop.run_until_complete(sleep()) == 3_600


def test_timers_run_in_their_order_and_never_early(loop):
    seen = []
    for delay_s in (0.3, 0.1 + 0.2, 0.1, 1 / 3):
        loop.call_later(delay_s, lambda delay_s=delay_s: seen.append((delay_s, loop.time() >= delay_s)))
    loop.run_forever()
    assert seen == [(0.1, True), (0.3, True), (0.1 + 0.2, True), (1 / 3, True)]


def test_a_timeout_is_one_of_this_time(loop):
    async def wait() -> None:
        async with asyncio.timeout(5):
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        loop.run_until_complete(wait())
    assert loop.time() == 5


def test_of_a_dead_process_nothing_runs_any_more(loop):
    process, seen = Process("p"), []

    def live() -> None:
        CURRENT_PROCESS.set(process)
        loop.call_soon(seen.append, "soon")
        loop.call_later(1, seen.append, "early")
        loop.call_later(3, seen.append, "late")

    def die() -> None:
        process.is_alive = False

    copy_context().run(live)
    loop.call_later(2, die)
    loop.run_forever()
    assert seen == ["soon", "early"]


def test_what_plans_itself_for_ever_at_one_moment_is_told(loop):
    def again() -> None:
        loop.call_soon(again)

    loop.call_soon(again)
    with pytest.raises(RuntimeError, match="time stands still"):
        loop.run_forever()


def test_what_never_comes_is_told(loop):
    async def wait() -> None:
        await asyncio.Event().wait()

    waiting = loop.create_task(wait())
    with pytest.raises(RuntimeError, match="nothing is planned"):
        loop.run_until_complete(waiting)
    waiting._log_destroy_pending = False


def test_a_failure_that_nobody_looks_at_is_told_until_the_end(loop):
    def fail() -> None:
        loop.create_future().set_exception(ValueError())

    fail()
    assert [type(each["exception"]) for each in loop.errors] == [ValueError]
    loop.close()
    fail()
    assert len(loop.errors) == 1
