"""Mirrors of `barnabas mirror` killed (-9) run after run: no message may be missing in the target.

`python -m tests.integration.mirror_kills --runs 20 --beside 3 --busy 2` plays so many, `--beside` of them at once, with
processes that do nothing but compute (`scripts/soak --mirror-command`).
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from barnabas.testing import Broker
from tests.integration.test_mirror_command import mirror_and_kill


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Let so many processes compute meanwhile."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def play(west: Broker, target: Broker, number: int) -> bool:
    """Play one run on a topic of its own, and print what came of it; whether nothing was missing."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        try:
            told = mirror_and_kill(west, target, f"killed-{number}", Path(directory))
        except AssertionError as error:
            print(f"run {number}: {error}", flush=True)
            return False
    print(f"run {number}: {told}; {time.monotonic() - began:.0f} s", flush=True)
    return True


def main() -> int:
    """Play the runs; the status is 1 where something was missing."""
    parser = argparse.ArgumentParser(description="Kill mirrors again and again; each message must arrive.")
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="so many (%(default)s)")
    parser.add_argument("--beside", type=int, default=3, metavar="N", help="so many at once (%(default)s)")
    parser.add_argument("--busy", type=int, default=2, metavar="N", help="processes that compute (%(default)s)")
    arguments = parser.parse_args()
    with (
        Broker() as west,
        Broker(config={"num.partitions": 3}) as target,
        busy_processes(arguments.busy),
        ThreadPoolExecutor(arguments.beside) as threads,
    ):
        results = list(threads.map(lambda number: play(west, target, number), range(1, arguments.runs + 1)))
    print(f"{arguments.runs} runs, {results.count(False)} went wrong")
    return 0 if all(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
