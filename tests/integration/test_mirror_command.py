"""`barnabas mirror`: what was in the sources is in the target once, whatever becomes of the process.

`scripts/soak --mirror` kills mirrors again and again.
"""

import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from barnabas.cli.main import main
from barnabas.testing import Broker
from tests import commands
from tests.integration.mirrored import Side, read_to_ends, reader, sent_by
from tests.mirrored_clusters import Cluster, Sent, numbered
from tests.patience import PATIENCE_S

Process = subprocess.Popen[str]


@pytest.fixture(scope="module")
def clusters() -> Iterator[list[Cluster]]:
    """Two sources and a target."""
    with Broker() as west, Broker() as north, Broker() as target:
        yield [Cluster(west), Cluster(north), Cluster(target)]


def command(source: Cluster, target: Cluster, *options: str) -> list[str]:
    words = ["mirror", "--source", source.address, "--target", target.address, "--json", *options]
    return [sys.executable, "-m", "barnabas.cli.main", *words]


def in_this_process(source: Cluster, target: Cluster, *options: str) -> subprocess.CompletedProcess[str]:
    return commands.run(*command(source, target, *options)[3:])


@contextmanager
def running(arguments: list[str], *, is_shown: bool = True) -> Iterator[Process]:
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        said = process.communicate()
        if is_shown:
            print(*said)


def events(process: Process, is_last: Callable[[dict[str, object]], bool]) -> list[dict[str, object]]:
    """What it says, up to some event."""
    assert process.stdout is not None
    found: list[dict[str, object]] = []
    while not found or not is_last(found[-1]):
        line = process.stdout.readline()
        assert line, f"it ended: {found}"
        found.append(json.loads(line))
    return found


def mirror_once(source: Cluster, target: Cluster, topic: str, *options: str) -> dict[str, object]:
    """Mirror what is there; the last that it says."""
    done = in_this_process(source, target, "--topics", topic, "--once", *options)
    assert done.returncode == 0, done.stderr
    last: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return last


def broker_of(cluster: Cluster) -> Broker:
    assert isinstance(cluster.broker, Broker)
    return cluster.broker


@pytest.mark.parametrize(
    ("api", "number"),
    [
        ("InitProducerId", 2),
        ("Produce", 5),
        ("EndTxn", 4),
        *(
            pytest.param(*each, marks=pytest.mark.whole)
            for each in (("AddPartitionsToTxn", 2), ("AddPartitionsToTxn", 4), ("Produce", 4), ("EndTxn", 2))
        ),
    ],
)
def test_what_a_killed_mirror_has_asked_for_does_not_come_in_between(
    clusters: list[Cluster], api: str, number: int
) -> None:
    """Its request is done when another mirror has gone on already: too late, or in time and then not done again."""
    west, _, target = clusters
    topic = f"{api}-{number}".lower()
    west.create(topic, 1)
    west.send(topic, numbered(1, range(100)))
    west.send(topic, numbered(1, range(100, 150)), transactional_id=topic)
    counted = 0

    def is_it(request: object) -> bool:
        nonlocal counted
        counted += 1
        return counted == number

    with broker_of(target).on(api, where=is_it).hold() as held:
        with running(command(west, target, "--topics", topic, "--name", topic)) as process:
            held.wait_for(1)
            process.kill()
            assert process.wait() == -signal.SIGKILL
        mirror_once(west, target, topic, "--name", topic)
        held.release()
    west.send(topic, numbered(1, range(150, 200)))
    mirror_once(west, target, topic, "--name", topic)
    assert target.read(topic) == west.read(topic)


def test_an_answer_to_a_commit_that_is_lost_doubles_nothing(clusters: list[Cluster]) -> None:
    west, _, target = clusters
    west.create("lost", 2)
    west.send("lost", numbered(2, range(100)))
    with broker_of(target).on("EndTxn").drop(times=6, handles_first=True):
        mirror_once(west, target, "lost", "--name", "lost")
    assert target.read("lost") == west.read("lost")


def test_it_goes_on_until_it_is_stopped_and_outlives_the_brokers(clusters: list[Cluster]) -> None:
    west, north, target = clusters
    for cluster, text in ((west, "w"), (north, "n")):
        cluster.create("shared", 2)
        cluster.send("shared", numbered(2, range(50), text))
    sources = ["--source", f"west={west.address}", "--source", f"north={north.address}"]
    words = ["mirror", *sources, "--target", target.address, "--topics", "/sha.*/", "--prefix", "{source}.", "--json"]
    with running([sys.executable, "-m", "barnabas.cli.main", *words]) as process:
        for wanted in (50, 60):
            done: dict[object, object] = {}

            def has_all(event: dict[str, object], wanted: int = wanted, done: dict[object, object] = done) -> bool:
                done[event.get("run")] = event.get("record_count")
                return done.get("mirror/west") == done.get("mirror/north") == wanted

            events(process, has_all)
            if wanted == 50:
                for broker in map(broker_of, (target, west)):
                    broker.kill()
                    broker.restart()
                for cluster in (west, north):
                    cluster.send("shared", numbered(2, range(50, 60)))
        process.send_signal(signal.SIGTERM)
        told = events(
            process, lambda event: event == {} or (event.get("run") == "mirror/north" and event["event"] == "done")
        )
        assert process.wait(PATIENCE_S) == 0
    assert [each["record_count"] for each in told if each["event"] == "done"] == [60, 60]
    assert target.read("west.shared") == west.read("shared")
    assert target.read("north.shared") == north.read("shared")


def test_a_group_that_moves_over_while_the_mirror_is_killed_skips_and_repeats_nothing(
    clusters: list[Cluster], capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = Side(broker_of(clusters[0]), "west"), Side(broker_of(clusters[2]), "target")
    chance, topic = random.Random("moved"), "moved"
    source.create(topic, 2)
    source.feed(topic, 60, chance)
    committed = [TopicPartition(topic, number, source.end(topic, number) // 2) for number in range(2)]
    consumer = reader(source.address, "movers")
    consumer.commit(offsets=committed, asynchronous=False)
    consumer.close()
    words = ["groups", "translate", "--group", "movers", "--bootstrap-server", source.address, "--execute", "--json"]
    words += ["--target-bootstrap-server", target.address, "--wait", str(int(PATIENCE_S))]
    with running(command(source, target, "--topics", topic, "--name", topic), is_shown=False) as process:
        source.feed(topic, 60, chance)
        assert main(words) == 0
        process.kill()
    assert [row["coverage"] for row in json.loads(capsys.readouterr().out)] == ["exact"] * 2
    source.feed(topic, 60, chance)
    mirror_once(source, target, topic, "--name", topic)
    consumer = reader(target.address, "movers")
    consumer.assign([TopicPartition(topic, number) for number in range(2)])
    found, sent = read_to_ends(consumer, 2), source.read_all(topic)
    consumer.close()
    for each in committed:
        rest = sent_by(sent[each.partition], "west", each.offset)
        assert rest
        assert sent_by(found[each.partition], "west") == rest


def test_into_a_target_that_wants_a_login(clusters: list[Cluster], tmp_path: Path) -> None:
    west, *_ = clusters
    west.create("secured", 2)
    west.send("secured", numbered(2, range(20)))
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="m" password="secret" '
    config = {
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{login}user_m="secret";',
    }
    with Broker(security_protocol="SASL_SSL", config=config) as broker:
        properties = tmp_path / "target.properties"
        properties.write_text(
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nssl.truststore.type=PEM\n"
            f"ssl.truststore.location={broker.ca_path}\nsasl.jaas.config={login};\n"
        )
        security = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "m",
            "sasl.password": "secret",
            "ssl.ca.location": str(broker.ca_path),
        }
        target = Cluster(broker, security)
        done = mirror_once(west, target, "secured", "--target-config", str(properties))
        assert done | {"bytes": 0} == {
            "event": "done", "run": "mirror/source", "record_count": 20, "skipped_count": 0, "bytes": 0, "lag": 0
        }  # fmt: skip
        assert target.read("secured") == west.read("secured")


def test_a_target_that_holds_clients_up_gets_it_all(clusters: list[Cluster]) -> None:
    west, _, target = clusters
    west.create("held", 1)
    for start in range(5):
        west.send("held", {0: [Sent(None, bytes(20_000), 1_700_000_000_000 + start)]})
    target.limit("barnabas-mirror", 50_000)
    try:
        mirror_once(west, target, "held", "--name", "held")
    finally:
        target.limit("barnabas-mirror", None)
    assert target.read("held") == west.read("held")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--topics", "none", "--once", "--give-up", "1"), "none of its topics is there: none"),
        (("--topics", "a", "--source", "b:1"), "another source is called 'source', too"),
        (("--topics", "a", "--source-config", "x=f"), "no --source is called so; there is source"),
        (("--topics", "a", "--target-config", "nowhere"), "nowhere: No such file"),
        (("--topics", "a", "--from-time", "soon"), "'soon' is not a time"),
        (("--topics", "a", "--on-data-loss", "cry"), "must be stop or continue"),
        (("--topics", "a", "--source", "127.0.0.1"), "127.0.0.1"),
    ],
)
def test_mistakes_are_one_line(clusters: list[Cluster], options: tuple[str, ...], message: str) -> None:
    west, _, target = clusters
    done = in_this_process(west, target, *options)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_mirror_into_its_own_source_is_refused(clusters: list[Cluster]) -> None:
    west, *_ = clusters
    done = in_this_process(west, west, "--topics", "a")
    assert done.returncode == 1
    assert "source and target are the same cluster" in done.stderr
