"""What a check of log files finds."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple


class Kind(StrEnum):
    """How much a finding matters.

    - damage: something is not as the writer left it, or contradicts something else;
    - recovery: what the next start would do to the files;
    - note: worth knowing, and harmless.
    """

    DAMAGE = "damage"
    RECOVERY = "recovery"
    NOTE = "note"


class Finding(NamedTuple):
    """One thing that was found, in words."""

    kind: Kind
    path: Path
    text: str


@dataclass(slots=True)
class LogReport:
    """What a check of one log found.

    Attributes:
        start_offset, end_offset: Of what can be read; the end is not included.
        size_bytes: Of its `.log` files.
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
        """Note a finding."""
        self.findings.append(Finding(kind, path, text))

    @property
    def damage_count(self) -> int:
        return sum(1 for finding in self.findings if finding.kind is Kind.DAMAGE)


@dataclass(slots=True)
class DirectoryReport:
    """What a check of a data directory found.

    Attributes:
        findings: Of the directory itself; those of its logs stand with them.
        running_pid: Of the broker that has the directory open; 0 where another machine's or an unknown process has
            it, None when nobody has.
        was_clean: The last stop closed all logs.
    """

    path: Path
    running_pid: int | None = None
    was_clean: bool = False
    findings: list[Finding] = field(default_factory=list)
    logs: list[LogReport] = field(default_factory=list)

    def add(self, kind: Kind, path: Path, text: str) -> None:
        """Note a finding."""
        self.findings.append(Finding(kind, path, text))

    @property
    def damage_count(self) -> int:
        own = sum(1 for finding in self.findings if finding.kind is Kind.DAMAGE)
        return own + sum(log.damage_count for log in self.logs)
