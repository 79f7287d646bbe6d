"""The whole proof: `scripts/soak --old-consumers`, or `python -m tests.compat.old_consumers`.

Random histories of a mixed group, with a real ZooKeeper and with a broker that serves its own tree in turn, then the
migration of three and three members, on each. Prints a line for each.
"""

import argparse
import random
import sys
import time

from tests.compat.old_consumers.history import play
from tests.compat.old_consumers.member import KINDS
from tests.compat.old_consumers.migration import migrate
from tests.compat.old_consumers.site import REGISTRIES


def main() -> int:
    parser = argparse.ArgumentParser(description="Let Kafka 0.8.2's consumers and ours come, go and die in one group.")
    parser.add_argument("--seed", type=int, metavar="S", help="of all choices (default: drawn, and printed)")
    parser.add_argument("--count", type=int, metavar="N", default=2, help="histories on each (default: %(default)s)")
    parser.add_argument("--steps", type=int, metavar="N", default=15, help="of each history (default: %(default)s)")
    parser.add_argument("--only", choices=("histories", "migration"), help="leave out the other")
    parser.add_argument("--registry", choices=REGISTRIES, action="append", help="only on this one")
    parser.add_argument("--kind", choices=KINDS, action="append", help="only members of this kind")
    arguments = parser.parse_args()
    first = random.randrange(2**32) if arguments.seed is None else arguments.seed
    kinds = arguments.kind or KINDS
    wrong = 0
    for registry in arguments.registry or REGISTRIES:
        trials = [(f"history on {registry}", seed) for seed in range(first, first + arguments.count)]
        trials = [] if arguments.only == "migration" else trials
        if arguments.only != "histories":
            trials.append((f"migration on {registry}", first))
        for trial, seed in trials:
            began_s = time.monotonic()
            if trial.startswith("history"):
                outcome = play(registry, seed, arguments.steps, kinds)
            else:
                outcome = migrate(registry, seed, [kind for kind in kinds for _ in range(3)])
            print(f"{trial}: {outcome} ({time.monotonic() - began_s:.0f} s)", flush=True)
            for line in outcome.wrong[:20]:
                print(f"  {line}")
            wrong += bool(outcome.wrong)
    print(f"{wrong} trials went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
