"""An entry of the audit topic: one step of enforcement.

The key of the record is the entity (`user=alice`, `client-id=curl`), after `dry-run ` in a dry run. Its value is a JSON
object (docs/pipeline/enforcement.md lists the steps):

| field | content |
| --- | --- |
| step, then | the step; for `lifting`, the step after it |
| entity | `{"user": name}` or `{"client-id": name}` |
| limits | quotas that enforcement has set, or may have set: value by Kafka's name |
| time, since, until | time of the record, of the decision, and of the limit's expiry; ISO 8601, UTC, milliseconds |
| run, note | name of the run; details for operators |
| verdict | subject_kind, subject, what, score, why, last_seen, until, evidence |
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any, NamedTuple

from barnabas.clients.admin_quota_states import Limited

USER, CLIENT_ID = "user", "client-id"

_DRY_RUN = "dry-run "
_TIMES = ("time", "since", "until", "last_seen")
_NOT_IN_JSON = ("is_dry", "address", "agent", "user")
# The first and last millisecond that `datetime` has: the years 1 to 9999.
_EARLIEST_MS, _LATEST_MS = -62_135_596_800_000, 253_402_300_799_999


class Step(Enum):
    """A step; LIMITING and LIFTING are intents, appended before the cluster's quotas change."""

    LIMITING = "limiting"
    LIMITED = "limited"
    RENEWED = "renewed"
    LIFTING = "lifting"
    LIFTED = "lifted"
    KEPT = "kept"
    TAKEN_OVER = "taken-over"
    PARDONED = "pardoned"
    FAILED = "failed"
    CLOSED = "closed"


_WOULD = {
    Step.LIMITED: "would-limit",
    Step.RENEWED: "would-renew",
    Step.KEPT: "would-keep",
    Step.LIFTED: "would-lift",
    Step.CLOSED: "would-close",
}
_STEPS = {step.value: step for step in Step} | {text: step for step, text in _WOULD.items()}


class Entity(NamedTuple):
    """A user or client id; `kind` is USER or CLIENT_ID, `name` is not empty."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}={self.name}"

    @property
    def limited(self) -> Limited:
        """The entity as `QuotaStateAdmin` names it."""
        return Limited(self.name, None) if self.kind == USER else Limited(None, self.name)


def parse_entity(text: str) -> Entity:
    """Read `user=NAME` or `client-id=NAME`; raise ValueError if `text` is neither."""
    kind, _, name = text.partition("=")
    if kind not in (USER, CLIENT_ID) or not name:
        raise ValueError(f"{text!r} is not an entity: write {USER}=NAME or {CLIENT_ID}=NAME")
    return Entity(kind, name)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The fields of a verdict that enforcement uses (docs/pipeline/security.md); times in milliseconds since 1970.

    `address`, `agent` and `user` are the parts of the subject; entries of the audit topic lack them.
    """

    subject_kind: str
    subject: str
    what: str
    score: float
    why: str
    last_seen_ms: int
    until_ms: int
    address: str | None = None
    agent: str | None = None
    user: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry, with the record's fields; `is_dry` is the prefix of the key."""

    step: Step
    entity: Entity
    limits: Mapping[str, float]
    verdict: Verdict
    run: str
    time_ms: int
    since_ms: int
    until_ms: int
    then: Step | None = None
    note: str = ""
    is_dry: bool = False

    def key(self) -> bytes:
        """Return the record's key."""
        return f"{_DRY_RUN if self.is_dry else ''}{self.entity}".encode()

    def value(self) -> bytes:
        """Return the record's value."""
        return json.dumps(self.to_json(), ensure_ascii=False).encode()

    def to_json(self) -> dict[str, Any]:
        """Return the record's value as an object."""
        fields = _to_json(self)
        fields |= {"step": _WOULD[self.step] if self.is_dry else self.step.value, "then": self.then and self.then.value}
        fields |= {"entity": {self.entity.kind: self.entity.name}, "verdict": _to_json(self.verdict)}
        return {name: value for name, value in fields.items() if value is not None and value != ""}


def read_entry(key: bytes | None, value: bytes | None) -> Entry | None:
    """Read a record of the audit topic; return None if it is not an entry, or has a step of a newer version."""
    try:
        fields = _from_json(Entry, json.loads(value or b""))
        ((kind, name),) = fields["entity"].items()
        fields |= {"step": _STEPS[fields["step"]], "then": _STEPS[fields["then"]] if "then" in fields else None}
        fields |= {
            "entity": parse_entity(f"{kind}={name}"),
            "verdict": Verdict(**_from_json(Verdict, fields["verdict"])),
        }
        fields["limits"] = {str(limit): float(number) for limit, number in fields["limits"].items()}
        return Entry(**fields, is_dry=(key or b"").startswith(_DRY_RUN.encode()))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _to_json(values: Entry | Verdict) -> dict[str, Any]:
    fields = {name: getattr(values, name) for name in values.__dataclass_fields__ if name not in _NOT_IN_JSON}
    return {name.removesuffix("_ms"): _iso(each) if name.endswith("_ms") else each for name, each in fields.items()}


def _from_json(kind: type[Entry | Verdict], values: Mapping[str, Any]) -> dict[str, Any]:
    fields = {
        f"{name}_ms" if name in _TIMES else name: _milliseconds(each) if name in _TIMES else each
        for name, each in values.items()
    }
    return {
        name: each for name, each in fields.items() if name in kind.__dataclass_fields__ and name not in _NOT_IN_JSON
    }


def _iso(time_ms: int) -> str:
    # A verdict's time outside of the range, from a job of your own, must not end enforcement.
    time_ms = max(_EARLIEST_MS, min(time_ms, _LATEST_MS))
    # A float would round some milliseconds.
    moment = datetime.fromtimestamp(time_ms // 1000, UTC).replace(microsecond=time_ms % 1000 * 1000)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _milliseconds(text: str) -> int:
    moment = datetime.fromisoformat(text)
    return round(moment.replace(microsecond=0).timestamp()) * 1000 + moment.microsecond // 1000
