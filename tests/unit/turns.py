"""Turns of the loop for tests without one."""

from collections.abc import Callable
from typing import Any

from barnabas.broker.net.scheduler import Scheduler
from barnabas.broker.requests.slices import Slices
from barnabas.core.clock import Clock
from barnabas.core.executor import InlineExecutor


def slices_of(clock: Clock, defer: Callable[[Callable[[], object]], Any]) -> Slices:
    """Slices whose turns come when `defer` says so."""
    return Slices(Scheduler(defer, clock.monotonic_ns), clock.monotonic_ns, InlineExecutor())
