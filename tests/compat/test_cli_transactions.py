"""`barnabas transactions` against the broker under test: transactions that hang are found and ended, others are not.

Kafka 2.7 appends transactional batches to partitions that the producer never announced to its coordinator; such a
transaction hangs for ever.

Source: KIP-98, KIP-664.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from confluent_kafka import Consumer, Producer

from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder
from tests.compat.commands import Commands
from tests.compat.raw import ask
from tests.patience import PATIENCE_S, until
from tools.kafka.server import ONE_BROKER, QuickKafkaServer

NEEDED = (ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.END_TXN, ApiKey.WRITE_TXN_MARKERS)


@pytest.fixture
def commands(commands: Commands) -> Commands:
    commands.need(*NEEDED)
    return commands


def write_unannounced(
    servers: str, topic: str, partition: int, producer_id: int, sequence: int, *values: bytes, version: int = 7
) -> int:
    """Write one batch of a transaction that no coordinator knows; the offset of its first record."""
    builder = BatchBuilder(Codec.NONE, producer_id, 0, base_sequence=sequence, is_transactional=True)
    for value in values:
        builder.append(1_000_000, None, value)
    data = PartitionProduceData(partition, memoryview(builder.build()))
    request = ProduceRequest("hangs", -1, 30_000, [TopicProduceData(topic, [data])])
    ((answer,),) = [topic.partition_responses for topic in ask(servers, request, version).responses]
    assert answer.error_code == 0
    return answer.base_offset


def new_producer_id(servers: str) -> int:
    request = InitProducerIdRequest(None, 60_000)
    return until(lambda: [it.producer_id for it in [ask(servers, request, 0)] if it.error_code == 0])[0]


def produce(servers: str, topic: str, partition: int, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for value in values:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(PATIENCE_S) == 0


def transactional(servers: str, name: str) -> Producer:
    producer = Producer({"bootstrap.servers": servers, "transactional.id": name, "transaction.timeout.ms": 60_000})
    producer.init_transactions(PATIENCE_S)
    return producer


def read_committed(servers: str, topic: str, count: int) -> list[bytes]:
    """The first committed records of partition 0."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": f"{topic}-readers", "enable.auto.commit": False,
                         "isolation.level": "read_committed", "auto.offset.reset": "earliest"})  # fmt: skip
    consumer.subscribe([topic])
    values: list[bytes] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(values) < count:
        assert time.monotonic() < deadline, values
        message = consumer.poll(1.0)
        if message is not None and message.error() is None and message.partition() == 0:
            values.append(message.value())
    consumer.close()
    return values


def test_a_transaction_that_hangs_is_found_and_ended(commands: Commands, name: str) -> None:
    servers = commands.servers
    commands.run("topics", "--create", "--config", "retention.ms=-1", "--topic", name, "--partitions", "2")
    produce(servers, name, 0, b"before")
    producer_id = new_producer_id(servers)
    assert write_unannounced(servers, name, 0, producer_id, 0, b"never", b"never") == 1
    assert write_unannounced(servers, name, 0, producer_id, 2, b"never") == 3
    produce(servers, name, 0, b"after")
    produce(servers, name, 1, b"elsewhere")

    found = {
        "topic": name,
        "partition": 0,
        "producer_id": producer_id,
        "producer_epoch": 0,
        "start_offset": 1,
        "started_ms": 1_000_000,
        "updated_ms": 1_000_000,
    }
    hanging = ("transactions", "hanging", "--topic", name)
    assert commands.json(*hanging) == [found]
    assert found in commands.json("transactions", "hanging")
    assert commands.json(*hanging, "--partition", "1") == []
    columns, line = commands.run(*hanging).splitlines()
    assert columns.split("  ")[0] == "topic"
    assert line.split()[:7] == [name, "0", str(producer_id), "0", "1", "1970-01-01", "00:16:40"]

    abort = ("transactions", "abort", "--topic", name, "--partition", "0")
    assert "those that are begin at 1 (producer" in commands.fails(*abort, "--start-offset", "2")
    assert "no transaction is open in" in commands.fails(
        "transactions", "abort", "--topic", name, "--partition", "1", "--start-offset", "0"
    )
    assert commands.run(*abort, "--start-offset", "1", "--yes") == (
        f"Aborted the transaction of producer {producer_id} (epoch 0) in {name}-0 from offset 1 on.\n"
    )
    assert commands.json(*hanging) == []
    assert "no transaction is open" in commands.fails(*abort, "--start-offset", "1", "--yes")
    assert read_committed(servers, name, 2) == [b"before", b"after"]


def test_a_transaction_that_a_coordinator_knows_is_left_to_it(commands: Commands, name: str) -> None:
    servers = commands.servers
    commands.run("topics", "--create", "--config", "retention.ms=-1", "--topic", name)
    producer = transactional(servers, name)
    producer.begin_transaction()
    producer.produce(name, b"ongoing", partition=0, timestamp=1_000_000)
    assert producer.flush(PATIENCE_S) == 0

    described = commands.json("transactions", "describe", "--transactional-id", name)
    assert (described["state"], described["partitions"]) == ("Ongoing", [f"{name}-0"])
    assert (described["timeout_ms"], described["coordinator"]) == (60_000, 0)
    assert described["started_ms"] > 1_600_000_000_000
    told = dict(
        line.split("  ", 1)
        for line in commands.run("transactions", "describe", "--transactional-id", name).splitlines()
    )
    assert {key: told[key].strip() for key in ("transactional id", "partitions")} == {
        "transactional id": name,
        "partitions": f"{name}-0",
    }
    assert commands.json("transactions", "hanging", "--topic", name, "--max-transaction-timeout", "0") == []
    complaint = commands.fails(
        "transactions", "abort", "--topic", name, "--partition", "0", "--start-offset", "0", "--yes"
    )
    assert f"does not hang: it is Ongoing for transactional id {name}" in complaint

    producer.commit_transaction(PATIENCE_S)
    assert read_committed(servers, name, 1) == [b"ongoing"]
    listed = {each["transactional_id"]: each["state"] for each in commands.json("transactions", "list")}
    assert listed[name] in ("CompleteCommit", "PrepareCommit")
    unknown = commands.fails("transactions", "describe", "--transactional-id", f"not-{name}")
    assert f"transactional id not-{name} does not exist; barnabas transactions list" in unknown


def test_a_young_transaction_is_not_taken_for_one_that_hangs(commands: Commands, name: str) -> None:
    servers = commands.servers
    commands.run("topics", "--create", "--config", "retention.ms=-1", "--topic", name)
    producer_id = new_producer_id(servers)
    builder = BatchBuilder(Codec.NONE, producer_id, 0, base_sequence=0, is_transactional=True)
    builder.append(round(time.time() * 1000), None, b"young")
    data = PartitionProduceData(0, memoryview(builder.build()))
    ask(servers, ProduceRequest("hangs", -1, 30_000, [TopicProduceData(name, [data])]), 7)
    assert commands.json("transactions", "hanging", "--topic", name) == []
    (found,) = commands.json("transactions", "hanging", "--topic", name, "--max-transaction-timeout", "0")
    by_producer = ("--producer-id", str(found["producer_id"]), "--producer-epoch", "0", "--coordinator-epoch", "0")
    commands.run("transactions", "abort", "--topic", name, "--partition", "0", *by_producer, "--yes")
    assert commands.json("transactions", "hanging", "--topic", name, "--max-transaction-timeout", "0") == []


def test_the_marker_has_the_least_coordinator_epoch_that_the_partition_accepts(commands: Commands, name: str) -> None:
    """The partition has a marker of epoch 2 from the same producer: its coordinator has moved twice."""
    servers = commands.servers
    transactional(servers, name)
    commands.run("topics", "--create", "--config", "retention.ms=-1", "--topic", name)
    producer_id = new_producer_id(servers)
    write_unannounced(servers, name, 0, producer_id, 0, b"first")
    marker = WritableTxnMarker(producer_id, 0, True, [WritableTxnMarkerTopic(name, [0])], 2)
    ask(servers, WriteTxnMarkersRequest([marker]), 0)
    start_offset = write_unannounced(servers, name, 0, producer_id, 1, b"second")
    abort = ("transactions", "abort", "--topic", name, "--partition", "0", "--start-offset", str(start_offset), "--yes")
    # No coordinator here has an epoch above 0: it may not go further by itself.
    assert "TRANSACTION_COORDINATOR_FENCED" in commands.fails(*abort)
    assert commands.json(*abort, "--coordinator-epoch", "2")["coordinator_epoch"] == 2


@contextmanager
def prompted(*command: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A command at a terminal, once it has asked; and that terminal."""
    terminal, its_side = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "barnabas.cli.main", *command],
        stdin=its_side,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.close(its_side)
    try:
        assert process.stdout is not None
        seen = b""
        while not seen.endswith(b"[y/N] "):
            letter = process.stdout.read(1)
            assert letter, seen
            seen += letter
        yield process, terminal
    finally:
        process.kill()
        process.communicate()
        os.close(terminal)


def interrupt(process: subprocess.Popen[bytes]) -> None:
    """Press Ctrl-C until a process has ended: Python misses one between its last look for signals and the read."""
    deadline_s = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < deadline_s:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)


def test_it_asks_before_it_aborts(commands: Commands, name: str) -> None:
    commands.run("topics", "--create", "--config", "retention.ms=-1", "--topic", name)
    write_unannounced(commands.servers, name, 0, new_producer_id(commands.servers), 0, b"never")
    command = ("transactions", "abort", "--topic", name, "--partition", "0", "--start-offset", "0")
    hanging = ("transactions", "hanging", "--topic", name)
    with prompted(*command, "--bootstrap-server", commands.servers) as (process, _):
        interrupt(process)
        assert process.returncode in (1, -signal.SIGINT)
        assert b"Traceback" not in process.communicate()[1]
    with prompted(*command, "--bootstrap-server", commands.servers) as (process, terminal):
        os.write(terminal, b"no\n")
        assert process.wait(PATIENCE_S) == 1
        assert process.communicate()[1] == b"barnabas transactions abort: nothing was changed\n"
    assert len(commands.json(*hanging)) == 1
    with prompted(*command, "--bootstrap-server", commands.servers) as (process, terminal):
        os.write(terminal, b"y\n")
        assert process.wait(PATIENCE_S) == 0
    assert commands.json(*hanging) == []


def test_a_transaction_that_hangs_on_the_oldest_kafka_that_has_transactions(name: str) -> None:
    with QuickKafkaServer(config=ONE_BROKER, jar_set="kafka-0.11.0.3") as kafka:
        commands, servers = Commands(kafka.bootstrap_servers), kafka.bootstrap_servers
        commands.run(
            "topics",
            "--create",
            "--config",
            "retention.ms=-1",
            "--topic",
            name,
            "--partitions",
            "1",
            "--replication-factor",
            "1",
        )
        produce(servers, name, 0, b"before")
        write_unannounced(servers, name, 0, new_producer_id(servers), 0, b"never", version=3)
        produce(servers, name, 0, b"after")
        (found,) = commands.json("transactions", "hanging")
        assert (found["topic"], found["partition"], found["start_offset"]) == (name, 0, 1)
        commands.run("transactions", "abort", "--topic", name, "--partition", "0", "--start-offset", "1", "--yes")
        assert commands.json("transactions", "hanging") == []
        assert read_committed(servers, name, 2) == [b"before", b"after"]
