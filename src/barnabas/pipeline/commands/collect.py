"""`barnabas pipeline collect`: this host's processor, memory, disk and network figures into a topic, until stopped."""

from __future__ import annotations

import argparse
import platform
import signal
from types import FrameType

NAME = "collect"
HELP = "send this host's figures to a topic"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--bootstrap-server", default="127.0.0.1:9092", metavar="HOST:PORT,...", help="(%(default)s)")
    parser.add_argument("--topic", default="host-metrics", help="(%(default)s)")
    parser.add_argument("--partitions", type=int, default=4, metavar="N", help="of a topic that is made (%(default)s)")
    parser.add_argument("--host", default="", metavar="NAME", help="this host's name (what it calls itself)")
    parser.add_argument("--interval", type=float, default=10.0, metavar="S", help="between two looks (%(default)s s)")
    parser.add_argument("--give-up", type=float, default=120.0, metavar="S", help="wait for a broker (%(default)s s)")


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from barnabas.pipeline.sources.feeder import FeedPlan, feed
    from barnabas.pipeline.sources.host import HOST_EVENTS, HOST_METRIC, HostPlan, ThisHost, host_lines
    from barnabas.pipeline.sources.topics import BrokerTopics

    is_stopped = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal is_stopped
        if is_stopped:
            raise KeyboardInterrupt
        is_stopped = True

    signal.signal(signal.SIGTERM, stop)
    plan = FeedPlan(
        HOST_EVENTS,
        HOST_METRIC,
        {HOST_METRIC.name: arguments.topic},
        arguments.partitions,
        give_up_s=arguments.give_up,
        may_append=True,
    )
    lines = host_lines(HostPlan(arguments.host or platform.node(), arguments.interval), ThisHost(), lambda: is_stopped)
    with BrokerTopics(arguments.bootstrap_server) as topics:
        done = feed(topics, plan, lines, warn=print)
    print(f"done: {done.sent_count:,} figures")
    return 0
