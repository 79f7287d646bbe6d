"""Fuzz the doors, guided by coverage: `scripts/soak --fuzz [--runs 1000000] [--seconds 3600] [--seed 1] [DOOR ...]`.

One process a door. What makes the broker do wrong is written to `finds/<door>/`, and ends the run of that door.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FINDS = Path(__file__).parent / "finds"
DOORS = ("plain", "sasl", "tls", "zookeeper", "http", "files")
_MOST_MEMORY_MB = 1_000
_LONGEST_INPUT_BYTES = 65_536
_LONGEST_INPUT_S = 60


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/soak --fuzz", description=__doc__)
    parser.add_argument(
        "doors", nargs="*", choices=[*DOORS, []], metavar="DOOR", help=f"of {', '.join(DOORS)}; default all"
    )
    parser.add_argument("--runs", type=int, default=1_000_000, help="inputs for each door (1,000,000)")
    parser.add_argument("--seconds", type=int, default=3_600, help="no longer than this for each door (3,600)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        _fuzz(args.doors[0], args.runs, args.seconds, args.seed)
        return 0
    failed = [door for door in args.doors or DOORS if not _run(door, args.runs, args.seconds, args.seed)]
    if failed:
        print(f"found in: {', '.join(failed)}; see tests/fuzz/finds", file=sys.stderr)
    return 1 if failed else 0


def _run(door: str, runs: int, seconds: int, seed: int) -> bool:
    """One door in a process of its own; whether nothing was found."""
    options = [f"--runs={runs}", f"--seconds={seconds}", f"--seed={seed}", "--child", door]
    print(f"{door}: at most {runs:,} inputs or {seconds} s, seed {seed}", flush=True)
    with subprocess.Popen(
        [sys.executable, "-m", "tests.fuzz", *options], stderr=subprocess.PIPE, text=True, errors="replace"
    ) as child:
        assert child.stderr is not None
        last, done = "", ""
        for line in child.stderr:
            # libFuzzer tells of its progress a line at a time; what else is said is what went wrong.
            if re.match(r"#\d+\s", line):
                last = line.strip()
            elif line.startswith("Done "):
                done = line.strip()
            elif not line.startswith(("INFO:", "WARNING:", "\n", "#####", '"')):
                print(line, end="", file=sys.stderr, flush=True)
    print(f"{door}: {done or last}; {last}", flush=True)
    return child.returncode == 0


def _fuzz(door: str, runs: int, seconds: int, seed: int) -> None:
    import atheris  # scripts/soak installs it, for this alone

    with atheris.instrument_imports(include=["barnabas"]):
        from tests.fuzz.doors import NetworkDoor
        from tests.fuzz.files import FilesDoor
        from tests.fuzz.seeds import seeds

        target: NetworkDoor | FilesDoor = FilesDoor() if door == "files" else NetworkDoor(door)
    (FINDS / door).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="barnabas-corpus-") as corpus:
        for number, data in enumerate(target.seeds if isinstance(target, FilesDoor) else seeds(door)):
            (Path(corpus) / f"seed-{number}").write_bytes(data)
        arguments = {
            "runs": runs,
            "max_total_time": seconds,
            "seed": seed,
            "rss_limit_mb": _MOST_MEMORY_MB,
            "timeout": _LONGEST_INPUT_S,
            "max_len": _LONGEST_INPUT_BYTES,
            "artifact_prefix": f"{FINDS / door}/",
        }
        given = [f"-{key}={value}" for key, value in arguments.items()]
        atheris.Setup([sys.argv[0], *given, corpus], target, enable_python_coverage=True)
        atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
