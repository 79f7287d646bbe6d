"""Directories that Kafka 2.7.2 and this broker hand to each other by `barnabas adopt` and `barnabas release`.

The judges are Kafka's broker, its DumpLogSegments, and librdkafka, which compares every record with what was written.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.clients.zookeeper.registry import ZooKeeperRegistry
from barnabas.core.clock import SystemClock
from barnabas.core.executor import InlineExecutor
from barnabas.migration.directories import REGISTRY_FILE
from barnabas.migration.tree_copy import TreeCopy, read_tree
from barnabas.testing import Broker
from barnabas.wire.registry import paths
from barnabas.wire.registry.znodes.configs import decode_config, encode_config
from tests import commands
from tests.compat.conftest import RunningBroker
from tests.compat.test_log_dirs import Place
from tests.patience import PATIENCE_S, until
from tools.kafka.jars import KAFKA
from tools.kafka.java import run_tool
from tools.kafka.server import KafkaServer, QuickKafkaServer

SMALL_SEGMENTS = {"segment.bytes": "30000", "index.interval.bytes": "1000"}
SETTINGS = {
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "2",
    "num.partitions": "1",
    "log.index.size.max.bytes": "40000",
    # The last broker of a cluster asks three times for other leaders; by default with 5 s between.
    "controlled.shutdown.retry.backoff.ms": "100",
    # A killed one is registered for so long.
    "zookeeper.session.timeout.ms": "3000",
}
CLEANUP_INTERVAL = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
"""How often a broker looks for transactions that took too long."""
BARNABAS_SETTINGS = {"broker.id": 0, "offsets.topic.num.partitions": 4, CLEANUP_INTERVAL: 200}


class Content(NamedTuple):
    """A topic and how it is filled."""

    codec: str
    settings: Mapping[str, str] = {}
    is_transactional: bool = False


CONTENTS = {f"v2-{codec}": Content(codec, SMALL_SEGMENTS) for codec in ("none", "gzip", "snappy", "lz4", "zstd")}
for magic, version in ((0, "0.9.0"), (1, "0.10.0")):
    for codec in ("none", "gzip", "snappy", "lz4"):
        CONTENTS[f"v{magic}-{codec}"] = Content(codec, {**SMALL_SEGMENTS, "message.format.version": version})
CONTENTS["compacted"] = Content(
    "none", {**SMALL_SEGMENTS, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
)
CONTENTS["transactional"] = Content("none", SMALL_SEGMENTS, is_transactional=True)

FILE_SUFFIXES = (".log", ".index", ".timeindex", ".snapshot")
Seen = dict[int, tuple[bytes | None, bytes | None]]
"""Offset to key and value."""


# --- files


def check_files(*directories: Path, suffixes: Sequence[str] = FILE_SUFFIXES, jar_set: str = KAFKA) -> None:
    """Let DumpLogSegments look at every file of some directories."""
    found = (path for directory in directories for path in directory.rglob("*") if path.suffix in suffixes)
    files = sorted(str(path) for path in found if not path.parent.name.endswith("-delete"))
    assert {Path(file).suffix for file in files} == {*suffixes}
    options = ["--deep-iteration", "--index-sanity-check"]
    result = run_tool("kafka.tools.DumpLogSegments", "--files", ",".join(files), *options, jar_set=jar_set)
    output = result.stdout + result.stderr
    assert result.returncode == 0, output[-2_000:]
    for complaint in ("Exception", "Mismatches in", "Non-consecutive", "isvalid: false", "out of order", "corrupt"):
        assert complaint not in output, output[-2_000:]


def contents_of(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()
    }


# --- clients


def create(broker: RunningBroker, topic: str, partitions: int = 1, settings: Mapping[str, str] | None = None) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    new = NewTopic(topic, partitions, 1, config=dict(settings or {}))
    admin.create_topics([new])[topic].result(PATIENCE_S)


def delete(broker: RunningBroker, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.delete_topics([topic], operation_timeout=PATIENCE_S)[topic].result(PATIENCE_S)


def settings_of(broker: RunningBroker, topic: str) -> dict[str, str]:
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    entries = admin.describe_configs([resource])[resource].result(PATIENCE_S)
    return {name: entry.value for name, entry in entries.items()}


def topics_of(broker: RunningBroker) -> dict[str, int]:
    metadata = AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=PATIENCE_S)
    return {name: len(topic.partitions) for name, topic in metadata.topics.items()}


def wait_for_topics(broker: RunningBroker, *wanted: str) -> None:
    """Kafka answers before it has told itself which topics there are."""
    until(lambda: topics_of(broker).keys() == {*wanted}, lambda: topics_of(broker))


def produce(broker: RunningBroker, topic: str, label: str, codec: str = "none", count: int = 500) -> None:
    assert begin_to_produce(broker, topic, label, codec, count).flush(PATIENCE_S) == 0


def begin_to_produce(broker: RunningBroker, topic: str, label: str, codec: str, count: int = 500) -> Producer:
    """Hand all records to a producer, and return it: it takes half a second until it has an id."""
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "compression.type": codec,
            "enable.idempotence": topic.startswith(("v2", "new")),
            "batch.num.messages": 40,
            "linger.ms": 10,
        }
    )
    _produce(producer, topic, label, count)
    return producer


def produce_in_transactions(broker: RunningBroker, topic: str, label: str) -> None:
    """Some committed, some aborted."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": f"{topic}-{label}"})
    producer.init_transactions(PATIENCE_S)
    for number in range(6):
        producer.begin_transaction()
        _produce(producer, topic, f"{label}-{number}", 30)
        assert producer.flush(PATIENCE_S) == 0
        producer.abort_transaction(PATIENCE_S) if number % 3 == 1 else producer.commit_transaction(PATIENCE_S)


def _produce(producer: Producer, topic: str, label: str, count: int) -> None:
    for number in range(count):
        value = f"{label} {number} ".encode() * 12
        producer.produce(topic, value, b"%d" % number, partition=0)
        producer.poll(0)


def read_all(broker: RunningBroker, topic: str) -> Seen:
    """Every record of a topic's first partition."""
    return read_each(broker, [topic])[topic]


def read_each(broker: RunningBroker, topics: Iterable[str]) -> dict[str, Seen]:
    """Every committed record of some topics' first partitions, from the first to the end."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "reads-by-hand",
            "check.crcs": True,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            # The end is told by a fetch that finds nothing.
            "fetch.wait.max.ms": 10,
            "isolation.level": "read_committed",
        }
    )
    seen: dict[str, Seen] = {topic: {} for topic in topics}
    left = set(seen)
    # Who knows no leader yet asks where the beginning is half a second later.
    for topic in seen:
        consumer.list_topics(topic, timeout=PATIENCE_S)
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING) for topic in seen])
    deadline = time.monotonic() + PATIENCE_S
    while left:
        assert time.monotonic() < deadline, f"no end of {left}"
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error() is None:
            seen[message.topic()][message.offset()] = (message.key(), message.value())
        else:
            assert message.error().name() == "_PARTITION_EOF", message.error()
            left.discard(message.topic())
    consumer.close()
    return seen


def commit(broker: RunningBroker, group: str, topic: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group, "enable.auto.commit": False})
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def committed(broker: RunningBroker, group: str, topic: str) -> int:
    """What a group has committed; a broker that has just started may not be its coordinator yet."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group})
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            (found,) = consumer.committed([TopicPartition(topic, 0)], PATIENCE_S)
            break
        except KafkaException as error:
            if error.args[0].code() != KafkaError.NOT_COORDINATOR or time.monotonic() > deadline:
                raise
    consumer.close()
    return int(found.offset)


# --- trees and commands


def set_quota(broker: RunningBroker) -> None:
    """Limit the user `a b`."""
    limit = ("--user", "a b", "--set", "producer_byte_rate=1000000")
    result = commands.run("quotas", "set", *limit, "--bootstrap-server", broker.bootstrap_servers)
    assert result.returncode == 0, result.stderr


def barnabas(*arguments: object, is_refused: bool = False) -> Any:
    """Run a command with --json; its answer."""
    result = commands.run(*arguments, "--json")
    assert result.returncode == is_refused, result.stdout + result.stderr
    return json.loads(result.stdout)


def when_expired(*arguments: object) -> Any:
    """Run adopt or release; a killed broker is registered until its session expires: until then both are refused."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        plan = json.loads(commands.run(*arguments, "--json").stdout)
        if not plan["blocked"]:
            return plan
        assert "registered" in str(plan["findings"]), plan["findings"]
        assert time.monotonic() < deadline
        time.sleep(0.1)


def tree_of(connect: str) -> TreeCopy:
    async def read() -> TreeCopy:
        registry = await ZooKeeperRegistry.open(connect)
        try:
            return await read_tree(registry, connect)
        finally:
            await registry.close()

    return asyncio.run(read())


def change_settings(data_dir: Path, topic: str, changes: Mapping[str, str]) -> None:
    """What AlterConfigs writes, done in the registry of a broker that is stopped."""

    async def change() -> None:
        registry = await EmbeddedRegistry.open(data_dir / REGISTRY_FILE, SystemClock(), InlineExecutor())
        data, _ = await registry.get(paths.topic_config(topic))
        await registry.set(paths.topic_config(topic), encode_config({**decode_config(data), **changes}))
        await registry.close()

    asyncio.run(change())


StartKafka = Callable[..., KafkaServer]


@pytest.fixture
def start_kafka(tmp_path: Path) -> Iterator[StartKafka]:
    """Start Kafka on a data directory and a ZooKeeper that are there."""
    with ExitStack() as stack:

        def start(
            data_dir: Path | str, connect: str, broker_id: int = 0, settings: Mapping[str, str] | None = None
        ) -> KafkaServer:
            config = {**SETTINGS, "log.dirs": str(data_dir), "zookeeper.connect": connect, "broker.id": str(broker_id)}
            config |= settings or {}
            server = QuickKafkaServer(tmp_path / f"kafka-{broker_id}", config)
            stack.callback(server.close)
            server.restart()
            return server

        yield start


@pytest.fixture
def start_barnabas() -> Iterator[Callable[[Path | str], Broker]]:
    with ExitStack() as stack:
        yield lambda data_dir: stack.enter_context(Broker(config=BARNABAS_SETTINGS, data_dir=data_dir))


StartBarnabas = Callable[[Path | str], Broker]


def fill(broker: RunningBroker, label: str, *, with_transactions: bool) -> None:
    producers = []
    for topic, content in CONTENTS.items():
        if not content.is_transactional:
            producers.append(begin_to_produce(broker, topic, label, content.codec))
        elif with_transactions:
            produce_in_transactions(broker, topic, label)
    for producer in producers:
        assert producer.flush(PATIENCE_S) == 0


def read_everything(broker: RunningBroker) -> dict[str, object]:
    """What both brokers must show; of the compacted topic the last value of each key, as a cleaner may run between."""
    everything: dict[str, object] = dict(read_each(broker, CONTENTS))
    compacted = everything["compacted"]
    assert isinstance(compacted, dict)
    everything["compacted"] = {key: (offset, value) for offset, (key, value) in sorted(compacted.items())}
    return everything


# --- the stories


# Directories of killed brokers, and two directories of one, are handed over below, too.
@pytest.mark.parametrize(("end", "directory_count"), [("stop", 1), pytest.param("kill", 2, marks=pytest.mark.whole)])
def test_from_kafka_and_back(
    tmp_path: Path, connect: str, start_kafka: StartKafka, start_barnabas: StartBarnabas, end: str, directory_count: int
) -> None:
    # After a kill the batches alone.
    finished = [".log"] if end == "kill" else FILE_SUFFIXES
    data_dir = tmp_path / "data"
    directories = [data_dir / str(number) for number in range(directory_count)]
    log_dirs = ",".join(map(str, directories))
    connect += "/some/chroot"
    kafka = start_kafka(log_dirs, connect)
    for topic, content in CONTENTS.items():
        create(kafka, topic, 1, content.settings)
    for topic in ("untouched", "deleted-here"):
        create(kafka, topic, 2, {"retention.ms": "123456789"})
    fill(kafka, "kafka", with_transactions=True)
    produce(kafka, "deleted-here", "kafka", count=20)
    commit(kafka, "readers", "v2-gzip", 123)
    set_quota(kafka)
    written = read_everything(kafka)
    getattr(kafka, end)()
    check_files(data_dir, suffixes=finished)

    # In.
    tree, files = tree_of(connect), contents_of(data_dir)
    plan = when_expired("adopt", *directories, "--zookeeper", connect)
    assert not plan["executed"]
    assert {topic["topic"]: topic["partition_count"] for topic in plan["topics"]}.items() >= {
        "untouched": 2,
        "v2-none": 1,
        "__consumer_offsets": 3,
    }.items()
    assert all(topic["served"] == list(range(topic["partition_count"])) for topic in plan["topics"])
    assert contents_of(data_dir) == files
    assert when_expired("adopt", *directories, "--zookeeper", connect, "--execute")["executed"]
    assert contents_of(data_dir).items() >= files.items()
    assert tree_of(connect).nodes == tree.nodes

    # Ours.
    broker = start_barnabas(log_dirs)
    assert broker.cluster_id == plan["cluster_id"]
    assert read_everything(broker) == written
    assert committed(broker, "readers", "v2-gzip") == 123
    assert settings_of(broker, "untouched")["retention.ms"] == "123456789"
    fill(broker, "barnabas", with_transactions=False)
    create(broker, "new-here", 3, {"retention.ms": "987654321"})
    produce(broker, "new-here", "barnabas", "lz4")
    delete(broker, "deleted-here")
    commit(broker, "readers", "v2-gzip", 456)
    commit(broker, "new-readers", "new-here", 77)
    written = read_everything(broker)
    assert len(read_all(broker, "v2-none")) == 1000
    new = read_all(broker, "new-here")
    getattr(broker, end)()
    check_files(data_dir, suffixes=finished)
    change_settings(directories[0], "untouched", {"retention.ms": "5000000", "max.message.bytes": "2000000"})

    # Out.
    plan = barnabas("release", *directories, "--zookeeper", connect)
    told = {(change["action"], change["subject"]) for change in plan["changes"]}
    assert told >= {
        ("create", "topic new-here"),
        ("create", "settings of topic new-here"),
        ("delete", "topic deleted-here"),
        ("change", "settings of topic untouched"),
    }
    assert tree_of(connect).nodes == tree.nodes
    assert barnabas("release", *directories, "--zookeeper", connect, "--execute")["executed"]
    assert not (directories[0] / REGISTRY_FILE).exists()

    # Kafka's again.
    kafka.restart()
    wait_for_topics(kafka, *CONTENTS, "untouched", "new-here", "__consumer_offsets", "__transaction_state")
    assert topics_of(kafka)["new-here"] == 3
    assert read_everything(kafka) == written
    assert read_all(kafka, "new-here") == new
    assert committed(kafka, "readers", "v2-gzip") == 456
    assert committed(kafka, "new-readers", "new-here") == 77
    assert settings_of(kafka, "untouched")["retention.ms"] == "5000000"
    assert settings_of(kafka, "new-here")["retention.ms"] == "987654321"
    assert decode_config(tree_of(connect).nodes["/config/users/a%20b"]) == {"producer_byte_rate": "1000000"}
    fill(kafka, "again", with_transactions=True)
    produce(kafka, "new-here", "again", "zstd")
    assert len(read_all(kafka, "v2-none")) == 1500
    kafka.stop()
    assert "ERROR" not in kafka.log_text()
    check_files(data_dir)


# test_lost_tree.py goes without the tree, too; test_old_kafka.py to a fresh Kafka.
@pytest.mark.whole
def test_from_barnabas_to_a_fresh_kafka_and_back_without_its_tree(
    tmp_path: Path, connect: str, start_kafka: StartKafka, start_barnabas: StartBarnabas
) -> None:
    data_dir = tmp_path / "data"
    broker = start_barnabas(data_dir)
    create(broker, "new-here", 3, {"segment.bytes": "30000"})
    create(broker, "deleted-here", 2)
    produce(broker, "new-here", "barnabas", "gzip", 2000)
    commit(broker, "readers", "new-here", 55)
    delete(broker, "deleted-here")
    written = read_all(broker, "new-here")
    broker.stop()
    check_files(data_dir)

    plan = barnabas("release", data_dir, "--zookeeper", connect, "--execute")
    assert plan["cluster_id"] == broker.cluster_id
    kafka = start_kafka(data_dir, connect)
    wait_for_topics(kafka, "new-here", "__consumer_offsets")
    assert read_all(kafka, "new-here") == written
    assert committed(kafka, "readers", "new-here") == 55
    assert settings_of(kafka, "new-here")["segment.bytes"] == "30000"
    produce(kafka, "new-here", "kafka", "lz4")
    commit(kafka, "readers", "new-here", 66)
    written = read_all(kafka, "new-here")
    assert len(written) == 2500
    kafka.kill()

    # The directory alone: topics by their names, producer ids from the logs, settings lost.
    plan = barnabas("adopt", data_dir, "--execute")
    assert {topic["topic"]: topic["partition_count"] for topic in plan["topics"]} == {
        "__consumer_offsets": 4,
        "new-here": 3,
    }
    broker.start()
    assert read_all(broker, "new-here") == written
    assert committed(broker, "readers", "new-here") == 66
    assert settings_of(broker, "new-here")["retention.ms"] == "-1"
    produce(broker, "new-here", "barnabas again")
    create(broker, "newer", 1)
    produce(broker, "newer", "barnabas again")
    written, newer = read_all(broker, "new-here"), read_all(broker, "newer")
    assert len(written) == 3000
    broker.stop()
    check_files(data_dir)

    # Back into the tree that it was adopted without: what it did not know stays.
    when_expired("release", data_dir, "--zookeeper", connect, "--execute")
    kafka.restart()
    wait_for_topics(kafka, "new-here", "newer", "__consumer_offsets")
    assert read_all(kafka, "new-here") == written
    assert read_all(kafka, "newer") == newer
    assert settings_of(kafka, "new-here")["segment.bytes"] == "30000"
    assert settings_of(kafka, "new-here")["retention.ms"] != "-1"
    produce(kafka, "new-here", "kafka again")
    assert len(read_all(kafka, "new-here")) == 3500
    kafka.stop()
    check_files(data_dir)


@pytest.mark.whole
def test_one_broker_of_two_goes_and_comes_back(
    tmp_path: Path, connect: str, start_kafka: StartKafka, start_barnabas: StartBarnabas
) -> None:
    data_dir = tmp_path / "data-0"
    kafka, other = start_kafka(data_dir, connect), start_kafka(tmp_path / "data-1", connect, 1)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    new = [
        NewTopic("shared", replica_assignment=[[1, 0]], num_partitions=1),
        NewTopic("elsewhere", replica_assignment=[[1]], num_partitions=1),
    ]
    for future in admin.create_topics(new).values():
        future.result(PATIENCE_S)
    produce(kafka, "shared", "kafka")
    produce(kafka, "elsewhere", "kafka")
    written = read_each(kafka, ["shared", "elsewhere"])
    # The one that stays longest has everything.
    other.stop()
    plan = barnabas("adopt", data_dir, "--zookeeper", connect, is_refused=True)
    assert "a broker has the directory open" in str(plan["findings"])
    kafka.stop()

    plan = barnabas("adopt", data_dir, "--zookeeper", connect, "--execute")
    served = {topic["topic"]: topic["served"] for topic in plan["topics"]}
    assert (served["shared"], served["elsewhere"]) == ([0], [])
    assert "elsewhere" in {it["subject"] for it in plan["findings"] if it["kind"] == "not_served"}
    broker = start_barnabas(data_dir)
    produce(broker, "shared", "barnabas")
    shared = read_all(broker, "shared")
    assert len(shared) == 1000
    assert shared.items() >= written["shared"].items()
    broker.stop()
    barnabas("release", data_dir, "--zookeeper", connect, "--execute")

    with ThreadPoolExecutor() as threads:
        list(threads.map(KafkaServer.restart, (other, kafka)))
    wait_for_topics(kafka, "shared", "elsewhere", "__consumer_offsets")
    assert read_each(kafka, ["shared", "elsewhere"]) == {"shared": shared, "elsewhere": written["elsewhere"]}
    until(lambda: len(admin.list_topics(timeout=PATIENCE_S).topics["shared"].partitions[0].isrs) >= 2)
    other.kill()
    kafka.stop()
    ours, theirs = (
        {path.name: path.read_bytes() for path in (tmp_path / name / "shared-0").glob("*.log")}
        for name in ("data-0", "data-1")
    )
    assert ours == theirs
    check_files(data_dir)


def test_logs_that_are_on_their_way_between_directories(
    tmp_path: Path, connect: str, start_kafka: StartKafka, start_barnabas: StartBarnabas
) -> None:
    """Half moved by the one, the rest by the other."""
    directories = [tmp_path / "a", tmp_path / "b"]
    log_dirs = ",".join(map(str, directories))
    broker = start_barnabas(log_dirs)
    here = Place(broker, directories)
    here.move(here.first, ("moving", 0), ("moved", 0))
    for topic in ("moved", "moving"):
        create(broker, topic, 1, {"segment.bytes": "200000"})
        produce(broker, topic, "barnabas", count=5000)
    here.move(here.second, ("moved", 0))
    here.wait_for("moved", 0, here.second)
    here.throttle(100)
    here.move(here.second, ("moving", 0))
    until(lambda: (here.second, 0) in here.replicas("moving"))
    written = read_each(broker, ["moved", "moving"])
    broker.stop()
    (copy,) = directories[1].glob("moving-0.*-future")

    barnabas("release", *directories, "--zookeeper", connect, "--execute")
    kafka = start_kafka(log_dirs, connect)
    wait_for_topics(kafka, "moved", "moving", "__consumer_offsets")
    there = Place(kafka, directories)
    assert copy.is_dir()
    there.throttle(1_000_000_000)
    there.wait_for("moving", 0, there.second)
    assert read_each(kafka, ["moved", "moving"]) == written
    produce(kafka, "moved", "kafka", count=500)
    there.throttle(100)
    there.move(there.first, ("moved", 0))
    until(lambda: (there.first, 0) in there.replicas("moved"))
    written = read_each(kafka, ["moved", "moving"])
    kafka.kill()

    when_expired("adopt", *directories, "--zookeeper", connect)
    barnabas("adopt", *directories, "--zookeeper", connect, "--execute")
    broker.start()
    here.throttle(1_000_000_000)
    here.wait_for("moved", 0, here.first)
    assert read_each(broker, ["moved", "moving"]) == written
    broker.stop()
    check_files(*directories)
