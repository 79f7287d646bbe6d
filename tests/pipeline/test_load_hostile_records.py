"""The load on whatever a topic holds: open and aborted transactions, records that no table and no dead letter takes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Producer

from barnabas.clients.positions import Bound
from barnabas.pipeline.catalogue import find_job
from barnabas.pipeline.runner.outputs import table_location
from barnabas.pipeline.tables.formats import open_table
from barnabas.pipeline.tables.table import TableError
from tests.patience import PATIENCE_S
from tests.pipeline.postgresql_server import PostgresqlServer, postgresql
from tests.pipeline.site import Site

__all__ = ["postgresql"]  # a fixture


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
    assert [(offset, value) for offset, (_, value, _) in letters(site, topic).items()] == [(1, b"no json")]
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
    kept_key, kept, headers = found[1]
    assert (kept_key, headers["value_bytes"], "key_bytes" in headers) == ("k", "3000004", False)
    assert kept.startswith(b"cut zzz")
    assert 1_000_000 < len(kept) < 1_048_588
    kept_key, kept, headers = found[2]
    assert kept_key is not None
    assert (headers["key_bytes"], headers["value_bytes"], set(kept_key), kept) == ("3000000", "7", {"k"}, b"")
    assert found.keys() == {1, 2, 3}
    found = letters(site, small)
    assert found.keys() == {0, 1}
    assert (found[1][:2], found[0][2]["key_bytes"]) == (("k", b"v"), "5000")


def test_values_that_no_column_holds_exactly_and_deep_ones_are_dead_letters(site: Site):
    topic, other = f"{site.name}-values", f"{site.name}-other"
    site.create(topic, 1)
    site.create(other, 1)
    site.send(other, [(None, b'{"b": 1}')])
    good: list[tuple[str, float | None]] = [
        ('{"n": 1.5, "s": "x"}', 1.5),
        ('{"n": 9007199254740992, "s": "\\ud83d\\ude00 \\\\ud83d"}', 2.0**53),
        ('{"n": 1152921504606846976, "o": {"list": [{"x": 0.5}]}}', 2.0**60),
        ('{"n": 0.1234567890123456789}', 0.12345678901234568),
        ('{"s": "' + "[" * 3_000 + '"}', None),
    ]
    bad = {
        '{"n": 9007199254740993}': "field n is double in the table, which cannot represent exactly: 9007199254740993",
        '{"n": 9223372036854775807}': "field n is double",
        '{"n": 1e400}': "field n is double",
        '{"o": {"list": [{"x": 1}, {"x": 9007199254740993}]}}': "field o.list[].x is double",
        '{"s": "cut \\ud83d"}': '"s": "cut \\ud83d',
        '{"n": NaN}': "not one JSON value",
        '{"o": ' + '{"x": ' * 150 + "1" + "}" * 151: "nested more than",
        '{"a": ' + "[" * 400 + "]" * 400 + "}": "nested more than",
        '{"o": ' + '{"x": ' * 990 + "1" + "}" * 991: "nested more than",
        "[" * 900_000: "nested more than",
    }
    sent = [text for text, _ in good] + list(bad)
    # The first load makes the table, the second one finds it.
    for start in (0, len(sent)):
        site.send(topic, [(None, text.encode()) for text in sent])
        done = load(site, topic, other)
        told = {offset: headers["reason"] for offset, (_, _, headers) in letters(site, topic).items()}
        wanted = {start + number: bad[text] for number, text in enumerate(sent) if text in bad}
        assert [each for offset, each in wanted.items() if each not in told.get(offset, "")] == []
        assert done.figures.dead_letter_count == len(wanted)
        rows = sorted(row for row in site.rows(LOAD, topic, "_offset", "n") if row[0] >= start)
        assert rows == [(start + number, n) for number, (_, n) in enumerate(good)]
    assert site.rows(LOAD, other, "b") == [(1,)]


def test_postgresql_takes_any_topic_and_records_that_it_cannot_hold_are_dead_letters(
    site: Site, postgresql: PostgresqlServer
):
    topic, long = f"{site.name}.public.orders", f"{site.name}-{'long' * 40}"
    site.create(topic, 1)
    site.create(long, 1)
    bad = {
        json.dumps({"x" * 64: 1}): "name of 64 bytes",
        json.dumps({"é" * 32: 1}): "name of 64 bytes",
        json.dumps({"ctid": 1}): "field ctid",
        json.dumps({"_nul": 1}): "field _nul",
        json.dumps({"a\0b": 1}): "NUL character",
        json.dumps({f"f{number}": 1 for number in range(1_600)}): "the table would have 160",
    }
    good = [{"a": 1}, {"a": 2, "x" * 63: "NUL \0", "_attempt": 1, "o": {"y\0" * 64: 1}}]
    site.send(topic, [(None, json.dumps(value).encode()) for value in good])
    site.send(topic, [(None, text.encode()) for text in bad])
    site.send(long, [(None, b'{"a": 1}')])
    plan = {"tables": postgresql.database_url(), "table_format": "postgresql"}
    done = load(site, topic, long, **plan)
    assert (done.figures.record_count, done.figures.dead_letter_count) == (9, 6)
    told = [headers["reason"] for _, _, headers in letters(site, topic).values()]
    assert [reason for reason, wanted in zip(told, bad.values(), strict=True) if wanted not in reason] == []
    location = table_location(postgresql.database_url(), "postgresql", "load", topic)
    rows = open_table(site.spark, location, "postgresql").read().orderBy("_offset").select("a", "x" * 63, "_attempt")
    assert [tuple(row) for row in rows.collect()] == [(1, None, None), (2, "NUL \0", 1)]
    # Two topics that would have one table are refused.
    name = f"load_{site.name}_public_orders".replace("-", "_")
    assert postgresql.query(f'SELECT count(*) FROM public."{name}"') == [(2,)]
    site.create(topic.replace(".", "-"), 1)
    site.send(topic.replace(".", "-"), [(None, b'{"a": 1}')])
    with pytest.raises(TableError, match="would be the table of both"):
        load(site, topic, topic.replace(".", "-"), **plan)
