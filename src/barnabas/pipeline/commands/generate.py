"""`barnabas pipeline generate`: generate events of a social site into topics or files, with the ground truth.

The same options give the same events everywhere: people, crawlers, spammers, credential stuffing, an outage, late and
broken events (docs/pipeline/generator.md). When started again it continues after the events in the topics, if no other
program has written to them: each record's header `id` has its number in the stream, and `start` the stream's start
time.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.clients.positions import parse_time
from barnabas.pipeline.commands.options import add_cluster_options, sender_options
from barnabas.pipeline.runner.plan import PlanError

if TYPE_CHECKING:
    from barnabas.core.types import TopicPartition
    from barnabas.pipeline.sources.social import SitePlan
    from barnabas.pipeline.sources.topics import LastRecord

NAME = "generate"
HELP = "generate events of a social site"

_BATCH_COUNT = 2_000
_REPORT_COUNT = 10 * _BATCH_COUNT
_START_HEADER = "start"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_cluster_options(parser)
    parser.add_argument(
        "--directory", type=Path, metavar="DIR", help="write files to this directory instead, one for each topic"
    )
    parser.add_argument(
        "--access-log",
        type=Path,
        metavar="FILE",
        help="write the page views to this file, in the format of web servers",
    )
    parser.add_argument(
        "--ground-truth", type=Path, metavar="FILE", help="write the actors and their actions to this file, as JSON"
    )
    parser.add_argument(
        "--partitions", type=int, default=4, metavar="N", help="partitions of new topics; default: %(default)s"
    )
    parser.add_argument("--seed", type=int, default=1922, metavar="N", help="seed of the site; default: %(default)s")
    parser.add_argument(
        "--start", default="2026-03-06", metavar="TIME", help="time of the first event, or now; default: %(default)s"
    )
    parser.add_argument(
        "--duration", type=int, default=86_400, metavar="S", help="duration of the stream; default: %(default)s s"
    )
    parser.add_argument(
        "--rate", type=float, default=5.0, metavar="N", help="events/s on the site's clock; default: %(default)s"
    )
    parser.add_argument(
        "--speed",
        type=float,
        default=0.0,
        metavar="X",
        help="speed: 1 for real time, 60 for an hour per minute, 0 for full speed; default: %(default)s",
    )
    parser.add_argument("--users", type=int, default=2_000, metavar="N", help="Default: %(default)s")
    parser.add_argument("--items", type=int, default=5_000, metavar="N", help="Default: %(default)s")
    parser.add_argument("--quiet-day", action="store_true", help="leave out misbehaving clients and failures")


def run(arguments: argparse.Namespace) -> int:
    """Run the command.

    Raises:
        PlanError: there can be no such site.
    """
    from barnabas.pipeline.sources import social

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
    count, there_count = _send(plan, arguments)
    print(f"done: {count:,} events" + (f", {there_count:,} of them already there" if there_count else ""))
    return 0


def _plan(arguments: argparse.Namespace) -> SitePlan:
    from barnabas.pipeline.sources.social import SitePlan

    if arguments.start == "now":
        start = datetime.fromtimestamp(int(time.time() * 1000) / 1000, UTC)
    else:
        start = datetime.fromtimestamp(parse_time(arguments.start) / 1000, UTC)
    try:
        plan = SitePlan(arguments.seed, start, arguments.duration, arguments.rate, arguments.users, arguments.items)
    except ValueError as error:
        raise PlanError(str(error)) from None
    return plan.quiet() if arguments.quiet_day else plan


def _send(plan: SitePlan, arguments: argparse.Namespace) -> tuple[int, int]:
    """Send the stream from where the topics end; return its number of events, and how many the topics had before."""
    from barnabas.clients.partitioner import partition_for_key
    from barnabas.core.types import TopicPartition
    from barnabas.pipeline.events import EVENT_TYPES
    from barnabas.pipeline.sources import social
    from barnabas.pipeline.sources.feeder import ID_HEADER
    from barnabas.pipeline.sources.topics import BrokerTopics, Outgoing

    count = there_count = 0
    next_send_s = time.monotonic()
    is_paced = bool(arguments.speed)
    with BrokerTopics(sender_options(arguments)) as topics:
        counts = topics.create({each.topic: arguments.partitions for each in EVENT_TYPES.values()})
        last_records = topics.last_records(TopicPartition(topic, n) for topic in counts for n in range(counts[topic]))
        elapsed_s = 0.0
        if arguments.start == "now":
            plan = _resumed(plan, last_records.values())
            elapsed_s = max(0.0, (datetime.now(UTC) - plan.start).total_seconds())
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
        for event in events:
            count, key = event.number, event.key
            partition = partition_of(event.event_type.topic, key)
            if count <= ends.get(partition, 0):
                there_count += 1
                continue
            batch.append(Outgoing(partition, key, event.value, headers=((ID_HEADER, event.id), start)))
            if len(batch) >= _BATCH_COUNT or (is_paced and time.monotonic() >= next_send_s):
                topics.append(batch)
                batch = []
                next_send_s = time.monotonic() + 0.1
            if count % _REPORT_COUNT == 0:
                print(f"  {count:,} events", flush=True)
        topics.append(batch)
    return count, there_count


def _resumed(plan: SitePlan, last_records: Iterable[LastRecord]) -> SitePlan:
    """Return the plan that began at an earlier now, where the topics end with its events."""
    from barnabas.pipeline.sources.feeder import place_of

    for record in last_records:
        place, start = place_of(record), record.header(_START_HEADER) or b""
        if place is not None and start.isdigit():
            earlier = replace(plan, start=datetime.fromtimestamp(int(start) / 1000, UTC))
            if earlier.mark == place[0]:
                return earlier
    return plan


def _ends(plan: SitePlan, last_records: Mapping[TopicPartition, LastRecord]) -> dict[TopicPartition, int]:
    """Return the number of each partition's last event, where that is one of this stream."""
    from barnabas.pipeline.sources.feeder import place_of

    places = {partition: place_of(record) for partition, record in last_records.items()}
    return {partition: place[1] for partition, place in places.items() if place is not None and place[0] == plan.mark}
