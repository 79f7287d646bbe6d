"""The demo: a broker, a replayed access log and Spark jobs, from one command, to tables and a report.

Invariants: every process can be killed and started again, this one as well, and the result is that of an undisturbed
run: the log's place is in the topics, each job's in its tables, and the rest in the directory (`directory.py`).
At the end the loaded table is held against a plain Python count of the log (`plain_count.py`).
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barnabas.core.command_line import ENVIRONMENT
from barnabas.pipeline.demo.children import HOPELESS, Child, Event
from barnabas.pipeline.demo.directory import COMPLETE, RUNNING, DemoDirectory, DemoDirectoryError, Run, digest_of
from barnabas.pipeline.demo.display import Gauges, gauges, print_top_pages
from barnabas.pipeline.demo.plain_count import Counts, count_file, read_counts
from barnabas.pipeline.demo.spark_side import JOBS
from barnabas.pipeline.sources.access_log import Survey, survey
from barnabas.pipeline.sources.social import SitePlan, write_access_log
from barnabas.pipeline.terminal import print_table

if TYPE_CHECKING:
    from rich.console import Console

DEFAULT_DIRECTORY = Path("demo-data")
PARTITION_COUNT = 4
# Two hours of a made-up site's evening, some 8,000 requests.
MADE_UP = SitePlan(start=datetime(2026, 3, 6, 18, tzinfo=UTC), duration_s=7_200, events_per_s=1.6, users=500, items=800)
_INTERRUPTED = 130
_SHOWN_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class DemoPlan:
    """The demo's options; `access_log` None means the made-up one."""

    directory: Path
    access_log: Path | None
    lines_per_s: float
    is_fresh: bool
    top_count: int


def run_demo(plan: DemoPlan, console: Console) -> int:
    """Run the demo, or go on with one that was stopped; gives the exit code.

    Raises:
        DemoDirectoryError: the directory or the log can't be used.
        ChildFailedError: the broker, the replay or the job can't be run.
    """
    directory = DemoDirectory(plan.directory)
    # An access log says who did what: neither it nor what is made of it is everybody's.
    os.umask(0o077)
    with directory.lock():
        log = plan.access_log
        if log is None:
            log = directory.sample
            write_access_log(MADE_UP, log)
        run, found = _prepare(plan, directory, log, console)
        show = _Show(plan, directory, log, found, console)
        if not asyncio.run(show.play()):
            console.print("Stopped. The same command goes on from here.")
            return _INTERRUPTED
        for summary in show.summaries:
            print_table(console, str(summary["title"]), _list(summary["columns"]), _list(summary["rows"]))
        return _conclude(plan, directory, log, run, console)


def _list(value: object) -> list[Any]:
    assert isinstance(value, list)
    return value


def _prepare(plan: DemoPlan, directory: DemoDirectory, log: Path, console: Console) -> tuple[Run, Survey]:
    """Look at the log, and take up the run that is in the directory or begin a new one."""
    digest, found = digest_of(log), survey(log)
    if found.view_count == 0:
        raise DemoDirectoryError(f"{log} holds no page view in the combined log format{_first_other(found)}")
    kind = "page views" if plan.access_log else "made-up page views"
    console.print(f"[bold]Barnabas[/bold]: {found.view_count:,} {kind} → Kafka topics → Spark → tables, a report")
    if other_count := found.line_count - found.view_count:
        lines = "1 line was no view" if other_count == 1 else f"{other_count:,} lines were no views"
        console.print(f"  {lines}, and not counted{_first_other(found)}", highlight=False, markup=False, soft_wrap=True)
    earlier = directory.load()
    if earlier is not None and earlier.state == RUNNING and not plan.is_fresh:
        if earlier.digest != digest:
            raise DemoDirectoryError(
                f"{directory.root} holds an unfinished run of {earlier.access_log}: go on with that log, "
                "or give --fresh or another --directory"
            )
        console.print(f"  going on with the run in {directory.root} (--fresh starts over)")
        return earlier, found
    run = Run(RUNNING, str(log), digest)
    directory.begin(run)
    return run, found


def _first_other(found: Survey) -> str:
    """Return the number and the beginning of the first line that is no view; empty where there is none."""
    if found.first_other is None:
        return ""
    number, text = found.first_other
    shown = text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
    # repr: what is there may move a terminal's cursor.
    return f": first at line {number:,}: {shown!r}"


class _Show:
    """The processes and what is shown of them."""

    def __init__(self, plan: DemoPlan, directory: DemoDirectory, log: Path, found: Survey, console: Console) -> None:
        self._plan = plan
        self._directory = directory
        self._log = log
        self._found = found
        self._console = console
        self._port = 0
        self._started_s = time.monotonic()
        self._broker_ready = asyncio.Event()
        self.summaries: list[Event] = []
        self._has_begun = False
        self._gauges: Gauges | None = None
        logs = directory.logs
        self._broker = Child(
            "broker",
            self._broker_command,
            logs / "broker.log",
            self._on_broker,
            self._notice,
            is_service=True,
            # With 1 it ends by itself, having said why: a disk that is full, a port that is taken.
            hopeless_codes=(1, HOPELESS),
        )
        self._replay = Child(
            "replay",
            self._replay_command,
            logs / "replay.log",
            self._on_replay,
            self._notice,
            # The demo's broker is its own: a file for another cluster does not apply.
            {ENVIRONMENT["--command-config"]: ""},
        )
        self._job = Child(
            "Spark jobs",
            self._job_command,
            logs / "spark.log",
            self._on_job,
            self._notice,
            {"TMPDIR": str(directory.scratch.absolute())},
        )

    async def play(self) -> bool:
        """Run all until the jobs have the whole log; False when a signal stopped it."""
        this_task = asyncio.current_task()
        assert this_task is not None
        is_stopped = False

        def stop() -> None:
            nonlocal is_stopped
            is_stopped = True
            this_task.cancel()

        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, stop)
        try:
            with gauges(self._console, self._found.line_count) as self._gauges:
                await self._run_children()
            return True
        except asyncio.CancelledError:
            if not is_stopped:
                raise
            return False
        except ExceptionGroup as failures:
            # The first failure has stopped the others; it is the one to tell.
            raise failures.exceptions[0] from None

    async def _run_children(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            self._started_s = time.monotonic()
            broker = tasks.create_task(self._broker.run())
            await self._broker_ready.wait()
            await self._replay.run()
            self._say("Spark", "starting; the first time it downloads its packages")
            await self._job.run()
            broker.cancel()

    def _broker_command(self) -> list[str]:
        options = ["--host", "127.0.0.1", "--port", str(self._port), "--data-dir", str(self._directory.broker)]
        broker = [sys.executable, "-P", "-m", "barnabas.broker.server.main", *options, "--ready-fd", "3"]
        broker += ["--die-with-parent", "--parent-pid", str(os.getpid())]
        # Its line of JSON goes where a child's do, and what else it says to the log.
        return ["/bin/sh", "-c", 'exec "$@" 3>&1 1>&2', "broker", *broker]

    def _replay_command(self) -> list[str]:
        return [
            *(sys.executable, "-P", "-m", "barnabas.pipeline", "replay", str(self._log)),
            *("--bootstrap-server", f"127.0.0.1:{self._port}", "--partitions", str(PARTITION_COUNT)),
            *("--rate", str(self._plan.lines_per_s), "--json", "--parent", str(os.getpid())),
        ]

    def _job_command(self) -> list[str]:
        return [
            *(sys.executable, "-P", "-m", "barnabas.pipeline.demo.spark_side"),
            *("--bootstrap-server", f"127.0.0.1:{self._port}"),
            *("--directory", str(self._directory.root), "--parent", str(os.getpid())),
        ]

    def _on_broker(self, event: Event) -> None:
        if "port" not in event:
            return
        self._port = int(str(event["port"]))
        ready_s = time.monotonic() - self._started_s
        if not self._broker_ready.is_set():
            self._say("broker", f"127.0.0.1:{self._port}, cluster {event.get('cluster_id')}, ready in {ready_s:.2f} s")
        self._broker_ready.set()

    def _on_replay(self, event: Event) -> None:
        match event:
            case {"event": "progress", "line_count": int(line_count)}:
                if not self._has_begun:
                    self._say("replay", f"into topics of {PARTITION_COUNT} partitions each")
                    self._has_begun = True
                if self._gauges is not None:
                    self._gauges.replayed(line_count)
            case {"event": "warning", "text": str(text)}:
                self._notice(f"replay: {text}")

    def _on_job(self, event: Event) -> None:
        match event:
            case {"event": "session", "seconds": float(seconds)}:
                self._say("Spark", f"session up in {seconds:.1f} s, running {', '.join(JOBS)}")
                # One that was killed told some already.
                self.summaries.clear()
            case {"event": "batch", "run": str(run), "record_count": int(count)}:
                if self._gauges is not None:
                    self._gauges.counted(run, count)
            case {"event": "summary"}:
                self.summaries.append(event)
            case {"event": "warning", "text": str(text)}:
                self._notice(f"Spark jobs: {text}")

    def _say(self, who: str, what: str) -> None:
        self._console.print(f"  [bold]{who:<8}[/bold]{what}", highlight=False)

    def _notice(self, text: str) -> None:
        self._console.print(f"  [yellow]{text}[/yellow]", highlight=False)


def _conclude(plan: DemoPlan, directory: DemoDirectory, log: Path, run: Run, console: Console) -> int:
    """Show the result, hold it against the plain count, and say where everything is."""
    counted, expected = read_counts(directory.summary), count_file(log)
    console.print()
    print_top_pages(console, counted, plan.top_count, "Top pages, as Spark loaded them")
    is_equal = counted == expected
    if is_equal:
        console.print("[green]Equal to a plain Python count of the log, page by page and minute by minute.[/green]")
    else:
        _print_difference(counted, expected, console)
    _print_places(directory, log, console)
    directory.save(replace(run, state=COMPLETE))
    return 0 if is_equal else 1


def _print_difference(counted: Counts, expected: Counts, console: Console) -> None:
    lost, doubled = expected - counted, counted - expected
    console.print(
        f"[red]Not equal to a plain Python count: {lost.total():,} views lost, {doubled.total():,} too many[/red]"
    )
    for minute, page in list(lost + doubled)[:10]:
        console.print(f"  {minute} {page}: Spark {counted[minute, page]}, plain {expected[minute, page]}", markup=False)


def _print_places(directory: DemoDirectory, log: Path, console: Console) -> None:
    python = shlex.quote(min(sys.executable, os.path.relpath(sys.executable), key=len))
    places = (
        ("the report", f"{directory.report} (open it in a browser)"),
        ("tables", f"{directory.tables} (Delta)"),
        ("one file", f"{directory.summary}"),
        ("the topics", f"{directory.broker}"),
        ("the log", f"{log}"),
        ("messages", f"{directory.logs}"),
    )
    console.print("\nWhere it is")
    for name, place in places:
        console.print(f"  {name:<11}{place}", highlight=False, markup=False, soft_wrap=True)
    command = f"{python} -m barnabas.pipeline list"
    console.print(f"\nWhat else there is:\n  {command}", highlight=False, markup=False, soft_wrap=True)
