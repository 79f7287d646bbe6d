"""Findings: the result of a rule, with severity, certainty, causes and suggested commands."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

Figure = str | int | float | bool | None | list[str] | list[int]


class Severity(IntEnum):
    """The severity of a finding; FINE answers a question without a problem."""

    FINE = 0
    NOTICE = 1
    PROBLEM = 2
    URGENT = 3


class Certainty(StrEnum):
    """The certainty of a finding.

    MEASURED: a broker reported it. INFERRED: it follows from reports, unless there is another cause. UNKNOWN: no
    broker reported it.
    """

    MEASURED = "measured"
    INFERRED = "inferred"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a rule.

    Attributes:
        subject: The subject: `group billing`, `partition views-3`, `broker 2`.
        verdict: The fact, as a stable word on which scripts may rely.
        text: The fact as a sentence with its figures, for users.
        since_ms: The start of the fact, in wall milliseconds; None: unknown.
        figures: Numbers and names behind the text, by name with their units.
        causes: The causes, the most important first.
        commands: Command lines that show more or fix the problem.
        silent: Brokers that did not answer and might know more.
    """

    subject: str
    verdict: str
    text: str
    severity: Severity = Severity.FINE
    certainty: Certainty = Certainty.MEASURED
    since_ms: int | None = None
    figures: Mapping[str, Figure] = field(default_factory=dict)
    causes: tuple["Finding", ...] = ()
    commands: tuple[str, ...] = ()
    silent: tuple[int, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return the finding in its JSON form."""
        return {
            "subject": self.subject,
            "verdict": self.verdict,
            "text": self.text,
            "severity": self.severity.name.lower(),
            "certainty": self.certainty.value,
            "since_ms": self.since_ms,
            "figures": dict(self.figures),
            "causes": [each.as_dict() for each in self.causes],
            "commands": list(self.commands),
            "silent_brokers": list(self.silent),
        }


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Sort by severity; findings of equal severity keep their order."""
    return sorted(findings, key=lambda each: -each.severity)
