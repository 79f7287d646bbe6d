"""Findings and reports of checks of log files."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple


class Kind(StrEnum):
    """The severity of a finding.

    - damage: data differs from what was written, or contradicts other data;
    - recovery: a change that the next start would make to the files;
    - note: harmless information.
    """

    DAMAGE = "damage"
    RECOVERY = "recovery"
    NOTE = "note"


class Finding(NamedTuple):
    """A finding in words."""

    kind: Kind
    path: Path
    text: str


@dataclass(slots=True)
class LogReport:
    """The result of checking one log.

    Attributes:
        start_offset, end_offset: Bounds of the readable offsets; the end is exclusive.
        size_bytes: Total size of its `.log` files.
    """

    path: Path
    segment_count: int = 0
    batch_count: int = 0
    record_count: int = 0
    size_bytes: int = 0
    start_offset: int = 0
    end_offset: int = 0
    findings: list[Finding] = field(default_factory=list)

    def add(self, kind: Kind, path: Path, text: str) -> None:
        """Add a finding."""
        self.findings.append(Finding(kind, path, text))

    @property
    def damage_count(self) -> int:
        return sum(1 for finding in self.findings if finding.kind is Kind.DAMAGE)


@dataclass(slots=True)
class DirectoryReport:
    """The result of checking a data directory.

    Attributes:
        findings: Findings about the directory itself; those of its logs are in `logs`.
        running_pid: Process id of the broker that has the directory open; 0 for an unknown process or one of another
            machine, None if no broker has it open.
        was_clean: The last stop closed all logs.
    """

    path: Path
    running_pid: int | None = None
    was_clean: bool = False
    findings: list[Finding] = field(default_factory=list)
    logs: list[LogReport] = field(default_factory=list)

    def add(self, kind: Kind, path: Path, text: str) -> None:
        """Add a finding."""
        self.findings.append(Finding(kind, path, text))

    @property
    def damage_count(self) -> int:
        own = sum(1 for finding in self.findings if finding.kind is Kind.DAMAGE)
        return own + sum(log.damage_count for log in self.logs)
