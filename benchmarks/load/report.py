"""Medians of runs, compared between targets, as a Markdown table."""

import datetime
import json
import platform
import re
import shlex
import statistics
import subprocess
import sys
import sysconfig
from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence
from pathlib import Path

from barnabas.core.build import version_line
from benchmarks.load.lines import LINES, Figures, Line

RESULTS = Path(__file__).parents[1] / "results"
REFERENCE = "kafka"
JUST_STARTED = "kafka-started"
SUBJECT = "barnabas"
COMPILED = "barnabas-compiled"
TITLES = {
    "kafka-started": "Kafka 2.7.2, just started",
    "kafka": "Kafka 2.7.2",
    "barnabas": "Barnabas",
    "barnabas-compiled": "Barnabas, compiled",
    "prototype": "prototype",
    "floor": "C floor",
}
# Python's build options that affect its speed.
_CONFIGURED = ("--enable-optimizations", "--with-lto", "--enable-experimental-jit", "--disable-gil", "--with-pydebug")
_COMPILED_WITH = ("-O", "-march", "-mtune", "-flto", "-fprofile", "-fno-", "-DNDEBUG")


def medians(runs: Sequence[Figures]) -> Figures:
    """Return the median of every figure; all runs have the same figures."""
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]} if runs else {}


def verdict(line: Line, ratio: float) -> str:
    """Return the goal and whether it is reached."""
    if line.goal is None:
        return ""
    is_reached = ratio <= line.goal if line.is_lower_better else ratio >= line.goal
    return f"{'≤' if line.is_lower_better else '≥'} {line.goal}{'' if is_reached else ' **missed**'}"


def missed(results: Mapping[str, Sequence[Figures]]) -> list[str]:
    """Return the titles of the lines whose goal is not reached."""
    kafka, ours = (medians(results.get(name, [])) for name in (REFERENCE, SUBJECT))
    return [
        line.title
        for line in LINES
        if line.key in kafka and line.key in ours and "missed" in verdict(line, ours[line.key] / kafka[line.key])
    ]


def table(results: Mapping[str, Sequence[Figures]], lines: Sequence[Line] = LINES) -> str:
    """Return the Markdown table: a row per line, a column per target, lowest and highest in brackets."""
    names = [name for name in results if results[name]]
    middle = {name: medians(results[name]) for name in names}
    has_ratio = REFERENCE in names and SUBJECT in names
    # The compiled build is compared with Kafka and with the pure build.
    compared = [name for name in (REFERENCE, SUBJECT) if COMPILED in names and name in names]
    heading = ["line", *(TITLES[name] for name in names), *(["ratio", "goal"] if has_ratio else [])]
    heading += [f"compiled / {TITLES[name]}" for name in compared]
    if has_ratio and "prototype" in names:
        heading.append("above prototype")
    rows = [heading, ["---"] * len(heading)]
    for line in lines:
        if not any(line.key in middle[name] for name in names):
            continue
        row = [line.title]
        for name in names:
            if line.key not in middle[name]:
                row.append("–")
                continue
            values = [run[line.key] for run in results[name]]
            spread = f" ({min(values):,.{line.digits}f}–{max(values):,.{line.digits}f})" if len(values) > 1 else ""
            row.append(f"{middle[name][line.key]:,.{line.digits}f}{spread}")
        if has_ratio and not (line.key in middle[REFERENCE] and line.key in middle[SUBJECT]):
            row += ["–", ""]
        elif has_ratio:
            ratio = middle[SUBJECT][line.key] / middle[REFERENCE][line.key]
            row += [f"{ratio:.2f}", verdict(line, ratio)]
        row += [f"{middle[COMPILED][line.key] / middle[name][line.key]:.2f}" for name in compared]
        if has_ratio and "prototype" in names:
            row.append(f"{middle[SUBJECT][line.key] - middle['prototype'][line.key]:+,.{line.digits}f}")
        rows.append(row)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def result_name(text: str) -> str:
    """Check the name of a result on the command line, before anything is measured.

    Raises:
        ArgumentTypeError: it is not a file name without directory and ending.
    """
    if not re.fullmatch(r"[\w-]+", text):
        raise ArgumentTypeError(f"{text}: a name such as 2026-11-22-mirror, with no directory or ending")
    return text


def save(name: str, program: str, results: Mapping[str, Sequence[Figures]], text: str) -> None:
    """Write every run and the table into `benchmarks/results`, with machine and command.

    Args:
        name: Name of the files, without ending.
        program: The called program; this process's arguments are appended.
        results: Every run.
        text: The table.
    """
    described, command = machine(), shlex.join([*program.split(), *sys.argv[1:]])
    taken = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    RESULTS.mkdir(exist_ok=True)
    record = {"taken": taken, "command": command, "machine": described, "runs": results}
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n")
    on = ", ".join(f"{key} {value}" for key, value in described.items())
    (RESULTS / f"{name}.md").write_text(
        f"# {name}\n\n`{command}`, {taken}, on: {on}.\nMedians (lowest–highest).\n\n{text}\n"
    )
    print(f"\nwritten: benchmarks/results/{name}.json and {name}.md")


def interpreter_flags() -> str:
    """Return the relevant build options of this Python: with PGO and LTO it is a tenth to a fifth faster."""
    configured = shlex.split(sysconfig.get_config_var("CONFIG_ARGS") or "")
    optimizations = [word for word in configured if word.startswith(_CONFIGURED)]
    compiler = [word for word in str(sysconfig.get_config_var("PY_CFLAGS")).split() if word.startswith(_COMPILED_WITH)]
    return " ".join([*(optimizations or ["without PGO and LTO"]), *compiler])


def machine() -> dict[str, str]:
    """Return a description of this machine."""
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.machine(),
    )
    cores = sum(line.startswith("processor") for line in Path("/proc/cpuinfo").read_text().splitlines())
    memory_kb = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr.splitlines()
    return {
        "cpu": model,
        "cores": str(cores),
        "memory": f"{int(memory_kb.split()[1]) / 1e6:.0f} GB",
        "kernel": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_version()} ({interpreter_flags()})",
        "barnabas": version_line().removeprefix("barnabas "),
        "java": java[0] if java else "none",
    }
