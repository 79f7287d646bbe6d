"""`barnabas mirror`: mirrors topics of one or several clusters into another one, each record once."""

import asyncio
import os
import platform
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from barnabas.cli.options import AsJson, Option, flag, paragraphs, run_async, stop_on_signals
from barnabas.cli.output import Bar, announce, note, print_json, progress
from barnabas.clients.mirror.plan import CLIENT_ID, DEFAULT_NAME, MirroredCluster, MirrorPlan, files_of, parse_sources
from barnabas.clients.positions import Bound, OnDataLoss, check_patterns, parse_bound
from barnabas.clients.security import trimmed
from barnabas.core.config.properties import read_properties
from barnabas.core.errors import BarnabasError, ConfigError
from barnabas.core.peer_text import to_json

if TYPE_CHECKING:
    from barnabas.clients.mirror.mirror import MirrorFigures

HELP = paragraphs(
    """Mirror topics of one or several clusters into another one, each record once.

Record batches are copied unchanged, with their keys, values, headers, timestamps, partitions and order. Each
transaction also stores the mirror's progress, so that it resumes exactly there after any failure. Records do not loop
between clusters that mirror each other, also in rings and stars. `barnabas groups translate` translates offsets of
groups. The mirror runs until Ctrl-C and then completes the current transaction; with --once it stops at the present
ends of the topics.

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
            help="Source cluster; with several sources, each needs its own alias.",
        ),
    ],
    target: Annotated[str, Option("--target", metavar="HOST:PORT,...", help="Target cluster.")],
    topics: Annotated[
        str, Option("--topics", metavar="TOPIC,...", help="Topics to mirror from each source: names, or /PATTERN/.")
    ],
    prefix: Annotated[
        str,
        Option(
            "--prefix", metavar="TEXT", help="Prefix of topic names in the target; {source} is replaced by the alias."
        ),
    ] = "",
    name: Annotated[
        str,
        Option(
            "--name",
            metavar="NAME",
            help="Mirror name; keys its progress in the target. Only one process may use it at a time.",
        ),
    ] = DEFAULT_NAME,
    source_config: Annotated[
        list[str] | None,
        Option(
            "--source-config",
            metavar="[ALIAS=]FILE",
            help="Properties file of a source (security.protocol, ssl.*, sasl.*, ...); without an alias, of all "
            "sources.",
        ),
    ] = None,
    target_config: Annotated[
        str | None, Option("--target-config", metavar="FILE", help="Properties file of the target.")
    ] = None,
    from_time: Annotated[
        str | None,
        Option(
            "--from-time",
            metavar="WHERE",
            help="Start of partitions that are not mirrored yet: a time, offsets as JSON, earliest or latest (default: "
            "earliest).",
        ),
    ] = None,
    once: Annotated[bool, flag("--once", "Mirror the records that exist now, then exit.")] = False,
    on_data_loss: Annotated[
        str,
        Option(
            "--on-data-loss",
            metavar="stop|continue",
            help="If records were deleted before they were mirrored: stop, or warn and continue after them.",
        ),
    ] = OnDataLoss.STOP.value,
    give_up: Annotated[
        int,
        Option(
            "--give-up",
            min=1,
            max=86_400,
            metavar="S",
            help="Exit after this many seconds without contact to a cluster.",
        ),
    ] = 120,
    as_json: AsJson = False,
) -> None:
    if on_data_loss not in [each.value for each in OnDataLoss]:
        raise BarnabasError(f"--on-data-loss {on_data_loss}: must be stop or continue")
    sources = parse_sources(source)
    files = files_of(source_config or [], list(sources))
    into = _cluster(target, [] if target_config is None else [target_config])
    wanted = tuple(each.strip() for each in topics.split(",") if each.strip())
    if not wanted:
        raise BarnabasError("no topic given: use --topics TOPIC,...")
    check_patterns(wanted)
    plans = [
        MirrorPlan(
            name,
            alias,
            _cluster(address, files[alias]),
            into,
            wanted,
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
    """Return a cluster with the options of files; later files override earlier ones. Raises ConfigError."""
    options = {"client.id": CLIENT_ID}
    for path in paths:
        options |= trimmed(read_properties(path)[0])
        try:
            MirroredCluster(address, options).pool()
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None
    return MirroredCluster(address, options)


async def _run(plans: Sequence[MirrorPlan], give_up_s: int, *, is_once: bool, as_json: bool) -> None:
    """Run all mirrors until a signal comes, all have finished, or one fails."""
    from barnabas.clients.mirror.mirror import Mirror

    stopped = stop_on_signals()
    with progress("Mirroring", None, is_wanted=not as_json) as bar:

        def report(figures: "MirrorFigures") -> None:
            if as_json:
                announce(to_json({"event": "progress", **_figures_as_dict(figures)}))
            else:
                _show(bar, [each.figures for each in mirrors])

        def warn(text: str) -> None:
            if as_json:
                announce(to_json({"event": "warning", "text": text}))
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
            print_json({"event": "done", **_figures_as_dict(each.figures)})
        else:
            note(f"{each.figures.run}: {_summary([each.figures])}")


def _figures_as_dict(figures: "MirrorFigures") -> dict[str, object]:
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
    return f"{records:,} records ({size / 1e6:,.1f} MB) mirrored, {skipped:,} skipped, {lag:,} offsets behind"
