"""`barnabas pipeline replay FILE`: send a log to topics, keyed and in order; resumes after the last sent line.

Kinds of logs: `access` (combined or common format, plain or gzip: views, clicks, searches, failed logins), `auth`
(OpenSSH in syslog: logins) and `service` (log lines of a service). A line without an event goes to a dead-letter topic.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipeline.commands.options import add_cluster_options, pairs, sender_options
from barnabas.pipeline.runner.plan import PlanError

if TYPE_CHECKING:
    from barnabas.pipeline.events import EventType
    from barnabas.pipeline.sources.feeder import FeedProgress
    from barnabas.pipeline.sources.lines import RawLine, SourceLine

NAME = "replay"
HELP = "send a log to topics"

_KINDS = ("access", "auth", "service")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("file", help="log file, plain or gzip; - for standard input")
    parser.add_argument("--kind", choices=_KINDS, default="access", help="kind of the log; default: %(default)s")
    add_cluster_options(parser)
    parser.add_argument("--topic", action="append", default=[], metavar="TYPE=TOPIC", help="topic for events of a type")
    parser.add_argument(
        "--partitions", type=int, default=4, metavar="N", help="partitions of new topics; default: %(default)s"
    )
    parser.add_argument("--event-format", choices=("json", "avro"), default="json", help="Default: %(default)s")
    parser.add_argument(
        "--rate", type=float, default=0.0, metavar="N", help="lines/s; 0 for no limit; default: %(default)s"
    )
    parser.add_argument(
        "--follow", action="store_true", help="continue with lines appended to the file, also after rotation"
    )
    parser.add_argument("--append", action="store_true", help="write also to topics with other contents")
    parser.add_argument(
        "--site", default="", metavar="HOST", help="for access: host name of the site (the most common referrer)"
    )
    parser.add_argument(
        "--year", type=int, metavar="YEAR", help="for auth: year of the first line, if lines have no year"
    )
    parser.add_argument(
        "--service", default="", metavar="NAME", help="for service: name of the service (the file's name)"
    )
    parser.add_argument(
        "--give-up",
        type=float,
        default=120.0,
        metavar="S",
        help="exit after this long without contact to a broker; default: %(default)s s",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--parent", type=int, default=0, help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from barnabas.pipeline.sources.feeder import FeedPlan, feed
    from barnabas.pipeline.sources.topics import BrokerTopics

    topics = pairs(arguments.topic, "--topic")
    event_types, lines = _source(arguments)
    known = {event_type.name for event_type in event_types}
    if unknown := set(topics) - known:
        raise PlanError(
            f"--topic: this log has no events of type {', '.join(unknown)}; it has {', '.join(sorted(known))}"
        )
    plan = FeedPlan(
        event_types,
        event_types[0],
        topics,
        arguments.partitions,
        arguments.event_format,
        arguments.rate,
        arguments.give_up,
        arguments.append,
    )

    def report(progress: FeedProgress) -> None:
        _tell(
            arguments,
            "progress",
            line_count=progress.line_count,
            sent_count=progress.sent_count,
            refused_count=progress.refused_count,
        )

    with BrokerTopics(sender_options(arguments)) as broker:
        done = feed(broker, plan, lines, report, lambda text: _tell(arguments, "warning", text=text))
    _tell(arguments, "done", line_count=done.line_count, refused_count=done.refused_count)
    return 0


def _source(arguments: argparse.Namespace) -> tuple[tuple[EventType, ...], Iterator[SourceLine]]:
    path = Path(arguments.file)
    raw = _raw_lines(arguments, path)
    if arguments.kind == "access":
        from barnabas.pipeline.sources import access_log_events as access

        site = arguments.site or (None if arguments.file == "-" or arguments.follow else access.most_common_site(path))
        return access.ACCESS_LOG_EVENTS, access.access_log_lines(raw, access.AccessLogPlan(site))
    if arguments.kind == "auth":
        from barnabas.pipeline.sources import auth_log as auth

        if arguments.year is None and (arguments.file == "-" or arguments.follow):
            year = datetime.now(UTC).year
        else:
            year = auth.first_year(path) if arguments.year is None else arguments.year
        return auth.AUTH_LOG_EVENTS, auth.auth_log_lines(raw, auth.AuthLogPlan(year))
    from barnabas.pipeline.sources import service_log as service

    name = arguments.service or ("stdin" if arguments.file == "-" else path.stem)
    return service.SERVICE_LOG_EVENTS, service.service_log_lines(raw, service.ServiceLogPlan(name, platform.node()))


def _raw_lines(arguments: argparse.Namespace, path: Path) -> Iterator[RawLine]:
    from barnabas.pipeline.sources.lines import file_lines, followed_lines, stream_lines

    if arguments.file == "-":
        return stream_lines(sys.stdin.buffer)
    return followed_lines(path) if arguments.follow else file_lines(path)


def _tell(arguments: argparse.Namespace, event: str, **fields: int | str) -> None:
    if arguments.json:
        print(json.dumps({"event": event, **fields}, ensure_ascii=False), flush=True)
    elif event == "warning":
        print(fields["text"], flush=True)
    else:
        text = ", ".join(f"{name.removesuffix('_count')} {value:,}" for name, value in fields.items())
        print(f"{event}: {text}", flush=True)
