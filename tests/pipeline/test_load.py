"""The load: many topics in one run, a table each; columns grow, and what does not fit is put aside with a reason."""

import io
import json
import random
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pytest

from barnabas.pipeline.catalogue import find_job
from barnabas.pipeline.events.schema_registry import SchemaRegistry
from barnabas.pipeline.runner.maintenance import Every
from barnabas.pipeline.runner.outputs import table_location
from barnabas.pipeline.runner.supervisor import RunFailedError
from barnabas.pipeline.tables.formats import open_table
from barnabas.pipeline.tables.layout import Layout, parse_divisions
from barnabas.pipeline.tables.table import TableError
from tests.pipeline.postgresql_server import postgresql
from tests.pipeline.site import Site
from tests.registry import FakeRegistry
from tests.spark import shared_session

__all__ = ["postgresql"]  # a fixture


LOAD = find_job("load")


def load(site: Site, *topics: str, **fields: Any):
    return site.run(LOAD, any_topics=topics, **fields)


def send(site: Site, topic: str, *values: object) -> None:
    site.send(topic, [(None, json.dumps(value).encode()) for value in values])


def reasons(site: Site, topic: str) -> list[str]:
    return sorted(headers["reason"] for _, _, headers in site.records(f"{topic}.dlq"))


def test_many_topics_go_into_a_table_each(site: Site):
    orders, users = f"{site.name}-orders", f"{site.name}-users"
    site.create(orders, 3)
    site.create(users, 2)
    send(site, orders, *({"id": number, "price": number / 4} for number in range(40)))
    send(site, users, *({"name": f"u{number}", "tags": ["a", "b"]} for number in range(10)))
    done = load(site, f"/{site.name}-.*/")
    assert (done.figures.record_count, done.figures.lag_count) == (50, 0)
    assert site.rows(LOAD, orders, "id", "price") == [(number, number / 4) for number in range(40)]
    assert site.rows(LOAD, users, "name", "tags")[0] == ("u0", ["a", "b"])
    places = site.rows(LOAD, orders, "_topic", "_partition", "_offset")
    assert len(set(places)) == 40
    assert {place[0] for place in places} == {orders}


def test_a_table_is_committed_to_where_its_topic_has_records_and_a_new_topic_has_no_other_read_again(site: Site):
    orders, users, later = (f"{site.name}-{name}" for name in ("orders", "users", "later"))
    site.create(orders, 2)
    site.create(users, 1)
    send(site, orders, *({"id": number} for number in range(10)))
    send(site, users, {"name": "a"})
    load(site, orders, users)
    log = site.directory / "tables" / "load" / users / "_delta_log"
    before = sorted(log.glob("*.json"))
    send(site, orders, {"id": 10})
    assert load(site, orders, users).figures.record_count == 1
    assert sorted(log.glob("*.json")) == before
    # What that table noted of the other topic is older than it.
    assert load(site, orders, users).figures.record_count == 0
    # Who asks for fewer topics has lost nothing.
    assert load(site, orders).figures.record_count == 0
    site.create(later, 1)
    send(site, later, {"n": 1}, {"n": 2})
    assert load(site, orders, users, later).figures.record_count == 2
    assert site.rows(LOAD, orders, "id") == [(number,) for number in range(11)]
    assert (site.rows(LOAD, users, "name"), site.rows(LOAD, later, "n")) == ([("a",)], [(1,), (2,)])


def test_a_topic_without_rows_does_not_stop_a_load_with_a_layout(site: Site):
    topics = [f"{site.name}-{name}" for name in ("orders", "empty", "refused", "people")]
    orders, _, refused, people = topics
    for topic in topics:
        site.create(topic, 1)
    send(site, orders, {"id": 1, "country": "de"})
    site.send(refused, [(None, b"no json")])
    site.send(people, [(b"a", None)])
    plan = {
        "layout": Layout(parse_divisions("country"), ("id",)),
        "by_key": (people,),
        "compact_every": Every(batches=1),
    }
    load(site, *topics, **plan)
    assert [path.name for path in (site.directory / "tables/load").iterdir()] == [orders]
    for number, topic in enumerate(topics):
        site.send(topic, [(b"a", b'{"id": %d, "country": "cz"}' % (number + 2))])
    load(site, *topics, **plan)
    rows = [site.rows(LOAD, topic, "id", "country") for topic in topics]
    assert rows == [[(1, "de"), (2, "cz")], [(3, "cz")], [(4, "cz")], [(5, "cz")]]
    # A row without the columns does.
    for by_key in (False, True):
        topic = f"{site.name}-{by_key}"
        site.create(topic, 1)
        site.send(topic, [(b"a", b"{}")])
        with pytest.raises(TableError, match="column country for partitioning or sorting does not exist"):
            load(site, topic, layout=plan["layout"], by_key=(topic,) if by_key else ())


def test_new_fields_become_columns_and_a_changed_type_is_put_aside(site: Site):
    topic = f"{site.name}-orders"
    site.create(topic, 1)
    send(site, topic, {"id": 1, "price": 2.5})
    load(site, topic)
    send(
        site,
        topic,
        {"id": 2, "price": 3.5, "customer": {"name": "ada"}},
        {"id": "three", "price": 1.0},
        {"id": 4, "price": "cheap"},
        {"id": 5, "price": 5.5, "customer": {"name": "bob", "city": "Prague"}},
    )
    site.send(topic, [(None, b"no json"), (None, b"[1]"), (b"key", None)])
    done = load(site, topic)
    assert (done.figures.record_count, done.figures.dead_letter_count) == (7, 5)
    rows = site.rows(LOAD, topic, "id", "price", "customer.name", "customer.city")
    assert rows == [(1, 2.5, None, None), (2, 3.5, "ada", None), (5, 5.5, "bob", "Prague")]
    told = reasons(site, topic)
    assert len(told) == 5
    assert any("id" in reason and "three" in reason for reason in told)
    assert any("price" in reason and "cheap" in reason for reason in told)
    # What is put aside is put aside once, and the next batch fits the grown table.
    send(site, topic, {"id": 6, "price": 1, "customer": None})
    load(site, topic)
    assert site.rows(LOAD, topic, "id")[-1] == (6,)
    assert len(reasons(site, topic)) == 5


@pytest.mark.whole
@pytest.mark.parametrize("table_format", ["parquet", "iceberg"])
def test_other_formats_grow_as_well(site: Site, table_format: str):
    topic = f"{site.name}-orders"
    site.create(topic, 2)
    send(site, topic, {"id": 1})
    load(site, topic, table_format=table_format)
    send(site, topic, {"id": 2, "note": "new"}, {"id": "two"})
    load(site, topic, table_format=table_format)
    assert site.rows(LOAD, topic, "id", "note", table_format=table_format) == [(1, None), (2, "new")]
    assert len(reasons(site, topic)) == 1


def framed(schema_id: int, schema: Any, value: object) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, schema, value)
    return b"\0" + schema_id.to_bytes(4, "big") + body.getvalue()


def test_values_framed_by_a_registry_are_read_by_their_own_schemas(site: Site):
    topic = f"{site.name}-orders"
    site.create(topic, 1)
    fields = [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "cost", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "note", "type": ["null", "string"]},
    ]
    old = {"type": "record", "name": "Order", "fields": fields}
    new = {**old, "fields": [*fields, {"name": "tags", "type": {"type": "array", "items": "string"}}]}
    nulls = {"type": "record", "name": "Order", "fields": fields[3:]}
    at = datetime(2026, 3, 6, 19, 0, 0, 123456, tzinfo=UTC)
    order = {"id": 1, "at": at, "cost": Decimal("12.30"), "note": None}
    values = [
        framed(1, old, order),
        framed(2, new, {**order, "id": 2, "tags": ["a"], "note": "x"}),
        framed(3, "string", "")[:5] + b'{"id": 3, "extra": true}',
        framed(4, nulls, {"note": None}),
        # What follows is bad: no frame, cut, another schema's bytes, an unknown id, no record, no Avro, no JSON.
        b'{"id": 5}',
        b"\0\0\0",
        framed(1, old, order)[:-4],
        framed(7, "string", "x"),
        # A text of 2^31 - 10 bytes, it says.
        framed(4, nulls, {"note": None})[:5] + b"\x02\xec\xff\xff\xff\x0f",
        framed(5, "string", "x"),
        framed(6, "string", "x"),
        framed(3, "string", "x"),
    ]
    with FakeRegistry() as server:
        for schema_id, schema in {1: old, 2: new, 4: nulls, 5: "string", 6: {"type": "cat"}}.items():
            server.put(schema_id, schema)
        server.put(3, {"type": "object"}, schemaType="JSON")
        # The registry has lost its ways: records wait, until it is asked no more.
        good, server.answers[2] = server.answers[2], (200, "text/html", b"<html>")
        site.send(topic, [(b"k", value) for value in values])
        registry = SchemaRegistry(server.url)
        with pytest.raises(RunFailedError, match="did not return schema 2"):
            load(site, topic, registry=registry, give_up_s=0.0)
        server.answers[2] = good
        done = load(site, topic, registry=registry)
        assert (done.figures.record_count, done.figures.dead_letter_count) == (12, 8)
        # Each Python worker remembers the schemas, also when its batch is tried again.
        assert [asked for asked, _ in server.asked].count(1) <= shared_session().sparkContext.defaultParallelism
    naive = at.astimezone().replace(tzinfo=None)
    assert site.rows(LOAD, topic, "_offset", "id", "at", "cost", "note", "tags", "extra") == [
        (0, 1, naive, Decimal("12.30"), None, None, None),
        (1, 2, naive, Decimal("12.30"), "x", ["a"], None),
        (2, 3, None, None, None, None, True),
        (3, None, None, None, None, None, None),
    ]
    told = reasons(site, topic)
    for text in ("no schema registry frame: 7B22", "frame: 000000", "its schema 1", "its schema 4", "has no schema 7"):
        assert sum(text in reason for reason in told) == 1, told
    for text in ("schema 5 is not a record schema", "schema 6 is not a valid Avro schema", "not one JSON value"):
        assert sum(text in reason for reason in told) == 1, told
    # What can't be had is put aside, where that is asked for: as it was, with the reason.
    site.send(topic, [(None, framed(8, old, order)), (None, framed(1, old, order))])
    done = load(site, topic, registry=replace(registry, is_waited_for=False))
    assert done.figures.dead_letter_count == 2
    letters = [(value, headers["reason"]) for _, value, headers in site.records(f"{topic}.dlq")]
    assert {value for value, reason in letters if "does not answer" in reason} == {
        framed(8, old, order),
        framed(1, old, order),
    }


WHOLE = pytest.mark.whole


def plan_by_key(
    request: pytest.FixtureRequest, site: Site, topic: str, table_format: str, keeps_deleted: bool
) -> dict[str, Any]:
    """Give what a plan says of a table by key: its format, its place, its topic."""
    tables = str(site.directory / "tables")
    if table_format == "postgresql":
        tables = request.getfixturevalue("postgresql").database_url()
    return {"table_format": table_format, "tables": tables, "by_key": (topic,), "keeps_deleted": keeps_deleted}


def rows_by_key(site: Site, topic: str, location: str, table_format: str, *columns: str) -> list[tuple[Any, ...]]:
    table = open_table(site.spark, location, table_format).read()
    return sorted(tuple(row) for row in table.select("_key", *columns).collect())


@pytest.mark.parametrize(
    ("table_format", "keeps_deleted"),
    [("delta", False), pytest.param("delta", True, marks=WHOLE)]
    + [pytest.param(name, keeps, marks=WHOLE) for name in ("iceberg", "postgresql") for keeps in (False, True)],
)
def test_a_table_by_key_holds_the_last_record_of_each_key(
    request: pytest.FixtureRequest, site: Site, table_format: str, keeps_deleted: bool
):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    topic = f"{site.name}-people"
    plan = plan_by_key(request, site, topic, table_format, keeps_deleted)
    location = table_location(plan["tables"], table_format, "load", topic)
    site.create(topic, 3)
    keys = [f"k{number}" for number in range(30)] + ["back\\slash", "m" * 1_000_000]
    expected: dict[str, tuple[int, bool]] = {}
    # What can be no key is put aside.
    bad: list[tuple[bytes | None, bytes | None]] = [(None, b'{"n": 1}'), (None, None), (b"\xff", b'{"n": 1}')]
    bad += [(b"\0\1", b"{}"), (b"good", b"no json")]
    for batch in range(2):
        sent: list[tuple[bytes | None, bytes | None]] = []
        for number in range(100):
            key = chance.choice(keys)
            if chance.random() < 0.3:
                sent.append((key.encode(), None))
                if key in expected:
                    expected[key] = (expected[key][0], True)
                    if not keeps_deleted:
                        del expected[key]
            else:
                n = 100 * batch + number
                row = {"n": n, **({"later": "x"} if batch == 1 else {})}
                sent.append((key.encode(), json.dumps(row).encode()))
                expected[key] = (n, False)
        site.send(topic, sent if batch == 0 else [*sent, *bad])
        done = load(site, topic, **plan)
        assert (done.figures.record_count, done.figures.dead_letter_count) == ((100, 0) if batch == 0 else (105, 5))
        if batch == 0:
            # Where it is, the table says.
            shutil.rmtree(site.directory / "checkpoints", ignore_errors=True)
            assert load(site, topic, **plan).figures.record_count == 0
        deleted = ("_deleted",) if keeps_deleted else ()
        wanted = sorted((key, n, is_gone)[: 2 + keeps_deleted] for key, (n, is_gone) in expected.items())
        assert rows_by_key(site, topic, location, table_format, "n", *deleted) == wanted
    told = reasons(site, topic)
    for text, count in [("no key", 2), ("not UTF-8", 1), ("a NUL character", 1), ("not one JSON value", 1)]:
        assert sum(text in reason for reason in told) == count, told
    with pytest.raises(TableError, match="--by-key"):
        load(site, topic, table_format=table_format, tables=plan["tables"])


def envelope(op: str, before: object, after: object, *, has_schema: bool) -> bytes:
    change = {"before": before, "after": after, "source": {"lsn": 1}, "op": op, "ts_ms": 1, "transaction": None}
    return json.dumps({"schema": {"type": "struct"}, "payload": change} if has_schema else change).encode()


@pytest.mark.parametrize(
    ("table_format", "keeps_deleted", "partition_count"),
    [("delta", True, 3), pytest.param("delta", False, 1, marks=WHOLE)]
    + [pytest.param(name, True, 1, marks=WHOLE) for name in ("delta", "iceberg", "postgresql")],
)
def test_a_table_by_key_of_debezium_s_changes_is_as_the_database_s(
    request: pytest.FixtureRequest, site: Site, table_format: str, keeps_deleted: bool, partition_count: int
):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    topic = f"{site.name}-people"
    plan = plan_by_key(request, site, topic, table_format, keeps_deleted)
    plan["envelope"] = "debezium"
    location = table_location(plan["tables"], table_format, "load", topic)
    site.create(topic, partition_count)
    alive: dict[str, int] = {}
    dead: dict[str, int] = {}
    bad = [
        (None, envelope("c", None, {"n": 1}, has_schema=False), "no key"),
        (b"k", envelope("c", None, None, has_schema=True), "no row in after"),
        (b"k", envelope("z", None, {"n": 1}, has_schema=False), "must be c, r, u"),
        (b"k", envelope("u", None, {"n": "a text"}, has_schema=True), "field n is bigint"),
        (b"k", b'{"n": 1}', "not a Debezium envelope"),
    ]
    if partition_count > 1:
        bad.append((None, envelope("t", None, None, has_schema=True), "several partitions"))
    for batch in range(2):
        changes: list[tuple[str | None, str, object, object]] = []
        for number in range(100):
            key = json.dumps({"id": chance.randrange(30)})
            n = 100 * batch + number
            if chance.random() < 0.3 and key in alive:
                changes.append((key, "d", {"n": alive[key]}, None))
                dead[key] = alive.pop(key)
                if chance.random() < 0.7:
                    changes.append((key, "", None, None))
            elif batch == 1 and number == 60 and partition_count == 1:
                changes.append((None, "t", None, None))
                dead |= alive
                alive.clear()
            elif number % 20 == 19:
                changes.append((json.dumps({"prefix": "p"}), "m", None, None))
            else:
                row = {"n": n, **({"later": "x"} if batch == 1 else {})}
                changes.append((key, "u" if key in alive else chance.choice("cr"), None, row))
                alive[key] = n
                dead.pop(key, None)
        sent: list[tuple[bytes | None, bytes | None]] = [
            (
                None if key is None else key.encode(),
                envelope(op, before, after, has_schema=chance.random() < 0.5) if op else None,
            )
            for key, op, before, after in changes
        ]
        wrong = bad if batch == 1 else []
        site.send(topic, [*sent, *((key, value) for key, value, _ in wrong)])
        done = load(site, topic, **plan)
        counts = done.figures.record_count, done.figures.dead_letter_count
        assert counts == (len(changes) + len(wrong), len(wrong))
        wanted = [(key, n, False) for key, n in alive.items()]
        wanted += [(key, n, True) for key, n in dead.items() if keeps_deleted]
        deleted = ("_deleted",) if keeps_deleted else ()
        found = rows_by_key(site, topic, location, table_format, "n", *deleted)
        assert found == sorted(row[: 2 + keeps_deleted] for row in wanted)
    told = [reason for _, _, reason in bad]
    letters = site.records(f"{topic}.dlq")
    assert sorted(each for each in told for _, _, headers in letters if each in headers["reason"]) == sorted(told)
    # As they are.
    assert {"n": 1} in [value for _, value, _ in letters]


def test_without_by_key_there_is_a_row_for_each_of_debezium_s_changes(site: Site):
    topic = f"{site.name}-people"
    site.create(topic, 1)
    old, new = {"id": 2**53 + 1, "share": 1.0, "_op": "ž"}, {"id": 2**53 + 1, "share": 0.1, "_op": "\u0001"}
    changes = [("r", None, old), ("u", old, new), ("d", new, None), ("m", None, None), ("t", None, None)]
    values = [envelope(op, *rows, has_schema=number % 2 == 0) for number, (op, *rows) in enumerate(changes)]
    site.send(topic, [*((b"k", value) for value in values), (b"k", None), (None, b'{"op": "c"}')])
    done = load(site, topic, envelope="debezium")
    assert (done.figures.record_count, done.figures.dead_letter_count) == (7, 1)
    rows = site.rows(LOAD, topic, "_offset", "_op", "id", "share", "_op_")
    assert rows == [
        (0, "r", 2**53 + 1, 1.0, "ž"),
        (1, "u", 2**53 + 1, 0.1, "\u0001"),
        (2, "d", 2**53 + 1, 0.1, "\u0001"),
        (4, "t", None, None, None),
    ]


def test_numbers_of_a_registry_s_schemas_become_bigint_and_double(site: Site, tmp_path: Path):
    topic = f"{site.name}-orders"
    site.create(topic, 1)
    schemas = []
    for schema_id, (whole, number) in enumerate([("int", "float"), ("long", "double")], 1):
        fields = [{"name": "id", "type": "int"}, {"name": "size", "type": whole}, {"name": "share", "type": number}]
        schemas.append({"type": "record", "name": "Order", "fields": fields})
        (tmp_path / f"{schema_id}.avsc").write_text(json.dumps(schemas[-1]))
    orders = [(1, {"id": 1, "size": 7, "share": 0.5}), (2, {"id": 2, "size": 2**40, "share": 0.1})]
    site.send(topic, [(None, framed(schema_id, schemas[schema_id - 1], order)) for schema_id, order in orders])
    load(site, topic, registry=SchemaRegistry(str(tmp_path)))
    assert site.rows(LOAD, topic, "id", "size", "share") == [(1, 7, 0.5), (2, 2**40, 0.1)]
    rows = open_table(site.spark, str(site.directory / "tables" / "load" / topic), "delta").read()
    assert rows.select("id", "size", "share").schema.simpleString() == "struct<id:bigint,size:bigint,share:double>"


def test_an_activity_topic_begins_with_its_types_columns(site: Site):
    site.create("page-views", 1)
    try:
        send(
            site,
            "page-views",
            {
                "type": "page_view",
                "version": 9,
                "id": "a:1",
                "time": "2026-03-06T19:00:00Z",
                "address": "192.0.2.1",
                "method": "GET",
                "page": "/",
                "status": 200,
                "is_new": True,
            },
            {"status": 2**40},
        )
        load(site, "page-views")
        time = datetime(2026, 3, 6, 19, tzinfo=UTC).replace(tzinfo=None)
        found = site.rows(LOAD, "page-views", "status", "time", "bytes", "is_new")
        # The status of a page view is an INT, and the table's column wider where it must be.
        assert found == [(200, time, None, True), (2**40, None, None, None)]
    finally:
        site.delete("page-views")


def test_a_topic_is_loaded_into_a_place_and_a_layout_of_its_own(site: Site):
    topic = f"{site.name}-orders"
    site.create(topic, 2)
    send(site, topic, *({"id": number, "customer": f"c{-number % 7}"} for number in range(40)))
    place = str(site.directory / "elsewhere" / "orders")
    plan = {"layout": Layout(parse_divisions("day(_timestamp)"), ("customer",)), "places": {topic: place}}
    load(site, topic, **plan)
    send(site, topic, *({"id": number, "customer": "c0", "note": "later"} for number in range(40, 50)))
    load(site, topic, **plan)
    rows = open_table(site.spark, place, "delta").read()
    assert sorted(row["id"] for row in rows.select("id").collect()) == list(range(50))
    (count,) = rows.selectExpr("count_if(_timestamp_day = CAST(_timestamp AS DATE))").collect()[0]
    assert count == 50
    assert not (site.directory / "tables").exists()
    site.create(f"{topic}-2", 1)
    send(site, f"{topic}-2", {"name": "no customer"})
    with pytest.raises(
        TableError, match="column customer for partitioning or sorting does not exist; the columns are name"
    ):
        load(site, f"{topic}-2", layout=plan["layout"])
