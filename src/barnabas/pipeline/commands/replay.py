"""`barnabas pipeline replay FILE`: send a log to topics, keyed and in order; resumes after the last sent line.

Kinds of logs: `access` (combined or common format, plain or gzip: views, clicks, searches, failed logins), `auth`
(OpenSSH in syslog: logins) and `service` (log lines of a service). A line without an event goes to a dead-letter topic.
"""

import argparse
import json
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from barnabas.core.process import print_status
from barnabas.pipeline.commands.options import (
    Options,
    add_cluster_options,
    add_parent_option,
    pairs,
    partition_count,
    sender_options,
)
from barnabas.pipeline.events import EventType
from barnabas.pipeline.runner.plan import PlanError
from barnabas.pipeline.sources import access_log_events as access
from barnabas.pipeline.sources import auth_log as auth
from barnabas.pipeline.sources import service_log as service
from barnabas.pipeline.sources.feeder import FeedPlan, FeedProgress, feed
from barnabas.pipeline.sources.log_lines import RawLine, SourceLine, file_lines, follow_lines, stream_lines
from barnabas.pipeline.sources.topics import BrokerTopics


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    options = Options(parser)
    options.add("file", help="log file, plain or gzip; - for standard input")
    options.choice("--kind", ("access", "auth", "service"), "kind of the log", "access")
    add_cluster_options(parser)
    options.values("--topic", "TYPE=TOPIC", "topic for events of a type")
    options.value("--partitions", "N", "partitions of new topics", 4, type=partition_count)
    options.choice("--event-format", ("json", "avro"), "", "json")
    options.value("--rate", "N", "sent lines/s; 0 for no limit; default: %(default)s", 0.0)
    options.flag(
        "--follow", "continue with lines appended to the file, also after rotation; topics may end with another log"
    )
    options.flag("--append", "write also to topics with other contents")
    options.value("--site", "HOST", "for access: host name of the site (the most common referrer)", "")
    options.value("--year", "YEAR", "for auth: year of the first line, if lines have no year", type=int)
    options.value("--service", "NAME", "for service: name of the service (the file's name)", "")
    options.value("--give-up", "S", "exit after this long without contact to a broker", 120.0, unit=" s")
    options.flag("--json", "print one JSON object per line")
    add_parent_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    topics = pairs(arguments.topic, "--topic")
    event_types, lines = _source(arguments)
    known = {event_type.name for event_type in event_types}
    if unknown := set(topics) - known:
        raise PlanError(
            f"--topic: this log has no events of type {', '.join(unknown)}; it has {', '.join(sorted(known))}"
        )
    plan = FeedPlan(
        event_types,
        topics,
        arguments.partitions,
        arguments.event_format,
        arguments.rate,
        arguments.give_up,
        arguments.append,
        is_followed=arguments.follow and arguments.file != "-",
    )

    def report(progress: FeedProgress) -> None:
        _tell(
            arguments,
            "progress",
            line_count=progress.line_count,
            sent_count=progress.sent_count,
            refused_count=progress.refused_count,
        )

    broker = BrokerTopics(sender_options(arguments))
    done = feed(broker, plan, lines, report, lambda text: _tell(arguments, "warning", text=text))
    _tell(arguments, "done", line_count=done.line_count, refused_count=done.refused_count)
    return 0


def _source(arguments: argparse.Namespace) -> tuple[tuple[EventType, ...], Iterator[SourceLine]]:
    path = Path(arguments.file)
    raw = _raw_lines(arguments, path)
    if arguments.kind == "access":
        site = arguments.site or (None if arguments.file == "-" or arguments.follow else access.most_common_site(path))
        return access.ACCESS_LOG_EVENTS, access.access_log_lines(raw, site)
    if arguments.kind == "auth":
        year = _first_year(arguments, path) if arguments.year is None else arguments.year
        return auth.AUTH_LOG_EVENTS, auth.auth_log_lines(raw, year)

    name = arguments.service or ("stdin" if arguments.file == "-" else path.stem)
    return service.SERVICE_LOG_EVENTS, service.service_log_lines(raw, name, platform.node())


def _first_year(arguments: argparse.Namespace, path: Path) -> int | None:
    """Return the year of an auth log's first line; None if that line is not there yet."""
    if arguments.file == "-" or (arguments.follow and not path.exists()):
        return None
    return auth.first_year(path)


def _raw_lines(arguments: argparse.Namespace, path: Path) -> Iterator[RawLine]:
    if arguments.file == "-":
        return stream_lines(sys.stdin.buffer)
    return follow_lines(path) if arguments.follow else file_lines(path)


def _tell(arguments: argparse.Namespace, event: str, **fields: int | str) -> None:
    if arguments.json:
        line = json.dumps({"event": event, **fields}, ensure_ascii=False)
    elif event == "warning":
        line = str(fields["text"])
    else:
        text = ", ".join(f"{name.removesuffix('_count')} {value:,}" for name, value in fields.items())
        line = f"{event}: {text}"
    print_status(line, sys.stdout)
