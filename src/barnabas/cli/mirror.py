"""`barnabas mirror`: topics of one or several clusters into another one, each record once, by this process."""

import asyncio
import os
import platform
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from barnabas.cli.options import AsJson, Option, flag, paragraphs, run_async, stop_on_signals
from barnabas.cli.output import Bar, note, print_json, progress
from barnabas.clients.mirror.plan import CLIENT_ID, DEFAULT_NAME, MirroredCluster, MirrorPlan, files_of, parse_sources
from barnabas.clients.positions import Bound, OnDataLoss, parse_bound
from barnabas.core.config.properties import read_properties
from barnabas.core.errors import BarnabasError, ConfigError

if TYPE_CHECKING:
    from barnabas.clients.mirror.mirror import MirrorFigures

HELP = paragraphs(
    """Mirror topics of one or several clusters into another one, each record once.

Record batches are copied as they lie, with their keys, values, headers, timestamps, partitions and order, in
transactions that also hold where the mirror stands: whatever is killed, it goes on there. Mirrors both ways, rings and
stars do not go round in circles, and `barnabas groups translate` moves groups over. It runs until Ctrl-C, and ends then
with the transaction under way, or with --once up to where the topics end now.

Examples:

  barnabas mirror --source west=west-1:9092 --target east-1:9092 --topics 'orders,/page-.*/'

  barnabas mirror --source west=west-1:9092 --source north=north-1:9092 --target all-1:9092 --topics orders --prefix
  '{source}.' --once
"""
)


def mirror(
    source: Annotated[
        list[str],
        Option(
            "--source",
            metavar="[ALIAS=]HOST:PORT,...",
            help="A cluster that is read; several, each with an alias of its own.",
        ),
    ],
    target: Annotated[str, Option("--target", metavar="HOST:PORT,...", help="The cluster that is written.")],
    topics: Annotated[
        str, Option("--topics", metavar="TOPIC,...", help="Those of each source; /PATTERN/ is one, too.")
    ],
    prefix: Annotated[
        str,
        Option("--prefix", metavar="TEXT", help="Of topics' names in the target; {source} in it is the alias."),
    ] = "",
    name: Annotated[
        str,
        Option(
            "--name",
            metavar="NAME",
            help="This mirror's: its places in the target are under it, and one process may have it.",
        ),
    ] = DEFAULT_NAME,
    source_config: Annotated[
        list[str] | None,
        Option(
            "--source-config",
            metavar="[ALIAS=]FILE",
            help="A properties file: how a source's brokers are reached; without an alias: all sources'.",
        ),
    ] = None,
    target_config: Annotated[
        str | None, Option("--target-config", metavar="FILE", help="The same for the target's brokers.")
    ] = None,
    from_time: Annotated[
        str | None,
        Option(
            "--from-time",
            metavar="WHERE",
            help="Begin here where nothing is mirrored yet: a time, offsets as JSON, earliest, latest (default: "
            "earliest).",
        ),
    ] = None,
    once: Annotated[bool, flag("--once", "End when all is mirrored that is there now.")] = False,
    on_data_loss: Annotated[
        str,
        Option(
            "--on-data-loss",
            metavar="stop|continue",
            help="When records are gone before they were mirrored: stop, or say so and go on behind them.",
        ),
    ] = OnDataLoss.STOP.value,
    give_up: Annotated[
        int, Option("--give-up", min=1, max=86_400, metavar="S", help="Wait so long for a cluster.")
    ] = 120,
    as_json: AsJson = False,
) -> None:
    if on_data_loss not in [each.value for each in OnDataLoss]:
        raise BarnabasError(f"--on-data-loss {on_data_loss}: it is stop or continue")
    sources = parse_sources(source)
    files = files_of(source_config or [], list(sources))
    into = _cluster(target, [] if target_config is None else [target_config])
    plans = [
        MirrorPlan(
            name,
            alias,
            _cluster(address, files[alias]),
            into,
            tuple(each.strip() for each in topics.split(",") if each.strip()),
            prefix,
            Bound() if from_time is None else parse_bound(from_time),
            OnDataLoss(on_data_loss),
            platform.node(),
            os.getpid(),
        )
        for alias, address in sources.items()
    ]
    run_async(_run(plans, give_up, is_once=once, as_json=as_json))


def _cluster(address: str, paths: Sequence[str]) -> MirroredCluster:
    """Return a cluster, with the options of files; a later one holds over an earlier one. Raises ConfigError."""
    options = {"client.id": CLIENT_ID}
    for path in paths:
        options |= read_properties(path)[0]
        try:
            MirroredCluster(address, options).pool()
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None
    return MirroredCluster(address, options)


async def _run(plans: Sequence[MirrorPlan], give_up_s: int, *, is_once: bool, as_json: bool) -> None:
    """Mirror until a signal comes, all have come to their end, or one fails."""
    from barnabas.clients.mirror.mirror import Mirror

    stopped = stop_on_signals()
    with progress("Mirroring", None, is_wanted=not as_json) as bar:

        def report(figures: "MirrorFigures") -> None:
            if as_json:
                print_json({"event": "progress", **_told(figures)})
            else:
                _show(bar, [each.figures for each in mirrors])

        def warn(text: str) -> None:
            if as_json:
                print_json({"event": "warning", "text": text})
            else:
                note(text)

        mirrors = [Mirror(plan, report, warn, give_up_s) for plan in plans]
        try:
            async with asyncio.TaskGroup() as tasks:
                for each in mirrors:
                    tasks.create_task(each.run(stopped, is_once=is_once))
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
    for each in mirrors:
        if as_json:
            print_json({"event": "done", **_told(each.figures)})
        else:
            note(f"{each.figures.run}: {_summary([each.figures])}")


def _told(figures: "MirrorFigures") -> dict[str, object]:
    return {
        "run": figures.run,
        "record_count": figures.record_count,
        "skipped_count": figures.skipped_count,
        "bytes": figures.payload_bytes,
        "lag": figures.lag,
    }


def _show(bar: Bar, figures: Sequence["MirrorFigures"]) -> None:
    bar.set(sum(each.record_count for each in figures), _summary(figures))


def _summary(figures: Sequence["MirrorFigures"]) -> str:
    records, size = sum(each.record_count for each in figures), sum(each.payload_bytes for each in figures)
    skipped, lag = sum(each.skipped_count for each in figures), sum(each.lag for each in figures)
    return f"{records:,} records ({size / 1e6:,.1f} MB) mirrored, {skipped:,} left out, {lag:,} offsets to go"
