"""A broker of Kafka 2.7.2 and one of ours meet over TLS, by certificates or logged in, and each follows the other.

By SCRAM they meet in `scripts/soak --mixed --login`.
"""

from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.cluster_soak.login import CERTIFICATES, Login
from tests.clusters import Member, create_topic, make_controller, servers_of, wait_for_in_sync, wait_for_members
from tests.patience import PATIENCE_S

PARTITION_COUNT = 4


# Ours meet by certificates in tests/integration/test_cluster_logins.py, Java's clients ours in test_tls.py.
@pytest.mark.parametrize("mechanism", [pytest.param(CERTIFICATES, marks=pytest.mark.whole), "PLAIN"])
def test_kafka_and_ours_follow_each_other_over_tls(mechanism: str, tmp_path: Path, connect: str, name: str) -> None:
    login = Login(tmp_path, connect, mechanism)
    # Nobody is killed: sessions may outlive a slow start.
    settings = {"zookeeper.session.timeout.ms": "30000"}
    with ExitStack() as stack:
        members: dict[int, Member] = {}
        for broker_id, kind in enumerate(("barnabas", "kafka"), 1):
            member = login.new_member(kind, tmp_path / kind, broker_id, settings)
            members[broker_id] = member
            stack.enter_context(member)
        wait_for_members(members)
        for controller in members:
            make_controller(members, controller)
            topic = f"{name}-{controller}"
            # Each leads two of them, which the other one fetches; both are told so by the controller.
            create_topic(members, topic, PARTITION_COUNT)
            wait_for_in_sync(members, topic)
            assert failures_of_writes(servers_of(members), topic) == [None] * PARTITION_COUNT


def failures_of_writes(servers: str, topic: str) -> list[object]:
    """Write to each partition what two brokers must have; the error of each."""
    told: list[object] = []
    producer = Producer({"bootstrap.servers": servers, "acks": "all"})
    for partition in range(PARTITION_COUNT):
        producer.produce(topic, b"x", partition=partition, on_delivery=lambda error, _: told.append(error))
    assert producer.flush(PATIENCE_S) == 0
    return told
