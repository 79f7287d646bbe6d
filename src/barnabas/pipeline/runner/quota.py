"""A quota as it holds a run's client at one broker: what a broker tells of it, or what follows from all limits. Pure.

Barnabas says which limit is in force for the connection that asks (ExplainQuotas); that takes no right. Kafka has no
such request: there the limits of all are asked for (KIP-546, which takes DescribeConfigs on the cluster), and the first
of the eight levels that is set is found here.

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
"""The kinds of limits that hold a run: `consumer_byte_rate`, and `producer_byte_rate` where it writes topics."""
KINDS = (READ, WRITE)

# A broker takes a rate over so long, unless `quota.window.num` and `quota.window.size.seconds` say something else.
_WINDOW_S = 10.0
_ANONYMOUS = "ANONYMOUS"


@dataclass(frozen=True, slots=True)
class Quota:
    """One limit at one broker.

    Attributes:
        limit: Bytes/s, on the wire, of all who share it.
        whose: Whose limit it is, for people.
        sharer_count: How many runs use all that it allows, this one included.
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
        """The limit, whose it is and where."""
        return f"quota {self.kind.key} {self.limit:,.0f} B/s of {self.whose} at broker {self.broker_id}"

    @property
    def most_answer_bytes(self) -> float:
        """The bytes that a broker sends at once at the most; a batch of records that is larger never comes."""
        return self.limit * _WINDOW_S


def explained(told: QuotaReport, kind: QuotaKind, is_counted: bool) -> Quota | None:
    """Return the quota that a broker tells of; None where there is none.

    Args:
        told: Its answer to ExplainQuotas.
        is_counted: Whether this run is one of the `pacer_count` that it tells.
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
    """Return the quotas of a kind that follow from all limits of a cluster: one for each broker, or none.

    Args:
        user, client_id: Who the run is.
        peers: The client ids of all runs that are known to go on beside it as the same user, its own included.
    """
    known = Limits()
    for limited, values in limits.items():
        if kind.key in values:
            known.set(Entity(_name(limited.user), _name(limited.client_id)), values[kind.key])
    found = known.resolve(user, client_id)
    # By one of 0 or less Kafka holds nobody, and does not look at the levels below.
    if found.limit is None or not found.limit > 0:
        return []
    sharer_count = sum(known.tags(user, peer) == found.tags for peer in peers)
    return [Quota(kind, each, found.limit, str(found.entity), max(1, sharer_count)) for each in broker_ids]


def _name(name: str | None) -> Name | None:
    return DEFAULT if name == "" else name


def user_of(options: Mapping[str, str]) -> str | None:
    """Return the user that a client with these options is to a broker; None where the broker alone knows.

    A certificate's user is what the broker's `ssl.principal.mapping.rules` make of it; a token's is what it holds.
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
