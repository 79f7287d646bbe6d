"""The demo: one command loads an access log into tables and a report, and kills the broker on the way.

The child processes run commands that users have as well: `barnabas broker`, `barnabas pipeline replay`, and `barnabas
pipeline run load reporting ranking security --once --report`. Each of them, and the demo itself, can be killed and
started again at any moment: the replay resumes at the end of the topics, and the jobs resume at the end of their
tables. So no view is lost or loaded twice. To prove it, the demo compares the views of the log with those of the table.
"""

import csv
import json
import os
import shlex
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from barnabas.core.command_line import ENVIRONMENT
from barnabas.pipeline.demo.children import Child
from barnabas.pipeline.demo.directory import COMPLETE, RUNNING, DemoDirectory, DemoDirectoryError, Run, digest_of
from barnabas.pipeline.events.types import PAGE_VIEW
from barnabas.pipeline.sources.access_log import parse_line, read_lines
from barnabas.pipeline.sources.social import SitePlan, write_access_log
from barnabas.pipeline.terminal import print_table

DEFAULT_DIRECTORY = Path("demo-data")
JOBS = ("load", "reporting", "ranking", "security")
PARTITION_COUNT = 4
# Two hours in the evening of a made-up site, about 4,000 requests.
MADE_UP = SitePlan(start=datetime(2026, 3, 6, 18, tzinfo=UTC), duration_s=7_200, events_per_s=1.6, users=500, items=800)

_INTERRUPTED = 130
_MAX_SHOWN_CHARACTERS = 80
_BAR_WIDTH = 24
_INDENT = "  "
_PROGRESS_EVERY_S = 5.0
# Settings for a JVM that runs for a minute and reads few rows: the optimizing compiler and adaptive query plans would
# cost more than they save.
_SETTINGS = (
    "spark.driver.defaultJavaOptions=-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC",
    "spark.sql.adaptive.enabled=false",
)

# Views by minute and page.
Counts = Counter[tuple[str, str]]


class Log(NamedTuple):
    """An access log; `first_other` is the number and text of the first line that is not a view."""

    line_count: int
    first_other: tuple[int, str] | None
    counts: Counts


@dataclass(frozen=True, slots=True)
class DemoPlan:
    """The demo's options; `access_log` None means the made-up log."""

    directory: Path
    access_log: Path | None
    lines_per_s: float
    is_fresh: bool
    top_count: int


def run_demo(plan: DemoPlan, console: Console) -> int:
    """Run the demo, or resume a stopped one; return the exit code: 1 if views were lost or doubled, 130 for Ctrl-C.

    Raises:
        DemoDirectoryError: the directory or the log can't be used.
        ChildFailedError: the broker, the replay or the jobs fail.
    """
    directory = DemoDirectory(plan.directory)
    # An access log contains personal data: only this user may read the files.
    os.umask(0o077)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    with directory.lock():
        path = plan.access_log or directory.sample
        if plan.access_log is None:
            write_access_log(MADE_UP, path)
        log = read_log(path)
        run = _prepare(plan, directory, path, log, console)
        processes = _Processes(plan, directory, path, log.line_count, console)
        try:
            processes.run()
        except KeyboardInterrupt:
            console.print("Stopped. The same command resumes.")
            return _INTERRUPTED
        finally:
            processes.stop()
        code = _compare(plan, directory, path, log.counts, console)
        directory.save(replace(run, state=COMPLETE))
        return code


def _prepare(plan: DemoPlan, directory: DemoDirectory, path: Path, log: Log, console: Console) -> Run:
    """Resume the run in the directory, or begin a new one."""
    other = ""
    if log.first_other is not None:
        number, text = log.first_other
        # repr: the text may contain control characters.
        other = f": first at line {number:,}: {text[:_MAX_SHOWN_CHARACTERS]!r}"
    view_count = log.counts.total()
    if not view_count:
        raise DemoDirectoryError(f"{path} has no page view in the combined log format{other}")
    kind = "page views" if plan.access_log else "made-up page views"
    console.print(f"[bold]Barnabas[/bold]: {view_count:,} {kind} → Kafka topics → Spark → tables, a report")
    if other_count := log.line_count - view_count:
        lines = "1 line was no view" if other_count == 1 else f"{other_count:,} lines were no views"
        console.print(f"  {lines}, and not counted{other}", highlight=False, markup=False, soft_wrap=True)
    digest = digest_of(path)
    run = directory.load()
    if run is not None and run.state == RUNNING and not plan.is_fresh:
        if run.digest != digest:
            raise DemoDirectoryError(
                f"{directory.root} contains an unfinished run of {run.access_log}: resume with that log, "
                "or give --fresh or another --directory"
            )
        console.print(f"  resuming the run in {directory.root} (--fresh starts over)")
        return run
    run = Run(RUNNING, str(path), digest)
    directory.begin(run)
    return run


class _Processes:
    """The broker, and the replay and the jobs, which run one after the other while the broker runs."""

    def __init__(self, plan: DemoPlan, directory: DemoDirectory, log: Path, line_count: int, console: Console) -> None:
        self._plan = plan
        self._directory = directory
        self._log = log
        self._line_count = line_count
        self._console = console
        self._port = 0
        self._is_broker_killed = False
        self._next_progress_s = 0.0
        # The demo runs its own broker: settings for another cluster must not apply.
        own = {ENVIRONMENT["--command-config"]: "", "COLUMNS": str(console.width - len(_INDENT))}
        self._broker = Child("broker", directory.logs)
        self._replay = Child("replay", directory.logs, own)
        self._jobs = Child("jobs", directory.logs, {**own, "TMPDIR": str(directory.scratch.absolute())})

    def run(self) -> None:
        """Run all processes until the jobs have loaded the whole log."""
        self._start_broker()
        self._finish(self._replay, self._replay_command())
        self._kill_broker()
        self._say("jobs", f"Spark starts and runs {', '.join(JOBS)}")
        self._finish(self._jobs, self._jobs_command())

    def stop(self) -> None:
        """Stop all processes that run."""
        for child in (self._jobs, self._replay, self._broker):
            child.stop()

    def _start_broker(self) -> None:
        began_s = time.monotonic()
        while True:
            ready, ready_end = os.pipe()
            with os.fdopen(ready) as lines:
                self._broker.start(self._broker_command(ready_end), [ready_end])
                os.close(ready_end)
                # Empty if the broker ends before it is ready.
                line = lines.readline()
            if line:
                break
            self._notice(self._broker, self._broker.end())
        started = json.loads(line)
        self._port = started["port"]
        ready_s = time.monotonic() - began_s
        self._say("broker", f"127.0.0.1:{self._port}, cluster {started['cluster_id']}, ready in {ready_s:.2f} s")

    def _kill_broker(self) -> None:
        """Kill the broker once, to show that nothing is lost; restart it as after any other kill."""
        if not self._is_broker_killed:
            self._is_broker_killed = True
            self._say("demo", "kills the broker, to show that nothing is lost")
            self._broker.kill()
            self._watch_broker()

    def _watch_broker(self) -> None:
        if self._broker.has_ended():
            self._notice(self._broker, self._broker.end())
            self._start_broker()

    def _finish(self, child: Child, command: Sequence[str]) -> None:
        """Run a child until it succeeds; start it again if it is killed or fails."""
        while True:
            child.start(command)
            for line in child.lines(self._watch_broker):
                (self._on_replay if child is self._replay else self._on_jobs)(line)
            if not (how := child.end()):
                return
            self._notice(child, how)

    def _notice(self, child: Child, how: str) -> None:
        self._console.print(f"  [yellow]{child.name} {how or 'ended'}: starting it again[/yellow]", highlight=False)

    def _broker_command(self, ready: int) -> list[str]:
        return [
            *(sys.executable, "-P", "-m", "barnabas.broker.server.main", "--host", "127.0.0.1"),
            *("--port", str(self._port), "--data-dir", str(self._directory.broker), "--ready-fd", str(ready)),
            *("--die-with-parent", "--parent-pid", str(os.getpid())),
        ]

    def _pipeline(self, *words: str) -> list[str]:
        own = ["--bootstrap-server", f"127.0.0.1:{self._port}", "--parent", str(os.getpid())]
        return [sys.executable, "-P", "-m", "barnabas.pipeline", *words, *own]

    def _replay_command(self) -> list[str]:
        rate = ("--rate", str(self._plan.lines_per_s))
        return self._pipeline("replay", str(self._log), "--partitions", str(PARTITION_COUNT), *rate, "--json")

    def _jobs_command(self) -> list[str]:
        places = self._directory
        return self._pipeline(
            *("run", *JOBS, "--once", "--topics", PAGE_VIEW.topic, "--tables", str(places.tables)),
            *("--checkpoint", str(places.checkpoint), "--report", str(places.report)),
            *("--scratch", str(places.scratch), "--master", "local[2]", "--verbose"),
            *(word for setting in _SETTINGS for word in ("--conf", setting)),
        )

    def _on_replay(self, line: str) -> None:
        event = json.loads(line)
        if event["event"] == "warning":
            self._say("replay", event["text"])
            return
        count, now_s = event["line_count"], time.monotonic()
        if now_s >= self._next_progress_s or event["event"] == "done":
            self._say("replay", f"{count:,} of {self._line_count:,} lines in topics of {PARTITION_COUNT} partitions")
            self._next_progress_s = now_s + _PROGRESS_EVERY_S
        if 2 * count >= self._line_count:
            self._kill_broker()

    def _on_jobs(self, line: str) -> None:
        # Skip Ivy's lines, which also go to standard output.
        if not line.startswith("::"):
            self._console.print(f"{_INDENT}{line}", highlight=False, markup=False, soft_wrap=True)

    def _say(self, who: str, what: str) -> None:
        self._console.print(f"  [bold]{who:<8}[/bold]{what}", highlight=False, soft_wrap=True)


def read_log(path: Path) -> Log:
    """Read an access log, and count its views by minute and page."""
    number, first_other, counts = 0, None, Counts()
    for number, text in read_lines(path):
        view = parse_line(number, text)
        if view is not None:
            counts[_minute(datetime.fromtimestamp(view.time_s, UTC)), view.page] += 1
        elif first_other is None:
            first_other = number, text
    return Log(number, first_other, counts)


def count_table(table: Path) -> Counts:
    """Count the views of a Delta table by minute and page; an event that was sent twice counts once."""
    from deltalake import DeltaTable

    rows = DeltaTable(table).to_pyarrow_table(columns=["id", "time", "page"])
    events = {event: (_minute(time), page) for event, time, page in zip(*rows.to_pydict().values(), strict=True)}
    return Counter(events.values())


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:00Z}"


def _compare(plan: DemoPlan, directory: DemoDirectory, log: Path, expected: Counts, console: Console) -> int:
    """Write the views, print the most viewed pages, the comparison and the files; return the exit code."""
    loaded = count_table(directory.tables / "load" / PAGE_VIEW.topic)
    with directory.summary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("minute", "page", "views"))
        writer.writerows((*key, views) for key, views in sorted(loaded.items()))
    console.print()
    print_top_pages(console, loaded, plan.top_count, "Top pages, as Spark loaded them")
    if loaded == expected:
        console.print("[green]Equal to a plain Python count of the log, page by page and minute by minute.[/green]")
    else:
        lost, doubled = expected - loaded, loaded - expected
        console.print(f"[red]Not equal to a plain Python count: {lost.total()} lost, {doubled.total()} too many[/red]")
        for key in list(lost + doubled)[:10]:
            console.print(f"  {' '.join(key)}: Spark {loaded[key]}, plain {expected[key]}", markup=False)
    console.print("\nFiles")
    for name, place in {
        "report": f"{directory.report} (open it in a browser)",
        "tables": f"{directory.tables} (Delta)",
        "views": f"{directory.summary}",
        "topics": f"{directory.broker}",
        "access log": f"{log}",
        "messages": f"{directory.logs}",
    }.items():
        console.print(f"  {name:<11}{place}", highlight=False, markup=False, soft_wrap=True)
    python = shlex.quote(min(sys.executable, os.path.relpath(sys.executable), key=len))
    console.print(f"\nMore:\n  {python} -m barnabas.pipeline list", highlight=False, markup=False, soft_wrap=True)
    return 0 if loaded == expected else 1


def print_top_pages(console: Console, counts: Counts, row_count: int, title: str) -> None:
    """Print a table of the pages with the most views."""
    totals: Counter[str] = Counter()
    for (_, page), views in counts.items():
        totals[page] += views
    top = sorted(totals.items(), key=lambda item: (-item[1], item[0]))[:row_count]
    rows: list[list[object]] = [
        [rank, page, views, f"{views / counts.total():.1%}", "█" * max(1, round(_BAR_WIDTH * views / top[0][1]))]
        for rank, (page, views) in enumerate(top, start=1)
    ]
    print_table(console, title, ["", "page", "views", "share", ""], rows, can_drop_last=True)
    minutes = {minute for minute, _ in counts}
    console.print(f"{counts.total():,} views of {len(totals):,} pages in {len(minutes):,} minutes with a view")
