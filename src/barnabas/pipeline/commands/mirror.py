"""`barnabas pipeline mirror`: topics of one or more clusters into another, exactly once, until it is stopped.

Keys, headers, timestamps and partitions stay. Where it stands is in the target, beside what it has written; so there is
nothing on this machine that could be lost (docs/pipeline/mirror.md). Exit codes are those of `run`.
"""

import argparse
from pathlib import Path

from barnabas.core.config.properties import read_properties
from barnabas.core.errors import ConfigError
from barnabas.pipeline.commands.options import (
    DEFAULT_DIRECTORY,
    absolute,
    add_spark_options,
    parse_bound,
    session_options,
)
from barnabas.pipeline.commands.running import Stopper, add_seen_options, reporter, serve_metrics, tell
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.limits import Limits
from barnabas.pipeline.runner.plan import Bound, OnDataLoss, PlanError
from barnabas.pipeline.runner.session import session_for

NAME = "mirror"
HELP = "mirror topics into another cluster"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    from barnabas.clients.mirror.plan import DEFAULT_NAME

    clusters = parser.add_argument_group("clusters")
    clusters.add_argument(
        "--source",
        action="append",
        required=True,
        metavar="[ALIAS=]HOST:PORT,...",
        help="a cluster that is read; several, each with an alias of its own",
    )
    clusters.add_argument("--target", required=True, metavar="HOST:PORT,...", help="the cluster that is written")
    clusters.add_argument(
        "--source-config",
        action="append",
        default=[],
        metavar="[ALIAS=]FILE",
        help="Kafka client options of a source, as a properties file of Kafka's tools; without an alias: of all",
    )
    clusters.add_argument("--target-config", type=Path, metavar="FILE", help="those of the target")
    what = parser.add_argument_group("what is mirrored")
    what.add_argument("--topics", required=True, metavar="TOPIC,...", help="of each source; /PATTERN/ is one, too")
    what.add_argument(
        "--prefix", default="", metavar="TEXT", help="of topics' names in the target; {source} in it is the alias"
    )
    what.add_argument(
        "--name",
        default=DEFAULT_NAME,
        help="this mirror's: its places in the target are under it; one process may have it (%(default)s)",
    )
    what.add_argument(
        "--from-time",
        metavar="WHERE",
        help="begin here where nothing is mirrored yet: a time, offsets as JSON, earliest, latest (earliest)",
    )
    what.add_argument("--once", action="store_true", help="end when all is mirrored that is there now")
    pace = parser.add_argument_group("pace")
    pace.add_argument(
        "--trigger", type=float, metavar="S", help="seconds between batches (as long again as one takes, 1 to 10)"
    )
    pace.add_argument("--max-bytes-per-s", type=float, default=0.0, metavar="N", help="of each source")
    pace.add_argument("--max-messages-per-s", type=float, default=0.0, metavar="N", help="of each source")
    pace.add_argument(
        "--ignore-quotas",
        action="store_true",
        help="do not size batches by the quotas of these users and client.ids: brokers alone hold what is faster",
    )
    care = parser.add_argument_group("when something is wrong")
    care.add_argument(
        "--on-data-loss",
        choices=[each.value for each in OnDataLoss],
        default="stop",
        help="when records are gone before they were mirrored: stop, or say so and go on behind them (%(default)s)",
    )
    care.add_argument("--give-up", type=float, default=120.0, metavar="S", help="wait for a cluster (%(default)s s)")
    care.add_argument(
        "--checkpoint",
        default=f"{DEFAULT_DIRECTORY}/checkpoints",
        metavar="DIR",
        help="for status, and what Spark keeps while it runs (%(default)s)",
    )
    add_spark_options(parser)
    add_seen_options(parser)
    parser.add_argument("--parent", type=int, default=0, help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    """Run the command.

    Raises:
        PlanError: it can't be as asked.
    """
    from barnabas.clients.mirror.plan import files_of, parse_sources
    from barnabas.pipeline.mirror.mirror_run import run_mirrors
    from barnabas.pipeline.mirror.plan import MirrorPlan

    sources = parse_sources(arguments.source)
    files = files_of(arguments.source_config, list(sources))
    topics = tuple(text.strip() for text in arguments.topics.split(",") if text.strip())
    target_config = [] if arguments.target_config is None else [str(arguments.target_config)]
    plans = [
        MirrorPlan(
            arguments.name,
            alias,
            _kafka(address, files[alias], {"isolation.level": "read_committed"}),
            _kafka(arguments.target, target_config, {}),
            topics,
            absolute(arguments.checkpoint),
            arguments.prefix,
            parse_bound(arguments.from_time) or Bound(),
            arguments.once,
            arguments.trigger,
            arguments.give_up,
            Limits(arguments.max_bytes_per_s, arguments.max_messages_per_s),
            OnDataLoss(arguments.on_data_loss),
            not arguments.ignore_quotas,
        )
        for alias, address in sources.items()
    ]
    stopper = Stopper()
    if not arguments.json:
        print("starting Spark; the first time it downloads its packages", flush=True)
    session = session_for(session_options(arguments), plans, lambda text: tell(arguments, "warning", text=text))
    with session as (spark, seconds):
        stopper.begin()
        tell(arguments, "session", seconds=seconds)
        runs = run_mirrors(
            spark,
            plans,
            serve_metrics(arguments),
            reporter(arguments),
            lambda text: tell(arguments, "warning", text=text),
            stopper.is_stopped,
        )
    for each in runs:
        figures = each.figures
        tell(
            arguments,
            "done",
            run=each.plan.run,
            record_count=figures.record_count,
            skipped_count=figures.skipped_count,
            lag=figures.lag_count,
        )
    return 0


def _kafka(address: str, files: list[str], always: dict[str, str]) -> KafkaOptions:
    """Return a cluster, with the options of files; a later one holds over an earlier one.

    Raises:
        PlanError: a file can't be read, or what it says can't be.
    """
    from barnabas.clients.mirror.plan import CLIENT_ID, MirroredCluster

    options = {"client.id": CLIENT_ID}
    try:
        for file in files:
            options |= read_properties(file)[0]
        MirroredCluster(address, options).pool()
    except ConfigError as error:
        raise PlanError(str(error)) from None
    return KafkaOptions(address, options | always)
