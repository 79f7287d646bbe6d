"""Clients that find brokers in ZooKeeper, in a cluster that one broker is added to and one is killed in."""

from collections import Counter
from pathlib import Path

from barnabas.api import Producer
from tests.cluster_load import values_of
from tests.clusters import servers_of
from tests.compat.old_consumers.group import PlayedGroup
from tests.compat.old_consumers.history import TOPICS
from tests.compat.old_consumers.site import ClusterSite

PRODUCER = {"request.required.acks": -1, "retry.backoff.ms": 100, "message.send.max.retries": 300}


def test_a_mixed_group_and_a_producer_go_on_while_a_broker_comes_and_one_is_killed(tmp_path: Path) -> None:
    with ClusterSite(tmp_path) as site:
        for topic, count in {**TOPICS, "p": 3}.items():
            site.create_topic(topic, count)
        written: list[int] = []

        def write(producer: Producer) -> None:
            for number in range(len(written), len(written) + 60):
                producer.send("p", b"%d" % number, [b"%d" % number])
                written.append(number)

        with (
            PlayedGroup(site, "g", TOPICS, tmp_path, seed=1) as group,
            Producer({"zookeeper.connect": site.connect, **PRODUCER}) as producer,
        ):
            write(producer)
            group.join("java", 2)
            group.join("python")
            site.add_broker()
            write(producer)
            # The new partitions have replicas on the new broker, too.
            group.grow("a", 6)
            site.members[2].kill()
            write(producer)
            group.settle()
            group.join("python")
            assert group.finish() == []
            site.members[2].restart()
            write(producer)
        found = values_of(servers_of(site.members), "p")
    assert all(found.values())
    counts = Counter(value for values in found.values() for value in values)
    assert sorted(counts) == written
