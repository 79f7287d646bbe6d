"""The parts of the broker that handlers call into.

Separate from `context.py` because that module is compiled: a compiled dataclass cannot have fields whose types are
imported only for the type checker.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.manager import Quotas
from barnabas.broker.quotas.replication import ReplicationQuota
from barnabas.broker.requests.encoded_metadata import TopicParts
from barnabas.broker.requests.fetches.throttled_followers import ThrottledFollowers
from barnabas.broker.requests.kafka_0_7 import ClientsOf07
from barnabas.broker.requests.throttled_connections import ThrottledConnections
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError

if TYPE_CHECKING:
    from barnabas.broker.administration.acls import AclAdmin
    from barnabas.broker.administration.configs import ConfigAdmin
    from barnabas.broker.administration.leadership import LeadershipAdmin
    from barnabas.broker.administration.partitions import PartitionAdmin
    from barnabas.broker.administration.producer_ids import ProducerIds
    from barnabas.broker.administration.scram import ScramAdmin
    from barnabas.broker.administration.topics import TopicAdmin
    from barnabas.broker.cluster.features import FinalizedFeatures
    from barnabas.broker.cluster.image import ClusterView
    from barnabas.broker.controller.controller import Controller
    from barnabas.broker.diagnostics.store import DiagnosticStore
    from barnabas.broker.groups.coordinator import GroupCoordinator
    from barnabas.broker.log.disk.cold_reads import ColdReads
    from barnabas.broker.quotas.history import History
    from barnabas.broker.replicas.control_requests import ControlRequests
    from barnabas.broker.replicas.log_dirs import ReplicaLogDirs
    from barnabas.broker.replicas.manager import ReplicaManager
    from barnabas.broker.requests.conversions import Conversions
    from barnabas.broker.requests.fetches.sessions import FetchSessions
    from barnabas.broker.requests.slices import Slices
    from barnabas.broker.security.tokens.manager import TokenManager
    from barnabas.broker.transactions.coordinator import TransactionCoordinator
    from barnabas.core.clock import Clock
    from barnabas.core.config import BrokerConfig
    from barnabas.core.executor import Executor
    from barnabas.core.pending import Spawner
    from barnabas.core.purgatory import Purgatory
    from barnabas.core.timers import Timers
    from barnabas.wire.registry.store import Registry
    from barnabas.wire.security.authorizer import Authorizer


def _nobody() -> "ScramAdmin":
    raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "there are no users here")


def _known() -> asyncio.Event:
    known = asyncio.Event()
    known.set()
    return known


@dataclass(slots=True)
class Services:
    """Built once by the composition root.

    Attributes:
        offered: API key, lowest and highest version of each supported public API.
        finalized_features: The epoch of finalized features; None: the cluster has no node for it.
        expired_fetches: Number of fetches that were answered at their timeout: of consumers, and of followers.
        slices: Runs requests that are too large for one turn of the event loop.
        conversions: The threads that convert batches for old clients.
        fetch_sessions: The incremental fetch sessions.
        cold_reads: Reads bytes outside the page cache; None: the event loop waits for the disk.
        configs: Changes settings; None: not possible.
        acls: Changes access rules; None: ACLs are disabled.
        quotas: The clients' quotas; by default without limits.
        leader_quota: The quota of throttled partitions for followers; by default without throttled partitions.
        throttled: The connections that quotas throttle.
        throttled_followers: The followers that `leader_quota` throttles.
        quota_history: The clients' use in the last hour; None: disabled.
        diagnostics: Diagnostic events; None: disabled.
        topic_parts: Encoded parts of Metadata answers.
        scram_admin: Returns the administration of SCRAM credentials, created at the first call.
        clients_of_0_7: Recognises clients with Kafka 0.7's protocol.
        controller: This broker's part in controlling the cluster.
        cluster_known: Set once this broker has complete metadata: clients must not get empty or partial metadata.
        tokens: The delegation tokens; None: disabled (no delegation.token.master.key).
    """

    config: "BrokerConfig"
    clock: "Clock"
    timers: "Timers"
    spawner: "Spawner"
    executor: "Executor"
    cluster: "ClusterView"
    replicas: "ReplicaManager"
    control: "ControlRequests"
    fetches: "Purgatory"
    groups: "GroupCoordinator"
    transactions: "TransactionCoordinator"
    topics: "TopicAdmin"
    partitions: "PartitionAdmin"
    leadership: "LeadershipAdmin"
    log_dirs: "ReplicaLogDirs"
    producer_ids: "ProducerIds"
    registry: "Registry"
    authorizer: "Authorizer"
    offered: list[tuple[int, int, int]]
    slices: "Slices"
    conversions: "Conversions"
    fetch_sessions: "FetchSessions"
    cold_reads: "ColdReads | None" = None
    configs: "ConfigAdmin | None" = None
    acls: "AclAdmin | None" = None
    topic_parts: TopicParts = field(default_factory=TopicParts)
    scram_admin: "Callable[[], ScramAdmin]" = _nobody
    tokens: "TokenManager | None" = None
    quotas: Quotas = field(default_factory=lambda: Quotas(Windows(11, 1_000)))
    leader_quota: ReplicationQuota = field(default_factory=lambda: ReplicationQuota(Windows(11, 1_000)))
    quota_history: "History | None" = None
    diagnostics: "DiagnosticStore | None" = None
    throttled: ThrottledConnections = field(init=False)
    throttled_followers: ThrottledFollowers = field(init=False)
    clients_of_0_7: ClientsOf07 = field(default_factory=ClientsOf07)
    controller: "Controller | None" = None
    cluster_known: asyncio.Event = field(default_factory=_known)
    finalized_features: "FinalizedFeatures | None" = None
    expired_fetches: list[int] = field(default_factory=lambda: [0, 0])

    def __post_init__(self) -> None:
        self.throttled = ThrottledConnections(self.quotas, self.clock, self.timers)
        self.throttled_followers = ThrottledFollowers(self.leader_quota, self.fetches, self.clock, self.timers)

    def absence_of(self, topic_partition: tuple[str, int]) -> ErrorCode:
        """Return a client's error for a partition that is not hosted here."""
        error_code = self.replicas.absence_of(topic_partition)
        is_known = self.cluster.image.partition(*topic_partition) is not None
        if error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and is_known:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return error_code
