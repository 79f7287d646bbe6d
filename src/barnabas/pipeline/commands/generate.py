"""`barnabas pipeline generate`: generate events of a social site into topics or files, with the ground truth.

The same options give the same events everywhere: people, crawlers, spammers, credential stuffing, an outage, late and
broken events (docs/pipeline/generator.md). When started again it continues after the events in the topics, if no other
program has written to them: each record's header `id` has its number in the stream, `start` the stream's start time,
and `partitions` the number of partitions that the topic had then.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from barnabas.clients.partitioner import partition_for_key
from barnabas.clients.positions import parse_time
from barnabas.core.process import print_status
from barnabas.core.types import TopicPartition
from barnabas.pipeline.commands.options import Options, add_cluster_options, partition_count, sender_options
from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.runner.plan import PlanError
from barnabas.pipeline.sources import social
from barnabas.pipeline.sources.social import SitePlan
from barnabas.pipeline.sources.topics import (
    ID_HEADER,
    PARTITIONS_HEADER,
    BrokerTopics,
    LastRecord,
    Outgoing,
    counts_for,
)

_BATCH_COUNT = 2_000
_REPORT_COUNT = 10 * _BATCH_COUNT
_START_HEADER = "start"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_cluster_options(parser)
    options = Options(parser)
    options.value("--directory", "DIR", "write files to this directory instead, one for each topic", type=Path)
    options.value("--access-log", "FILE", "write the page views to this file, in the format of web servers", type=Path)
    options.value("--ground-truth", "FILE", "write the actors and their actions to this file, as JSON", type=Path)
    options.value("--partitions", "N", "partitions of new topics", 4, type=partition_count)
    options.value("--seed", "N", "seed of the site", 1922)
    options.value("--start", "TIME", "time of the first event, or now", "2026-03-06")
    options.value("--duration", "S", "duration of the stream", 86_400, unit=" s")
    options.value("--rate", "N", "events/s on the site's clock", 5.0)
    options.value(
        "--speed", "X", "speed: 1 for real time, 60 for an hour per minute, 0 for full speed; default: %(default)s", 0.0
    )
    options.value("--users", "N", "", 2_000)
    options.value("--items", "N", "", 5_000)
    options.flag("--quiet-day", "leave out misbehaving clients and failures")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; raise PlanError if the options of the site are invalid."""
    plan = _plan(arguments)
    if arguments.ground_truth is not None:
        arguments.ground_truth.write_text(json.dumps(social.ground_truth(plan), indent=1) + "\n")
    if arguments.access_log is not None:
        print(f"{arguments.access_log}: {social.write_access_log(plan, arguments.access_log):,} lines")
        return 0
    if arguments.directory is not None:
        social.write_jsonl(plan, arguments.directory)
        print(f"{arguments.directory}: a file for each topic, and {social.GROUND_TRUTH}")
        return 0
    count, there_count = _send(plan, arguments, BrokerTopics(sender_options(arguments)))
    print(f"done: {count:,} events" + (f", {there_count:,} of them already there" if there_count else ""))
    return 0


def _plan(arguments: argparse.Namespace) -> SitePlan:
    start_ms = int(time.time() * 1000) if arguments.start == "now" else parse_time(arguments.start)
    try:
        start = datetime.fromtimestamp(start_ms / 1000, UTC)
        # The end of the stream must be a time, too.
        _ = start + timedelta(seconds=arguments.duration)
    except (ValueError, OverflowError):
        times = f"--start {arguments.start}, --duration {arguments.duration}"
        raise PlanError(f"{times}: times must be in the years 1 to 9999") from None
    try:
        plan = SitePlan(arguments.seed, start, arguments.duration, arguments.rate, arguments.users, arguments.items)
    except ValueError as error:
        raise PlanError(str(error)) from None
    return plan.quiet() if arguments.quiet_day else plan


def _send(plan: SitePlan, arguments: argparse.Namespace, topics: BrokerTopics) -> tuple[int, int]:
    """Send the events that the topics lack; return the numbers of all events and of those the topics already had."""
    count = there_count = 0
    next_send_s = time.monotonic()
    is_paced = bool(arguments.speed)
    counts = topics.create({each.topic: arguments.partitions for each in EVENT_TYPES.values()})
    last_records = topics.last_records(TopicPartition(topic, n) for topic in counts for n in range(counts[topic]))
    elapsed_s = 0.0
    if arguments.start == "now":
        plan = _resumed(plan, last_records.values())
        elapsed_s = max(0.0, (datetime.now(UTC) - plan.start).total_seconds())
    counts = counts_for(plan.mark.__eq__, last_records, counts)
    ends = _ends(plan, last_records)
    events = social.generate(plan)
    if is_paced:
        most = max(ends.values(), default=0)
        events = social.pace(plan, time.monotonic, time.sleep, arguments.speed, most, elapsed_s)

    @cache
    def partition_of(topic: str, key: bytes) -> TopicPartition:
        return TopicPartition(topic, partition_for_key(key, counts[topic]))

    batch: list[Outgoing] = []
    start = (_START_HEADER, str(plan.start_ms).encode())
    partitions = {topic: (PARTITIONS_HEADER, str(number).encode()) for topic, number in counts.items()}
    for event in events:
        count, key = event.number, event.key
        partition = partition_of(event.event_type.topic, key)
        if count <= ends.get(partition, 0):
            there_count += 1
            continue
        batch.append(
            Outgoing(partition, key, event.value, headers=((ID_HEADER, event.id), start, partitions[partition.topic]))
        )
        if len(batch) >= _BATCH_COUNT or (is_paced and time.monotonic() >= next_send_s):
            topics.append(batch)
            batch = []
            next_send_s = time.monotonic() + 0.1
        if count % _REPORT_COUNT == 0:
            print_status(f"  {count:,} events", sys.stdout)
    topics.append(batch)
    return count, there_count


def _resumed(plan: SitePlan, last_records: Iterable[LastRecord]) -> SitePlan:
    """Return the plan with the start of an earlier run, if the topics end with its events; else `plan`."""
    for record in last_records:
        place, start = record.log_position, record.header(_START_HEADER) or b""
        if place is not None and start.isdigit():
            earlier = replace(plan, start=datetime.fromtimestamp(int(start) / 1000, UTC))
            if earlier.mark == place[0]:
                return earlier
    return plan


def _ends(plan: SitePlan, last_records: Mapping[TopicPartition, LastRecord]) -> dict[TopicPartition, int]:
    """Return the number of each partition's last event, if that event is of this stream."""
    places = {partition: record.log_position for partition, record in last_records.items()}
    return {partition: place[1] for partition, place in places.items() if place is not None and place[0] == plan.mark}
