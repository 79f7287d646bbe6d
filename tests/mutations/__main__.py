"""Try the deliberate faults one at a time, and print which test finds each (scripts/soak --mutations).

A run goes on where the last one ended: what a fault showed is kept under its run's name until `--again`.
"""

import argparse
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from tests.mutations.faults import FaultError, choose, load_faults
from tests.mutations.trial import QUICK, Copy, Verdict, copied_tree

_RESULTS = Path(__file__).with_name("results")


def _load(path: Path) -> dict[str, Verdict]:
    if not path.exists():
        return {}
    verdicts = [Verdict(**json.loads(line)) for line in path.read_text().splitlines()]
    return {verdict.fault: verdict for verdict in verdicts}


def _save(path: Path, verdicts: dict[str, Verdict]) -> None:
    path.parent.mkdir(exist_ok=True)
    lines = [json.dumps(asdict(verdicts[name])) + "\n" for name in sorted(verdicts)]
    path.with_suffix(".new").write_text("".join(lines))
    path.with_suffix(".new").replace(path)


def _found_by(verdict: Verdict | None) -> str:
    if verdict is None:
        return "not tried"
    if verdict.test:
        # Without its parameters, which may hold anything.
        return f"`{verdict.test.removeprefix('tests/').partition('[')[0]}`"
    return "nothing" if verdict.is_whole else f"nothing as far as tried ({verdict.step})"


def table(names: list[str], runs: dict[str, dict[str, Verdict]]) -> list[str]:
    """Return the lines of a table with a row for each fault and a column for each run."""
    lines = [f"| room | fault | {' | '.join(runs)} |", "| --- | --- |" + " --- |" * len(runs)]
    for name in names:
        cells: list[str] = []
        for run in runs.values():
            cell = _found_by(run.get(name))
            cells.append("the same" if cells and cell == cells[0] else cell)
        lines.append(f"| {' | '.join([*name.split('/'), *cells])} |")
    return lines


def joined(names: Iterable[str], runs: Sequence[dict[str, Verdict]]) -> dict[str, Verdict]:
    """Return one verdict for each of these faults that was tried: of the last run that found it, or of the last run."""
    best: dict[str, Verdict] = {}
    for name in names:
        verdicts = [run[name] for run in runs if name in run]
        if verdicts:
            best[name] = next((verdict for verdict in reversed(verdicts) if verdict.test), verdicts[-1])
    return best


def commands(verdicts: Iterable[Verdict]) -> Counter[str]:
    """Count the faults by the fastest command of ours that finds each."""
    quick_tests = (Path(__file__).parents[1] / "quick.txt").read_text().split("\n")
    counts: Counter[str] = Counter()
    found_by = Counter(verdict.test for verdict in verdicts)
    for test, count in found_by.items():
        if not test:
            command = "nothing"
        elif test.startswith(QUICK) or test in quick_tests or test.partition("::")[0] in quick_tests:
            command = "scripts/test --quick"
        else:
            # Tests marked `whole` are not collected without that option.
            arguments = [sys.executable, "-m", "pytest", "--collect-only", "-q", test]
            is_default = subprocess.run(arguments, stdout=subprocess.DEVNULL, check=False).returncode == 0
            command = "scripts/test" if is_default else "scripts/test --whole"
        counts[command] += count
    return counts


def main() -> int:
    """Try what the command line names; the status: 1 where a fault does not fit the code or was not found."""
    parser = argparse.ArgumentParser(prog="scripts/soak --mutations", description=__doc__)
    parser.add_argument(
        "names", nargs="*", help="faults or rooms: broker.log, wire, flush-joined-too-late; all if none"
    )
    parser.add_argument("--run", default="latest", help="the name under which the results are kept (%(default)s)")
    parser.add_argument("--again", action="store_true", help="forget what this run has shown of those named")
    parser.add_argument("--seconds", type=float, default=360, help="the bound for one fault (%(default)s)")
    parser.add_argument("--workers", type=int, default=1, help="so many at once, each in its own copy (%(default)s)")
    parser.add_argument("--first", nargs="+", metavar="TEST", help="begin with these tests; else what found it before")
    parser.add_argument("--table", nargs="+", metavar="RUN", help="only print what these runs have shown")
    options = parser.parse_args()
    faults = choose(load_faults(), options.names)
    names = [fault.full_name for fault in faults]
    if options.table:
        runs = {run: _load(_RESULTS / f"{run}.jsonl") for run in options.table}
        print("\n".join(table(names, runs)))
        best = joined(names, list(runs.values()))
        print(f"{dict(commands(best.values()))}, not tried: {len(names) - len(best)}, of {len(names)}")
        return 0

    os.nice(15)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    path = _RESULTS / f"{options.run}.jsonl"
    verdicts = _load(path)
    hints = {name: [v.test] for kept in sorted(_RESULTS.glob("*.jsonl")) for name, v in _load(kept).items() if v.test}
    if options.again:
        verdicts = {name: verdict for name, verdict in verdicts.items() if name not in names}
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()

    def line_up() -> bool:
        """Have those tried that have no verdict, or one for want of time; whether there are any."""
        for index, name in enumerate(names):
            known = verdicts.get(name)
            if name in unfit:
                continue
            if known is None or (not known.is_whole and known.seconds < options.seconds):
                waiting.put(index)
        return not waiting.empty()

    is_stopped, lock = threading.Event(), threading.Lock()
    unfit: dict[str, str] = {}
    failing: set[str] = set()
    copies: list[Copy] = []

    def work() -> None:
        with copied_tree(failing) as copy:
            copies.append(copy)
            while not is_stopped.is_set():
                try:
                    fault = faults[waiting.get_nowait()]
                except queue.Empty:
                    return
                try:
                    known = verdicts.get(fault.full_name)
                    passed = [] if known is None else known.passed
                    first = options.first or hints.get(fault.full_name, [])
                    verdict = copy.try_fault(fault, options.seconds, first, passed)
                    verdict.seconds += 0 if known is None else known.seconds
                except FaultError as error:
                    unfit[fault.full_name] = str(error)
                    continue
                if is_stopped.is_set():
                    return
                with lock:
                    verdicts[fault.full_name] = verdict
                    _save(path, verdicts)
                    print(f"{verdict.seconds:5.0f} s  {fault.full_name}: {_found_by(verdict)}", flush=True)

    def make_sure() -> None:
        """Forget what tests say that fail without any fault, too."""
        said = {verdict.test for verdict in verdicts.values() if verdict.test and not verdict.is_sure}
        if said:
            with copied_tree(failing) as copy:
                copies.append(copy)
                failing.update(copy.failing(said))
        for name, verdict in list(verdicts.items()):
            if verdict.test in failing:
                del verdicts[name]
            else:
                verdict.is_sure = bool(verdict.test)
        _save(path, verdicts)

    with ThreadPoolExecutor(options.workers) as workers:
        try:
            while line_up():
                for each in [workers.submit(work) for _ in range(options.workers)]:
                    each.result()
                make_sure()
        finally:
            is_stopped.set()
            for copy in copies:
                copy.stop()
    print("\n".join(table(names, {options.run: verdicts})))
    for test in sorted(failing):
        print(f"fails without any fault: {test}")
    for problem in unfit.values():
        print(f"does not fit: {problem}")
    shown = [verdicts[name] for name in names if name in verdicts]
    found_count = sum(bool(verdict.test) for verdict in shown)
    print(f"{found_count} of {len(names)} found, in {sum(verdict.seconds for verdict in shown):.0f} s")
    return int(found_count < len(names))


if __name__ == "__main__":
    raise SystemExit(main())
