"""Code shared by commands that run until they are stopped: signals and output."""

import argparse
import json
import signal
import sys
import time
from types import FrameType

from barnabas.core.peer_text import on_lines, to_json
from barnabas.pipeline.runner.run_metrics import Figures

REPEATED_S = 0.5
"""Signals that follow within so long are one: `timeout` of coreutils tells the process, and then all of its group."""


class Stopper:
    """Lets SIGINT or SIGTERM end a run after the batch under way, and a second one at once."""

    def __init__(self) -> None:
        """The signals are this object's from now on; until there are batches (`begin`), the first one ends all."""
        self._is_stopped = self._is_begun = False
        self._stopped_s = 0.0
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)

    def begin(self) -> None:
        """Let the first signal wait for the batch under way, from now on."""
        self._is_begun = True

    def is_stopped(self) -> bool:
        """Return whether a signal came."""
        return self._is_stopped

    def _stop(self, number: int, frame: FrameType | None) -> None:
        now_s = time.monotonic()
        if self._is_stopped:
            if now_s < self._stopped_s + REPEATED_S:
                return
            raise KeyboardInterrupt
        self._is_stopped, self._stopped_s = True, now_s
        if not self._is_begun:
            print("stopped before Spark was started: nothing was read", file=sys.stderr, flush=True)
            raise SystemExit(0)
        print("stopping after this batch; a second signal stops at once", file=sys.stderr, flush=True)


def tell_batch(arguments: argparse.Namespace, figures: Figures) -> None:
    """Say what a run has done by its latest batch."""
    batch = {"event": "batch", **json.loads(figures.to_json())}
    _print(json.dumps(batch) if arguments.json else figures.line())


def tell(arguments: argparse.Namespace, event: str, **fields: int | float | str) -> None:
    """Say what happened in one line."""
    if arguments.json:
        line = to_json({"event": event, **fields})
    elif event in ("warning", "enforcement"):
        line = str(fields["text"])
    elif event == "session":
        line = f"Spark is up after {fields['seconds']} s"
    else:
        line = f"{event}: " + ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in fields.items())
    _print(on_lines(line))


def _print(line: str) -> None:
    # Each run has a thread, and `print` writes a line and its end one after the other.
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
