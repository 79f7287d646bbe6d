"""A broker at which five faults were made, and whose every view has something to show.

| fault | subject |
| --- | --- |
| a transaction that stays open is ahead of a reader of committed records | group audit, topic payments |
| a producer writes more than its limit | client importer |
| a rule denies what a client asks for | client clerk, topic payroll |
| a member went silent, and its session ended | group reports |
| a timestamp in the future keeps a segment for longer than retention says | topic clicks |
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from barnabas.testing import Broker
from tests.commands import run
from tests.patience import PATIENCE_S, until

ORDERS = 300
# Of the first order; each of the others is a minute later.
FIRST_MS = 1_767_225_600_000
# Nothing in it allows a line break.
_TOKEN = "abcdefghij" * 12
_NOTE = "leave it at the door, please; " * 10
_QUIET = {"log_level": 0}
_CONFIG: dict[str, str | int | float] = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": True,
    "group.min.session.timeout.ms": 500,
    "group.initial.rebalance.delay.ms": 0,
}


@contextmanager
def staged_broker() -> Iterator[str]:
    """Run the broker; give its address once all faults are there. Uses an event loop of its own: begin no other."""
    with Broker(config=_CONFIG) as broker:
        servers = broker.bootstrap_servers
        _make_topics(servers)
        _make_orders(servers)
        earliest = ("--group", "archive", "--topic", "orders", "--to-earliest", "--execute")
        _command(servers, "groups", "--reset-offsets", *earliest)
        with (
            _reader(servers, "billing", "orders", "biller") as biller,
            _reader(servers, "audit", "payments", "auditor") as auditor,
        ):
            for each in (biller, auditor):
                until(lambda each=each: _has_partitions(each))
            biller.commit(offsets=[TopicPartition("orders", 0, 40)], asynchronous=False)
            settlement = _open_transaction(servers, auditor)
            _be_refused(servers)
            importer = _be_held(servers)
            with _lost_member(broker, servers):
                yield servers
            importer.purge()
            settlement.abort_transaction(PATIENCE_S)


def _command(servers: str, *words: object, stdin: str = "") -> None:
    ran = run(*words, "--bootstrap-server", servers, stdin=stdin)
    assert ran.returncode == 0, ran.stderr


def _make_topics(servers: str) -> None:
    for name, count in {"orders": 3, "payments": 1, "payroll": 1, "imports": 1, "clicks": 1, "visits": 2}.items():
        _command(servers, "topics", "--create", "--topic", name, "--partitions", count, "--config", "retention.ms=-1")
    _command(servers, "configs", "--alter", "--topic", "clicks", "--add-config", "retention.ms=3600000")
    _command(servers, "quotas", "set", "--client-id", "importer", "--set", "producer_byte_rate=50000")
    _command(servers, "quotas", "set", "--user-default", "--client-default", "--set", "request_percentage=200")
    payroll = ("acls", "--add", "--topic", "payroll", "--force")
    _command(servers, *payroll, "--allow-principal", "User:ANONYMOUS", "--operation", "All")
    _command(servers, *payroll, "--deny-principal", "User:ANONYMOUS", "--operation", "Write")
    _command(servers, "users", "add", "--user", "alice", "--password-file", "-", stdin="secret\n")


def _producer(servers: str, **config: str | int) -> Producer:
    named = {name.replace("_", "."): value for name, value in config.items()}
    return Producer({"bootstrap.servers": servers, "linger.ms": 0, **named, **_QUIET})


def _flushed(producer: Producer) -> None:
    assert producer.flush(PATIENCE_S) == 0


def _make_orders(servers: str) -> None:
    shop = _producer(servers, client_id="shop")
    for number in range(ORDERS):
        order = {"id": number, "customer": {"name": f"customer-{number % 7}"}, "total": number * 1.25, "note": _NOTE}
        headers: list[tuple[str, str | bytes | None]] = [("trace", b"%032x" % number)]
        at_ms = FIRST_MS + number * 60_000
        shop.produce("orders", json.dumps(order), f"customer-{number % 7}", 0, timestamp=at_ms, headers=headers)
    for number in range(5):
        shop.produce("payments", b"%d" % number)
    in_ten_years_ms = time.time_ns() // 1_000_000 + 10 * 365 * 86_400_000
    wide: list[tuple[str, str | bytes | None]] = [(name, _TOKEN) for name in ("trace", "source", "agent")]
    shop.produce("clicks", f"a click {_TOKEN}", f"customer {_TOKEN}", timestamp=in_ten_years_ms, headers=wide)
    _flushed(shop)


@contextmanager
def _reader(servers: str, group: str, topic: str, client_id: str, **config: str | int) -> Iterator[Consumer]:
    settings = {"group.id": group, "client.id": client_id, "enable.auto.commit": False}
    named = {name.replace("_", "."): value for name, value in config.items()}
    consumer = Consumer({"bootstrap.servers": servers, **settings, **named, **_QUIET})
    try:
        consumer.subscribe([topic])
        yield consumer
    finally:
        consumer.close()


def _has_partitions(consumer: Consumer, count: int = 1) -> bool:
    consumer.poll(0.05)
    return len(consumer.assignment()) >= count


def _open_transaction(servers: str, auditor: Consumer) -> Producer:
    auditor.commit(offsets=[TopicPartition("payments", 0, 5)], asynchronous=False)
    settlement = _producer(
        servers, client_id="settlement", transactional_id="settlement", transaction_timeout_ms=900_000
    )
    settlement.init_transactions(PATIENCE_S)
    settlement.begin_transaction()
    settlement.produce("payments", b"settled")
    _flushed(settlement)
    shop = _producer(servers, client_id="shop")
    for number in range(20):
        shop.produce("payments", b"%d" % number)
    _flushed(shop)
    return settlement


def _be_refused(servers: str) -> None:
    told: list[object] = []
    clerk = _producer(servers, client_id="clerk")
    try:
        clerk.produce("payroll", b"a raise", on_delivery=lambda error, _: told.append(error))
    except KafkaException as error:
        told.append(error)
    _flushed(clerk)
    assert told[0] is not None


def _be_held(servers: str) -> Producer:
    """Write twelve seconds' worth of the limit in a moment: the broker answers the last one late."""
    importer = _producer(servers, client_id="importer")
    for _ in range(6):
        importer.produce("imports", b"x" * 100_000)
    importer.flush(0.2)
    return importer


@contextmanager
def _lost_member(broker: Broker, servers: str) -> Iterator[None]:
    """Let a group lose a member whose heartbeats do not come any more."""
    soon = {"heartbeat_interval_ms": 100}
    session = {"session_timeout_ms": 1_000, **soon}
    with (
        _reader(servers, "reports", "visits", "reporter-1", **soon) as first,
        _reader(servers, "reports", "visits", "reporter-2", **session) as second,
    ):
        until(lambda: len(first.assignment()) == 1 == len(second.assignment()) or first.poll(0.05) or second.poll(0.05))
        with broker.on("Heartbeat", client_id="reporter-2").drop():
            until(lambda: _has_partitions(first, 2))
            yield
