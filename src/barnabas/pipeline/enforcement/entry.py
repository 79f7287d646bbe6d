"""A step of enforcement, as it stands in the audit topic: whom, what, why, since when, until when.

Format of a record: its key is the entity (`user=alice`, `client-id=curl`), with `dry-run ` before it where nothing was
changed; its value is a JSON object:

| field | is |
| --- | --- |
| step | see `Step`; in a dry run would-limit, would-renew, would-keep, would-lift, would-close |
| then | of `lifting`: the step that follows it |
| entity | `{"user": name}` or `{"client-id": name}` |
| limits | what is ours at the broker, or may be: value by Kafka's name of the limit |
| time, since, until | when this was written, the limit was decided, and it is to go; ISO 8601, UTC, milliseconds |
| run | who wrote it |
| note | what a person should know of this step |
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


class Step(Enum):
    """A step that was taken, or is about to be."""

    LIMITING = "limiting"
    """The limits are about to be set. Whether they were, the broker knows."""

    LIMITED = "limited"
    """The limits are set."""

    RENEWED = "renewed"
    """The limits stay for longer: the accused went on."""

    LIFTING = "lifting"
    """The limits are about to be removed. Whether they were, the broker knows."""

    LIFTED = "lifted"
    """They were removed: they had expired, or the verdict was gone."""

    KEPT = "kept"
    """Nothing was set: an operator has limited the entity himself."""

    TAKEN_OVER = "taken-over"
    """An operator changed or removed what was set; what was left of it was removed. His word is the last."""

    PARDONED = "pardoned"
    """The limits were removed by hand (`barnabas pipeline limits --lift`)."""

    FAILED = "failed"
    """The broker refused to set the limits."""

    CLOSED = "closed"
    """The verdict behind kept, taken-over, pardoned or failed is gone."""


_WOULD = {
    Step.LIMITED: "would-limit",
    Step.RENEWED: "would-renew",
    Step.KEPT: "would-keep",
    Step.LIFTED: "would-lift",
    Step.CLOSED: "would-close",
}
_STEPS = {step.value: step for step in Step} | {text: step for step, text in _WOULD.items()}


class Entity(NamedTuple):
    """Whom Kafka limits: `kind` is USER or CLIENT_ID, `name` is not empty."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}={self.name}"

    @property
    def limited(self) -> Limited:
        """The same for the clients' administration."""
        return Limited(self.name, None) if self.kind == USER else Limited(None, self.name)


def parse_entity(text: str) -> Entity:
    """Read `user=NAME` or `client-id=NAME`.

    Raises:
        ValueError: it is neither; one line that says so.
    """
    kind, _, name = text.partition("=")
    if kind not in (USER, CLIENT_ID) or not name:
        raise ValueError(f"{text!r} is no entity: write {USER}=NAME or {CLIENT_ID}=NAME")
    return Entity(kind, name)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The parts of a verdict that enforcement looks at (docs/pipeline/security.md); times in milliseconds since 1970.

    `address`, `agent` and `user` are those parts of the subject that it has.
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
    """One step; the fields are those of the record, `is_dry` the beginning of its key."""

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
        """Return what the record's value says."""
        verdict = self.verdict
        return {
            "step": _WOULD[self.step] if self.is_dry else self.step.value,
            **({"then": self.then.value} if self.then else {}),
            "entity": {self.entity.kind: self.entity.name},
            "limits": dict(self.limits),
            "time": _iso(self.time_ms),
            "since": _iso(self.since_ms),
            "until": _iso(self.until_ms),
            "run": self.run,
            **({"note": self.note} if self.note else {}),
            "verdict": {
                "subject_kind": verdict.subject_kind,
                "subject": verdict.subject,
                "what": verdict.what,
                "score": verdict.score,
                "why": verdict.why,
                "last_seen": _iso(verdict.last_seen_ms),
                "until": _iso(verdict.until_ms),
                "evidence": dict(verdict.evidence),
            },
        }


def read_entry(key: bytes | None, value: bytes | None) -> Entry | None:
    """Read a record of the audit topic; None: it is none of ours, such as a newer version's."""
    try:
        said = json.loads(value or b"")
        verdict = said["verdict"]
        ((kind, name),) = said["entity"].items()
        return Entry(
            _STEPS[said["step"]],
            parse_entity(f"{kind}={name}"),
            {str(limit): float(number) for limit, number in said["limits"].items()},
            Verdict(
                verdict["subject_kind"],
                verdict["subject"],
                verdict["what"],
                float(verdict["score"]),
                verdict["why"],
                _milliseconds(verdict["last_seen"]),
                _milliseconds(verdict["until"]),
                evidence=verdict["evidence"],
            ),
            said["run"],
            _milliseconds(said["time"]),
            _milliseconds(said["since"]),
            _milliseconds(said["until"]),
            _STEPS[said["then"]] if "then" in said else None,
            said.get("note", ""),
            (key or b"").startswith(_DRY_RUN.encode()),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _iso(time_ms: int) -> str:
    # Not by way of a float: a millisecond must stay what it is.
    moment = datetime.fromtimestamp(time_ms // 1000, UTC).replace(microsecond=time_ms % 1000 * 1000)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _milliseconds(text: str) -> int:
    moment = datetime.fromisoformat(text)
    return round(moment.replace(microsecond=0).timestamp()) * 1000 + moment.microsecond // 1000
