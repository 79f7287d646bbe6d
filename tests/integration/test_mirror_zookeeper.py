"""`barnabas mirror` from a cluster whose groups live in ZooKeeper: at least once, offsets where the group has them."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from kazoo.client import KazooClient

from barnabas.testing import Broker
from tests.integration.test_mirror_command import (
    FIRST_TIMESTAMP_MS,
    committed,
    create,
    ends,
    read,
    running,
    stop,
    wait_for,
    write_config,
)
from tests.patience import PATIENCE_S
from tools.kafka.server import free_port


class Clusters:
    """A source that serves its registry, and a target."""

    def __init__(self, source: Broker, port: int, target: Broker) -> None:
        self.source = source
        self.zookeeper = f"127.0.0.1:{port}"
        self.target = target
        self.client = KazooClient(self.zookeeper)
        self.client.start(PATIENCE_S)

    def fill(self, topic: str, numbers: range) -> None:
        producer = Producer({"bootstrap.servers": self.source.bootstrap_servers, "linger.ms": 5})
        for number in numbers:
            producer.produce(
                topic,
                value=str(number).encode(),
                key=f"key-{number % 50}".encode() if number % 10 else None,
                timestamp=FIRST_TIMESTAMP_MS + number,
                headers=[("number", b"%d" % number), ("number", None)],
            )
            producer.poll(0)
        assert producer.flush(PATIENCE_S) == 0

    def command(self, directory: Path, group: str, *options: str, **settings: str) -> list[str]:
        source = {"zookeeper.connect": self.zookeeper, "group.id": group, "zookeeper.session.timeout.ms": "6000"}
        source |= {name.replace("_", "."): value for name, value in settings.items()}
        target = {"bootstrap.servers": self.target.bootstrap_servers, "batch.size": "4000"}
        return [
            *(sys.executable, "-m", "barnabas.cli.main", "mirror", "--offset.commit.interval.ms", "200"),
            *("--consumer-config", write_config(directory / "source.properties", source)),
            *("--producer-config", write_config(directory / "target.properties", target)),
            *options,
        ]

    def offsets(self, group: str, topic: str) -> dict[int, int]:
        """What the group has in ZooKeeper."""
        path = f"/consumers/{group}/offsets/{topic}"
        if self.client.exists(path) is None:
            return {}
        return {int(each): int(self.client.get(f"{path}/{each}")[0]) for each in self.client.get_children(path)}


@pytest.fixture(scope="module")
def clusters() -> Iterator[Clusters]:
    port = free_port()
    with Broker(config={"barnabas.registry.listeners": f":{port}"}) as source, Broker() as target:
        clusters = Clusters(source, port, target)
        yield clusters
        clusters.client.stop()
        clusters.client.close()


def test_a_killed_mirror_of_a_group_in_zookeeper_leaves_nothing_out(clusters: Clusters, tmp_path: Path) -> None:
    create(clusters.source, "old")
    create(clusters.target, "old")
    count = 10_000
    clusters.fill("old", range(count))
    arguments = clusters.command(tmp_path, "old", "--whitelist", "old", "--num-streams", "2")
    with clusters.target.on("Produce", topic="old").delay(0.02), running(arguments) as process:
        wait_for(lambda: any(offset > 0 for offset in clusters.offsets("old", "old").values()))
        process.kill()
        assert process.wait() == -signal.SIGKILL
    before = clusters.offsets("old", "old")
    print(f"committed at the kill: {before}")
    assert 0 < sum(before.values()) < count
    with running(arguments) as process:
        found = read(clusters.target, ["old"], lambda found: len({each.value() for each in found}) == count)
        stop(process)
    assert {int(each.value() or 0) for each in found} == set(range(count))
    assert all(each.timestamp()[1] == FIRST_TIMESTAMP_MS + int(each.value() or 0) for each in found)
    assert all(each.headers() == [("number", each.value()), ("number", None)] for each in found)
    assert all((each.key() is None) == (int(each.value() or 0) % 10 == 0) for each in found)
    assert clusters.offsets("old", "old") == ends(clusters.source, "old")
    # The session of the one that was killed has still to expire.
    wait_for(lambda: clusters.client.get_children("/consumers/old/ids") == [])


def test_offsets_are_where_the_group_has_them(clusters: Clusters, tmp_path: Path) -> None:
    create(clusters.source, "stored", "private", partitions=2)
    clusters.fill("stored", range(200))
    clusters.fill("private", range(20))
    settings = {"offsets_storage": "kafka", "dual_commit_enabled": "false"}
    arguments = clusters.command(tmp_path, "stored", "--blacklist", "private,old", **settings)
    with running(arguments) as process:
        read(clusters.target, ["stored"], lambda found: len(found) == 200)
        # What comes later is mirrored, too.
        clusters.fill("stored", range(200, 220))
        read(clusters.target, ["stored"], lambda found: len(found) == 220)
        assert "220 messages" in stop(process)
    assert committed(clusters.source, "stored", "stored") == ends(clusters.source, "stored")
    assert clusters.offsets("stored", "stored") == {}


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        ({"group_id": ""}, ("--whitelist", "a"), "group.id is missing"),
        ({"group_ip": "g"}, ("--whitelist", "a"), "group.ip"),
        ({"zookeeper_connect": "127.0.0.1:1"}, ("--whitelist", "a"), "no ZooKeeper answers at 127.0.0.1:1"),
    ],
)
def test_mistakes_are_one_line(
    clusters: Clusters, tmp_path: Path, settings: dict[str, str], options: tuple[str, ...], message: str
) -> None:
    result = subprocess.run(
        clusters.command(tmp_path, "g", *options, **settings),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert result.returncode == 1
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1, result.stderr


def test_a_mirror_into_its_own_source_is_refused(clusters: Clusters, tmp_path: Path) -> None:
    arguments = clusters.command(tmp_path, "g", "--whitelist", ".*")
    write_config(tmp_path / "target.properties", {"bootstrap.servers": clusters.source.bootstrap_servers})
    result = subprocess.run(arguments, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert result.returncode == 1
    assert "mirrored for ever" in result.stderr
