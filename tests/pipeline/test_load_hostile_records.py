"""The load on whatever a topic holds: open and aborted transactions, records that no table and no dead letter takes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from confluent_kafka import Producer

from barnabas.clients.positions import Bound
from barnabas.pipeline.catalogue import find_job
from tests.patience import PATIENCE_S
from tests.pipeline.site import Site
from tests.spark import forgets_sockets

pytestmark = forgets_sockets

LOAD = find_job("load")


def load(site: Site, *topics: str, isolation_level: str = "", **fields: Any):
    options = {"isolation.level": isolation_level} if isolation_level else {}
    kafka = replace(site.kafka, options={**site.kafka.options, **options})
    return site.run(LOAD, any_topics=topics, kafka=kafka, **fields)


@contextmanager
def transaction(site: Site, topic: str, *numbers: int, is_aborted: bool = False) -> Iterator[None]:
    """Keep a transaction open that has sent records with these numbers; commit or abort it at the end."""
    producer = Producer({"bootstrap.servers": site.kafka.bootstrap_servers, "transactional.id": f"{topic}-{numbers}"})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    for number in numbers:
        producer.produce(topic, json.dumps({"id": number}).encode(), partition=0)
    producer.flush(PATIENCE_S)
    yield
    (producer.abort_transaction if is_aborted else producer.commit_transaction)(PATIENCE_S)


def ids(site: Site, topic: str) -> list[int]:
    return [row[0] for row in site.rows(LOAD, topic, "id")]


def letters(site: Site, topic: str) -> dict[int, tuple[str | None, Any, dict[str, str]]]:
    """Give a topic's dead letters by the offset of their record."""
    found = [(int(headers["offset"]), (key, value, headers)) for key, value, headers in site.records(f"{topic}.dlq")]
    assert len(dict(found)) == len(found)
    return dict(found)


def test_committed_records_are_loaded_once_and_an_open_transaction_delays_its_own(site: Site):
    topic = f"{site.name}-orders"
    site.create(topic, 1)
    for number, is_aborted in [(0, False), (1, True), (2, False), (3, True)]:
        with transaction(site, topic, number, is_aborted=is_aborted):
            pass
    done = load(site, topic)
    assert (ids(site, topic), done.figures.lag_count, site.warnings) == ([0, 2], 0, [])
    with transaction(site, topic, 4, 5):
        site.send(topic, [(None, b'{"id": 6}')])
        done = load(site, topic)
        assert (ids(site, topic), done.figures.record_count, done.figures.lag_count) == ([0, 2], 0, 0)
        (warning,) = site.warnings
        assert f"{topic}-0 has an open transaction from offset 8 on" in warning
        # Offsets inside the transaction are no reason to wait for its end.
        load(site, topic, is_once=False, until=Bound(offsets={topic: {0: 10}}))
        assert ids(site, topic) == [0, 2]
    done = load(site, topic)
    assert (ids(site, topic), done.figures.lag_count) == ([0, 2, 4, 5, 6], 0)
    with transaction(site, topic, 7, 8):
        assert load(site, topic, isolation_level="read_uncommitted").figures.record_count == 2
        assert ids(site, topic) == [0, 2, 4, 5, 6, 7, 8]
        # Beyond the last stable offset, which is no loss of records.
        assert load(site, topic).figures.record_count == 0
    site.send(topic, [(None, b'{"id": 9}')])
    load(site, topic)
    assert ids(site, topic) == [0, 2, 4, 5, 6, 7, 8, 9]


def test_dead_letters_are_never_read_by_a_pattern_and_have_none_of_their_own(site: Site):
    topic = f"{site.name}-orders"
    site.create(topic, 1)
    site.send(topic, [(None, b'{"a": 1}'), (None, b"no json")])
    for _ in range(2):
        load(site, f"/{site.name}-.*/")
    assert letters(site, topic).keys() == {1}
    done = load(site, f"{topic}.dlq")
    assert (done.figures.record_count, done.figures.dead_letter_count) == (1, 1)
    assert any(f"{topic}.dlq-0 offset 0" in warning for warning in site.warnings)
    load(site, f"/{site.name}-.*/")
    assert letters(site, topic).keys() == {1}


def test_a_dead_letter_has_as_much_of_its_record_as_its_topic_takes(site: Site):
    topic, small = (f"{site.name}-{name}" for name in ("large", "small"))
    site.create(topic, 1, max_message_bytes="9000000")
    site.create(small, 1)
    site.create(f"{small}.dlq", 1, max_message_bytes="2000")
    names = [f"{'n' * 2_000_000}{number}" for number in range(2)]
    values: list[tuple[bytes | None, bytes | None]] = [
        (None, b'{"a": 1}'),
        (b"k", b"cut " + b"z" * 3_000_000),
        (b"k" * 3_000_000, b"no json"),
        # The reason would name the field.
        (None, json.dumps({"A": 1, names[0]: {names[0]: 1, names[0].upper(): 2}}).encode()),
        (None, b'{"a": 2}'),
    ]
    producer = Producer({"bootstrap.servers": site.kafka.bootstrap_servers, "message.max.bytes": 9_000_000})
    for key, value in values:
        producer.produce(topic, value, key, partition=0)
    producer.flush(PATIENCE_S)
    site.send(small, [(b"k" * 5_000, b"v" * 5_000), (b"k", b"v")])
    done = load(site, topic, small)
    assert (done.figures.record_count, done.figures.dead_letter_count) == (7, 5)
    assert site.rows(LOAD, topic, "a") == [(1,), (2,)]
    found = letters(site, topic)
    key, value, headers = found[1]
    assert (key, headers["value_bytes"], "key_bytes" in headers) == ("k", "3000004", False)
    assert value.startswith(b"cut zzz")
    assert 1_000_000 < len(value) < 1_048_588
    key, value, headers = found[2]
    assert key is not None
    assert (headers["key_bytes"], headers["value_bytes"], set(key), value) == ("3000000", "7", {"k"}, b"")
    assert found.keys() == {1, 2, 3}
    found = letters(site, small)
    assert found.keys() == {0, 1}
    assert (found[1][:2], found[0][2]["key_bytes"]) == (("k", b"v"), "5000")
