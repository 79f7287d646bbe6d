"""Measure how attacks on a broker affect honest producers: `python -m benchmarks.attacks [ATTACK ...]`.

Each attack runs for `--seconds` on each listener where it is possible, on its own broker; `--kafka` attacks Kafka 2.7.2
as well. The goals: memory at most 50 MB above the memory before the attack, the p99 of honest producers at most 2x
their p99 without the attack, no stall over 50 ms. An attacker on the same machine also takes its cores, so the
attacker's processes have the lowest priority.
"""

import argparse
import sys

from benchmarks.attacks import conversions, logins, long_names, receive_memory
from benchmarks.attacks.honest import HEADER, PLAIN, SASL, Attack, beside, started
from benchmarks.attacks.target import AUTHORIZED

ATTACKS = (
    Attack("long-names", long_names.ask, AUTHORIZED, long_names.deny),
    Attack("half-requests", receive_memory.hold, receive_memory.PROPERTIES),
    Attack("logins", logins.begin_logins, logins.PROPERTIES, protocols=(SASL,)),
    Attack("conversions", conversions.fetch_old, {}, conversions.fill),
)


def main() -> int:
    names = [each.name for each in ATTACKS]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.attacks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=f"attacks: {', '.join(names)} (default: all)")
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds per attack (default 60)")
    parser.add_argument("--kafka", action="store_true", help="attack Kafka 2.7.2 as well")
    parser.add_argument("--listeners", nargs="+", choices=(PLAIN, SASL), default=[PLAIN, SASL])
    given = parser.parse_args()
    if unknown := set(given.attacks) - set(names):
        parser.error(f"no such attack: {', '.join(sorted(unknown))}")
    print(HEADER, flush=True)
    for attack in ATTACKS:
        if given.attacks and attack.name not in given.attacks:
            continue
        for is_kafka in (False, True) if given.kafka else (False,):
            for protocol in attack.protocols:
                if protocol in given.listeners:
                    with started(protocol, attack.properties, is_kafka=is_kafka) as target:
                        beside(target, attack, given.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
