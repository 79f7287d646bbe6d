"""What a broker tells of what happened, to a client."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from barnabas.clients.admin_facts import FactsAdmin
from barnabas.clients.pool import Pool
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.explain.answers import complaints
from barnabas.testing import Broker
from tests.patience import PATIENCE_S, until

SCHEMA = json.loads((Path(__file__).parents[2] / "src/barnabas/explain/facts.json").read_text())


@pytest.fixture(scope="module")
def busy() -> Iterator[Broker]:
    """A broker to which something of each kind has happened, and which was killed since."""
    config: dict[str, str | int] = {
        "group.initial.rebalance.delay.ms": 0,
        "barnabas.http.listeners": "127.0.0.1:0",
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.replication.factor": 1,
    }
    with Broker(config=config) as broker:
        servers = {"bootstrap.servers": broker.bootstrap_servers}
        producer = Producer({**servers, "transactional.id": "tx"})
        producer.init_transactions(PATIENCE_S)
        for end in (producer.abort_transaction, producer.commit_transaction, None):
            producer.begin_transaction()
            producer.produce("t", b"x")
            assert producer.flush(PATIENCE_S) == 0
            if end is not None:
                end(PATIENCE_S)
        consumer = Consumer({**servers, "group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe(["t"])
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        consumer.commit(message=message, asynchronous=False)
        yield broker
        consumer.close()


def ask(broker: Broker, subject: str, *names: str, since_ms: int = -1) -> Any:
    async def told() -> Any:
        async with Pool(broker.bootstrap_servers, "asker") as pool:
            return await FactsAdmin(pool).ask(0, subject, names or None, since_ms)

    return asyncio.run(told())


@pytest.mark.parametrize("subject", list(SCHEMA["$defs"]))
def test_answers_are_as_the_schema_says(busy: Broker, subject: str) -> None:
    told = ask(busy, subject)
    rows = told.pop(subject)
    top = {name: SCHEMA[name] for name in ("type", "properties", "required")}
    assert complaints(told, {**top, "additionalProperties": False}, SCHEMA["$defs"]) == []
    for row in rows:
        assert complaints(row, SCHEMA["$defs"][subject], SCHEMA["$defs"]) == []
    if subject in ("client", "groups", "ends", "transactions", "segments", "broker"):
        assert rows


def test_a_group_and_its_topic(busy: Broker) -> None:
    (group,) = ask(busy, "groups", "g")["groups"]
    assert (group["state"], [each["reason"] for each in group["rebalances"]]) == ("Stable", ["joined"])
    (commit,) = group["commits"]
    (end,) = ask(busy, "ends", "t")["ends"]
    assert commit["topic"] == end["topic"] == "t"
    assert end["last_stable"] == end["unstable"]["first_offset"] < end["end"]
    assert commit["offset"] <= end["last_stable"]


def test_transactions_and_how_they_ended(busy: Broker) -> None:
    told = ask(busy, "transactions", "tx")["transactions"]
    assert [(each["outcome"], each["reason"], each["markers_owed"]) for each in told] == [
        ("aborted", "producer", 0),
        ("open", None, 0),
    ]


def test_what_has_no_such_subject_is_told(busy: Broker) -> None:
    with pytest.raises(KafkaError) as raised:
        ask(busy, "nonsense")
    assert raised.value.code is ErrorCode.INVALID_REQUEST


def test_a_kill_ends_no_history() -> None:
    with Broker(config={"group.initial.rebalance.delay.ms": 0}) as broker:
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g"})
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        producer.produce("t", b"x")
        assert producer.flush(PATIENCE_S) == 0
        consumer.subscribe(["t"])
        events = Path(broker.data_dir) / "facts-events"
        until(lambda: consumer.poll(0.1) is None and events.exists() and b'"stable"' in events.read_bytes())
        broker.kill()
        broker.start()
        until(lambda: any(each["rebalances"] for each in ask(broker, "groups", "g")["groups"]))
        told = ask(broker, "groups", "g")["groups"][0]["rebalances"][0]
        assert (told["reason"], told["outcome"]) == ("joined", "stable")
        consumer.close()
