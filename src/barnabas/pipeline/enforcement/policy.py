"""What a run enforces: which verdicts count, whom they are about for Kafka, and what these are limited to."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from barnabas.pipeline.enforcement.entry import CLIENT_ID, USER, Entity, Verdict

# The limits of client quotas that are rates; `controller_mutation_rate` holds nobody who only reads and writes.
LIMITS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
SUBJECT_KINDS = ("user", "address", "agent", "visitor", "token")
# All that the security job says but the last: who says himself what he is has not done anything yet.
ENFORCED = ("crawler", "scraper", "spammer", "vote_ring", "credential_stuffing", "password_guessing", "rate")
ACCUSATIONS = (*ENFORCED, "declared_bot")
# The principal of everybody who has not logged in: a limit for it is one for all of them.
ANONYMOUS = "ANONYMOUS"

# A name is a string on the wire, whose length is a 16-bit number.
_MOST_NAME_BYTES = 2**15 - 1

_PART = re.compile(r"\{(\w+)\}")
_PARTS = ("subject", "address", "agent", "user")


class PolicyError(ValueError):
    """The policy can't be: one line that says why."""


@dataclass(frozen=True, slots=True)
class EntityTemplate:
    """A subject's name in Kafka: `kind` is USER or CLIENT_ID, in `name` stand parts of the verdict in braces."""

    kind: str
    name: str

    def entity_of(self, verdict: Verdict) -> Entity | None:
        """Name the entity; None where the verdict lacks a part, nothing would be left, or nobody can have that name."""
        values = {part: getattr(verdict, part) for part in _PARTS}
        wanted = _PART.findall(self.name)
        if any(not values[part] for part in wanted):
            return None
        name = _PART.sub(lambda match: values[match[1]], self.name)
        return Entity(self.kind, name) if 0 < len(name.encode()) <= _MOST_NAME_BYTES else None


_USERS = MappingProxyType({"user": EntityTemplate(USER, "{user}")})


@dataclass(frozen=True, slots=True)
class Policy:
    """The limits that a run enforces, and on whom.

    Attributes:
        limits: Value by Kafka's name of the limit.
        limit_for_ms: How long a limit holds after it was decided, or renewed.
        enforced: Which verdicts count, by what they accuse of.
        least_score: From which score on.
        entities: Whom to limit, by kind of subject. What Kafka knows nobody by is not in it.
        never: Names of users and client ids that are not limited, whatever they do.
        most: How many entities may be limited at a time.
        is_dry: Only say what would be done.
    """

    limits: Mapping[str, float] = field(
        default_factory=lambda: {"producer_byte_rate": 10_240.0, "consumer_byte_rate": 10_240.0}
    )
    limit_for_ms: int = 3_600_000
    enforced: tuple[str, ...] = ENFORCED
    least_score: float = 0.5
    entities: Mapping[str, EntityTemplate] = field(default_factory=lambda: _USERS)
    never: frozenset[str] = frozenset({ANONYMOUS})
    most: int = 1_000
    is_dry: bool = True

    def accused(self, verdicts: Iterable[Verdict], now_ms: int) -> dict[Entity, Verdict]:
        """Return whom verdicts accuse that count and have not lapsed; of several against one entity the surest."""
        found: dict[Entity, Verdict] = {}
        for verdict in verdicts:
            template = self.entities.get(verdict.subject_kind)
            if template is None or verdict.what not in self.enforced or verdict.score < self.least_score:
                continue
            entity = template.entity_of(verdict)
            if entity is None or entity.name in self.never or verdict.until_ms <= now_ms:
                continue
            other = found.get(entity)
            # By name where they are as sure, so that the order of rows is no matter.
            if other is None or _rank(verdict) < _rank(other):
                found[entity] = verdict
        return found


def _rank(verdict: Verdict) -> tuple[float, int, str, str]:
    return (-verdict.score, -verdict.last_seen_ms, verdict.what, verdict.subject)


def parse_limits(pairs: Mapping[str, str]) -> dict[str, float]:
    """Read limits.

    Raises:
        PolicyError: there is no such limit, or it can't have this value.
    """
    limits = {}
    for name, text in pairs.items():
        if name not in LIMITS:
            raise PolicyError(f"there is no limit {name!r}; there are {', '.join(LIMITS)}")
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        # Kafka has these two as whole numbers.
        is_whole = name.endswith("_byte_rate")
        if not 0 < value < 2**53 or (is_whole and value != int(value)):
            raise PolicyError(f"{name}={text}: it must be a {'whole ' if is_whole else ''}number above 0")
        limits[name] = value
    return limits


def parse_template(kind: str, text: str) -> EntityTemplate:
    """Read how subjects of a kind are called in Kafka: `user`, `client-id`, or one of them, `:`, and a template.

    Raises:
        PolicyError: it is none.
    """
    if kind not in SUBJECT_KINDS:
        raise PolicyError(f"verdicts have no subjects of kind {kind!r}; they have {', '.join(SUBJECT_KINDS)}")
    entity_kind, colon, name = text.partition(":")
    if entity_kind not in (USER, CLIENT_ID) or (colon and not name):
        raise PolicyError(f"{text!r}: write {USER} or {CLIENT_ID}, and :TEMPLATE behind it for another name")
    for part in _PART.findall(name):
        if part not in _PARTS:
            raise PolicyError(f"{text!r}: a verdict has no {{{part}}}; it has {', '.join(_PARTS)}")
    return EntityTemplate(entity_kind, name or "{subject}")
