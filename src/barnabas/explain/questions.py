"""The questions: for each, the parts of the snapshot that it needs, and its rule."""

from collections.abc import Callable
from typing import Final, NamedTuple

from barnabas.explain.collector import Part
from barnabas.explain.finding import Finding
from barnabas.explain.rules.broker import explain_broker
from barnabas.explain.rules.client import explain_client
from barnabas.explain.rules.disk import explain_disk
from barnabas.explain.rules.group import explain_group
from barnabas.explain.rules.lag import explain_lag
from barnabas.explain.rules.overview import explain_all
from barnabas.explain.rules.refused import explain_refused
from barnabas.explain.rules.slow import explain_slow
from barnabas.explain.rules.topic import explain_topic
from barnabas.explain.rules.transaction import explain_transaction
from barnabas.explain.snapshot import Snapshot


class Question(NamedTuple):
    """A question.

    Attributes:
        parts: The required parts of the snapshot, besides the cluster.
        facts: The required subjects of diagnostic events.
        rule: Returns the findings.
    """

    parts: frozenset[Part]
    facts: tuple[str, ...]
    rule: Callable[[Snapshot], list[Finding]]


EVERYTHING: Final = Question(
    frozenset({Part.GROUPS, Part.LAG, Part.DIRECTORIES, Part.SETTINGS, Part.TRANSACTIONS}),
    (
        *("groups", "ends", "holds", "refusals", "requests", "full_answers"),
        *("transactions", "leaders", "stalls", "broker"),
    ),
    explain_all,
)
QUESTIONS: Final = {
    "client": Question(
        frozenset({Part.LIMITS}),
        ("client", "holds", "refusals", "requests", "stalls"),
        explain_client,
    ),
    "group": Question(frozenset({Part.GROUPS}), ("groups",), explain_group),
    "lag": Question(
        frozenset({Part.LAG, Part.SETTINGS}),
        ("groups", "ends", "holds", "requests", "full_answers"),
        explain_lag,
    ),
    "refused": Question(frozenset({Part.RULES}), ("refusals",), explain_refused),
    "slow": Question(frozenset({Part.ROUND_TRIPS}), ("requests", "stalls"), explain_slow),
    "topic": Question(
        frozenset({Part.TOPIC, Part.DIRECTORIES, Part.SETTINGS}),
        ("leaders", "broker"),
        explain_topic,
    ),
    "disk": Question(
        frozenset({Part.TOPIC, Part.DIRECTORIES, Part.SETTINGS}),
        ("broker", "segments"),
        explain_disk,
    ),
    "transaction": Question(
        frozenset({Part.TRANSACTIONS}),
        ("transactions",),
        explain_transaction,
    ),
    "broker": Question(frozenset(), ("stalls", "broker"), explain_broker),
}
