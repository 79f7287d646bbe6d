"""How often views are made anew, on a loop whose time is virtual."""

import asyncio
import gc
import weakref
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any, cast

from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.page.cluster import Cluster
from barnabas.page.live import MOST_STREAMS, Live
from barnabas.page.view import Asked, View, ViewKind
from barnabas.testing.simulation.loop import VirtualLoop


def kind(path: str, takes_s: float, made: list[str]) -> ViewKind:
    """A view that is good for five seconds, and takes so long to make."""

    async def build(asked: Asked) -> View:
        await asyncio.sleep(takes_s)
        made.append(path)
        return cast(View, SimpleNamespace(is_final=False))

    return ViewKind(path, path, "", build, 5, "")


class Value:
    """A view that is noticed to be gone."""

    is_final = False


def asked_of_nobody() -> Asked:
    cluster: Any = SimpleNamespace(name="c", user="", closed=asyncio.Event())
    return Asked(cast(Cluster, cluster), {})


def run(main: Coroutine[Any, Any, None]) -> None:
    loop = VirtualLoop()  # type: ignore[abstract]  # it has what this asks of a loop
    try:
        loop.run_until_complete(main)
    finally:
        loop.close()


def looked_at(views: dict[str, float], seconds: float) -> dict[str, int]:
    """Look at views for a while; how often each was made.

    Args:
        views: How long each takes.
    """
    made: list[str] = []

    async def main() -> None:
        live = Live()
        asked = asked_of_nobody()

        async def look(path: str, takes_s: float) -> None:
            async for _ in live.watch(kind(path, takes_s, made), asked, "somebody"):
                pass

        looking = [asyncio.ensure_future(look(*each)) for each in views.items()]
        await asyncio.sleep(seconds)
        live.stop()
        await asyncio.gather(*looking)

    run(main())
    return {path: made.count(path) for path in views}


def test_one_that_is_quick_is_made_as_often_as_it_wants() -> None:
    assert looked_at({"/a": 0.01}, 100) == {"/a": 20}


def test_one_that_takes_long_has_a_tenth_of_the_time() -> None:
    assert looked_at({"/a": 1.0}, 109) == {"/a": 10}


def test_those_that_take_long_share_it() -> None:
    made = looked_at({"/a": 1.0, "/b": 1.0, "/c": 0.01}, 300)
    # The first one began alone.
    assert made == {"/a": 11, "/b": 10, "/c": 60}


def test_a_failure_is_tried_again_soon() -> None:
    times_s: list[float] = []

    async def build(asked: Asked) -> View:
        times_s.append(asyncio.get_running_loop().time())
        await asyncio.sleep(4)
        raise KafkaError(ErrorCode.NETWORK_EXCEPTION, "no broker answers")

    async def main() -> None:
        live, asked = Live(), asked_of_nobody()

        async def look() -> None:
            async for _ in live.watch(ViewKind("/a", "/a", "", build, 5, ""), asked, "somebody"):
                pass

        looking = asyncio.ensure_future(look())
        await asyncio.sleep(20)
        live.stop()
        await looking

    run(main())
    assert times_s == [0, 9, 18]


def test_one_that_nobody_looks_at_any_more_is_kept_for_a_minute() -> None:
    made: list[weakref.ref[Value]] = []

    async def build(asked: Asked) -> View:
        value = Value()
        made.append(weakref.ref(value))
        return cast(View, value)

    def are_there() -> list[bool]:
        gc.collect()
        return [each() is not None for each in made]

    async def main() -> None:
        live, asked = Live(), asked_of_nobody()
        first, second = (ViewKind(path, path, "", build, 5, "") for path in ("/a", "/b"))
        await live.get(first, asked)
        await asyncio.sleep(59)
        await live.get(second, asked)
        assert are_there() == [True, True]
        await asyncio.sleep(2)
        await live.get(second, asked)
        assert are_there() == [False, True]

    run(main())


def test_of_too_many_streams_the_owner_with_the_most_loses_the_oldest() -> None:
    ended: list[str] = []

    async def main() -> None:
        live, asked, shown = Live(), asked_of_nobody(), kind("/a", 0.01, [])

        async def look(name: str, owner: str) -> None:
            async for _ in live.watch(shown, asked, owner):
                pass
            ended.append(name)

        looking = [asyncio.ensure_future(look("alice", "alice"))]
        looking += [asyncio.ensure_future(look(f"mallory {number}", "mallory")) for number in range(MOST_STREAMS + 2)]
        await asyncio.sleep(1)
        assert ended == ["mallory 0", "mallory 1", "mallory 2"]
        live.stop()
        await asyncio.gather(*looking)

    run(main())


def test_an_expired_view_is_made_anew() -> None:
    made: list[str] = []

    async def main() -> None:
        live, asked, shown = Live(), asked_of_nobody(), kind("/a", 0.01, made)
        for _ in range(2):
            await live.get(shown, asked)
        live.expire(shown, asked)
        await live.get(shown, asked)

    run(main())
    assert len(made) == 2
