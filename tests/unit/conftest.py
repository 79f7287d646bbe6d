"""Runs tests that are coroutines; what many tests begin with."""

import asyncio
from functools import partial
from inspect import Parameter, iscoroutinefunction, signature

import pytest

from barnabas.testing.faulty_disk import FaultyDisk
from barnabas.testing.manual_clock import ManualClock


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "played(*args, by, **options): `by` runs this coroutine")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine in a loop of its own, or as its marker `played` says.

    The marker's `by` is called with the test, which it awaits with the parameters before its `/`; behind that stand
    fixtures. It is a function, or the name of a fixture that is one.
    """
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    fixtures = {
        name: pyfuncitem.funcargs[name]
        for name, parameter in signature(pyfuncitem.obj).parameters.items()
        if parameter.kind is not Parameter.POSITIONAL_ONLY
    }
    test = partial(pyfuncitem.obj, **fixtures)
    played = pyfuncitem.get_closest_marker("played")
    if played is None:
        asyncio.run(test())
        return True
    options = dict(played.kwargs)
    by = options.pop("by")
    play = pyfuncitem._request.getfixturevalue(by) if isinstance(by, str) else by
    play(test, *played.args, **options)
    return True


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk()
