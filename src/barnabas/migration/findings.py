"""Findings of a migration plan. Pure."""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """Severity of a finding, the most severe first."""

    BLOCKED = "blocked"
    NOT_SERVED = "not served"
    LIMITED = "limited"
    NOTE = "note"


class Finding(NamedTuple):
    """A finding in words.

    Attributes:
        subject: A topic, a directory, or a path of the tree.
        text: A clause.
    """

    kind: Kind
    subject: str
    text: str


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings by severity, the most severe first, otherwise in the order found."""
    kinds = list(Kind)
    return sorted(findings, key=lambda finding: kinds.index(finding.kind))


def is_blocked(findings: Iterable[Finding]) -> bool:
    """Return whether a finding blocks the plan."""
    return any(finding.kind is Kind.BLOCKED for finding in findings)


def ranges(numbers: Iterable[int]) -> str:
    """Return numbers as ranges: `0-3, 7`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
