"""`/health` and `/ready`: whether the process should be restarted, and whether clients should be sent to it.

`/health` returns 200 if the event loop responds, in any state of the broker: starting, recovering, stopping. If a
supervisor restarted a recovering broker, the recovery would only begin again.

`/ready` returns 200 when clients can be served: the logs are loaded, the broker is registered, it has the controller's
metadata, and all its listeners are open. Otherwise, it returns 503 with the reasons. It also returns 503 after the
ZooKeeper session is lost, until the broker is registered in a new one, and from the start of a stop.

Source: Kubernetes, liveness and readiness probes.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from barnabas.broker.metrics.pages import OK, UNAVAILABLE, Answer, Page, json_answer

# Timeout of the probes: an event loop that is blocked longer delays all clients, too.
MOST_SILENCE_S = 2.0


class Check(NamedTuple):
    """A condition that must hold before clients are served.

    Attributes:
        name: One word.
        is_met: Whether the condition holds.
        reason: Message about the missing condition; used only if the check fails.
    """

    name: str
    is_met: bool
    reason: str


class Condition(NamedTuple):
    """The state of the process.

    Attributes:
        state: The broker's state, in one word.
        longest_stall_ms: The longest stall of its event loop.
    """

    state: str
    longest_stall_ms: int


def health_page(condition: Callable[[], Condition]) -> Page:
    """Return the page `/health`, which shows that the event loop responds."""

    def write(found: Condition) -> Answer:
        return json_answer({"status": "up", "state": found.state, "longest_stall_ms": found.longest_stall_ms})

    summary = "200 while the process lives and its event loop answers"
    return Page("/health", summary, condition, write, MOST_SILENCE_S, is_probe=True)


def ready_page(checks: Callable[[], Iterable[Check]]) -> Page:
    """Return the page `/ready`, which shows whether clients can be served."""

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
