"""What `barnabas adopt` and `barnabas release` share."""

import logging
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Annotated, TypeVar

from barnabas.cli.migration.findings import Finding, in_order
from barnabas.cli.options import AsJson, Option, flag, run_async
from barnabas.cli.output import say

__all__ = ["AsJson", "Execute", "LogDirectories", "finding_as_dict", "print_findings", "resolved", "run_quietly"]

T = TypeVar("T")

LogDirectories = Annotated[
    list[Path], Option(metavar="DIRECTORY...", help="All directories of the broker's log.dirs, in their order.")
]
Execute = Annotated[bool, flag("--execute", "Do it; without this nothing is changed.")]


def resolved(directories: Iterable[Path]) -> list[Path]:
    """The directories as the broker's log.dirs would name them, each once."""
    return list(dict.fromkeys(path.resolve() for path in directories))


def run_quietly(work: Coroutine[object, object, T]) -> T:
    """Run a command's work; what the ZooKeeper client logs of its attempts to connect is not shown."""
    logging.getLogger("barnabas.wire.registry").setLevel(logging.CRITICAL)
    return run_async(work)


def print_findings(findings: Iterable[Finding]) -> None:
    """One line for each, the worst first."""
    for finding in in_order(findings):
        say(f"{finding.kind.value}: {finding.subject}: {finding.text}")


def finding_as_dict(finding: Finding) -> dict[str, object]:
    """A finding for scripts."""
    return {"kind": finding.kind.name.lower(), "subject": finding.subject, "text": finding.text}
