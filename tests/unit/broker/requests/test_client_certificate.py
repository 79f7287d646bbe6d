"""Who a client is by its certificate: known before its first request is handled."""

from typing import Any

import pytest

from barnabas.broker.requests.client_certificate import ClientCertificate
from barnabas.broker.requests.context import ConnectionInfo
from barnabas.core.errors import ProtocolError
from barnabas.testing.certificates import Authority
from barnabas.wire.security.principals import ANONYMOUS
from barnabas.wire.security.tls.principal_mapping import PrincipalMapping


class Peer:
    """A connection whose peer has a certificate, or none."""

    def __init__(self, certificate):
        self.certificate = certificate
        self.handler = None

    def peer_certificate(self):
        return self.certificate


class Inner:
    """Notes what it is given."""

    def __init__(self, info):
        self.info = info
        self.seen = []

    def on_frame(self, frame, now_ns):
        self.seen.append((bytes(frame), str(self.info.principal)))

    def on_closed(self):
        self.seen.append("closed")


def handled(certificate, rules="DEFAULT"):
    info = ConnectionInfo("h", 1, "SSL")
    peer, inner = Peer(certificate), Inner(info)
    connection: Any = peer
    peer.handler = ClientCertificate(connection, info, PrincipalMapping(rules), inner)
    peer.handler.on_frame(memoryview(b"one"), 1)
    return peer, inner


def test_its_user_is_known_with_the_first_frame_and_the_next_go_elsewhere():
    peer, inner = handled(Authority().issue("Alice").certificate_der, "RULE:CN=(.*)/$1/L")
    assert peer.handler is inner
    assert inner.seen == [(b"one", "User:alice")]


def test_who_has_none_stays_anonymous():
    _, inner = handled(None)
    assert inner.seen[-1] == (b"one", str(ANONYMOUS))


@pytest.mark.parametrize(
    ("certificate", "rules", "told"),
    [
        (Authority().issue("alice").certificate_der, "RULE:OU=(.*)/$1/", "no rule of ssl.principal.mapping.rules"),
        (b"nothing", "DEFAULT", "distinguished name"),
    ],
)
def test_who_stands_for_nobody_is_closed(certificate, rules, told):
    with pytest.raises(ProtocolError, match=told):
        handled(certificate, rules)
