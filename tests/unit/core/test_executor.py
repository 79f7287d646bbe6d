"""Threads beside the loop: how many there are can change while they work."""

import asyncio
import threading
from collections.abc import Callable
from functools import partial

import pytest

from barnabas.core.executor import ThreadExecutor, submit_while_wanted
from barnabas.testing.manual_executor import ManualExecutor
from tests.patience import PATIENCE_S


async def test_more_threads_from_now_on_and_nothing_that_was_given_before_is_lost() -> None:
    loop = asyncio.get_running_loop()
    executor = ThreadExecutor(loop, "some", 1)
    gate, meeting = threading.Event(), threading.Barrier(3)
    done: list[str] = []
    errors: list[BaseException] = []
    milestones = {3: asyncio.Event(), 5: asyncio.Event()}

    def give(name: str, work: Callable[[], object]) -> None:
        def note(_: object) -> None:
            done.append(name)
            if len(done) in milestones:
                milestones[len(done)].set()

        executor.run(work, note, errors.append)

    give("before", lambda: gate.wait(PATIENCE_S))
    give("waiting", lambda: None)
    executor.resize(3)
    for number in range(3):
        # They end only together: three threads are at work, though the one of before is held up.
        give(f"after {number}", lambda: meeting.wait(PATIENCE_S))
    await asyncio.wait_for(milestones[3].wait(), PATIENCE_S)
    assert sorted(done) == ["after 0", "after 1", "after 2"]
    gate.set()
    await asyncio.wait_for(milestones[5].wait(), PATIENCE_S)
    assert (done[3:], errors) == (["before", "waiting"], [])
    executor.close()


async def test_the_end_waits_for_threads_of_before_too() -> None:
    executor = ThreadExecutor(asyncio.get_running_loop(), "some", 1)
    began, ended = threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        gate.wait(PATIENCE_S)
        ended.set()

    gate = threading.Event()
    executor.run(work, lambda _: None, lambda _: None)
    assert began.wait(PATIENCE_S)
    executor.resize(2)
    threading.Timer(0, gate.set).start()
    executor.close()
    assert ended.is_set()


def test_what_had_not_begun_at_the_end_is_dropped_without_a_word() -> None:
    told: list[object] = []

    async def story() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: told.append(context["message"]))
        executor = ThreadExecutor(loop, "some", 1)
        began, gate = threading.Event(), threading.Event()

        def work() -> None:
            began.set()
            gate.wait(PATIENCE_S)

        executor.run(work, told.append, told.append)
        executor.run(lambda: None, told.append, told.append)
        assert began.wait(PATIENCE_S)
        threading.Timer(0, gate.set).start()
        executor.close()
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    asyncio.run(story())
    assert told in ([None], [None, None])


def test_work_that_nobody_wants_any_more_is_not_begun() -> None:
    executor = ManualExecutor()
    done: list[str] = []

    def work(name: str) -> str:
        done.append(name)
        return name

    wanted, given_up = (submit_while_wanted(executor, partial(work, name)) for name in "ab")
    given_up.cancel()
    executor.run_all()
    assert (done, wanted.value) == (["a"], "a")


def test_what_ends_after_the_loop_is_told_nobody(caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.new_event_loop()
    executor = ThreadExecutor(loop, "some", 1)
    loop.close()
    told: list[object] = []
    executor.run(lambda: None, told.append, told.append)
    executor.close()
    assert (told, caplog.records) == ([], [])
