"""A mirror whose driver and brokers are killed: each record is there once, and a group goes on where it stopped.

Here is the short form; `scripts/soak --mirror` kills 20 drivers and 5 executors, both ways and with Kafka.
"""

from contextlib import ExitStack
from pathlib import Path

from barnabas.testing import Broker
from tests.pipeline.mirror_kills import Direction, MirrorTrial, Move
from tests.pipeline.mirrored import Side

SEED = 1207


def test_a_mirror_whose_driver_and_brokers_are_killed(tmp_path: Path) -> None:
    print("seed", SEED)
    with ExitStack() as stack:
        east, west = (Side(stack.enter_context(Broker()), name) for name in ("east", "west"))
        trial = MirrorTrial(tmp_path, [Direction(east, west)], SEED, records_per_life=300)
        move = Move(trial.directions[0])
        trial.kill_driver_while_group_moves(move)
        trial.finish_while_brokers_are_killed()
        found, moved = trial.compare(), move.differences()
        assert not found.is_any, f"{found}\n{trial.lives.said()}"
        assert not moved.is_any, f"{moved}\n{trial.lives.said()}"
        assert move.moved_count
        assert (trial.lives.killed.driver_kill_count, trial.lives.killed.broker_restart_count) == (1, 2)
