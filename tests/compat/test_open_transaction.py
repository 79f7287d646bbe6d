"""A transaction that was open when Kafka stopped or died: `adopt` and the start tell it, Kafka ends it once it can."""

import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.compat import test_handover as handover
from tests.compat.conftest import RunningBroker
from tests.compat.test_handover import (
    CLEANUP_INTERVAL,
    StartBarnabas,
    StartKafka,
    barnabas,
    contents_of,
    create,
    produce,
    read_all,
    wait_for_topics,
    when_expired,
)
from tests.patience import PATIENCE_S, until

start_barnabas, start_kafka = handover.start_barnabas, handover.start_kafka


def begin_transaction(bootstrap_servers: str, topic: str) -> Producer:
    """Write one record in a transaction that nobody ends."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "transactional.id": "dies",
            "transaction.timeout.ms": 1_000,
            "log_level": 0,
        }
    )
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce(topic, b"never committed", b"open", 0)
    assert producer.flush(PATIENCE_S) == 0
    return producer


def wait_until_read(broker: RunningBroker, count: int) -> handover.Seen:
    """All that is committed in `stuck`, once it is so much."""
    until(lambda: len(read_all(broker, "stuck")) >= count)
    seen = read_all(broker, "stuck")
    assert len(seen) == count
    return seen


# What a stop leaves is less to find out: the producers stand in a snapshot.
@pytest.mark.parametrize("end", ["kill", pytest.param("stop", marks=pytest.mark.whole)])
def test_an_open_transaction(
    tmp_path: Path, connect: str, start_kafka: StartKafka, start_barnabas: StartBarnabas, end: str
) -> None:
    data_dir = tmp_path / "data"
    kafka = start_kafka(data_dir, connect, settings={CLEANUP_INTERVAL: "3600000"})
    create(kafka, "stuck")
    create(kafka, "free")
    produce(kafka, "stuck", "before", count=20)
    produce(kafka, "free", "before", count=20)
    producer = begin_transaction(kafka.bootstrap_servers, "stuck")
    produce(kafka, "stuck", "after", count=5)
    getattr(kafka, end)()
    del producer

    files = contents_of(data_dir)
    plan = when_expired("adopt", data_dir, "--zookeeper", connect)
    assert contents_of(data_dir) == files
    done = when_expired("adopt", data_dir, "--zookeeper", connect, "--execute")
    assert done["executed"]
    (told,) = plan["open_transactions"]
    assert done["open_transactions"] == [told]
    assert (told["topic"], told["partition"], told["first_offset"]) == ("stuck", 0, 20)
    assert (told["producer_id"] >= 0, told["producer_epoch"]) == (True, 0)
    assert 0 <= time.time() * 1000 - told["since_ms"] < 600_000
    (limit,) = [it for it in plan["findings"] if it["subject"] == "stuck-0"]
    assert "read_committed get nothing from offset 20 on" in limit["text"]

    # The coordinator finds it in __transaction_state, and aborts it by its timeout.
    broker = start_barnabas(data_dir)
    assert "has a hanging transaction" not in broker.log_text()
    produce(broker, "stuck", "barnabas", count=7)
    seen = wait_until_read(broker, 20 + 5 + 7)
    assert b"never committed" not in {value for _, value in seen.values()}
    assert len(read_all(broker, "free")) == 20
    # Its producer's id goes on from there.
    again = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "dies", "log_level": 0})
    again.init_transactions(PATIENCE_S)
    again.begin_transaction()
    again.produce("stuck", b"committed", b"open", 0)
    again.commit_transaction(PATIENCE_S)
    wait_until_read(broker, 20 + 5 + 7 + 1)
    begin_transaction(broker.bootstrap_servers, "stuck")
    broker.stop()

    # What is open when the directory goes back Kafka's coordinator ends.
    barnabas("release", data_dir, "--zookeeper", connect, "--execute")
    kafka = start_kafka(data_dir, connect, settings={CLEANUP_INTERVAL: "200"})
    wait_for_topics(kafka, "stuck", "free", "__transaction_state", "__consumer_offsets")
    produce(kafka, "stuck", "kafka", count=3)
    seen = wait_until_read(kafka, 20 + 5 + 7 + 1 + 3)
    assert b"never committed" not in {value for _, value in seen.values()}
    kafka.stop()

    # Then there is nothing to tell.
    assert when_expired("adopt", data_dir, "--zookeeper", connect, "--execute")["open_transactions"] == []
