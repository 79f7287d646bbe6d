"""How often views are made anew, on a loop whose time is virtual."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from barnabas.page.cluster import Cluster
from barnabas.page.live import Live
from barnabas.page.view import Asked, View, ViewKind
from barnabas.testing.simulation.loop import VirtualLoop


def kind(path: str, takes_s: float, made: list[str]) -> ViewKind:
    """A view that is good for five seconds, and takes so long to make."""

    async def build(asked: Asked) -> View:
        await asyncio.sleep(takes_s)
        made.append(path)
        return cast(View, SimpleNamespace(is_final=False))

    return ViewKind(path, path, "", build, 5, "")


def looked_at(views: dict[str, float], seconds: float) -> dict[str, int]:
    """Look at views for a while; how often each was made.

    Args:
        views: How long each takes.
    """
    made: list[str] = []

    async def main() -> None:
        live = Live()
        cluster: Any = SimpleNamespace(name="c", user="", closed=asyncio.Event())
        asked = Asked(cast(Cluster, cluster), {})

        async def look(path: str, takes_s: float) -> None:
            async for _ in live.watch(kind(path, takes_s, made), asked):
                pass

        looking = [asyncio.ensure_future(look(*each)) for each in views.items()]
        await asyncio.sleep(seconds)
        live.stop()
        await asyncio.gather(*looking)

    loop = VirtualLoop()  # type: ignore[abstract]  # it has what this asks of a loop
    try:
        loop.run_until_complete(main())
    finally:
        loop.close()
    return {path: made.count(path) for path in views}


def test_one_that_is_quick_is_made_as_often_as_it_wants() -> None:
    assert looked_at({"/a": 0.01}, 100) == {"/a": 20}


def test_one_that_takes_long_has_a_tenth_of_the_time() -> None:
    assert looked_at({"/a": 1.0}, 109) == {"/a": 10}


def test_those_that_take_long_share_it() -> None:
    made = looked_at({"/a": 1.0, "/b": 1.0, "/c": 0.01}, 300)
    # The first one began alone.
    assert made == {"/a": 11, "/b": 10, "/c": 60}
