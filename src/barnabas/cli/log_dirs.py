"""`barnabas log-dirs`: disk usage of running brokers, with the options of kafka-log-dirs."""

from collections.abc import Collection, Mapping
from typing import Annotated

from barnabas.cli.connection import client_settings, connect
from barnabas.cli.options import (
    DEFAULT_SERVER,
    AsJson,
    BootstrapServer,
    CommandConfig,
    Option,
    TimeoutMs,
    flag,
    paragraphs,
    parse_broker_list,
    run_async,
)
from barnabas.cli.output import print_json, print_table, say
from barnabas.clients.admin_replicas import LogDir, ReplicaAdmin, ReplicaLog
from barnabas.core.errors import BarnabasError

HELP = paragraphs(
    """Show disk usage by topic, partition and broker.

The sizes come from running brokers; `barnabas log stats` reads the files of a stopped broker. --json prints the output
of kafka-log-dirs.

Examples:

  barnabas log-dirs --describe --topic-list views,clicks
"""
)

_VERSION = 1


def log_dirs(
    describe: Annotated[bool, flag("--describe", "Show the usage (the only action).")] = False,
    topic_list: Annotated[
        str | None, Option("--topic-list", metavar="NAME,...", help="Only the logs of these topics.")
    ] = None,
    broker_list: Annotated[
        str | None, Option("--broker-list", metavar="ID,...", help="Only these brokers (default: all).")
    ] = None,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    topics = {name.strip() for name in topic_list.split(",") if name.strip()} if topic_list else None
    wanted = parse_broker_list(broker_list) if broker_list is not None else None
    settings = client_settings("barnabas-log-dirs", command_config, timeout)

    async def work() -> dict[int, list[LogDir]]:
        async with connect(bootstrap_server, settings, ReplicaAdmin) as admin:
            known = sorted((await admin.retry(lambda: admin.pool.metadata([]))).brokers)
            unknown = [each for each in wanted or [] if each not in known]
            if unknown:
                there = ", ".join(map(str, known))
                raise BarnabasError(f"broker {unknown[0]} does not exist: the brokers are {there}")
            return await admin.log_dirs(known if wanted is None else wanted)

    found = {broker: [_filtered(each, topics) for each in dirs] for broker, dirs in run_async(work()).items()}
    missing = sorted(
        (topics or set()) - {log.partition.topic for dirs in found.values() for d in dirs for log in d.logs}
    )
    if as_json:
        print_json(_as_dict(found))
    else:
        _print(found)
    if missing:
        raise BarnabasError(
            f"no broker has a log of topic {missing[0]}; barnabas topics --list shows the existing topics"
        )


def _filtered(directory: LogDir, topics: Collection[str] | None) -> LogDir:
    if topics is None:
        return directory
    return directory._replace(logs=[log for log in directory.logs if log.partition.topic in topics])


def _print(found: Mapping[int, list[LogDir]]) -> None:
    is_first = True
    for broker, dirs in found.items():
        for directory in dirs:
            if not is_first:
                say()
            is_first = False
            if directory.error_code:
                say(f"Broker {broker}, {directory.path}: {directory.error_code.name}")
                continue
            size_bytes = sum(log.size_bytes for log in directory.logs)
            count = len(directory.logs)
            say(f"Broker {broker}, {directory.path}: {count} log{'' if count == 1 else 's'}, {size_bytes} bytes")
            if directory.logs:
                print_table(
                    ["topic", "partition", "bytes", "offset lag", "kind"], [_row(log) for log in directory.logs]
                )


def _row(log: ReplicaLog) -> list[str | int]:
    kind = "future" if log.is_future else "current"
    return [log.partition.topic, log.partition.partition, log.size_bytes, log.offset_lag, kind]


def _as_dict(found: Mapping[int, list[LogDir]]) -> dict[str, object]:
    """Return the output of Kafka's tool."""
    return {
        "version": _VERSION,
        "brokers": [
            {
                "broker": broker,
                "logDirs": [
                    {
                        "logDir": directory.path,
                        "error": directory.error_code.name if directory.error_code else None,
                        "partitions": [
                            {
                                "partition": str(log.partition),
                                "size": log.size_bytes,
                                "offsetLag": log.offset_lag,
                                "isFuture": log.is_future,
                            }
                            for log in directory.logs
                        ],
                    }
                    for directory in dirs
                ],
            }
            for broker, dirs in found.items()
        ],
    }
