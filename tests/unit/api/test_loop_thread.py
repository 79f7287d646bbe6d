"""A loop on a thread of its own: results, errors and an end for everybody who waits."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from barnabas.api.errors import ClosedError
from barnabas.api.loop_thread import LoopThread
from tests.patience import PATIENCE_S


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    loop = LoopThread("test-loop")
    yield loop
    loop.stop()


async def value(number: int) -> int:
    await asyncio.sleep(0)
    return number


def test_a_result_comes_from_the_other_thread(loop: LoopThread) -> None:
    async def name() -> str:
        return threading.current_thread().name

    assert loop.run(name()) == "test-loop"
    assert loop.run(value(3)) == 3


def test_an_error_is_raised_where_it_is_waited_for(loop: LoopThread) -> None:
    async def fail() -> None:
        raise ZeroDivisionError("there")

    with pytest.raises(ZeroDivisionError, match="there"):
        loop.run(fail())
    assert loop.run(value(1)) == 1


def test_many_threads_may_use_it(loop: LoopThread) -> None:
    found: list[int] = []
    threads = [threading.Thread(target=lambda at=at: found.append(loop.run(value(at)))) for at in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert sorted(found) == list(range(20))


def test_who_waits_when_it_is_stopped_is_told(loop: LoopThread) -> None:
    has_begun, errors = threading.Event(), []

    async def wait_for_ever() -> None:
        has_begun.set()
        await asyncio.Event().wait()

    def wait() -> None:
        with pytest.raises(ClosedError) as raised:
            loop.run(wait_for_ever())
        errors.append(raised.value)

    thread = threading.Thread(target=wait)
    thread.start()
    assert has_begun.wait(PATIENCE_S)
    loop.stop()
    thread.join(PATIENCE_S)
    assert len(errors) == 1


def test_a_call_need_not_be_waited_for(loop: LoopThread) -> None:
    is_called = threading.Event()
    loop.call_soon(is_called.set)
    assert is_called.wait(PATIENCE_S)


def test_after_its_end_nothing_is_begun(loop: LoopThread) -> None:
    loop.stop()
    loop.stop()
    loop.call_soon(lambda: pytest.fail("called after the end"))
    # Nor does the coroutine complain that nobody awaited it.
    with pytest.raises(ClosedError):
        loop.run(value(1))
    assert "test-loop" not in {thread.name for thread in threading.enumerate()}
