"""Distinct names of 32 KB (groups, topics and client ids) from a client without any permission."""

import contextlib
import itertools

from barnabas.wire.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from benchmarks.attacks.honest import connected
from benchmarks.attacks.memory import (
    ALL,
    ALLOW,
    DENY,
    GROUP,
    LITERAL,
    TOPIC,
    client_ids,
    fetch_sessions,
    find_coordinators,
)
from benchmarks.whole.wire import Peer

_HOST = "127.0.0.9"
_COUNT = 5_000


def deny(peer: Peer) -> None:
    """Deny all operations to the attacker's address; other addresses are not affected."""
    rules = [
        AclCreation(kind, "*", LITERAL, "User:*", host, ALL, permission)
        for kind in (TOPIC, GROUP)
        for host, permission in ((_HOST, DENY), ("*", ALLOW))
    ]
    if any(each.error_code for each in peer.ask(CreateAclsRequest(rules), 1).results):
        raise RuntimeError("the rules could not be made")


def ask(address: str, protocol: str) -> None:
    """Send requests with new names, forever."""
    while True:
        with contextlib.suppress(OSError), contextlib.closing(connected(address, protocol, _HOST)) as peer:
            for frames in (find_coordinators, client_ids, fetch_sessions):
                for request in itertools.islice(frames(_COUNT), _COUNT):
                    peer.send(request)
                    peer.receive()
