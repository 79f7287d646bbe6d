"""What tests of handlers begin with: a broker's services in parts, and messages through the format of the wire."""

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any

from barnabas.broker.requests.services import Services
from barnabas.core.executor import InlineExecutor
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.protocol.wire import Message, WireBuffer
from barnabas.wire.security.authorizer import AllowAll
from tests.unit.turns import slices_of


def services_of(clock: ManualClock, defer: Callable[[Callable[[], object]], Any], **parts: Any) -> Services:
    """Services on a clock, whose slices come when `defer` says so; parts that are not given are None."""
    wanted = [each.name for each in fields(Services) if each.init and each.default is each.default_factory is MISSING]
    usual = {"clock": clock, "timers": clock, "executor": InlineExecutor(), "authorizer": AllowAll(), "offered": []}
    return Services(**dict.fromkeys(wanted) | usual | {"slices": slices_of(clock, defer)} | parts)


def encoded(message: Message, version: int) -> bytes:
    """A message without a header, as it goes over the wire."""
    out = WireBuffer()
    message.encode(version, out)
    return bytes(out)


def recoded(message: Any, version: int, expected: Any = None) -> Any:
    """A message as the other side reads it, who takes it for one of the `expected` class, by default its own."""
    data = memoryview(bytearray(encoded(message, version)))
    decoded, end = (expected or type(message)).decode(version, data)
    assert end == len(data)
    return decoded
