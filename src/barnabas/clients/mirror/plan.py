"""The configuration of a mirror: source, target, topics and names. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from barnabas.clients.mirror.offsets import TABLE_TOPIC
from barnabas.clients.pool import Pool
from barnabas.clients.positions import Bound, LostRange, OnDataLoss, PlanError
from barnabas.clients.security import ClientSecurity, client_security
from barnabas.core.errors import BarnabasError, ConfigError

DEFAULT_NAME = "mirror"
DEFAULT_ALIAS = "source"
CLIENT_ID = "barnabas-mirror"
# Maximum time to wait for a broker. It is short because other partitions, warnings and a stop wait meanwhile.
PATIENCE_MS = 10_000
# Placeholder for the source's alias in a prefix.
_ALIAS_PLACE = "{source}"
_TRANSACTION_TIMEOUT_MS = 60_000
_REQUEST_TIMEOUT_MS = 30_000
REMEDY = (
    "run again with --on-data-loss continue to go on where the source still has records; each range is told then, too"
)


class MirrorFencedError(BarnabasError):
    """Another process claimed the same source later, or mirrors it to another topic: one line."""


class RecordsLostError(BarnabasError):
    """Records were deleted before they were mirrored, and the mirror must stop: names them and the remedies."""

    def __init__(self, run: str, losses: Sequence[LostRange]) -> None:
        lines = "\n".join(f"  {loss}" for loss in losses)
        super().__init__(f"{run}: records were lost before they were read:\n{lines}\n{REMEDY}")
        self.losses = tuple(losses)


@dataclass(frozen=True, slots=True)
class MirroredCluster:
    """A cluster's addresses, `host:port,...`, and Kafka's client settings by name, some of them secrets."""

    bootstrap_servers: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def security(self) -> ClientSecurity | None:
        """Return the security settings of the connections. Raises ConfigError."""
        return client_security(self.options)

    def pool(self) -> Pool:
        """Return connections to the cluster. Raises BarnabasError: an option or an address is invalid."""
        return Pool(
            self.bootstrap_servers,
            self.options.get("client.id", CLIENT_ID),
            request_timeout_ms=self._number("request.timeout.ms", _REQUEST_TIMEOUT_MS),
            metadata_max_age_ms=self._number("metadata.max.age.ms", 300_000),
            security=self.security(),
        )

    @property
    def transaction_timeout_ms(self) -> int:
        """Return how long a transaction may stay open in the cluster."""
        return self._number("transaction.timeout.ms", _TRANSACTION_TIMEOUT_MS)

    def _number(self, name: str, default: int) -> int:
        text = self.options.get(name, str(default))
        if not text.isdecimal() or not 0 < int(text) < 2**31:
            raise ConfigError(f"{name}={text} must be a number of milliseconds")
        return int(text)


@dataclass(frozen=True, slots=True)
class MirrorPlan:
    """A source cluster, a target cluster, and the options of the mirror between them.

    Attributes:
        name: The mirror's name, part of the keys in the target's offset table.
        alias: The name of the source cluster.
        source: The cluster that is read.
        target: The cluster that is written.
        topics: Topics of the source; a text between slashes is a pattern.
        prefix: Prefix of topic names in the target; `{source}` in it is replaced by the alias.
        start: Start of the partitions that exist when the mirror is new; later ones begin at their log start.
        on_data_loss: The reaction if records were deleted before they were mirrored.
        host, pid: The process that mirrors, for messages.
    """

    name: str
    alias: str
    source: MirroredCluster
    target: MirroredCluster
    topics: tuple[str, ...]
    prefix: str = ""
    start: Bound = field(default_factory=Bound)
    on_data_loss: OnDataLoss = OnDataLoss.STOP
    host: str = ""
    pid: int = 0

    @property
    def run(self) -> str:
        """Return the readable name of this source's mirror."""
        return f"{self.name}/{self.alias}"

    @property
    def topic_prefix(self) -> str:
        """Return the prefix with the alias filled in."""
        return self.prefix.replace(_ALIAS_PLACE, self.alias)

    def target_topic(self, topic: str) -> str:
        """Return the target's name for a source topic."""
        return f"{self.topic_prefix}{topic}"


def check_clusters(plan: MirrorPlan, source_cluster_id: str, target_cluster_id: str) -> None:
    """Reject a mirror of a cluster into itself.

    Raises:
        PlanError: source and target are the same cluster, so the topics would be mirrored to themselves.
    """
    if source_cluster_id == target_cluster_id and not plan.topic_prefix:
        raise PlanError(
            f"{plan.run}: source and target are the same cluster ({source_cluster_id}): name another --target, or "
            "give the topics another name with --prefix"
        )


def is_mirrored(topic: str) -> bool:
    """Return whether patterns may match a topic; excluded are internal topics and a mirror's offset table."""
    return not topic.startswith("__") and topic != TABLE_TOPIC


def parse_sources(texts: Sequence[str]) -> dict[str, str]:
    """Parse `[ALIAS=]HOST:PORT,...` options: the addresses by alias.

    Raises:
        PlanError: an option is invalid, or two have the same alias.
    """
    found: dict[str, str] = {}
    for text in texts:
        alias, equals, address = text.rpartition("=")
        alias = alias if equals else DEFAULT_ALIAS
        if not address or not alias or "/" in alias:
            raise PlanError(f"--source {text}: it must be ALIAS=HOST:PORT,...")
        if alias in found:
            raise PlanError(f"--source {text}: another source is called {alias!r}, too; write ALIAS=HOST:PORT,...")
        found[alias] = address
    return found


def files_of(texts: Sequence[str], aliases: Sequence[str]) -> dict[str, list[str]]:
    """Parse `[ALIAS=]FILE` options: by alias, the common files first, then its own.

    Raises:
        PlanError: No source has that alias.
    """
    pairs = [text.partition("=") for text in texts]
    for alias, equals, _ in pairs:
        if equals and alias not in aliases:
            raise PlanError(f"--source-config {alias}=...: no --source is called so; there is {', '.join(aliases)}")
    shared = [text for text, equals, _ in pairs if not equals]
    return {alias: [*shared, *(file for own, equals, file in pairs if equals and own == alias)] for alias in aliases}
