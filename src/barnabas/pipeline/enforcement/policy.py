"""The policy of a run: the verdicts that count, the users or client ids of their subjects, and the quotas for these."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from barnabas.pipeline.enforcement.entry import CLIENT_ID, USER, Entity, Verdict
from barnabas.pipeline.runner.plan import PlanError
from barnabas.wire.quotas.limits import KINDS_BY_KEY

SUBJECT_KINDS = ("user", "address", "agent", "visitor", "token")
# All verdicts of the security job except `declared_bot`, which does not require any misbehaviour.
ENFORCED = ("crawler", "scraper", "spammer", "vote_ring", "credential_stuffing", "password_guessing", "rate")
ACCUSATIONS = (*ENFORCED, "declared_bot")
# The principal of clients without a login: all of them would share a quota for it.
ANONYMOUS = "ANONYMOUS"

# The protocol's strings have 16-bit lengths.
_MAX_NAME_BYTES = 2**15 - 1
# Names that no znode can have, so they have no quotas (docs/differences.md, quota-of-dots).
_NOT_ZNODES = (".", "..")
_PART = re.compile(r"\{(\w+)\}")
_PARTS = ("subject", "address", "agent", "user")


@dataclass(frozen=True, slots=True)
class EntityTemplate:
    """Maps a verdict's subject to a name in Kafka: `kind` is USER or CLIENT_ID, `name` contains parts in braces."""

    kind: str
    name: str

    def entity_of(self, verdict: Verdict) -> Entity | None:
        """Return the entity; None if the verdict lacks a part, or no quota can have the name.

        Such a name is empty, too long for the protocol, `.` or `..`.
        """
        if not all(getattr(verdict, part) for part in _PART.findall(self.name)):
            return None
        name = _PART.sub(lambda match: str(getattr(verdict, match[1])), self.name)
        is_possible = 0 < len(name.encode()) <= _MAX_NAME_BYTES and name not in _NOT_ZNODES
        return Entity(self.kind, name) if is_possible else None


_BYTE_RATES = MappingProxyType({"producer_byte_rate": 10_240.0, "consumer_byte_rate": 10_240.0})
_USERS = MappingProxyType({"user": EntityTemplate(USER, "{user}")})


@dataclass(frozen=True, slots=True)
class Policy:
    """The quotas that a run enforces, and the entities that it limits.

    Attributes:
        limits: Value by Kafka's name of the quota.
        limit_for_ms: How long a limit lasts after it was set or renewed.
        enforced: Verdicts that count, by their column `what`.
        least_score: Verdicts below this score don't count.
        entities: Templates for subjects' names in Kafka, by kind; subjects of other kinds are not limited.
        never: Names of users and client ids that are never limited.
        most: Maximum number of limited entities at a time.
        is_dry: Only report steps, change no quotas.
    """

    limits: Mapping[str, float] = field(default_factory=lambda: _BYTE_RATES)
    limit_for_ms: int = 3_600_000
    enforced: tuple[str, ...] = ENFORCED
    least_score: float = 0.5
    entities: Mapping[str, EntityTemplate] = field(default_factory=lambda: _USERS)
    never: frozenset[str] = frozenset({ANONYMOUS})
    most: int = 1_000
    is_dry: bool = True


class Wanted(NamedTuple):
    """Quotas for one entity, with their end time and the verdict that causes them."""

    limits: Mapping[str, float]
    until_ms: int
    verdict: Verdict


def wanted(verdicts: Iterable[Verdict], policy: Policy, now_ms: int) -> dict[Entity, Wanted]:
    """Return the quotas that a policy requires now; of several verdicts on one entity, the highest score counts."""
    found: dict[Entity, Wanted] = {}
    # The highest score comes last; ties are broken by name, so that the order of rows does not matter.
    for verdict in sorted(verdicts, key=lambda each: (each.score, each.last_seen_ms, each.what, each.subject)):
        template = policy.entities.get(verdict.subject_kind)
        if template is None or verdict.what not in policy.enforced or verdict.score < policy.least_score:
            continue
        entity = template.entity_of(verdict)
        if entity is None or entity.name in policy.never or verdict.until_ms <= now_ms:
            continue
        found[entity] = Wanted(policy.limits, min(now_ms + policy.limit_for_ms, verdict.until_ms), verdict)
    return found


def parse_limits(pairs: Mapping[str, str]) -> dict[str, float]:
    """Read quotas; raise PlanError if one does not exist or its value is invalid."""
    limits = {}
    for name, text in pairs.items():
        if name not in KINDS_BY_KEY:
            raise PlanError(f"limit {name!r} does not exist: use {', '.join(KINDS_BY_KEY)}")
        try:
            limits[name] = KINDS_BY_KEY[name].parse(text)
        except ValueError as error:
            raise PlanError(str(error)) from None
    return limits


def parse_template(kind: str, text: str) -> EntityTemplate:
    """Read `user`, `client-id`, or one of them, `:` and a template; raise PlanError if kind or text is invalid."""
    if kind not in SUBJECT_KINDS:
        raise PlanError(f"subject kind {kind!r} does not exist: use {', '.join(SUBJECT_KINDS)}")
    entity_kind, colon, name = text.partition(":")
    if entity_kind not in (USER, CLIENT_ID) or (colon and not name):
        raise PlanError(f"{text!r} is invalid: write {USER} or {CLIENT_ID}, optionally with :TEMPLATE")
    for part in _PART.findall(name):
        if part not in _PARTS:
            raise PlanError(f"{text!r} is invalid: a verdict has no part {{{part}}}; use {', '.join(_PARTS)}")
    return EntityTemplate(entity_kind, name or "{subject}")
