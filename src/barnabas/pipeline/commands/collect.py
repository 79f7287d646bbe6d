"""`barnabas pipeline collect`: send metrics of this host, of brokers and of runs to topics, until stopped."""

import argparse
import platform
import signal
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path
from types import FrameType

from barnabas.core.process import print_status
from barnabas.pipeline.commands.options import (
    DEFAULT_DIRECTORY,
    Options,
    add_cluster_options,
    feeder_security,
    partition_count,
    sender_options,
)
from barnabas.pipeline.events.types import BROKER_METRIC, HOST_METRIC
from barnabas.pipeline.runner.plan import PlanError
from barnabas.pipeline.sources.broker import AskedBrokers, BrokerLook
from barnabas.pipeline.sources.feeder import FeedPlan, feed
from barnabas.pipeline.sources.host import HostLook
from barnabas.pipeline.sources.log_lines import Look, tick_lines
from barnabas.pipeline.sources.run_status import run_look
from barnabas.pipeline.sources.topics import BrokerTopics

# Alert rules evaluate whole minutes: a minute without a measurement would look like one without throttled clients.
_LONGEST_INTERVAL_S = 30.0
# Interval at which a waiting collector checks whether it was stopped: `time.sleep` continues after a signal.
_LOOK_S = 0.2


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_cluster_options(parser)
    options = Options(parser)
    options.value("--topic", "TOPIC", "topic of the host's metrics", "host-metrics")
    options.value("--partitions", "N", "partitions of a new topic", 4, type=partition_count)
    options.value("--host", "NAME", "name of this host (the system's host name)", "")
    options.value("--interval", "S", "time between two measurements", 10.0, unit=" s")
    options.value("--give-up", "S", "exit after this long without contact to a broker", 120.0, unit=" s")
    options.add(
        "--broker-metrics",
        nargs="?",
        const="",
        action="append",
        default=[],
        metavar="URL",
        help="also collect metrics of the cluster (throttled clients, lag, partitions) and of a broker's endpoint "
        "http://HOST:PORT/metrics; may be given for each broker",
    )
    options.value(
        "--runs",
        "DIR",
        f"also collect the lag and progress of the runs of a checkpoint directory ({DEFAULT_DIRECTORY}/checkpoints)",
        "",
        nargs="?",
        const=f"{DEFAULT_DIRECTORY}/checkpoints",
    )
    options.value("--broker-topic", "TOPIC", "topic of the metrics of brokers and runs", "broker-metrics")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; raise PlanError if an option is invalid."""
    check(arguments)
    security = feeder_security(arguments)
    is_stopped = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal is_stopped
        if is_stopped:
            raise KeyboardInterrupt
        is_stopped = True

    def sleep(seconds: float) -> None:
        end_s = time.monotonic() + seconds
        while not is_stopped and (left_s := end_s - time.monotonic()) > 0:
            time.sleep(min(left_s, _LOOK_S))

    def wait_for_broker(seconds: float) -> None:
        sleep(seconds)
        if is_stopped:
            raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    host_name = arguments.host or platform.node()
    looks: list[Look] = [HostLook(host_name)]
    topics_by_type = {HOST_METRIC: arguments.topic}
    with ExitStack() as stack:
        if arguments.broker_metrics:
            brokers = stack.enter_context(closing(AskedBrokers(arguments.bootstrap_server, security)))
            looks.append(BrokerLook(brokers, [url for url in arguments.broker_metrics if url], _warn))
            topics_by_type[BROKER_METRIC] = arguments.broker_topic
        if arguments.runs:
            looks.append(run_look(Path(arguments.runs)))
            topics_by_type[BROKER_METRIC] = arguments.broker_topic
        plan = FeedPlan(
            tuple(topics_by_type),
            {event_type.name: topic for event_type, topic in topics_by_type.items()},
            arguments.partitions,
            give_up_s=arguments.give_up,
            may_append=True,
        )
        topics = BrokerTopics(sender_options(arguments))
        lines = tick_lines(host_name, arguments.interval, looks, lambda: is_stopped, sleep)
        done = feed(topics, plan, lines, warn=_warn, sleep=wait_for_broker)
    print(f"done: {done.sent_count:,} metrics")
    return 0


def _warn(text: str) -> None:
    print_status(text, sys.stdout)


def check(arguments: argparse.Namespace) -> None:
    """Raise PlanError if a URL or a directory is invalid, or the interval is zero or too long."""
    if arguments.interval <= 0:
        raise PlanError(f"--interval {arguments.interval:g}: must be more than 0")
    for url in arguments.broker_metrics:
        if url and not url.startswith(("http://", "https://")):
            raise PlanError(f"--broker-metrics {url}: must be http://HOST:PORT/metrics (barnabas.http.listeners)")
    if "://" in arguments.runs:
        raise PlanError(f"--runs {arguments.runs}: must be a directory on this machine")
    if (arguments.broker_metrics or arguments.runs) and arguments.interval > _LONGEST_INTERVAL_S:
        option = "--broker-metrics" if arguments.broker_metrics else "--runs"
        raise PlanError(f"--interval {arguments.interval:g}: must be at most {_LONGEST_INTERVAL_S:g} with {option}")
