"""Code shared by commands that run until they are stopped: signals and output."""

import argparse
import json
import signal
import sys
import time
from types import FrameType

from barnabas.core.peer_text import on_lines, to_json
from barnabas.core.process import print_status
from barnabas.pipeline.runner.run_metrics import Figures

REPEATED_S = 0.5
"""Signals within this time count as one: coreutils' `timeout` signals the process, and then its whole group."""


class Stopper:
    """Stops a run on SIGINT or SIGTERM after the current batch; a second signal stops it immediately."""

    def __init__(self) -> None:
        """Install the signal handlers; before `begin`, the first signal exits the process."""
        self._is_stopped = self._is_begun = False
        self._stopped_s = 0.0
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)

    def begin(self) -> None:
        """Let the first signal wait for the current batch, from now on."""
        self._is_begun = True

    def is_stopped(self) -> bool:
        """Return whether a signal was received."""
        return self._is_stopped

    def _stop(self, number: int, frame: FrameType | None) -> None:
        now_s = time.monotonic()
        if self._is_stopped:
            if now_s < self._stopped_s + REPEATED_S:
                return
            raise KeyboardInterrupt
        self._is_stopped, self._stopped_s = True, now_s
        if not self._is_begun:
            print_status("stopped before Spark was started: nothing was read", sys.stderr)
            raise SystemExit(0)
        print_status("stopping after this batch; a second signal stops at once", sys.stderr)


def tell_batch(arguments: argparse.Namespace, figures: Figures) -> None:
    """Print the metrics of a run after its latest batch."""
    batch = {"event": "batch", **json.loads(figures.to_json())}
    print_status(json.dumps(batch) if arguments.json else figures.line(), sys.stdout)


def tell(arguments: argparse.Namespace, event: str, **fields: int | float | str) -> None:
    """Print an event in one line."""
    if arguments.json:
        line = to_json({"event": event, **fields})
    elif event in ("warning", "enforcement"):
        line = str(fields["text"])
    elif event == "session":
        line = f"Spark is up after {fields['seconds']} s"
    else:
        line = f"{event}: " + ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in fields.items())
    print_status(on_lines(line), sys.stdout)
