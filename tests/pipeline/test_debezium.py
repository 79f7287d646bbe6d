"""Debezium's connector for PostgreSQL, on Kafka Connect and our broker: a table by key is as the database's in the end.

Connect's worker and the broker are killed while changes go on. `BARNABAS_DEBEZIUM_CHANGES=100000` makes it so many.
"""

import json
import os
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from barnabas.pipeline.catalogue import find_job
from tests.compat.conftest import StartBroker
from tests.patience import PATIENCE_S, until
from tests.pipeline.postgresql_server import PASSWORD, PostgresqlServer
from tests.pipeline.site import Site
from tools.debezium.worker import ConnectWorker

LOAD = find_job("load")
CHANGE_COUNT = int(os.environ.get("BARNABAS_DEBEZIUM_CHANGES", "3000"))
# A prefix of its own each, as their metrics have names by it.
PEOPLE, NOTES = "people.public.people", "notes.public.notes"
COLUMNS = ("id", "name", "amount", "score", "is_new")
LAST_ID = 1_000_000


def connector(server: PostgresqlServer, table: str, *, has_schema: bool) -> dict[str, str]:
    """Give the settings of a connector for one table."""
    converter = {"": "org.apache.kafka.connect.json.JsonConverter", ".schemas.enable": json.dumps(has_schema)}
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.hostname": "127.0.0.1",
        "database.port": str(server.port),
        "database.user": "test",
        "database.password": PASSWORD,
        "database.dbname": "test",
        "topic.prefix": table,
        "table.include.list": f"public.{table}",
        "plugin.name": "pgoutput",
        "publication.name": table,
        "publication.autocreate.mode": "filtered",
        "slot.name": table,
        "slot.retry.delay.ms": "500",
        "skipped.operations": "none",
        "decimal.handling.mode": "string",
        "poll.interval.ms": "50",
        **{f"{part}.converter{name}": value for part in ("key", "value") for name, value in converter.items()},
    }


def change(server: PostgresqlServer, chance: random.Random, count: int) -> None:
    """Make random changes to the table `people`."""
    with server.connect() as connection:
        for _ in range(count):
            one, other = chance.randrange(500), chance.randrange(500)
            match chance.randrange(10):
                case 0 | 1:
                    connection.execute("DELETE FROM people WHERE id = %s", (one,))
                case 2:
                    connection.execute(
                        "UPDATE people SET id = %s WHERE id = %s AND NOT EXISTS (SELECT FROM people WHERE id = %s)",
                        (other, one, other),
                    )
                case _:
                    connection.execute(
                        "INSERT INTO people VALUES (%s, %s, %s, %s, %s) ON CONFLICT (id) DO UPDATE SET "
                        "name = excluded.name, amount = excluded.amount, score = excluded.score",
                        (
                            one,
                            chance.choice([None, 'ž\\ "quoted" {\'}', "🙂", "x" * chance.randrange(200)]),
                            f"{chance.randrange(10**15)}.{chance.randrange(10**4)}",
                            chance.uniform(-1e9, 1e9),
                            chance.random() < 0.5,
                        ),
                    )
            if chance.random() < 0.1:
                connection.commit()


def test_a_table_by_key_is_as_the_database_s_whatever_is_killed(
    site_of: Callable[..., Site], start_broker: StartBroker, tmp_path: Path
):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    began_s = time.monotonic()
    broker = start_broker()
    site = site_of(broker)
    site.create(PEOPLE, 3)
    site.create(NOTES, 1)
    loads = []

    def load() -> None:
        loads.append(site.run(LOAD, any_topics=(PEOPLE, NOTES), by_key=(PEOPLE, NOTES), envelope="debezium"))
        assert loads[-1].figures.dead_letter_count == 0

    def loaded(topic: str, *columns: str) -> list[tuple[object, ...]]:
        return site.rows(LOAD, topic, *columns) if (site.directory / "tables" / "load" / topic).exists() else []

    def size(topic: str = PEOPLE) -> int:
        return sum(path.stat().st_size for path in broker.data_dir.glob(f"{topic}-*/*.log"))

    def holds(topic: str, text: str) -> bool:
        return any(text.encode() in path.read_bytes() for path in broker.data_dir.glob(f"{topic}-*/*.log"))

    with (
        PostgresqlServer(wal_level="logical") as server,
        ConnectWorker(tmp_path / "connect", broker.bootstrap_servers) as worker,
        ThreadPoolExecutor(1) as thread,
    ):
        columns = "id bigint PRIMARY KEY, name text, amount numeric(20, 4), score float8, is_new boolean"
        server.query(f"CREATE TABLE people ({columns})")
        server.query("CREATE TABLE notes (id int PRIMARY KEY, note text)")
        server.query("INSERT INTO people SELECT number, 'before', 1 FROM generate_series(0, 300) AS number")
        server.query("INSERT INTO notes SELECT number, 'gone' FROM generate_series(0, 9) AS number")
        worker.put("people", connector(server, "people", has_schema=True))
        worker.put("notes", connector(server, "notes", has_schema=False))
        deadline = time.monotonic() + PATIENCE_S
        while not (loaded(PEOPLE) and len(loaded(NOTES)) == 10):
            assert time.monotonic() < deadline, worker.said()
            if size() and size(NOTES):
                load()
            else:
                time.sleep(0.05)
        server.query("TRUNCATE notes")
        server.query("INSERT INTO notes SELECT number, 'new' FROM generate_series(5, 20) AS number")

        def wait_for_more_than(size_before: int) -> None:
            until(lambda: size() != size_before, worker.said)

        rounds = max(1, CHANGE_COUNT // 20_000)
        for _ in range(rounds):
            load()
            for kill, start in ((worker.kill, worker.start), (broker.kill, broker.restart)):
                size_before = size()
                changes = thread.submit(change, server, chance, CHANGE_COUNT // (2 * rounds))
                wait_for_more_than(size_before)
                time.sleep(chance.uniform(0.0, 0.2))
                kill()
                start()
                changes.result()
        server.query(f"INSERT INTO people VALUES ({LAST_ID}, 'the last')")
        made_s = time.monotonic()
        deadline = made_s + PATIENCE_S + CHANGE_COUNT / 500
        while not (holds(PEOPLE, "the last") and holds(NOTES, '"id":20,"note":"new"')):
            assert time.monotonic() < deadline, worker.said()
            time.sleep(0.05)
        load()

        people = server.query("SELECT id, name, amount::text, score, is_new FROM people ORDER BY id")
        assert loaded(PEOPLE, *COLUMNS) == people
        assert loaded(NOTES, "id", "note") == server.query("SELECT id, note FROM notes ORDER BY id")
        now_s = time.monotonic()
        print(
            f"{CHANGE_COUNT:,} changes, {2 * rounds} kills, {sum(each.figures.record_count for each in loads):,} "
            f"records in {len(loads)} loads, {len(people)} rows; {now_s - began_s:.0f} s, {now_s - made_s:.0f} s of "
            "them after the last change"
        )
