"""The broker's end of the test kit's socket: what was said before the broker could obey is obeyed in its order."""

import asyncio

import pytest

from barnabas.broker.requests.handlers import HANDLERS
from barnabas.broker.requests.handlers.api_versions import unsupported_version
from barnabas.broker.requests.interception_messages import Fields, Splitter, encode
from barnabas.broker.requests.table import RouteTable
from barnabas.broker.server.interception_channel import InterceptionChannel
from barnabas.broker.server.watchdog import Stalls
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.protocol.api_keys import FIRST_FLEXIBLE_VERSION, response_class

HEARTBEAT, FETCH = 12, 1


class Transport(asyncio.Transport):
    """What the broker writes, as messages."""

    def __init__(self) -> None:
        super().__init__()
        self.splitter = Splitter()
        self.heard: list[Fields] = []
        self.is_closed = False

    def write(self, data):
        self.heard += [fields for fields, _ in self.splitter.feed(data)]

    def close(self):
        self.is_closed = True


@pytest.fixture
def routes():
    return RouteTable(HANDLERS, response_class, FIRST_FLEXIBLE_VERSION.__getitem__, unsupported_version)


def handlers(routes):
    return [routes.of(api_key)[0].handle for api_key in (HEARTBEAT, FETCH)]


def watch(number, *api_keys):
    return encode({"op": "watch", "id": number, "api_keys": list(api_keys)})


def test_what_was_said_before_is_obeyed_when_there_are_routes(routes):
    plain = handlers(routes)
    channel, transport = InterceptionChannel(), Transport()
    # The first word is read before there is a transport.
    channel.data_received(watch(1, HEARTBEAT)[:10])
    assert not channel.has_messages
    channel.data_received(watch(1, HEARTBEAT)[10:] + watch(2, FETCH))
    assert channel.has_messages
    channel.connection_made(transport)
    assert handlers(routes) == plain
    channel.attach(routes, ManualClock(), lambda: Stalls(7, 3))
    assert not channel.has_messages
    assert [fields["id"] for fields in transport.heard] == [1, 2]
    assert [now == before for now, before in zip(handlers(routes), plain, strict=True)] == [True, False]
    channel.data_received(watch(3))
    assert handlers(routes) == plain
    channel.data_received(encode({"op": "stalls", "id": 4}))
    assert transport.heard[-1] == {"op": "stalls", "id": 4, "stalls": [7, 3]}


def test_without_the_kit_the_routes_are_as_they_were(routes):
    plain = handlers(routes)
    channel = InterceptionChannel()
    channel.connection_made(Transport())
    channel.attach(routes, ManualClock(), lambda: Stalls(7, 3))
    channel.data_received(watch(1, HEARTBEAT, FETCH))
    assert handlers(routes) != plain
    channel.connection_lost(None)
    assert handlers(routes) == plain


def test_closing_ends_the_connection_and_is_harmless_without_one():
    channel, transport = InterceptionChannel(), Transport()
    channel.close()
    channel.connection_made(transport)
    channel.close()
    assert transport.is_closed
