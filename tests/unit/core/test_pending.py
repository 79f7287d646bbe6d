"""An answer that is not there yet."""

import asyncio

import pytest

from barnabas.core.pending import Pending, Spawner, completed


def test_the_waiter_is_called_once_when_the_value_comes():
    seen = []
    pending = Pending()
    pending.then(seen.append)
    pending.complete(1)
    pending.complete(2)
    assert seen == [1]
    assert pending.value == 1


def test_a_value_that_is_there_is_handed_on_at_once():
    seen = []
    completed("x").then(seen.append)
    assert seen == ["x"]


def test_only_one_waits():
    pending = Pending()
    pending.then(print)
    with pytest.raises(RuntimeError):
        pending.then(print)


def test_cancel_tells_the_domain_and_drops_the_waiter():
    told, seen = [], []
    pending = Pending()
    pending.on_cancel = lambda: told.append(True)
    pending.then(seen.append)
    pending.cancel()
    pending.cancel()
    pending.complete(1)
    assert told == [True]
    assert seen == []


def test_the_value_of_a_pending_answer_is_refused():
    with pytest.raises(RuntimeError):
        _ = Pending().value


async def test_a_coroutine_answers():
    errors = []
    spawner = Spawner(errors.append)

    async def works():
        return 5

    async def fails():
        raise ValueError("broken")

    async def hangs():
        await asyncio.get_running_loop().create_future()

    assert await spawner.spawn(works()).future() == 5
    assert await spawner.spawn(fails(), str).future() == "broken"
    lost = spawner.spawn(fails())
    for _ in range(5):
        await asyncio.sleep(0)
    assert lost.is_done
    hanging = spawner.spawn(hangs())
    await spawner.close()
    assert hanging.is_done
    assert [str(error) for error in errors] == ["broken", "broken"]
