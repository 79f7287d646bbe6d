"""Findings: the result of a rule, with severity, certainty, causes and suggested commands."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

Figure = str | int | float | bool | None | list[str] | list[int]


class Severity(IntEnum):
    """The severity of a finding; FINE answers a question and is no problem."""

    FINE = 0
    NOTICE = 1
    PROBLEM = 2
    URGENT = 3


class Certainty(StrEnum):
    """The certainty of a finding.

    MEASURED: a broker said so. INFERRED: it follows from what brokers said, if nothing else is at work. UNKNOWN: no
    broker that answered tells it.
    """

    MEASURED = "measured"
    INFERRED = "inferred"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a rule.

    Attributes:
        subject: What it is about: `group billing`, `partition views-3`, `broker 2`.
        verdict: What is so, in a word that stays the same; scripts may rely on it.
        text: The same as a sentence, with its figures, for people.
        since_ms: Since when, in wall milliseconds; None: it is not known.
        figures: Numbers and names behind the text, by name with their units.
        causes: What it follows from, the weightiest first.
        commands: What to run to see more or to mend it; each is a command line.
        silent: Brokers that did not answer and could have told more.
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
