"""What a cause is that is made for `barnabas explain`, and the list of them; explain_soak.py judges the answers."""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

from barnabas.explain.finding import Finding
from barnabas.explain.snapshot import Scope
from tests.simulation.explain_world import World

Stage: TypeAlias = Callable[[World], AsyncGenerator[Scope, None]]
"""Makes a cause, gives what is to be asked about, and takes the cause away when it is asked for more."""


class Cause(NamedTuple):
    """One cause.

    Attributes:
        question: What is asked.
        label: What the answer must name; see `label`.
        stage: Makes it.
        beside: What is true beside it, as it comes of it or it of that.
        minutes: How far back is asked. What happened is gone when it lies further back; what is so, at once.
        broker_count, settings: Of its cluster.
    """

    name: str
    question: str
    label: str
    stage: Stage
    beside: frozenset[str]
    minutes: int
    broker_count: int
    settings: Mapping[str, str]


CAUSES: Final[dict[str, Cause]] = {}


def cause(
    question: str,
    label: str,
    beside: tuple[str, ...] = (),
    *,
    happened: bool = False,
    brokers: int = 1,
    settings: Mapping[str, str] | None = None,
) -> Callable[[Stage], Stage]:
    """Add a cause to the list; the function's name is its name."""

    def add(stage: Stage) -> Stage:
        name = stage.__name__
        assert name not in CAUSES, name
        minutes = 1 if happened else 60
        CAUSES[name] = Cause(name, question, label, stage, frozenset(beside), minutes, brokers, settings or {})
        return stage

    return add


def label(finding: Finding) -> str:
    """Return what a finding says in one word: its verdict, and which limit, wait or reason where it is told so."""
    kind = next(
        (finding.figures[name] for name in ("quota", "waited_for", "reason") if finding.figures.get(name)), None
    )
    verdict = "held" if finding.verdict == "was-held" else finding.verdict
    return verdict if kind is None else f"{verdict}:{kind}"
