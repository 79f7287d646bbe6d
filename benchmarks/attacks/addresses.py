"""`python -m benchmarks.attacks.addresses`: check which addresses are served although a rule denies them.

Peers request topics from one listener on `[::]`, over IPv4 and IPv6. Each topic denies one host, in one spelling.
"""

import argparse

from barnabas.wire.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.wire.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from benchmarks.attacks.target import AUTHORIZED, target
from benchmarks.whole.wire import Peer

PEERS = ("127.0.0.1", "127.0.0.2", "::1")
# The host of each rule, and the peer address that it means: Kafka's spelling of the address, or another one.
DENIED = {
    "127.0.0.1": "127.0.0.1",
    "0:0:0:0:0:0:0:1": "::1",
    "::1": "::1",
    "::ffff:127.0.0.1": "127.0.0.1",
}
_TOPIC, _LITERAL, _ALL, _DENY, _ALLOW = 2, 3, 2, 2, 3


def served(port: int) -> dict[tuple[str, str], bool]:
    """Create a topic for each rule; return whether each address gets the topic's metadata."""
    admin = Peer(f"127.0.0.2:{port}")
    topics = {host: f"denied-{number}" for number, host in enumerate(DENIED)}
    admin.ask(CreateTopicsRequest([CreatableTopic(name, 1, 1) for name in topics.values()], 30_000, False), 4)
    rules = []
    for host, name in topics.items():
        rules.append(AclCreation(_TOPIC, name, _LITERAL, "User:*", "*", _ALL, _ALLOW))
        rules.append(AclCreation(_TOPIC, name, _LITERAL, "User:*", host, _ALL, _DENY))
    made = admin.ask(CreateAclsRequest(rules), 1)
    admin.close()
    if any(each.error_code for each in made.results):
        raise RuntimeError("the rules could not be made")
    asked = MetadataRequest([MetadataRequestTopic(name=name) for name in topics.values()])
    found = {}
    for peer_host in PEERS:
        peer = Peer(f"{peer_host}:{port}", (peer_host, 0))
        errors = {each.name: each.error_code for each in peer.ask(asked, 4).topics}
        found.update({(host, peer_host): not errors[name] for host, name in topics.items()})
        peer.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attacks.addresses", description=__doc__)
    parser.add_argument("--kafka", action="store_true", help="attack Kafka 2.7.2 instead of Barnabas")
    with target(parser.parse_args().kafka, AUTHORIZED) as broker:
        found = served(broker.port)
    print(f"| denied host | {' | '.join(f'from {each}' for each in PEERS)} |")
    print(f"| --- |{' --- |' * len(PEERS)}")
    for host, meant in DENIED.items():
        words = []
        for peer in PEERS:
            is_wrong = found[host, peer] is (peer == meant)
            words.append(("served" if found[host, peer] else "denied") + " (wrong)" * is_wrong)
        print(f"| {host} | {' | '.join(words)} |")


if __name__ == "__main__":
    main()
