"""Options and output shared by `barnabas adopt` and `barnabas release`."""

import logging
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Annotated, TypeVar

from barnabas.cli.options import AsJson, Option, flag, run_async
from barnabas.cli.output import say
from barnabas.migration.findings import Finding, in_order

__all__ = ["AsJson", "Execute", "LogDirectories", "finding_as_dict", "print_findings", "resolved", "run_quietly"]

T = TypeVar("T")

LogDirectories = Annotated[
    list[Path], Option(metavar="DIRECTORY...", help="All directories of the broker's log.dirs, in the same order.")
]
Execute = Annotated[bool, flag("--execute", "Carry out the plan; without this nothing is changed.")]


def resolved(directories: Iterable[Path]) -> list[Path]:
    """Return the resolved paths, without duplicates."""
    return list(dict.fromkeys(path.resolve() for path in directories))


def run_quietly(work: Coroutine[object, object, T]) -> T:
    """Run a command's work without the ZooKeeper client's log lines about connection attempts."""
    logging.getLogger("barnabas.clients.zookeeper").setLevel(logging.CRITICAL)
    return run_async(work)


def print_findings(findings: Iterable[Finding]) -> None:
    """Print one line for each finding, the most severe first."""
    for finding in in_order(findings):
        say(f"{finding.kind.value}: {finding.subject}: {finding.text}")


def finding_as_dict(finding: Finding) -> dict[str, object]:
    """Return a finding as JSON."""
    return {"kind": finding.kind.name.lower(), "subject": finding.subject, "text": finding.text}
