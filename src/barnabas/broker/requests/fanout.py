"""Handlers that fan out over the items of a request, mostly partitions.

`in_slices` makes a handler from a generator that yields `MORE` after each partition if the request is large
(`slices.py`), and for each topic if it checks the right on the topic, because a topic may have no partitions in the
request. `shaped` returns the answer; `resolve` returns the partition that a request names, or the error that precedes
all others.

Source: semantics, requests about partitions (authorisation, unknown partitions, leaders elsewhere, offline disks).
"""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from barnabas.broker.replicas.partition import Partition
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.slices import Step, Steps
from barnabas.core.error_code import ErrorCode
from barnabas.core.executor import submit_while_wanted
from barnabas.core.pending import Pending
from barnabas.wire.security.authorizer import Operation, ResourceType

# Saves the lookup of the member in its enum.
_TOPIC = ResourceType.TOPIC

R = TypeVar("R")
T = TypeVar("T")


def in_slices(handle: Callable[[RequestContext, R], Steps[T]]) -> Callable[[RequestContext, R], T | Pending[T]]:
    """Make a handler from a generator of steps."""

    @wraps(handle)
    def begin(ctx: RequestContext, request: R) -> T | Pending[T]:
        steps = handle(ctx, request)
        first = next(steps)
        return ctx.services.slices.go_on(steps, first) if isinstance(first, Step) else first

    return begin


def shaped(ctx: RequestContext, make: Callable[[], T]) -> T | Pending[T]:
    """Return the answer to a request; if it is large, make the answer in the thread that encodes it.

    Args:
        make: Makes the answer. It must not read or change the broker's state.
    """
    return submit_while_wanted(ctx.services.slices.codec, ctx.timed(make)) if ctx.is_large else make()


def resolve(ctx: RequestContext, operation: Operation, topic: str, index: int) -> Partition | ErrorCode:
    """Return the partition, or the error code of its refusal: not authorised, unknown, led by another broker, disk
    offline.
    """
    # hot path: benchmarks/load (every partition of every produce and fetch request)
    services = ctx.services
    authorizer = services.authorizer
    if not authorizer.allows_everything:
        # As `ctx.may`, without the call.
        connection = ctx.connection
        if not authorizer.may(connection.principal, connection.host, operation, _TOPIC, topic, ctx):
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    partition = services.replicas.partition((topic, index))
    return services.absence_of((topic, index)) if partition is None else partition


def find(ctx: RequestContext, topic: str, index: int) -> Partition | ErrorCode:
    """Return the same as `resolve`, for a principal that is already authorized."""
    services = ctx.services
    partition = services.replicas.partition((topic, index))
    return services.absence_of((topic, index)) if partition is None else partition
