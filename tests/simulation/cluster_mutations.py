"""`scripts/soak --cluster-mutations`: after how many histories of clusters each of some deliberate faults is found."""

import argparse
import os
import re
import subprocess
import sys
from typing import NamedTuple

from tests.mutations.faults import Fault, choose, load_faults
from tests.mutations.trial import Copy, copied_tree

FAULTS = (
    "acknowledged-before-the-followers",
    "high-watermark-of-the-leader-alone",
    "read-beyond-the-high-watermark",
    "counted-when-it-is-sent",
    "in-sync-too-early",
    "leader-that-is-not-in-sync",
    "in-sync-by-any-version",
    "unnoticed-return",
    "obeyed-before-it-is-registered",
    "nothing-is-cut",
    "gap-in-a-copy",
    "cut-at-the-high-watermark",
)
MOST_HISTORIES = 200
# A broker that has a fault may do the same for ever.
_MOST_S = 1_800


class Found(NamedTuple):
    """What histories say of a fault.

    Attributes:
        history_count: How many were played, the last one being that which found it.
        violation: The first thing that was wrong; empty: nothing was.
    """

    history_count: int
    violation: str


def find(copy: Copy, fault: Fault, seed: int, most_histories: int = MOST_HISTORIES) -> Found:
    """Play histories from a seed on, in a copy of the tree with a fault in it, until something is wrong."""
    command = [sys.executable, "-m", "tests.simulation", "--cluster-histories", "--until-found"]
    command += ["--seed", str(seed), "--count", str(most_histories)]
    with copy.mutated(fault):
        told = subprocess.run(
            command,
            cwd=copy.root,
            env={**os.environ, "PYTHONPATH": str(copy.root / "src")},
            capture_output=True,
            text=True,
            timeout=_MOST_S,
            check=False,
        )
    count = re.search(r"^(\d+) histories", told.stdout, re.MULTILINE)
    if count is None:
        raise RuntimeError(f"{fault.full_name}: the histories broke off: {told.stderr}")
    violation = re.search(r"^seed .*\n *(.*)", told.stdout, re.MULTILINE)
    return Found(int(count[1]), "" if violation is None else violation[1])


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/soak --cluster-mutations", description=__doc__)
    parser.add_argument("names", nargs="*", help="faults of tests/mutations; those that histories find if none")
    parser.add_argument("--count", type=int, default=MOST_HISTORIES, help="so many histories at the most; default: 200")
    parser.add_argument("--seed", type=int, default=0, help="of the first history; default: 0")
    options = parser.parse_args()
    os.nice(15)
    missed = 0
    with copied_tree(set()) as copy:
        for fault in choose(load_faults(), options.names or FAULTS):
            found = find(copy, fault, options.seed, options.count)
            missed += not found.violation
            print(f"{found.history_count:>4}  {fault.full_name}: {found.violation or 'not found'}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
