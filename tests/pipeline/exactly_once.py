"""Trials of exactly once: a job that is killed, and what must be there in the end; `soak.py` runs them, too.

A load's table must hold each record of the topic once, by its partition and offset, with what was sent at it. A ranking
must be, in its table and in its topic, what one uninterrupted run makes of the same topics. A load's table by key must
hold what the topic's last records say.
"""

import random
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from barnabas.pipeline.catalogue import find_job
from barnabas.pipeline.runner.outputs import table_location
from barnabas.pipeline.tables.formats import open_table
from tests.pipeline.changes_by_key import latest_rows, send_changes
from tests.pipeline.lives import Lives, job_lives, missing_and_doubled, wait_for_own_kill
from tests.pipeline.site import Site
from tests.spark import connector_options

RECORD_COUNT = 6_000
PARTITION_COUNT = 3
START = datetime(2026, 3, 6, 19, tzinfo=UTC)


class Trial:
    """A job, its topics, its lives, and the comparison at the end."""

    def __init__(self, site: Site, broker: Any, lives: Lives, compare: Callable[[], tuple[int, int]]) -> None:
        self.site = site
        self.broker = broker
        self.lives = lives
        self.compare = compare
        """Gives how many rows are missing, and how many are too many."""

    def own_kill(self) -> tuple[Callable[..., str]]:
        """An end that is left to the driver itself."""
        return (wait_for_own_kill,)

    def broker_away_during_a_life(self) -> None:
        """Let a life come to its end while the broker is killed and comes back."""

        def restart() -> None:
            self.broker.kill()
            self.broker.restart()
            self.lives.killed.broker_restart_count += 1

        def end(process: Any, chance: Any) -> str:
            time.sleep(chance.uniform(0.0, 3.0))
            thread = threading.Thread(target=restart)
            thread.start()
            thread.join()
            return "the broker"

        assert self.lives.live(end), self.lives.said()


def table_trial(
    site: Site, broker: Any, directory: Path, table_format: str, *, seed: int, tables: str = "", **asked: Any
) -> Trial:
    """A load of one topic into a table of a format."""
    topic = site.topic("page_view")
    site.create(topic, PARTITION_COUNT)
    send_views(site, RECORD_COUNT)
    place = tables or str(directory / "tables")
    lives = job_lives(directory, "load", table_format, place, seed)
    lives.ask(bootstrap_servers=broker.bootstrap_servers, any_topics=[topic], **asked)

    def compare() -> tuple[int, int]:
        location = table_location(place, table_format, "load", topic)
        table = open_table(site.spark, location, table_format).read()
        found = [tuple(row) for row in table.select("_partition", "_offset", "id", "page").collect()]
        return missing_and_doubled(records_of(site, topic), found)

    return Trial(site, broker, lives, compare)


def key_trial(
    site: Site,
    broker: Any,
    directory: Path,
    table_format: str,
    *,
    seed: int,
    tables: str = "",
    keeps_deleted: bool = False,
    **asked: Any,
) -> Trial:
    """A load of one topic into a table by key."""
    topic = f"{site.name}-people"
    send_changes(site, topic, random.Random(seed))
    place = tables or str(directory / "tables")
    lives = job_lives(directory, "load", table_format, place, seed)
    lives.ask(
        bootstrap_servers=broker.bootstrap_servers,
        any_topics=[topic],
        by_key=[topic],
        keeps_deleted=keeps_deleted,
        **asked,
    )

    def compare() -> tuple[int, int]:
        table = open_table(site.spark, table_location(place, table_format, "load", topic), table_format).read()
        deleted = ("_deleted",) if keeps_deleted else ()
        found = [tuple(row) for row in table.select("_key", "n", "_partition", "_offset", *deleted).collect()]
        return missing_and_doubled(latest_rows(site, topic, keeps_deleted), found)

    return Trial(site, broker, lives, compare)


def ranking_trial(site: Site, broker: Any, directory: Path, *, seed: int, **asked: Any) -> Trial:
    """A ranking, into a table and a compacted topic, against one that nobody disturbs."""
    site.create(site.topic("page_view"), PARTITION_COUNT)
    site.create(site.topic("click"), PARTITION_COUNT)
    send_views(site, RECORD_COUNT // 2)
    site.send_events(
        "click",
        [
            {
                "id": f"click:{number}",
                "time": START + timedelta(seconds=number),
                "address": f"192.0.2.{number % 50}",
                "item": f"/page/{number * number % 23}",
            }
            for number in range(RECORD_COUNT // 2)
        ],
    )
    job = find_job("ranking")
    topics = {**site.plan(job).topics, **{output.name: f"{site.name}-killed-{output.name}" for output in job.outputs}}
    lives = job_lives(directory, "ranking", "delta", str(directory / "killed"), seed)
    lives.ask(bootstrap_servers=broker.bootstrap_servers, topics=topics, **asked)

    def compare() -> tuple[int, int]:
        calm = {**topics, **{output.name: f"{site.name}-calm-{output.name}" for output in job.outputs}}
        site.run(job, topics=calm)
        missing = doubled = 0
        for table in ("ranking", "query_ranking"):
            place = table_location(str(directory / "killed"), "delta", "ranking", table)
            killed = [str(row) for row in open_table(site.spark, place, "delta").read().collect()]
            less, more = missing_and_doubled([str(row) for row in site.rows_as_they_are(job, table)], killed)
            missing, doubled = missing + less, doubled + more
            there, wanted = site.latest(topics[table]), site.latest(calm[table])
            less, more = missing_and_doubled(sorted(map(str, wanted.items())), sorted(map(str, there.items())))
            missing, doubled = missing + less, doubled + more
        return missing, doubled

    return Trial(site, broker, lives, compare)


def send_views(site: Site, count: int) -> None:
    site.send_events(
        "page_view",
        [
            {
                "id": f"view:{number}",
                "time": START + timedelta(seconds=number),
                "address": f"192.0.2.{number % 50}",
                "method": "GET",
                "page": f"/page/{number % 23}",
                "status": 200,
            }
            for number in range(count)
        ],
    )


def records_of(site: Site, topic: str) -> list[tuple[Any, ...]]:
    """Give what the topic itself holds, read by Spark in one go."""
    frame = (
        site.spark.read.format("kafka")
        .options(**connector_options(site.kafka))
        .options(subscribe=topic, startingOffsets="earliest")
        .load()
    )
    parsed = frame.selectExpr(
        "partition", "offset", "from_json(CAST(value AS STRING), 'id STRING, page STRING') AS event"
    )
    return [tuple(row) for row in parsed.select("partition", "offset", "event.id", "event.page").collect()]
