"""`/health` and `/ready`: whether the process should be restarted, and whether clients should be sent to it.

`/health` answers 200 whenever the event loop does, whatever the state of the broker: starting, recovering, stopping. A
supervisor that restarted a recovering broker would only make it begin its recovery again.

`/ready` answers 200 when clients can be served: the logs are loaded, the broker is registered, it has the controller's
metadata, and all its listeners are open. Otherwise 503, with the reasons: also once its session with ZooKeeper is
lost, until it is registered in another one, and from the first moment of a stop.

Source: Kubernetes, liveness and readiness probes.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from barnabas.broker.metrics.pages import OK, UNAVAILABLE, Answer, Page, json_answer

# Beyond that every client of the broker waits, too.
MOST_SILENCE_S = 2.0


class Check(NamedTuple):
    """A condition that must hold before clients are served.

    Attributes:
        name: One word.
        is_met: Whether it is so.
        reason: The missing condition, for people; used only if the check fails.
    """

    name: str
    is_met: bool
    reason: str


class Condition(NamedTuple):
    """How the process does.

    Attributes:
        state: The broker's state, in a word.
        longest_stall_ms: The longest stall of its event loop.
    """

    state: str
    longest_stall_ms: int


def health_page(condition: Callable[[], Condition]) -> Page:
    """Return whether the process lives: that it answers at all is the answer."""

    def write(found: Condition) -> Answer:
        return json_answer({"status": "up", "state": found.state, "longest_stall_ms": found.longest_stall_ms})

    summary = "200 while the process lives and its event loop answers"
    return Page("/health", summary, condition, write, MOST_SILENCE_S, is_probe=True)


def ready_page(checks: Callable[[], Iterable[Check]]) -> Page:
    """Return whether clients should be sent here."""

    def write(found: list[Check]) -> Answer:
        reasons = [each.reason for each in found if not each.is_met]
        content = {
            "status": "not ready" if reasons else "ready",
            "reasons": reasons,
            "checks": {each.name: each.is_met for each in found},
        }
        return json_answer(content, UNAVAILABLE if reasons else OK)

    def ask() -> list[Check]:
        return list(checks())

    summary = "200 when clients can be served; else 503, with the reasons"
    return Page("/ready", summary, ask, write, MOST_SILENCE_S, is_probe=True)
