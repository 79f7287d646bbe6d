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

from barnabas.core.process import print_status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A run of some minutes is too short for Java's optimizing compiler (C2): without it, a run of the job security takes
# 28 % less CPU. The default code cache is too small for hundreds of queries.
_FOR_MINUTES = "-XX:+UseParallelGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"

_DRIVER_MB = 768
_DRIVER_MB_PER_RUN = 256


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """The options of a Spark session.

    Attributes:
        table_format: Format of the tables; None: no tables.
        master: Spark's master; None: local mode, with a task slot for each core.
        settings: The user's Spark settings. They override the defaults, and extend lists (packages, jars, extensions).
        scratch: Directory for temporary files; None: a new temporary directory.
        is_verbose: Whether Spark's log goes to standard error.
        tables: Location of the tables; its scheme determines the object store's packages and settings.
        checkpoint: Location of the checkpoints, likewise.
        is_continuous: Whether the runs continue until they are stopped.
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
    """The settings of a plan for the lock of its checkpoint."""

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
    """Return Spark's master and driver memory: the master alone if it is an option, nothing if it is a setting.

    Args:
        options: The user's options.
        run_count: The number of runs that share the session.
        core_count: The machine's number of cores.
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
    """Provide a Spark session for runs, with their checkpoints locked, and the seconds that the start took."""
    from barnabas.pipeline.spark.object_stores import clients_for
    from barnabas.pipeline.spark.session import checkpoint_lock, combined, spark_session
    from barnabas.pipeline.tables.formats import check_location

    began_s = time.monotonic()
    settings = {"spark.scheduler.mode": "FAIR"}
    if not options.is_continuous:
        settings["spark.driver.defaultJavaOptions"] = _FOR_MINUTES
    if options.table_format is not None:
        check_location(options.table_format, options.tables)
    # Settings can contain addresses too, such as the warehouse of a catalog.
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
                # Writing the class archive would delay the stop of a service.
                on_archive=None if options.is_continuous else _note,
            )
        )
        yield spark, round(time.monotonic() - began_s, 1)


def _note(text: str) -> None:
    # stdout is for results and their JSON only.
    print_status(text, sys.stderr)
