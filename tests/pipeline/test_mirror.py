"""Mirroring on Spark: what stays of a record, loops, several sources, growth, restarts, losses; each record once."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.clients.mirror.plan import MirrorFencedError, RecordsLostError
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.plan import Bound, OnDataLoss
from barnabas.testing import Broker
from tests.mirrored_clusters import Cluster, Sent, numbered
from tests.pipeline.mirrors import Mirrors
from tests.spark import SHORT_LIVED_WORDS, forgets_sockets, shared_session
from tools.kafka.server import ONE_BROKER

pytestmark = forgets_sockets

TIME_MS = 1_700_000_000_000
# Nothing comes into being by itself, also not what a test has just deleted.
CONFIG = {**ONE_BROKER, "auto.create.topics.enable": "false"}


@pytest.fixture(scope="module")
def west() -> Iterator[Cluster]:
    with Broker(config=CONFIG) as broker:
        yield Cluster(broker)


@pytest.fixture(scope="module")
def east() -> Iterator[Cluster]:
    with Broker(config=CONFIG) as broker:
        yield Cluster(broker)


@pytest.fixture
def mirrors(name: str, tmp_path: Path) -> Mirrors:
    return Mirrors(shared_session(), tmp_path, name)


def test_a_record_keeps_all_that_it_has(west: Cluster, east: Cluster, mirrors: Mirrors, name: str):
    records = [
        Sent(None, None, TIME_MS),
        Sent(b"", b"", TIME_MS + 5),
        Sent(b"k", b"v", TIME_MS - 1_000_000, (("a", b"1"), ("b", None), ("a", b""), ("ü", b"\x00\xff"))),
        Sent(bytes(range(256)), b"\x00" * 100_000, 1),
    ]
    west.create(name, 3, segment_bytes="1048576", retention_ms="-1", max_message_bytes="2000000")
    west.send(name, {0: records, 2: list(reversed(records))})
    run = mirrors.once(west, east, name)
    assert east.read(name) == {0: records, 1: [], 2: list(reversed(records))}
    assert (run.figures.record_count, run.figures.lag_count) == (8, 0)
    assert east.config(name, "segment.bytes") == "1048576"
    assert east.config(name, "max.message.bytes") == "2000000"


def test_a_restart_goes_on_where_the_target_stands(west: Cluster, east: Cluster, mirrors: Mirrors, name: str):
    west.create(name, 2)
    west.send(name, numbered(2, range(100)))
    mirrors.once(west, east, name)
    west.send(name, numbered(2, range(100, 130)))
    # Each life has a checkpoint directory of its own: what it knows is from the target.
    assert mirrors.once(west, east, name).figures.record_count == 30
    assert mirrors.once(west, east, name).figures.record_count == 0
    assert east.read(name) == west.read(name)


def test_both_ways_at_once_and_no_circles(west: Cluster, east: Cluster, mirrors: Mirrors, name: str):
    for cluster, text in ((west, "w"), (east, "e")):
        cluster.create(name, 2)
        cluster.send(name, numbered(2, range(50), text))
    for _ in range(2):
        there, back = mirrors.run(
            mirrors.plan(west, east, name, alias="west"), mirrors.plan(east, west, name, alias="east")
        )
    assert (there.figures.record_count, back.figures.record_count) == (0, 0)
    for cluster in (west, east):
        for number, records in cluster.read(name).items():
            for text in ("w", "e"):
                own = [each for each in records if each.value and each.value.startswith(text.encode())]
                assert own == numbered(2, range(50), text)[number]
            assert len(records) == 50


def test_a_ring_of_three(west: Cluster, east: Cluster, mirrors: Mirrors, name: str):
    with Broker(config=CONFIG) as broker:
        ring = {"w": west, "e": east, "n": Cluster(broker)}
        for text, cluster in ring.items():
            cluster.create(name, 1)
            cluster.send(name, numbered(1, range(30), text))
        names = list(ring)
        plans = [
            mirrors.plan(ring[one], ring[other], name, alias=one)
            for one, other in zip(names, [*names[1:], names[0]], strict=True)
        ]
        for _ in range(3):
            runs = mirrors.run(*plans)
        assert [run.figures.record_count for run in runs] == [0, 0, 0]
        for cluster in ring.values():
            records = cluster.read(name)[0]
            assert len(records) == 90
            for text in ring:
                own = [each for each in records if each.value and each.value.startswith(text.encode())]
                assert own == numbered(1, range(30), text)[0]


def test_two_sources_into_one_with_and_without_a_prefix(west: Cluster, east: Cluster, mirrors: Mirrors, name: str):
    with Broker(config=CONFIG) as broker:
        north = Cluster(broker)
        for cluster, text in ((west, "w"), (north, "n")):
            cluster.create(name, 2)
            cluster.send(name, numbered(2, range(300), text))
        sources = {"west": west, "north": north}
        for prefix in ("{source}.", ""):
            plans = [
                mirrors.plan(source, east, name, alias=alias, prefix=prefix, name=f"{name}{prefix}")
                for alias, source in sources.items()
            ]
            mirrors.run(*plans)
    assert east.read(f"west.{name}") == numbered(2, range(300), "w")
    assert east.read(f"north.{name}") == numbered(2, range(300), "n")
    for number, records in east.read(name).items():
        for text in ("w", "n"):
            own = [each for each in records if each.value and each.value.startswith(text.encode())]
            assert own == numbered(2, range(300), text)[number]


def test_a_topic_that_grows_and_one_that_comes(west: Cluster, east: Cluster, mirrors: Mirrors, name: str):
    west.create(name, 1)
    west.send(name, numbered(1, range(10)))
    has_grown = False

    def is_stopped() -> bool:
        nonlocal has_grown
        if name not in east.topics() or len(east.read(name)[0]) < 10:
            return False
        if not has_grown:
            has_grown = True
            west.grow(name, 3)
            west.send(name, numbered(3, range(20, 50)))
            west.create(f"{name}-later", 1)
            west.send(f"{name}-later", numbered(1, range(3)))
        if f"{name}-later" not in east.topics() or len(east.read(f"{name}-later")[0]) < 3:
            return False
        return east.partition_count(name) == 3 and sum(map(len, east.read(name).values())) == 40

    mirrors.run(mirrors.plan(west, east, f"/{name}.*/", is_once=False), is_stopped=is_stopped)
    assert east.read(name) == west.read(name)
    assert east.read(f"{name}-later") == west.read(f"{name}-later")
    assert any("had 1 partitions and now has 3" in text for text in mirrors.warnings)


def test_what_was_aborted_is_not_mirrored(west: Cluster, east: Cluster, mirrors: Mirrors, name: str):
    west.create(name, 2)
    for index in range(3):
        start = 100 * index
        west.send(name, numbered(2, range(start, start + 10)), transactional_id=name)
        west.send(name, numbered(2, range(start + 10, start + 20)), transactional_id=name, is_aborted=True)
    run = mirrors.once(west, east, name)
    assert run.figures.record_count == 30
    assert east.read(name) == west.read(name)
    west.send(name, numbered(2, range(400, 410)), transactional_id=name, is_aborted=True)
    again = mirrors.once(west, east, name)
    assert (again.figures.record_count, again.figures.lag_count) == (0, 0)


def test_a_later_process_takes_over(west: Cluster, east: Cluster, mirrors: Mirrors, name: str):
    west.create(name, 1)
    west.send(name, numbered(1, range(3)))
    ours = mirrors.plan(west, east, name, is_once=False)
    has_other = False

    def start_another() -> bool:
        nonlocal has_other
        if not has_other and name in east.topics() and len(east.read(name)[0]) == 3:
            has_other = True
            mirrors.claim(ours)
            west.send(name, numbered(1, range(3, 6)))
        return False

    with pytest.raises(MirrorFencedError, match=f"process {os.getpid()} on"):
        mirrors.run(ours, is_stopped=start_another)
    mirrors.once(west, east, name)
    assert east.read(name) == west.read(name)


def test_a_moment_to_begin_at_is_that_of_the_first_start(west: Cluster, east: Cluster, mirrors: Mirrors, name: str):
    both, latest = f"/{name}.*/", Bound(is_latest=True)
    west.create(name, 1)
    west.send(name, numbered(1, range(3)))
    assert mirrors.once(west, east, both, start=latest).figures.record_count == 0
    west.send(name, numbered(1, range(3, 6)))
    west.create(f"{name}-later", 1)
    west.send(f"{name}-later", numbered(1, range(2)))
    assert mirrors.once(west, east, both, start=latest).figures.record_count == 5
    assert east.read(name) == numbered(1, range(3, 6))
    assert east.read(f"{name}-later") == west.read(f"{name}-later")


def test_records_that_are_lost_before_they_are_mirrored(west: Cluster, east: Cluster, mirrors: Mirrors, name: str):
    gone, cut = f"{name}-gone", f"{name}-cut"
    for topic in (name, gone, cut):
        west.create(topic, 1)
        west.send(topic, numbered(1, range(10)))
    mirrors.once(west, east, name, gone, cut)
    west.make_anew(name, 1)
    west.send(name, numbered(1, range(50, 65)))
    west.delete(gone)
    west.send(cut, numbered(1, range(10, 20)))
    west.cut(cut, 0, 15)
    with pytest.raises(RecordsLostError) as lost:
        mirrors.once(west, east, name, gone, cut)
    assert f"{name}-0: read up to offset 10: another record stands where the last one was read" in str(lost.value)
    assert f"{gone}-0: read up to offset 10: the partition is not there any more" in str(lost.value)
    assert f"{cut}-0: offsets 10 to 14 (5 records): deleted by retention" in str(lost.value)
    mirrors.once(west, east, name, gone, cut, on_data_loss=OnDataLoss.CONTINUE)
    assert east.read(name)[0] == [*numbered(1, range(10))[0], *numbered(1, range(50, 65))[0]]
    assert sum(" lost " in text for text in mirrors.warnings) == 3
    # What retention took leaves the offsets of before; one marker is between the two transactions.
    assert east.read(cut)[0] == numbered(1, [*range(10), *range(15, 20)])[0]
    # What was told once is not told again.
    assert mirrors.once(west, east, name, gone, cut).figures.record_count == 0


def test_the_command_with_a_login_until_it_is_stopped(west: Cluster, tmp_path: Path, name: str):
    """`barnabas pipeline mirror` into a target that wants TLS and a login, for librdkafka, Java and ourselves."""
    west.create(name, 2)
    west.send(name, numbered(2, range(20)))
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="m" password="secret" '
    secured = {
        **CONFIG,
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{login}user_m="secret";',
    }
    with Broker(security_protocol="SASL_SSL", config=secured) as broker:
        (tmp_path / "target.properties").write_text(
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nssl.truststore.type=PEM\n"
            f"ssl.truststore.location={broker.ca_path}\nsasl.jaas.config={login};\n"
        )
        words = ["mirror", "--source", f"west={west.address}", "--target", broker.bootstrap_servers]
        words += ["--target-config", "target.properties", "--topics", name, "--prefix", "{source}.", "--json"]
        with subprocess.Popen(
            [sys.executable, "-m", "barnabas.cli.main", "pipeline", *words, *SHORT_LIVED_WORDS],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            events = [json.loads(process.stdout.readline())]
            while events[-1]["event"] != "batch":
                events.append(json.loads(process.stdout.readline()))
            process.terminate()
            events += [json.loads(line) for line in process.stdout]
        assert process.returncode == 0, events
        assert events[-1] == {
            "event": "done", "run": "mirror/west", "record_count": 20, "skipped_count": 0, "lag": 0
        }  # fmt: skip
        security = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "m",
            "sasl.password": "secret",
            "ssl.ca.location": str(broker.ca_path),
        }
        assert Cluster(broker, security).read(f"west.{name}") == west.read(name)


def test_the_quota_of_the_target_is_kept(west: Cluster, east: Cluster, mirrors: Mirrors, name: str):
    east.limit("barnabas-tests-mirror", 20_000.0)
    west.create(name, 2)
    # A batch is copied whole.
    for start in range(0, 240, 20):
        west.send(name, numbered(2, range(start, start + 20), "x" * 1_000))
    target = KafkaOptions(east.address, {"client.id": "barnabas-tests-mirror"})
    (run,) = mirrors.run(replace(mirrors.plan(west, east, name), target=target))
    east.limit("barnabas-tests-mirror", None)
    assert east.read(name) == west.read(name)
    # Ten seconds' worth may come at once; without a quota all of it is one batch. What was copied by a batch that then
    # failed, as on a slow machine one may, is not counted.
    assert run.figures.batch_count >= 2 or run.figures.record_count < 240
