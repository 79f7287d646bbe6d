"""Mirrors of `barnabas mirror` killed (-9) again and again, both ways, brokers too: each record must be there once.

`python -m tests.integration.mirror_kills --runs 20 --beside 3 --busy 2` plays so many, `--beside` of them at once, with
processes that do nothing but compute (`scripts/soak --mirror`). `--between kafka` has one side on Kafka 2.7.2.
"""

import argparse
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from barnabas.testing import Broker
from tests.integration.mirrored import Side, sent_by
from tests.integration.test_mirror_command import command, events, running
from tests.patience import PATIENCE_S
from tools.kafka.server import KafkaServer

TOPIC = "events"
PARTITION_COUNT = 3
RECORDS_PER_LIFE = 600


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


def live(sides: Sequence[Side], chance: random.Random) -> None:
    """Let mirrors both ways do something, and kill them at random moments; sometimes a broker first."""
    with ExitStack() as stack:
        processes = []
        for source, target in (sides, sides[::-1]):
            processes.append(stack.enter_context(running(command(source, target, "--topics", TOPIC), is_shown=False)))
        for process in processes:
            events(process, lambda event: event["event"] == "progress")
        time.sleep(chance.uniform(0.0, 0.6))
        if chance.random() < 0.3:
            side = chance.choice(sides)
            side.broker.kill()
            side.broker.restart()
            time.sleep(chance.uniform(0.0, 1.0))
        for process in processes:
            process.kill()
            process.wait()


def differences(sides: Sequence[Side]) -> list[str]:
    """Say what is not on both sides once, and in the order in which it was sent."""
    wrong = []
    read = {side.name: side.read_all(TOPIC) for side in sides}
    for name, partitions in read.items():
        for other, there in read.items():
            for number in partitions:
                expected, found = sent_by(partitions[number], name), sent_by(there[number], name)
                if expected != found or len(set(expected)) != len(expected):
                    wrong.append(f"{name}-{number} in {other}: {len(expected)} sent, {len(found)} there")
    return wrong


def play(number: int, kill_count: int, kind: str) -> bool:
    """Play one run on brokers of its own, and print what came of it; whether nothing was wrong."""
    began, chance = time.monotonic(), random.Random(f"mirror {number}")
    with Broker() as broker, KafkaServer() if kind == "kafka" else Broker() as other:
        sides = Side(broker, "west"), Side(other, "east")
        for side in sides:
            side.create(TOPIC, PARTITION_COUNT)
        for _ in range(kill_count):
            for side in sides:
                side.feed(TOPIC, RECORDS_PER_LIFE, chance)
            live(sides, chance)
        for source, target in (sides, sides[::-1]) * 2:
            once = command(source, target, "--topics", TOPIC, "--once")
            subprocess.run(once, check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE_S)
        wrong = differences(sides)
    told = f"{2 * kill_count * RECORDS_PER_LIFE} records, {kill_count} kills, {time.monotonic() - began:.0f} s"
    print(f"run {number}: {told}: {wrong or 'right'}", flush=True)
    return not wrong


def main() -> int:
    """Play the runs; the status is 1 where something was missing, doubled or in another order."""
    parser = argparse.ArgumentParser(description="Kill mirrors again and again; each record must be there once.")
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="so many (%(default)s)")
    parser.add_argument("--kills", type=int, default=5, metavar="N", help="of both mirrors in each (%(default)s)")
    parser.add_argument("--beside", type=int, default=3, metavar="N", help="so many at once (%(default)s)")
    parser.add_argument("--busy", type=int, default=2, metavar="N", help="processes that compute (%(default)s)")
    parser.add_argument("--between", choices=["barnabas", "kafka"], default="barnabas", help="(%(default)s)")
    arguments = parser.parse_args()
    with busy_processes(arguments.busy), ThreadPoolExecutor(arguments.beside) as threads:
        numbers = range(1, arguments.runs + 1)
        results = list(threads.map(lambda number: play(number, arguments.kills, arguments.between), numbers))
    print(f"{arguments.runs} runs, {results.count(False)} went wrong")
    return 0 if all(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
