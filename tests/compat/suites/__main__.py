"""Run the suites of others against Kafka 2.7.2 and Barnabas, and compare the results test by test.

    python -m tests.compat.suites                          all of them, in their short forms, against both
    python -m tests.compat.suites franz-go --long          one, in its long form
    python -m tests.compat.suites --target barnabas        against one broker; compared with what is written down

It ends with 1 where a result is not what it should be. What a suite prints goes to `.cache/suites/<name>-<target>.txt`.
"""

import argparse
import sys
import time
from collections import Counter

from tests.compat.suites.runner import BARNABAS, KAFKA, SUITES, play
from tests.compat.suites.suite import CACHE, FAILED, PASSED, SKIPPED, Suite, SuiteError, reason


def _played(suite: Suite, target: str, is_long: bool) -> dict[str, str] | None:
    """Run a suite against one broker, print how it went, and give its results; None where it did not end."""
    output = CACHE / f"{suite.name}-{target}.txt"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("")
    start_s = time.monotonic()
    try:
        results = play(suite, target, output, is_long)
    except SuiteError as error:
        print(f"{suite.name} {suite.version} on {target}: {error}", flush=True)
        return None
    counts = Counter(results.values())
    counted = ", ".join(f"{counts[result]} {result}" for result in (PASSED, FAILED, SKIPPED))
    print(f"{suite.name} {suite.version} on {target}: {counted} in {time.monotonic() - start_s:.0f} s", flush=True)
    for test, result in sorted(results.items()):
        if result == FAILED:
            print(f"  failed: {test} ({reason(test, {**suite.fails, **suite.gaps}) or 'why?'})")
    return results


def _compare(suite: Suite, targets: list[str], is_long: bool) -> bool:
    """Run a suite against each target, and tell whether all is as it should be."""
    played = {target: _played(suite, target, is_long) for target in targets}
    lines = []
    for target, results in played.items():
        if results is None:
            return False
        lines += [f"on {target}, {line}" for line in suite.surprises(results, is_kafka=target == KAFKA)]
    kafka, barnabas = played.get(KAFKA), played.get(BARNABAS)
    if kafka is not None and barnabas is not None:
        lines += [f"differs: {line}" for line in suite.differences(kafka, barnabas)]
    for line in lines:
        print(f"  {line}", flush=True)
    return not lines


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the test suites of others against Kafka 2.7.2 and Barnabas.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SUITES)}; all if none is named")
    parser.add_argument("--target", choices=[KAFKA, BARNABAS], action="append", help="both if none is named")
    parser.add_argument("--long", action="store_true", help="in their long forms")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - SUITES.keys():
        parser.error(f"no such suite: {', '.join(sorted(unknown))}")
    names = arguments.names or list(SUITES)
    went_well = [_compare(SUITES[name], arguments.target or [KAFKA, BARNABAS], arguments.long) for name in names]
    return 0 if all(went_well) else 1


if __name__ == "__main__":
    sys.exit(main())
