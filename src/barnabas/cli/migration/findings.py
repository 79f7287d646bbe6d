"""What a plan has to say beside what it would do. Pure."""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """How much a finding matters; the worst first."""

    BLOCKED = "blocked"
    NOT_SERVED = "not served"
    LIMITED = "limited"
    NOTE = "note"


class Finding(NamedTuple):
    """One remark.

    Attributes:
        subject: What it is about: a topic, a directory, a path of the tree.
        text: A clause, for a person.
    """

    kind: Kind
    subject: str
    text: str


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """The worst first, each kind in the order it was found."""
    kinds = list(Kind)
    return sorted(findings, key=lambda finding: kinds.index(finding.kind))


def is_blocked(findings: Iterable[Finding]) -> bool:
    """Return whether something must be mended before the plan can be carried out."""
    return any(finding.kind is Kind.BLOCKED for finding in findings)


def ranges(numbers: Iterable[int]) -> str:
    """Numbers as a person would write them: `0-3, 7`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
