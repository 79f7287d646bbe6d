"""The whole proof of mirrors: `scripts/soak --mirror`, or `python -m tests.pipeline.mirror_soak`.

Seven trials: from Barnabas to Barnabas, to Kafka 2.7.2 and from it; both directions at once; two sources into one;
three in a ring; and on a standalone cluster whose executors are killed. In each of the others so many drivers are
killed at random moments, with new records of all kinds between, and in a last life each of the brokers. Where there is
one direction, a group moves over in mid-stream. Prints a line for each.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from barnabas.testing import Broker
from tests.pipeline.mirror_kills import Direction, MirrorTrial, Move
from tests.pipeline.mirrored import Side
from tests.pipeline.standalone import StandaloneCluster
from tools.kafka.server import KafkaServer

Make = Callable[[ExitStack, Path, int], MirrorTrial]


def barnabas(stack: ExitStack, name: str) -> Side:
    return Side(stack.enter_context(Broker()), name)


def kafka(stack: ExitStack, name: str) -> Side:
    return Side(stack.enter_context(KafkaServer()), name)


def one_way(stack: ExitStack, directory: Path, seed: int) -> MirrorTrial:
    return MirrorTrial(directory, [Direction(barnabas(stack, "east"), barnabas(stack, "west"))], seed)


def to_kafka(stack: ExitStack, directory: Path, seed: int) -> MirrorTrial:
    return MirrorTrial(directory, [Direction(barnabas(stack, "east"), kafka(stack, "west"))], seed)


def from_kafka(stack: ExitStack, directory: Path, seed: int) -> MirrorTrial:
    return MirrorTrial(directory, [Direction(kafka(stack, "east"), barnabas(stack, "west"))], seed)


def both_ways(stack: ExitStack, directory: Path, seed: int) -> MirrorTrial:
    east, west = barnabas(stack, "east"), barnabas(stack, "west")
    return MirrorTrial(directory, [Direction(east, west), Direction(west, east)], seed)


def two_sources(stack: ExitStack, directory: Path, seed: int) -> MirrorTrial:
    east, west, whole = (barnabas(stack, name) for name in ("east", "west", "whole"))
    return MirrorTrial(directory, [Direction(east, whole), Direction(west, whole)], seed)


def ring(stack: ExitStack, directory: Path, seed: int) -> MirrorTrial:
    sides = [barnabas(stack, name) for name in ("east", "west", "north")]
    return MirrorTrial(directory, [Direction(sides[n], sides[(n + 1) % 3]) for n in range(3)], seed)


DRIVER_TRIALS: dict[str, Make] = {
    "one-way": one_way,
    "to-kafka": to_kafka,
    "from-kafka": from_kafka,
    "both-ways": both_ways,
    "two-sources": two_sources,
    "ring": ring,
}
TRIALS = (*DRIVER_TRIALS, "executors")


def kill_drivers(trial: MirrorTrial, count: int) -> Move | None:
    """Kill so many drivers; what of it a group that moves over saw, where there is one direction."""
    move = Move(trial.directions[0]) if len(trial.directions) == 1 else None
    trial.kill_drivers(count // 2)
    if move is not None:
        trial.kill_driver_while_group_moves(move)
    trial.kill_drivers(count - count // 2 - (move is not None))
    trial.finish_while_brokers_are_killed()
    for _ in trial.directions[2:]:
        # In a ring what has come last goes one way on.
        trial.finish()
    return move


def kill_executors(stack: ExitStack, directory: Path, seed: int, count: int) -> MirrorTrial:
    """Kill so many executors of a standalone cluster beneath one driver."""
    cluster = stack.enter_context(StandaloneCluster(directory / "cluster"))
    settings = {"spark.executor.memory": "512m", "spark.cores.max": "2", "spark.task.maxFailures": "20"}
    direction = Direction(barnabas(stack, "east"), barnabas(stack, "west"))
    trial = MirrorTrial(directory, [direction], seed, master=cluster.master, settings=settings)

    def kill(process: subprocess.Popen[str], chance: random.Random) -> str:
        killed = trial.lives.killed
        while process.poll() is None and killed.executor_kill_count < count:
            trial.feed()
            wanted = killed.batch_count + chance.randint(1, 3)
            while process.poll() is None and killed.batch_count < wanted:
                time.sleep(0.01)
            time.sleep(chance.uniform(0.0, 0.5))
            killed.executor_kill_count += cluster.kill_an_executor()
        return trial.lives.kill_after_batches()(process, chance)

    trial.feed()
    assert not trial.lives.live(kill), trial.lives.said()
    trial.finish()
    return trial


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill mirrors again and again; each record must be there once.")
    parser.add_argument("--kills", type=int, default=20, metavar="N", help="drivers, in each trial (%(default)s)")
    parser.add_argument("--executor-kills", type=int, default=5, metavar="N", help="(%(default)s)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of all choices (%(default)s)")
    parser.add_argument("--only", choices=TRIALS, action="append", help="one trial; may be given again")
    arguments = parser.parse_args()
    wrong_count = sum(not _is_right(name, arguments) for name in arguments.only or TRIALS)
    print(f"{wrong_count} trials went wrong")
    return 1 if wrong_count else 0


def _is_right(name: str, arguments: argparse.Namespace) -> bool:
    began_s = time.monotonic()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="barnabas-soak-")))
        move = None
        if name == "executors":
            trial = kill_executors(stack, directory, arguments.seed, arguments.executor_kills)
        else:
            trial = DRIVER_TRIALS[name](stack, directory, arguments.seed)
            move = kill_drivers(trial, arguments.kills)
        killed, found = trial.lives.killed, trial.compare()
        is_right = not found.is_any
        print(
            f"{name}: seed {killed.seed}, {killed.driver_kill_count} drivers and {killed.executor_kill_count} "
            f"executors killed, {killed.broker_restart_count} broker restarts, {killed.batch_count} batches, "
            f"{found.record_count} records: {found.missing_count} missing, {found.doubled_count} too many, "
            f"{found.misplaced_count} out of order ({time.monotonic() - began_s:.0f} s)",
            flush=True,
        )
        if move is not None:
            moved = move.differences()
            is_right = is_right and not moved.is_any
            print(
                f"{name}: a group moved over, {move.uncommitted_count} records read and not committed; of the "
                f"{moved.record_count} that were not committed {moved.missing_count} were skipped, and "
                f"{moved.doubled_count} others came again",
                flush=True,
            )
        if not is_right:
            print(trial.lives.said())
    return is_right


if __name__ == "__main__":
    sys.exit(main())
