"""`barnabas mirror`: topics of one or several clusters into another one, with the options of kafka-mirror-maker."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Final

from barnabas.cli.options import Option, flag, paragraphs, run_async, stop_on_signals
from barnabas.cli.output import note, progress
from barnabas.core.config.properties import read_properties
from barnabas.core.errors import BarnabasError, ConfigError

if TYPE_CHECKING:
    from barnabas.api.mirror.mirror import Mirror, MirrorPlan
    from barnabas.api.mirror.settings import Options, ReadSettings

HELP = paragraphs(
    """Copy topics of one or several clusters into another one, until Ctrl-C.

Each --consumer-config names a source cluster (group.id, and bootstrap.servers, or zookeeper.connect for a group that
lives in ZooKeeper), --producer-config the target. Every message arrives at least once: the source group's offsets are
committed behind what the target has acknowledged. A second mirror with the same group shares the work. For large sites
there is `barnabas pipeline mirror`, which is exactly once and needs Spark.

Examples:

  barnabas mirror --consumer-config west.properties --producer-config east.properties --whitelist 'orders,page-.*'

  barnabas mirror --consumer-config west.properties --consumer-config north.properties --producer-config
  all.properties --blacklist 'test-.*' --num-streams 2
"""
)

_LOOK_S: Final = 0.2
_MISSING: Final = "this needs librdkafka: pip install 'barnabas[clients]'"


def mirror(
    consumer_config: Annotated[
        list[str],
        Option(
            "--consumer-config",
            "--consumer.config",
            nargs="+",
            metavar="FILE...",
            help="A properties file of a source cluster: how its group reads; may be repeated.",
        ),
    ],
    producer_config: Annotated[
        str,
        Option(
            "--producer-config",
            "--producer.config",
            metavar="FILE",
            help="A properties file of the target cluster: how it is written.",
        ),
    ],
    whitelist: Annotated[
        str | None, Option("--whitelist", metavar="REGEX", help="Mirror the topics that match; a comma means or.")
    ] = None,
    blacklist: Annotated[
        str | None, Option("--blacklist", metavar="REGEX", help="Mirror all topics but those that match.")
    ] = None,
    num_streams: Annotated[
        int,
        Option(
            "--num-streams",
            "--num.streams",
            min=1,
            max=256,
            metavar="N",
            help="Threads for each source; each is a member of its group.",
        ),
    ] = 1,
    keep_partitions: Annotated[
        bool,
        flag("--keep-partitions", "Into the partition of the same number, instead of by the key."),
    ] = False,
    offset_commit_interval_ms: Annotated[
        int,
        Option(
            "--offset-commit-interval-ms",
            "--offset.commit.interval.ms",
            min=100,
            max=2**31 - 1,
            metavar="MS",
            help="How often offsets are committed.",
        ),
    ] = 60_000,
) -> None:
    if (whitelist is None) == (blacklist is None):
        raise BarnabasError("say which topics: --whitelist REGEX, or --blacklist REGEX")
    try:
        from barnabas.api.mirror.mirror import Mirror, MirrorPlan
    except ImportError:
        raise BarnabasError(_MISSING) from None
    from barnabas.api.connector.topic_filter import BlackList, WhiteList
    from barnabas.api.mirror.settings import producer_settings, source_settings

    pattern = whitelist if whitelist is not None else blacklist
    if not pattern:
        raise ConfigError("a white list or black list must not be empty")
    plan = MirrorPlan(
        [_read(path, source_settings) for path in consumer_config],
        _read(producer_config, producer_settings),
        BlackList(pattern) if whitelist is None else WhiteList(pattern),
        num_streams,
        keep_partitions,
        offset_commit_interval_ms / 1000,
    )
    # What ZooKeeper's client logs of its attempts to connect is not shown.
    logging.getLogger("barnabas.wire.registry").setLevel(logging.CRITICAL)
    run_async(_run(Mirror(plan), plan))


def _read(path: str, settings: "Callable[[Mapping[str, str]], ReadSettings]") -> "Options":
    """Read a file for librdkafka. Raises ConfigError: it names the file."""
    values, _ = read_properties(path)
    try:
        read = settings(values)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    if read.ignored:
        note(f"{path}: without effect here: {', '.join(read.ignored)}")
    return read.options


async def _run(mirror: "Mirror", plan: "MirrorPlan") -> None:
    """Mirror until a signal comes or a stream fails."""
    await asyncio.to_thread(mirror.start)
    stopped = stop_on_signals()
    from barnabas.api.mirror.settings import source_name

    names = ", ".join(map(source_name, plan.sources))
    note(f"Mirroring from {names} to {plan.target['bootstrap.servers']}; Ctrl-C ends it.")
    try:
        with progress("Mirroring", None) as bar:
            while mirror.is_running and not stopped.is_set():
                try:
                    await asyncio.wait_for(stopped.wait(), _LOOK_S)
                except TimeoutError:
                    bar.set(mirror.acknowledged_count, _figures(mirror))
                _show_notes(mirror)
    finally:
        mirror.stop()
        try:
            await asyncio.to_thread(mirror.join)
        finally:
            _show_notes(mirror)
            note(_figures(mirror))


def _figures(mirror: "Mirror") -> str:
    return f"{mirror.acknowledged_count:,} messages ({mirror.acknowledged_bytes / 1e6:,.1f} MB) mirrored"


def _show_notes(mirror: "Mirror") -> None:
    for text in mirror.notes.read():
        note(text)
