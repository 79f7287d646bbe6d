"""Names of 32 KB, each another one, by a client that is denied all: of groups, of topics, and of itself."""

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
    """Take every right from whoever comes from the attacker's address; others keep theirs."""
    rules = [
        AclCreation(kind, "*", LITERAL, "User:*", host, ALL, permission)
        for kind in (TOPIC, GROUP)
        for host, permission in ((_HOST, DENY), ("*", ALLOW))
    ]
    if any(each.error_code for each in peer.ask(CreateAclsRequest(rules), 1).results):
        raise RuntimeError("the rules could not be made")


def ask(address: str, protocol: str) -> None:
    """Ask by other names each time, for ever."""
    while True:
        with contextlib.suppress(OSError), contextlib.closing(connected(address, protocol, _HOST)) as peer:
            for frames in (find_coordinators, client_ids, fetch_sessions):
                for request in itertools.islice(frames(_COUNT), _COUNT):
                    peer.send(request)
                    peer.receive()
