"""The Spark session that runs share: its packages and cores, and the locks of their checkpoints."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A run of minutes ends before the code that Java's optimizing compiler makes pays for itself: without that compiler
# security's takes 28 % less CPU. The cache for code would be too small for hundreds of queries.
_FOR_MINUTES = "-XX:+UseParallelGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"

_DRIVER_MB = 768
_DRIVER_MB_PER_RUN = 256


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """The options that Spark is started with.

    Attributes:
        table_format: Of the tables; None: there are none.
        master: Where Spark runs; None: here, with a task slot for each core.
        settings: Spark's own, over those that are chosen; to lists (packages, jars, extensions) they add.
        scratch: For what is needed while it runs; None: a temporary directory.
        is_verbose: Whether Spark's log goes to standard error.
        tables: Where the tables are: what Spark needs for an object store comes by the scheme.
        checkpoint: Where checkpoints are, likewise.
        is_continuous: Whether it goes on until it is stopped.
    """

    table_format: str | None
    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    scratch: Path | None = None
    is_verbose: bool = False
    tables: str = ""
    checkpoint: str = ""
    is_continuous: bool = False


class Locked(Protocol):
    """A plan's part about its checkpoint."""

    @property
    def run(self) -> str:
        """The run's name."""

    @property
    def checkpoint(self) -> str:
        """The directory of all checkpoints."""

    @property
    def give_up_s(self) -> float:
        """The seconds to wait for an earlier run of the same name."""


def placement(options: SessionOptions, run_count: int, core_count: int) -> dict[str, str]:
    """Return the settings of where Spark runs; none if the user names a master, as an option or a setting.

    Args:
        options: Those of the user.
        run_count: The runs that share the session.
        core_count: The machine's.
    """
    if options.master:
        return {"spark.master": options.master}
    if "spark.master" in options.settings:
        return {}
    return {
        "spark.master": f"local[{max(2, core_count)}]",
        "spark.driver.memory": f"{_DRIVER_MB + _DRIVER_MB_PER_RUN * max(1, run_count)}m",
    }


@contextmanager
def session_for(
    options: SessionOptions, plans: Sequence[Locked], warn: Callable[[str], None]
) -> Iterator[tuple[SparkSession, float]]:
    """Provide a Spark session for runs, with their checkpoints locked, and the seconds that its start took."""
    from barnabas.pipeline.spark.object_stores import clients_for
    from barnabas.pipeline.spark.session import checkpoint_lock, combined, spark_session
    from barnabas.pipeline.tables.formats import check_location

    began_s = time.monotonic()
    settings = {"spark.scheduler.mode": "FAIR"}
    if not options.is_continuous:
        settings["spark.driver.defaultJavaOptions"] = _FOR_MINUTES
    if options.table_format is not None:
        check_location(options.table_format, options.tables)
    # A setting may be an address as well: the warehouse of a catalog.
    clients = clients_for((options.tables, options.checkpoint, *options.settings.values()), os.environ)
    settings |= clients.settings
    if clients.excludes:
        settings["spark.jars.excludes"] = ",".join(clients.excludes)
    settings |= placement(options, len(plans), os.cpu_count() or 1)
    settings = combined(settings, options.settings)
    with ExitStack() as stack:
        locks = []
        for plan in plans:
            if "://" in plan.checkpoint:
                continue
            path = Path(plan.checkpoint).absolute() / f"{plan.run.replace('/', '-')}.lock"
            waits = partial(warn, f"an earlier run of {plan.run} is about to end; waiting for it")
            locks.append(stack.enter_context(checkpoint_lock(path, plan.give_up_s, waits)))
        scratch = options.scratch
        if scratch is None:
            scratch = Path(stack.enter_context(TemporaryDirectory(prefix="barnabas-", ignore_cleanup_errors=True)))
        log = None if options.is_verbose else scratch / "spark.log"
        scratch.mkdir(parents=True, exist_ok=True)
        name = "barnabas-" + "-".join(plan.run.replace("/", "-") for plan in plans)
        spark = stack.enter_context(
            spark_session(
                name,
                scratch=scratch / "spark",
                packages=",".join(clients.packages),
                settings=settings,
                locks=locks,
                log=log,
                # Who stops a service does not want to wait.
                on_archive=None if options.is_continuous else _note,
            )
        )
        yield spark, round(time.monotonic() - began_s, 1)


def _note(text: str) -> None:
    # Results and their JSON have stdout for themselves.
    print(text, file=sys.stderr, flush=True)
