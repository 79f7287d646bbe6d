"""The pipeline's commands: `python -m barnabas.pipeline demo | replay | run | top | count | sample`.

Exit codes: 0 done, 1 failed (try again), 2 can't work as asked, 130 stopped. Errors are one line on standard error;
above it stands what a process of the demo said last, when that is what failed.
With `--json` a command prints one JSON object a line, for the process that started it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from barnabas.core.errors import BarnabasError
from barnabas.core.parent import die_with_parent
from barnabas.pipeline.demo.children import HOPELESS, ChildFailedError
from barnabas.pipeline.demo.directory import DemoDirectoryError
from barnabas.pipeline.demo.remedies import remedy_of

if TYPE_CHECKING:
    from rich.console import Console

    from barnabas.pipeline.jobs.job import Job
    from barnabas.pipeline.sources.replay import ReplayProgress
    from barnabas.pipeline.view_runner import RunProgress

_LEAST_WATERMARK_S = 60


def main(argv: list[str] | None = None) -> int:
    """Run one command; gives the exit code."""
    arguments = _parser().parse_args(argv)
    if getattr(arguments, "parent", 0):
        die_with_parent(arguments.parent)
    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        return command(arguments)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 1
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
        remedy = remedy_of(reason)
        return _fail(f"{reason}; {remedy}" if remedy else reason, 1)
    except ChildFailedError as error:
        print("\nThe last that it said:", *(f"  {line}" for line in error.last_lines), sep="\n", file=sys.stderr)
        return _fail(str(error), 1)
    except (BarnabasError, DemoDirectoryError) as error:
        return _fail(str(error), 1)


def _parser() -> argparse.ArgumentParser:
    from barnabas.pipeline import demo
    from barnabas.pipeline.sources import sample

    parser = argparse.ArgumentParser(prog="python -m barnabas.pipeline", description="Activity streams with Spark.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    play = commands.add_parser("demo", help="broker, replay and Spark job in one")
    play.set_defaults(command=_demo)
    play.add_argument("--access-log", type=Path, metavar="FILE", help="a combined-format log, plain or gzip (made up)")
    play.add_argument("--rate", type=float, default=demo.DEFAULT_LINES_PER_S, help="lines/s; 0: no limit (%(default)s)")
    play.add_argument("--directory", type=Path, default=demo.DEFAULT_DIRECTORY, help="where all is kept (%(default)s)")
    play.add_argument("--fresh", action="store_true", help="start over, even where a stopped run could go on")
    play.add_argument("--top", type=int, default=10, metavar="N", help="pages in the table (%(default)s)")

    replay = commands.add_parser("replay", help="replay an access log into a topic")
    replay.set_defaults(command=_replay)
    _add_topic_options(replay)
    replay.add_argument("--access-log", type=Path, required=True, metavar="FILE")
    replay.add_argument("--rate", type=float, default=0.0, help="lines/s; 0: no limit (%(default)s)")

    run = commands.add_parser("run", help="run a Spark job on a topic")
    run.set_defaults(command=_run)
    run.add_argument("job", choices=("pageviews",))
    _add_topic_options(run)
    run.add_argument("--table", type=Path, required=True, metavar="DIR", help="where the Parquet files go")
    run.add_argument("--checkpoint", type=Path, required=True, metavar="DIR", help="offsets and state; one per table")
    run.add_argument("--scratch", type=Path, metavar="DIR", help="Spark's temporary files (CHECKPOINT.scratch)")
    run.add_argument("--summary", type=Path, metavar="FILE", help="with --until-marker: the table as one CSV file")
    run.add_argument("--until-marker", action="store_true", help="end when all up to the marker is in the table")
    run.add_argument("--trigger", type=float, default=1.0, metavar="S", help="seconds between batches (%(default)s)")
    run.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="a Spark setting")

    top = commands.add_parser("top", help="read a table of page views with Spark and show the top pages")
    top.set_defaults(command=_top)
    top.add_argument("--table", type=Path, required=True, metavar="DIR")
    top.add_argument("--top", type=int, default=10, metavar="N", help="pages in the table (%(default)s)")

    count = commands.add_parser("count", help="count a log in plain Python and show the top pages")
    count.set_defaults(command=_count)
    count.add_argument("--access-log", type=Path, required=True, metavar="FILE")
    count.add_argument("--summary", type=Path, metavar="FILE", help="write minute, page, views as CSV")
    count.add_argument("--top", type=int, default=10, metavar="N", help="pages in the table (%(default)s)")

    make = commands.add_parser("sample", help="write the made-up access log")
    make.set_defaults(command=_sample)
    make.add_argument("file", type=Path)
    make.add_argument("--lines", type=int, default=sample.LINE_COUNT, help="how many (%(default)s)")
    return parser


def _add_topic_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bootstrap-server", default="127.0.0.1:9092", metavar="HOST:PORT", help="(%(default)s)")
    parser.add_argument("--topic", default="page-views", help="(%(default)s)")
    parser.add_argument(
        "--watermark",
        type=int,
        default=_LEAST_WATERMARK_S,
        metavar="S",
        help="seconds; more than the log is out of order (%(default)s)",
    )
    parser.add_argument("--give-up", type=float, default=120.0, metavar="S", help="wait for a broker (%(default)s s)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--parent", type=int, default=0, help=argparse.SUPPRESS)


def _demo(arguments: argparse.Namespace) -> int:
    from barnabas.pipeline.demo.show import DemoPlan, run_demo

    plan = DemoPlan(arguments.directory, arguments.access_log, arguments.rate, arguments.fresh, arguments.top)
    return run_demo(plan, _console())


def _replay(arguments: argparse.Namespace) -> int:
    from barnabas.pipeline.jobs.pageviews import JOB
    from barnabas.pipeline.sources.replay import OtherLogError, ReplayPlan, replay
    from barnabas.pipeline.sources.topic import TopicShapeError, TopicUnavailableError, open_topic

    marker_delay_s = JOB.window_s + arguments.watermark
    plan = ReplayPlan(arguments.access_log, arguments.rate, marker_delay_s, arguments.give_up)

    def report(progress: ReplayProgress) -> None:
        _tell(arguments, "progress", line_count=progress.line_count, is_complete=progress.is_complete)

    try:
        with open_topic(arguments.bootstrap_server, arguments.topic) as topic:
            replay(topic, plan, report, _warner(arguments))
    except (OtherLogError, TopicShapeError) as error:
        return _fail(str(error), HOPELESS)
    except TopicUnavailableError as error:
        return _fail(str(error), 1)
    return 0


def _run(arguments: argparse.Namespace) -> int:
    from barnabas.pipeline.spark.java import JavaNotFoundError
    from barnabas.pipeline.spark.session import CheckpointInUseError, SparkStartError, checkpoint_lock

    signal.signal(signal.SIGTERM, _interrupt)
    checkpoint: Path = arguments.checkpoint.absolute()
    warn = _warner(arguments)
    try:
        lock_path = checkpoint.with_name(checkpoint.name + ".lock")
        with checkpoint_lock(
            lock_path, arguments.give_up, lambda: warn("an earlier run is about to end; waiting for it")
        ) as lock:
            return _run_in_session(arguments, checkpoint, lock, warn)
    except (JavaNotFoundError, ImportError) as error:
        return _fail(str(error), HOPELESS)
    except (CheckpointInUseError, SparkStartError) as error:
        return _fail(str(error), 1)


def _run_in_session(arguments: argparse.Namespace, checkpoint: Path, lock: int, warn: Callable[[str], None]) -> int:
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it has no types

    from barnabas.pipeline import table
    from barnabas.pipeline.sources.topic import open_topic
    from barnabas.pipeline.spark.session import KAFKA_CONNECTOR, spark_session
    from barnabas.pipeline.view_runner import QueryFailedError, RunPlan, run_job

    job: Job = _find_job(arguments.job)
    directory: Path = arguments.table.absolute()
    plan = RunPlan(
        arguments.bootstrap_server,
        arguments.topic,
        directory,
        checkpoint,
        arguments.watermark,
        arguments.trigger,
        arguments.give_up,
    )

    def report(progress: RunProgress) -> None:
        _tell(arguments, "batch", **progress.as_dict())

    settings = dict(setting.split("=", 1) for setting in arguments.conf)
    started_s = time.monotonic()
    try:
        with (
            _scratch(arguments.scratch, checkpoint) as scratch,
            spark_session(
                f"barnabas-{job.name}", scratch=scratch, packages=KAFKA_CONNECTOR, settings=settings, locks=[lock]
            ) as spark,
            open_topic(arguments.bootstrap_server, arguments.topic) as topic,
        ):
            _tell(arguments, "session", seconds=round(time.monotonic() - started_s, 1))
            until_marker_of = topic if arguments.until_marker else None
            run_job(spark, job, plan, until_marker_of=until_marker_of, report=report, warn=warn)
            stray_count = table.sweep(spark, directory)
            if arguments.summary:
                counts = table.write_summary(spark, directory, arguments.summary)
                _tell(arguments, "done", view_count=counts.total(), row_count=len(counts), stray_count=stray_count)
    except QueryFailedError as error:
        return _fail(str(error), 1)
    except (Py4JError, ConnectionError) as error:
        return _fail(f"Spark's JVM has ended: {str(error).partition(chr(10))[0]}", 1)
    return 0


@contextmanager
def _scratch(given: Path | None, checkpoint: Path) -> Iterator[Path]:
    """Give an empty directory for Spark's temporary files, and take it away at the end."""
    parent = given or checkpoint.with_name(checkpoint.name + ".scratch")
    # A directory of its own, because all in it goes: whoever held the checkpoint before has ended.
    scratch = parent / "spark"
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        yield scratch
    finally:
        shutil.rmtree(parent if given is None else scratch, ignore_errors=True)


def _top(arguments: argparse.Namespace) -> int:
    from barnabas.pipeline import table
    from barnabas.pipeline.spark.session import spark_session
    from barnabas.pipeline.terminal import print_top_pages

    directory: Path = arguments.table.absolute()
    if not table.has_rows(directory):
        return _fail(f"{arguments.table} holds no table of a job", 1)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch,
        spark_session("barnabas-top", scratch=Path(scratch)) as spark,
    ):
        counts = table.read_page_views(spark, directory)
    print_top_pages(_console(), counts, arguments.top, f"Top pages in {arguments.table}")
    return 0


def _count(arguments: argparse.Namespace) -> int:
    from barnabas.pipeline.demo.plain_count import count_file, write_counts
    from barnabas.pipeline.terminal import print_top_pages

    counts = count_file(arguments.access_log)
    if arguments.summary:
        write_counts(arguments.summary, counts)
    if not counts:
        return _fail(f"{arguments.access_log} holds no page view in the combined log format", 1)
    print_top_pages(_console(), counts, arguments.top, f"Top pages of {arguments.access_log}, counted in plain Python")
    return 0


def _sample(arguments: argparse.Namespace) -> int:
    from barnabas.pipeline.sources.sample import write_sample

    write_sample(arguments.file, arguments.lines)
    return 0


def _find_job(name: str) -> Job:
    from barnabas.pipeline.jobs import pageviews

    return {pageviews.JOB.name: pageviews.JOB}[name]


def _tell(arguments: argparse.Namespace, event: str, **fields: int | float | str | bool) -> None:
    if arguments.json:
        line = json.dumps({"event": event, **fields}, ensure_ascii=False)
    else:
        line = f"{event}: " + ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in fields.items())
    print(line, flush=True)


def _warner(arguments: argparse.Namespace) -> Callable[[str], None]:
    return lambda text: _tell(arguments, "warning", text=text)


def _console() -> Console:
    from rich.console import Console

    return Console()


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _fail(reason: str, code: int) -> int:
    print(f"barnabas.pipeline: {reason}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
