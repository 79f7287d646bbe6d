"""A run that is killed again and again until it has come to its end: what the tests of exactly once and the soaks do.

Every choice comes from one seed. A life ends by SIGKILL, some time after its Spark session was up, so that most kills
fall into a batch; the JVM dies with it. Then the next one starts.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]


@dataclass(slots=True)
class Killed:
    """What was done to a run: lives ended by a kill, at which points, and executors killed."""

    seed: int
    driver_kill_count: int = 0
    executor_kill_count: int = 0
    broker_restart_count: int = 0
    checkpoint_loss_count: int = 0
    batch_count: int = 0
    points: list[str] = field(default_factory=list)


class Lives:
    """A run in processes that are killed."""

    def __init__(self, directory: Path, driver: str, seed: int, **asked: Any) -> None:
        """Args:
        directory: For the run's checkpoint and log.
        driver: The module that runs, as `driver.py` does: it says `ready` and then `batch` after each.
        seed: Of all choices.
        asked: What the driver is asked for.
        """
        self.directory = directory
        self.log = directory / "driver.log"
        self.asked: dict[str, Any] = {
            "parent": os.getpid(),
            "checkpoint": str(directory / "checkpoint"),
            "log": str(self.log),
            "master": "local[2]",
            "settings": {},
            **asked,
        }
        self.killed = Killed(seed)
        # What time would do between a kill and the next start.
        self.after_kill: Callable[[], None] = lambda: None
        self._driver = driver
        self._random = random.Random(seed)

    def ask(self, **values: Any) -> None:
        """Set what the driver is asked for."""
        self.asked |= values

    def live(self, end: Callable[[subprocess.Popen[str], random.Random], str] | None, **values: Any) -> bool:
        """Start the driver, end it somehow, and tell whether it came to its own end; None lets it.

        `end` is called once its session is up; it kills the process, or waits for its own kill, and says what it did.
        """
        asked = json.dumps({**self.asked, **values})
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", self._driver, asked], stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT
            )
        with process:
            assert process.stdout is not None
            ready = threading.Event()
            reader = threading.Thread(target=self._read, args=(process, ready))
            reader.start()
            try:
                deadline = time.monotonic() + PATIENCE_S
                while not ready.wait(0.1):
                    assert process.poll() is None, self.said()
                    assert time.monotonic() < deadline, self.said()
                if end is not None:
                    point = end(process, self._random)
                    self.killed.points.append(point)
                code = process.wait(4 * PATIENCE_S)
            finally:
                process.kill()
                reader.join()
        if code == -signal.SIGKILL:
            self.killed.driver_kill_count += 1
            self.after_kill()
            return False
        assert code == 0, self.said()
        return True

    def live_through(self, kill_count: int) -> None:
        """Kill so many lives at random moments, among them one on each side of a commit.

        A life has up to two batches, and is killed somewhere in the next one: a first batch takes seconds, so what is
        drawn from the clock alone would hit nothing but starts.
        """
        forced = {kill_count // 3: "kill_after_commit", 2 * kill_count // 3: "kill_before_commit"}
        for number in range(kill_count):
            values: Mapping[str, int] = {forced[number]: 1} if number in forced else {}
            end = wait_for_own_kill if values else self.kill_after_batches()
            if self.live(end, **values):
                # It was through before the kill.
                return

    def kill_after_batches(self) -> Callable[[subprocess.Popen[str], random.Random], str]:
        """Give an end by SIGKILL some time after some batches; both are drawn."""

        def end(process: subprocess.Popen[str], chance: random.Random) -> str:
            wanted = self.killed.batch_count + chance.randint(0, 2)
            wait_s = chance.uniform(0.0, 1.5)
            while self.killed.batch_count < wanted and process.poll() is None:
                time.sleep(0.01)
            return kill_after(wait_s, wait_s)(process, chance)

        return end

    def lose_the_checkpoint(self) -> None:
        """Delete the checkpoint, between two lives."""
        shutil.rmtree(self.asked["checkpoint"], ignore_errors=True)
        self.killed.checkpoint_loss_count += 1

    def said(self) -> str:
        return f"seed {self.killed.seed}\n" + "\n".join(self.log.read_text(errors="replace").splitlines()[-60:])

    def _read(self, process: subprocess.Popen[str], ready: threading.Event) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "ready":
                ready.set()
            elif event["event"] == "batch":
                self.killed.batch_count += 1
            with self.log.open("a") as log:
                log.write(line)


def job_lives(directory: Path, job: str, table_format: str, tables: str, seed: int) -> Lives:
    """Give the lives of a job's run into tables."""
    return Lives(
        directory,
        "tests.pipeline.driver",
        seed,
        job=job,
        format=table_format,
        tables=tables,
        topics={},
        any_topics=[],
        by_key=[],
        keeps_deleted=False,
        records_per_batch=500,
    )


def kill_after(least_s: float, most_s: float) -> Callable[[subprocess.Popen[str], random.Random], str]:
    """Give an end by SIGKILL some time after the session was up; the time is drawn."""

    def end(process: subprocess.Popen[str], chance: random.Random) -> str:
        wait_s = chance.uniform(least_s, most_s)
        try:
            process.wait(wait_s)
        except subprocess.TimeoutExpired:
            process.kill()
        return f"after {wait_s:.2f} s"

    return end


def wait_for_own_kill(process: subprocess.Popen[str], chance: random.Random) -> str:
    process.wait(2 * PATIENCE_S)
    return "beside a commit"


def missing_and_doubled(expected: Sequence[Any], found: Sequence[Any]) -> tuple[int, int]:
    """Count what is not there, and what is there more than once or should not be."""
    from collections import Counter

    wanted, there = Counter(expected), Counter(found)
    return (wanted - there).total(), (there - wanted).total()
