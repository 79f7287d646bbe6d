"""Status of the runs of a checkpoint directory, read from their `status.json` files, and metrics of these runs.

A run, running or stopped, is reported as long as its file exists. docs/pipeline/operations.md lists the metrics.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from barnabas.pipeline.events.types import RUN
from barnabas.pipeline.sources.broker_metrics import BrokerFigure
from barnabas.pipeline.sources.log_lines import Look

_FILE = "status.json"
# A run writes its status every two seconds.
_SILENT_S = 30
KILLED = "killed, or stuck"


def statuses(directory: Path) -> Iterator[dict[str, Any]]:
    """Yield the last status of each run, and its age as `seconds_since_status`.

    The state of a running run without a status for 30 s is changed to `KILLED`.
    """
    for path in sorted(directory.glob(f"**/{_FILE}")):
        try:
            status = json.loads(path.read_text())
            silent_s = round(time.time() - path.stat().st_mtime, 1)
        except (ValueError, OSError):
            # The file is just being replaced, or was not written by a run.
            continue
        if not isinstance(status, dict) or not {"run", "state", "lag"} <= status.keys():
            # A file of another program.
            continue
        status["seconds_since_status"] = silent_s
        if status["state"] == "running" and status["seconds_since_status"] > _SILENT_S:
            status["state"] = KILLED
        yield status


def run_look(directory: Path) -> Look:
    """Return a function that returns the metrics of a checkpoint directory's runs on each call."""
    return lambda: [figure.as_measurement() for status in statuses(directory) for figure in run_figures(status)]


def run_figures(status: dict[str, Any]) -> list[BrokerFigure]:
    """Return the metrics of one run."""
    run, fresh_s = f"{RUN}{status['run']}", status.get("fresh_p99_s")
    behind = [(count, f"{topic}-{number}") for topic, each in status["lag"].items() for number, count in each.items()]
    furthest, partition = max(behind, default=(0, ""))
    worst = f"{partition} is furthest behind" if furthest else None
    silent_s = status["seconds_since_status"] if status["state"] == KILLED else 0.0
    return [
        BrokerFigure(run, "lag", float(sum(count for count, _ in behind)), "records", examples=worst),
        BrokerFigure(run, "silent_s", silent_s, "s"),
        *([BrokerFigure(run, "fresh_p99_s", fresh_s, "s")] if fresh_s is not None else []),
    ]
