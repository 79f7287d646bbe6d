"""`scripts/soak`: plays many random histories and says what came of them."""

import argparse
import sys
import time
from collections import Counter

from tests.simulation.cluster import ClusterHistory
from tests.simulation.cluster_administration import ClusterAdministrationHistory
from tests.simulation.cluster_transactions import ClusterTransactionHistory
from tests.simulation.histories import History
from tests.simulation.transactions import TransactionHistory


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    parser.add_argument("--count", type=int, default=1_000, help="how many histories; default: 1000")
    parser.add_argument("--seed", type=int, default=0, help="the first seed, from which they count up; default: 0")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--transactions", action="store_true", help="histories of transactions")
    kinds.add_argument("--cluster-histories", action="store_true", help="histories of clusters")
    kinds.add_argument("--cluster-administration", action="store_true", help="the same, administered meanwhile")
    kinds.add_argument("--cluster-transactions", action="store_true", help="the same, with transactions")
    parser.add_argument("--until-found", action="store_true", help="end with the first that goes wrong")
    parser.add_argument("--show", action="store_true", help="print the history of each that went wrong")
    options = parser.parse_args()
    history: type[History | ClusterHistory] = History
    if options.transactions:
        history = TransactionHistory
    elif options.cluster_histories:
        history = ClusterHistory
    elif options.cluster_transactions:
        history = ClusterTransactionHistory
    elif options.cluster_administration:
        history = ClusterAdministrationHistory
    counts: Counter[str] = Counter()
    failed: list[int] = []
    count = 0
    started_s, cpu_s = time.monotonic(), time.process_time()
    for seed in range(options.seed, options.seed + options.count):
        count += 1
        outcome = history(seed).play()
        counts.update(outcome.counts)
        if outcome.violations:
            failed.append(seed)
            if options.show:
                print("\n".join(outcome.lines))
            print(f"seed {seed} ({outcome.digest[:16]}):", *outcome.violations[:10], sep="\n    ", flush=True)
            if options.until_found:
                break
    for name, number in sorted(counts.items()):
        print(f"{number:>12,} {name}")
    print(
        f"{count} histories from seed {options.seed}: {len(failed)} went wrong; "
        f"{time.monotonic() - started_s:.0f} s, {time.process_time() - cpu_s:.0f} s of CPU"
    )
    if failed:
        kind = "--transactions " if options.transactions else ""
        kind += "--cluster-histories " if options.cluster_histories else ""
        kind += "--cluster-transactions " if options.cluster_transactions else ""
        kind += "--cluster-administration " if options.cluster_administration else ""
        print(f"again: scripts/soak {kind}--count 1 --show --seed", failed[0])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
