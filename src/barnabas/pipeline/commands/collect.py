"""`barnabas pipeline collect`: send metrics of this host, of brokers and of runs to topics, until stopped."""

import argparse
import platform
import signal
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

from barnabas.pipeline.commands.options import DEFAULT_DIRECTORY, add_cluster_options, feeder_security, sender_options
from barnabas.pipeline.runner.plan import PlanError

NAME = "collect"
HELP = "send metrics of this host, brokers and runs to topics"

# Rules judge minutes: a minute in which nobody looked is one in which nobody is held.
_LONGEST_INTERVAL_S = 30.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_cluster_options(parser)
    parser.add_argument("--topic", default="host-metrics", help="topic of the host's metrics; default: %(default)s")
    parser.add_argument(
        "--partitions", type=int, default=4, metavar="N", help="partitions of a new topic; default: %(default)s"
    )
    parser.add_argument("--host", default="", metavar="NAME", help="name of this host (the system's host name)")
    parser.add_argument(
        "--interval",
        type=float,
        default=10.0,
        metavar="S",
        help="time between two measurements; default: %(default)s s",
    )
    parser.add_argument(
        "--give-up",
        type=float,
        default=120.0,
        metavar="S",
        help="exit after this long without contact to a broker; default: %(default)s s",
    )
    parser.add_argument(
        "--broker-metrics",
        nargs="?",
        const="",
        action="append",
        default=[],
        metavar="URL",
        help="also collect metrics of the cluster (throttled clients, lag, partitions) and of a broker's endpoint "
        "http://HOST:PORT/metrics; may be given for each broker",
    )
    parser.add_argument(
        "--runs",
        nargs="?",
        const=f"{DEFAULT_DIRECTORY}/checkpoints",
        default="",
        metavar="DIR",
        help="also collect the lag and progress of the runs of a checkpoint directory "
        f"({DEFAULT_DIRECTORY}/checkpoints)",
    )
    parser.add_argument(
        "--broker-topic",
        default="broker-metrics",
        metavar="TOPIC",
        help="topic of the metrics of brokers and runs; default: %(default)s",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the command.

    Raises:
        PlanError: an option can't be what it is.
    """
    from barnabas.pipeline.events.types import BROKER_METRIC, HOST_METRIC
    from barnabas.pipeline.sources.broker import BrokerLook
    from barnabas.pipeline.sources.broker_requests import AskedBrokers
    from barnabas.pipeline.sources.feeder import FeedPlan, feed
    from barnabas.pipeline.sources.host import HostLook, ThisHost
    from barnabas.pipeline.sources.run_status import RunLook
    from barnabas.pipeline.sources.ticks import Look, tick_lines
    from barnabas.pipeline.sources.topics import BrokerTopics

    check(arguments)
    security = feeder_security(arguments)
    is_stopped = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal is_stopped
        if is_stopped:
            raise KeyboardInterrupt
        is_stopped = True

    signal.signal(signal.SIGTERM, stop)
    host_name, host = arguments.host or platform.node(), ThisHost()
    looks: list[Look] = [HostLook(host_name, host)]
    topics_by_type = {HOST_METRIC: arguments.topic}
    with ExitStack() as stack:
        if arguments.broker_metrics:
            brokers = stack.enter_context(AskedBrokers(arguments.bootstrap_server, security))
            looks.append(BrokerLook(brokers, [url for url in arguments.broker_metrics if url], print))
            topics_by_type[BROKER_METRIC] = arguments.broker_topic
        if arguments.runs:
            looks.append(RunLook(Path(arguments.runs)))
            topics_by_type[BROKER_METRIC] = arguments.broker_topic
        plan = FeedPlan(
            tuple(topics_by_type),
            HOST_METRIC,
            {event_type.name: topic for event_type, topic in topics_by_type.items()},
            arguments.partitions,
            give_up_s=arguments.give_up,
            may_append=True,
        )
        topics = stack.enter_context(BrokerTopics(sender_options(arguments)))
        lines = tick_lines(host_name, arguments.interval, looks, host, lambda: is_stopped)
        done = feed(topics, plan, lines, warn=print)
    print(f"done: {done.sent_count:,} metrics")
    return 0


def check(arguments: argparse.Namespace) -> None:
    """Check the options.

    Raises:
        PlanError: a URL is none of a page, a directory is not here, or too much time is between two looks.
    """
    for url in arguments.broker_metrics:
        if url and not url.startswith(("http://", "https://")):
            raise PlanError(f"--broker-metrics {url}: it must be http://HOST:PORT/metrics (barnabas.http.listeners)")
    if "://" in arguments.runs:
        raise PlanError(f"--runs {arguments.runs}: it must be a directory on this machine")
    if (arguments.broker_metrics or arguments.runs) and arguments.interval > _LONGEST_INTERVAL_S:
        option = "--broker-metrics" if arguments.broker_metrics else "--runs"
        raise PlanError(
            f"--interval {arguments.interval:g}: with {option} it must be {_LONGEST_INTERVAL_S:g} at the most"
        )
