"""A listener on all addresses of both kinds: rules and limits know a peer by one form of its address."""

import socket
from collections.abc import Iterator

import pytest

from barnabas.testing import Broker
from benchmarks.attacks.addresses import DENIED, served
from benchmarks.attacks.target import AUTHORIZED
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.skipif(not socket.has_ipv6, reason="the machine has no IPv6")


@pytest.fixture(params=["::", ""])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    overrides = "127.0.0.3:1,::1:1"
    with Broker(config={**AUTHORIZED, "max.connections.per.ip.overrides": overrides}, host=request.param) as broker:
        yield broker


def test_a_rule_denies_an_address_however_it_is_written_and_whatever_socket_it_came_through(broker: Broker) -> None:
    wrong = {
        (host, peer) for (host, peer), is_served in served(broker.port).items() if is_served is (DENIED[host] == peer)
    }
    assert wrong == set()


@pytest.mark.parametrize(("host", "name"), [("127.0.0.3", "127.0.0.3"), ("::1", "0:0:0:0:0:0:0:1")])
def test_a_limit_for_an_address_holds_and_the_log_says_its_form(broker: Broker, host: str, name: str) -> None:
    with (
        socket.create_connection((host, broker.port), PATIENCE_S, (host, 0)),
        socket.create_connection((host, broker.port), PATIENCE_S, (host, 0)) as second,
    ):
        assert second.recv(1) == b""
    assert f"a connection from {name} is refused" in broker.log_text()
