"""The whole proof of exactly once with transactions: `scripts/soak --exactly-once`, or `python -m tests.compat.soak`.

Kafka Streams killed 10 times, TransactionalMessageCopier 20 times, the broker 20 times. Prints a line for each.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from barnabas.testing import Broker
from tests.compat.broker_kills import copy_beside_kills
from tests.compat.conftest import RunningBroker
from tests.compat.exactly_once import Outcome, copier, word_count
from tools.kafka.server import ONE_BROKER, KafkaServer

KILLS = {"streams": 10, "copier": 20, "broker": 20}


def _play(trial: str, broker: RunningBroker, directory: Path, kills: int, seed: int) -> Outcome:
    dice = random.Random(seed)
    match trial:
        case "streams":
            return word_count(broker.bootstrap_servers, trial, directory, kills, dice)
        case "copier":
            return copier(broker.bootstrap_servers, trial, kills, dice, directory)
        case _:
            return copy_beside_kills(broker, trial, kills, seed)


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill programs that write exactly once, and the broker beneath them.")
    parser.add_argument("--kills", type=int, metavar="N", help="in each trial (default: 10 streams, 20, 20)")
    parser.add_argument("--seed", type=int, metavar="S", help="of all choices (default: drawn, and printed)")
    parser.add_argument("--only", choices=KILLS, action="append", help="one trial; may be given again")
    parser.add_argument("--target", choices=("barnabas", "kafka"), default="barnabas", help="(%(default)s)")
    arguments = parser.parse_args()
    seed = random.randrange(2**32) if arguments.seed is None else arguments.seed
    start: Callable[[], AbstractContextManager[RunningBroker]] = (
        KafkaServer if arguments.target == "kafka" else lambda: Broker(config=dict(ONE_BROKER))
    )
    wrong = 0
    for trial in arguments.only or KILLS:
        began_s = time.monotonic()
        with start() as broker, tempfile.TemporaryDirectory(prefix="barnabas-soak-") as directory:
            outcome = _play(trial, broker, Path(directory), arguments.kills or KILLS[trial], seed)
        wrong += not outcome.is_right
        print(
            f"{trial}: seed {seed}, {outcome.kills} kills, {outcome.expected} records: {outcome.missing} missing, "
            f"{outcome.doubled} too many ({time.monotonic() - began_s:.0f} s)",
            flush=True,
        )
    print(f"{wrong} trials went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
