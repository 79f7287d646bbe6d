"""The quotas of a run's client at each broker: reported by the broker, or computed from all quotas. Pure.

Barnabas reports the quota in force for the requesting connection (ExplainQuotas); this needs no permission. Kafka has
no such request: the client requests all quotas (KIP-546, which needs DescribeConfigs on the cluster), and this module
finds the first of the eight levels that is set.

Source: docs/quotas.md; Kafka 2.7.2, ClientQuotaManager.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from barnabas.clients.admin_quota_states import Limited, QuotaReport
from barnabas.core.errors import ConfigError
from barnabas.wire.quotas.entities import DEFAULT, Entity, Name
from barnabas.wire.quotas.levels import Limits
from barnabas.wire.quotas.limits import QuotaKind
from barnabas.wire.security.jaas import parse_jaas

READ, WRITE = QuotaKind.FETCH, QuotaKind.PRODUCE
"""The kinds of quotas that limit a run: `consumer_byte_rate`, and `producer_byte_rate` if it writes topics."""
KINDS = (READ, WRITE)

# A broker measures a rate over this time, by the defaults of `quota.window.num` and `quota.window.size.seconds`.
_WINDOW_S = 10.0
_ANONYMOUS = "ANONYMOUS"


@dataclass(frozen=True, slots=True)
class Quota:
    """One quota at one broker.

    Attributes:
        limit: Bytes/s on the wire, of all clients that share the quota.
        whose: The entity of the quota, as text.
        sharer_count: Number of runs that use up the quota, this run included.
    """

    kind: QuotaKind
    broker_id: int
    limit: float
    whose: str
    sharer_count: int = 1

    def __str__(self) -> str:
        return self.name + (f", shared by {self.sharer_count} runs" if self.sharer_count > 1 else "")

    @property
    def name(self) -> str:
        """The quota's kind, limit, entity and broker."""
        return f"quota {self.kind.key} {self.limit:,.0f} B/s of {self.whose} at broker {self.broker_id}"

    @property
    def most_answer_bytes(self) -> float:
        """The largest response that the broker sends; a larger record batch can never be fetched."""
        return self.limit * _WINDOW_S


def explained(told: QuotaReport, kind: QuotaKind, is_counted: bool) -> Quota | None:
    """Return the quota in a broker's report; None if no quota is in force.

    Args:
        told: The broker's response to ExplainQuotas.
        is_counted: Whether the reported `pacer_count` includes this run.
    """
    entry = next(each for each in told["quotas"] if each["key"] == kind.key)
    if entry["limit"] is None:
        return None
    whose = next(each["name"] for each in entry["levels"] if each["level"] == entry["level"])
    return Quota(kind, told["broker_id"], entry["limit"], whose, max(1, entry["pacer_count"] + (not is_counted)))


def resolved(
    limits: Mapping[Limited, Mapping[str, float]],
    kind: QuotaKind,
    user: str,
    client_id: str,
    peers: Iterable[str],
    broker_ids: Iterable[int],
) -> list[Quota]:
    """Return the run's quotas of one kind, computed from all quotas of a cluster: one for each broker, or none.

    Args:
        user, client_id: Those of the run.
        peers: Client ids of all known concurrent runs of the same user, its own included.
    """
    known = Limits()
    for limited, values in limits.items():
        if kind.key in values:
            known.set(Entity(_name(limited.user), _name(limited.client_id)), values[kind.key])
    found = known.resolve(user, client_id)
    # Kafka does not throttle by a quota of 0 or less, and ignores the levels below it.
    if found.limit is None or not found.limit > 0:
        return []
    sharer_count = sum(known.tags(user, peer) == found.tags for peer in peers)
    return [Quota(kind, each, found.limit, str(found.entity), max(1, sharer_count)) for each in broker_ids]


def _name(name: str | None) -> Name | None:
    return DEFAULT if name == "" else name


def user_of(options: Mapping[str, str]) -> str | None:
    """Return the broker's user for a client with these options; None if only the broker knows it.

    The broker derives the user of a certificate by its `ssl.principal.mapping.rules`, and the user of a token from the
    token.
    """
    protocol = options.get("security.protocol", "PLAINTEXT").upper()
    if protocol.startswith("SASL_"):
        mechanism = options.get("sasl.mechanism", "GSSAPI")
        if mechanism != "PLAIN" and not mechanism.startswith("SCRAM-"):
            return None
        try:
            entry = parse_jaas(options.get("sasl.jaas.config", ""), mechanism)
        except ConfigError:
            return None
        return None if entry.options.get("tokenauth") == "true" else entry.options.get("username")
    if protocol == "SSL" and any(name.startswith("ssl.keystore.") for name in options):
        return None
    return _ANONYMOUS
