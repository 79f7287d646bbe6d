"""All metrics: their names here and in Kafka's JMX, meanings and units; and Kafka's metrics that do not exist here.

A name is derived from Kafka's name by the rules of the Kafka example of Prometheus' jmx_exporter, so that existing
dashboards work. docs/metrics.md explains the rules, and is generated from this table.

# differs from Kafka (metrics-by-http): Kafka has JMX beans.

Metrics without a bean in Kafka begin with `barnabas_`. Process metrics have the names of Prometheus' libraries.

Source: metrics facts; jmx_exporter's `kafka-2_0_0.yml`, Prometheus' naming practices.
"""

from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """The Prometheus type of a metric."""

    COUNTER = "counter"
    GAUGE = "gauge"
    SUMMARY = "summary"


class Family(NamedTuple):
    """One metric, with all its labels.

    Attributes:
        bean: Kafka's name, with `#attribute` if the bean has several; empty if Kafka has no such metric.
        labels: The label names, in the order of their values in a snapshot.
        help: The meaning, with the unit.
    """

    name: str
    kind: Kind
    help: str
    bean: str = ""
    labels: tuple[str, ...] = ()


class Absent(NamedTuple):
    """Beans of Kafka that do not exist here, and the reason."""

    beans: str
    reason: str


_QUOTA_TYPES = ("Produce", "Fetch", "Request", "ControllerMutation")


def name_of(bean: str, kind: Kind) -> str:
    """Return the metric name for a bean.

    A gauge `kafka.server:type=T,name=N` becomes `kafka_server_t_n`. `NPerSec` becomes `n_total`, and `NPercent` becomes
    `n_percent`. For a bean without a name, the attribute replaces it; a counter's attribute ends in `_total`. All beans
    of quotas become `kafka_server_quota_...`.
    """
    domain, _, rest = bean.partition(":")
    rest, _, attribute = rest.partition("#")
    properties = dict(item.split("=", 1) for item in rest.split(","))
    kind_of_bean = properties["type"]
    if attribute:
        words = ["quota" if kind_of_bean in _QUOTA_TYPES else kind_of_bean, attribute]
        if kind is Kind.COUNTER and not attribute.endswith("-total"):
            words[1] = attribute.removesuffix("-count") + "-total"
    else:
        words = [kind_of_bean, properties["name"]]
        if words[1].endswith("PerSec"):
            words[1] = words[1].removesuffix("PerSec") + "_total"
        elif words[1].endswith("Percent") and words[1] != "Percent":
            words[1] = words[1].removesuffix("Percent") + "_percent"
    return "_".join([domain, *words]).replace(".", "_").replace("-", "_").lower()


def _metric(kind: Kind, bean: str, text: str, *labels: str) -> Family:
    return Family(name_of(bean, kind), kind, text, bean, labels)


def _counters(prefix: str, texts: dict[str, str], *labels: str) -> list[Family]:
    return [_metric(Kind.COUNTER, prefix + name, text, *labels) for name, text in texts.items()]


def _gauges(prefix: str, texts: dict[str, str], *labels: str) -> list[Family]:
    return [_metric(Kind.GAUGE, prefix + name, text, *labels) for name, text in texts.items()]


def _summaries(prefix: str, texts: dict[str, str], *labels: str) -> list[Family]:
    return [_metric(Kind.SUMMARY, prefix + name, text, *labels) for name, text in texts.items()]


def _own(kind: Kind, name: str, text: str, *labels: str) -> Family:
    return Family(name, kind, text, "", labels)


_TOPICS = "kafka.server:type=BrokerTopicMetrics,name="
_REPLICAS = "kafka.server:type=ReplicaManager,name="
_SESSIONS = "kafka.server:type=FetchSessionCache,name="
_SOCKETS = "kafka.server:type=socket-server-metrics#"
_GROUP_SUMS = "kafka.server:type=group-coordinator-metrics#"
_REQUESTS = "kafka.network:type=RequestMetrics,name="
_SERVER = "kafka.network:type=SocketServer,name="
_CONTROLLER = "kafka.controller:type=KafkaController,name="
_CONTROL = "kafka.controller:type=ControllerChannelManager,name="
_LOG = "kafka.log:type=Log,name="
_CLEANER = "kafka.log:type=LogCleaner,name="
_CLEANER_MANAGER = "kafka.log:type=LogCleanerManager,name="
_PARTITION = "kafka.cluster:type=Partition,name="
_GROUPS = "kafka.coordinator.group:type=GroupMetadataManager,name="

_OF_TOPICS = {
    "BytesInPerSec": "Bytes of records appended by producers and by the broker itself, in total and per topic.",
    "BytesOutPerSec": "Bytes of records sent to consumers, in total and per topic.",
    "MessagesInPerSec": "Records appended, in total and per topic.",
    "TotalProduceRequestsPerSec": "Requested appends (one per partition of a request), in total and per topic.",
    "TotalFetchRequestsPerSec": "Requested reads (one per partition of a request), in total and per topic.",
    "FailedProduceRequestsPerSec": "Failed appends, in total and per topic, except errors of clients or other brokers.",
    "BytesRejectedPerSec": "Bytes rejected because a batch exceeded max.message.bytes, in total and per topic.",
}

_CLIENT = ("resource", "user", "clientId")
# Exist only after a client with a quota was counted; most other metrics exist from the start.
QUOTAS: tuple[Family, ...] = (
    _metric(
        Kind.GAUGE,
        "kafka.server:type=Produce#byte-rate",
        "Bytes per second produced (Produce) or fetched (Fetch) by a client, over the quota's window.",
        *_CLIENT,
    ),
    _metric(
        Kind.GAUGE,
        "kafka.server:type=Request#request-time",
        "Broker time used by a client, in percent (see docs/quotas.md), over the quota's window.",
        *_CLIENT,
    ),
    _metric(
        Kind.GAUGE,
        "kafka.server:type=ControllerMutation#mutation-rate",
        "Partitions per second created and deleted by a client, over the quota's window.",
        *_CLIENT,
    ),
    _metric(
        Kind.GAUGE,
        "kafka.server:type=ControllerMutation#tokens",
        "Available tokens: partitions that a client may currently create or delete at once.",
        *_CLIENT,
    ),
    _metric(
        Kind.GAUGE,
        "kafka.server:type=Produce#throttle-time",
        "Time in ms for which a client was throttled by this quota: mean of the last minute.",
        *_CLIENT,
    ),
)
_CLIENTS = "barnabas_client_"
CLIENTS: tuple[Family, ...] = tuple(
    _own(Kind.COUNTER, _CLIENTS + name, text, "user", "clientId")
    for name, text in {
        "produced_bytes_total": "Bytes of a client's produce requests, with or without a quota.",
        "fetched_bytes_total": "Bytes of fetch responses sent to a client.",
        "request_ms_total": "Broker time used by a client, in ms.",
        "throttled_ms_total": "Total time for which a client was throttled, in ms.",
    }.items()
)

# Exist for each listener with authentication.
LOGINS: tuple[Family, ...] = tuple(
    _counters(
        _SOCKETS,
        {
            "successful-authentication-total": "Successful SASL authentications, without re-authentications.",
            "failed-authentication-total": "Failed SASL authentications, without re-authentications.",
            "successful-reauthentication-total": "Successful SASL re-authentications.",
            "failed-reauthentication-total": "Failed SASL re-authentications.",
            "successful-authentication-no-reauth-total": "Successful SASL authentications of clients without "
            "support for re-authentication.",
            "expired-connections-killed-count": "Connections closed because their SASL session expired.",
        },
        "listener",
    )
)

# Exist if this broker has follower replicas.
FOLLOWED: tuple[Family, ...] = (
    *_counters(
        "kafka.server:type=FetcherStats,name=",
        {
            "RequestsPerSec": "Fetch requests sent to a leader.",
            "BytesPerSec": "Bytes of records fetched from a leader.",
        },
        "clientId",
    ),
    _metric(
        Kind.GAUGE,
        "kafka.server:type=FetcherLagMetrics,name=ConsumerLag",
        "Follower lag in records behind the leader's high watermark; absent until the first fetch response.",
        *("clientId", "topic", "partition"),
    ),
)

_THROTTLES = {
    "LeaderReplication": "Bytes per second sent to followers of throttled partitions, over the quota's window.",
    "FollowerReplication": "Bytes per second fetched from leaders of throttled partitions, over the quota's window.",
    "AlterLogDirsReplication": "Bytes per second copied between log directories, over the quota's window.",
}

# Exist for each kind of connection that this broker has opened to other brokers.
CHANNELS: tuple[Family, ...] = tuple(
    _metric(kind, f"kafka.server:type={bean}#{attribute}", text.format(requests), *labels)
    for bean, requests, *labels in (
        ("controller-channel-metrics", "controller requests", "brokerId"),
        ("BrokerToControllerChannel-metrics", "AlterIsr requests", "brokerId"),
        ("txn-marker-channel-metrics", "WriteTxnMarkers requests", "brokerId"),
        ("replica-fetcher-metrics", "replica fetcher requests", "brokerId", "fetcherId"),
    )
    for kind, attribute, text in (
        (Kind.GAUGE, "connection-count", "1 if a connection to the broker for {} is open, else 0."),
        (Kind.COUNTER, "connection-creation-total", "Connections opened to the broker for {}."),
        (Kind.COUNTER, "connection-close-total", "Closed connections to the broker for {}."),
        (Kind.COUNTER, "request-total", "Number of {} sent to the broker."),
        (Kind.COUNTER, "response-total", "Number of {} answered by the broker."),
        (Kind.COUNTER, "outgoing-byte-total", "Bytes of {} sent to the broker."),
        (Kind.COUNTER, "incoming-byte-total", "Bytes of the broker's responses to {}."),
    )
)

_EVENTS = {
    "ControllerChange": "election of the controller",
    "LeaderElection": "broker start, stop or failure",
    "TopicChange": "new topics or partitions",
    "TopicDeletion": "topic deletion",
    "PartitionReassignment": "partition reassignment",
    "AutoLeaderBalance": "preferred leader imbalance check",
    "ManualLeaderBalance": "requested leader election",
    "ControlledShutdown": "controlled shutdown of a broker",
    "IsrChange": "ISR change",
    "LeaderAndIsrResponseReceived": "LeaderAndIsr response of a broker",
    "LogDirChange": "log directory failure",
    "UncleanLeaderElectionEnable": "unclean.leader.election.enable set for all topics",
    "TopicUncleanLeaderElectionEnable": "unclean.leader.election.enable set for one topic",
    "ListPartitionReassignment": "ListPartitionReassignments request",
    "UpdateFeatures": "UpdateFeatures request",
}

METRICS: tuple[Family, ...] = (
    *_counters(_TOPICS, _OF_TOPICS, "topic"),
    *_counters(
        _TOPICS,
        {
            "InvalidMessageCrcRecordsPerSec": "Batches with an invalid checksum or header.",
            "ReplicationBytesInPerSec": "Bytes of records fetched from leaders.",
            "ReplicationBytesOutPerSec": "Bytes of records sent to followers.",
        },
    ),
    *_gauges(
        _REPLICAS,
        {
            "LeaderCount": "Partitions led by this broker.",
            "PartitionCount": "Partitions hosted by this broker.",
            "OfflineReplicaCount": "Partitions in failed log directories.",
            "UnderReplicatedPartitions": "Partitions led by this broker with replicas that are not in sync.",
            "UnderMinIsrPartitionCount": "Partitions led by this broker with fewer than min.insync.replicas in sync.",
            "AtMinIsrPartitionCount": "Partitions led by this broker with exactly min.insync.replicas in sync.",
            "ReassigningPartitions": "Partitions led by this broker that are being reassigned.",
        },
    ),
    *_counters(
        _REPLICAS,
        {
            "IsrExpandsPerSec": "ISR expansions of partitions led by this broker.",
            "IsrShrinksPerSec": "ISR shrinks of partitions led by this broker.",
            "FailedIsrUpdatesPerSec": "Rejected ISR changes of partitions led by this broker.",
        },
    ),
    *_gauges(
        "kafka.server:type=ReplicaFetcherManager,name=",
        {
            "MaxLag": "Maximum follower lag of all partitions, in records behind the leader's high watermark.",
            "FailedPartitionsCount": "Partitions no longer fetched from their leader after a permanent failure.",
            "DeadThreadCount": "Dead fetcher threads; always 0, as fetchers are not threads.",
        },
    ),
    *FOLLOWED,
    *(_metric(Kind.GAUGE, f"kafka.server:type={name}#byte-rate", text) for name, text in _THROTTLES.items()),
    *CHANNELS,
    *_gauges(
        "kafka.server:type=DelayedOperationPurgatory,name=",
        {
            "PurgatorySize": "Delayed operations waiting in a purgatory (Fetch, Produce, ...).",
            "NumDelayedOperations": "Equal to PurgatorySize, as completed operations leave the purgatory at once.",
        },
        "delayedOperation",
    ),
    _metric(
        Kind.COUNTER,
        "kafka.server:type=DelayedFetchMetrics,name=ExpiresPerSec",
        "Delayed fetches that expired after max.wait.ms.",
        "fetcherType",
    ),
    _metric(
        Kind.COUNTER,
        "kafka.server:type=DelayedProduceMetrics,name=ExpiresPerSec",
        "Appends with acks=all that expired while waiting for in-sync replicas.",
    ),
    _metric(
        Kind.COUNTER,
        "kafka.server:type=DelayedDeleteRecordsMetrics,name=ExpiresPerSec",
        "Record deletions that expired while waiting for replicas.",
    ),
    *_gauges(
        _SESSIONS,
        {
            "NumIncrementalFetchSessions": "Cached fetch sessions.",
            "NumIncrementalFetchPartitionsCached": "Partitions in all cached fetch sessions.",
        },
    ),
    *_counters(
        _SESSIONS, {"IncrementalFetchSessionEvictionsPerSec": "Fetch sessions evicted to make room for other sessions."}
    ),
    _metric(
        Kind.GAUGE,
        "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent",
        "Share of the last minute in which the event loop used no CPU, 0 to 1.",
    ),
    *_gauges(
        "kafka.server:type=KafkaServer,name=",
        {
            "BrokerState": "State of the broker: 1 starting, 2 recovering, 3 running, 6 pending controlled shutdown, "
            "7 shutting down."
        },
    ),
    *_gauges(_SOCKETS, {"connection-count": "Open connections."}, "listener"),
    *LOGINS,
    *_counters(
        _SOCKETS,
        {
            "connection-creation-total": "Accepted connections.",
            "connection-close-total": "Closed connections.",
        },
        "listener",
    ),
    *_counters(
        _GROUP_SUMS,
        {
            "offset-commit-count": "Offset commits, one per partition.",
            "offset-expiration-count": "Committed offsets that expired.",
            "offset-deletion-count": "Committed offsets deleted by request.",
            "group-completed-rebalance-count": "Completed rebalances.",
        },
    ),
    Family(
        "kafka_server_app_info",
        Kind.GAUGE,
        "Always 1; the labels are the version of the build, the cluster id and the broker id.",
        "kafka.server:type=app-info",
        ("version", "clusterId", "brokerId"),
    ),
    *QUOTAS,
    _metric(
        Kind.GAUGE, "kafka.server:type=Produce#queue-size", "Connections currently throttled by a quota.", "resource"
    ),
    _metric(
        Kind.GAUGE,
        "kafka.server:type=Request#exempt-request-time",
        "Broker time used by requests exempt from quotas, in percent, over the last minute.",
    ),
    *_counters(
        "kafka.server:type=SessionExpireListener,name=",
        {
            "ZooKeeperDisconnectsPerSec": "Lost connections to the registry (ZooKeeper).",
            "ZooKeeperExpiresPerSec": "Expired sessions with the registry (ZooKeeper).",
            "ZooKeeperSyncConnectsPerSec": "Restored connections to the registry (ZooKeeper).",
        },
    ),
    # --- kafka.network
    _metric(Kind.COUNTER, _REQUESTS + "RequestsPerSec", "Answered requests.", "request", "version"),
    _metric(
        Kind.COUNTER,
        _REQUESTS + "ErrorsPerSec",
        "Error codes in responses, including NONE, one per error code field of a response.",
        *("request", "error"),
    ),
    *_summaries(
        _REQUESTS,
        {
            "TotalTimeMs": "Time from the request's last byte to the response's last byte, in ms.",
            "RequestQueueTimeMs": "Time that a request waited for its handler, in ms.",
            "LocalTimeMs": "Time from the handler's start until it completed the response or began to wait, in ms.",
            "RemoteTimeMs": "Time that the handler waited for records, group members, the disk or similar, in ms.",
            "ThrottleTimeMs": "Time for which quotas throttled the client, in ms; not included in TotalTimeMs.",
            "ResponseQueueTimeMs": "Time that a response waited for the responses sent together with it, in ms.",
            "ResponseSendTimeMs": "Time until the whole response was written to the socket, in ms.",
            "RequestBytes": "Request size in bytes.",
        },
        "request",
    ),
    *_gauges(
        _SERVER,
        {
            "NetworkProcessorAvgIdlePercent": "Equal to RequestHandlerAvgIdlePercent: one loop replaces both pools.",
            "MemoryPoolUsed": "Receive memory in use, in bytes, without the first 16 KiB of each connection.",
            "MemoryPoolAvailable": "Free receive memory, in bytes; see queued.max.request.bytes.",
        },
    ),
    # --- kafka.controller
    *_gauges(
        _CONTROLLER,
        {
            "ActiveControllerCount": "1 on the active controller, 0 on other brokers.",
            "OfflinePartitionsCount": "Partitions without a leader, as known to the controller.",
            "PreferredReplicaImbalanceCount": "Partitions whose leader is not the preferred (first) replica.",
            "GlobalTopicCount": "Topics in the cluster, as known to the controller.",
            "GlobalPartitionCount": "Partitions in the cluster, as known to the controller.",
            "TopicsToDeleteCount": "Topics marked for deletion and not yet deleted.",
            "ControllerState": "Event: 0 idle, 1 controller change, 2 broker change, 3 topic change, 4 deletion, ...",
        },
    ),
    *_summaries(
        "kafka.controller:type=ControllerStats,name=",
        {
            f"{event}RateAndTimeMs": f"Time that the controller took to handle one event ({what}), in ms."
            for event, what in _EVENTS.items()
        },
    ),
    _metric(
        Kind.COUNTER,
        "kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec",
        "Unclean leader elections by this controller: the new leader was not in sync.",
    ),
    _metric(
        Kind.GAUGE,
        "kafka.controller:type=ControllerEventManager,name=EventQueueSize",
        "Events in the controller's queue.",
    ),
    *_summaries(
        "kafka.controller:type=ControllerEventManager,name=",
        {"EventQueueTimeMs": "Time that events waited in the controller's queue, in ms."},
    ),
    *_gauges(_CONTROL, {"TotalQueueSize": "Controller requests waiting to be sent, to all brokers."}),
    *_gauges(_CONTROL, {"QueueSize": "Controller requests waiting to be sent, per broker."}, "brokerId"),
    *_summaries(
        _CONTROL,
        {"RequestRateAndQueueTimeMs": "Time that controller requests waited to be sent, per broker, in ms."},
        "brokerId",
    ),
    # --- kafka.log, kafka.cluster
    *_gauges(
        _LOG,
        {
            "Size": "Size of a log's segments, in bytes.",
            "LogStartOffset": "First readable offset of a log.",
            "LogEndOffset": "Offset of the next record to be appended.",
            "NumLogSegments": "Segments of a log.",
        },
        *("topic", "partition"),
    ),
    *_gauges("kafka.log:type=LogManager,name=", {"OfflineLogDirectoryCount": "Failed directories of log.dirs."}),
    *_gauges(
        "kafka.log:type=LogManager,name=",
        {"LogDirectoryOffline": "1 if the directory of log.dirs failed, else 0."},
        "logDirectory",
    ),
    *_summaries(
        "kafka.log:type=LogFlushStats,name=",
        {"LogFlushRateAndTimeMs": "Time to flush a log to disk (fsync), in ms."},
    ),
    *_gauges(
        _CLEANER,
        {
            "cleaner-recopy-percent": "Size of segments after the last compaction, in percent of the size before.",
            "max-clean-time-secs": "Duration of the last compaction, in seconds.",
            "DeadThreadCount": "Dead cleaner threads; always 0, as a log that cannot be compacted stops no thread.",
        },
    ),
    *_gauges(
        _CLEANER_MANAGER,
        {
            "max-dirty-percent": "Highest dirty ratio of all compacted logs, in percent.",
            "time-since-last-run-ms": "Time since the cleaner last looked for logs to compact, in ms.",
        },
    ),
    *_gauges(
        _CLEANER_MANAGER,
        {
            "uncleanable-partitions-count": "Logs excluded from compaction after a failure.",
            "uncleanable-bytes": "Bytes in logs excluded from compaction after a failure.",
        },
        "logDirectory",
    ),
    *_gauges(
        _PARTITION,
        {
            "UnderReplicated": "1 for a partition led by this broker with replicas that are not in sync, else 0.",
            "UnderMinIsr": "1 for a partition led by this broker with fewer than min.insync.replicas in sync, else 0.",
            "AtMinIsr": "1 for a partition led by this broker with exactly min.insync.replicas in sync, else 0.",
            "InSyncReplicasCount": "In-sync replicas of the partition; 0 if another broker leads it.",
            "ReplicasCount": "Replicas of the partition, without those being added; 0 if another broker leads it.",
            "LastStableOffsetLag": "Records between the last stable offset and the high watermark (open transactions).",
        },
        *("topic", "partition"),
    ),
    # --- kafka.coordinator, kafka.utils
    *_gauges(
        _GROUPS,
        {
            "NumGroups": "Groups coordinated by this broker.",
            "NumOffsets": "Committed offsets of all groups, one per partition.",
            "NumGroupsPreparingRebalance": "Groups in state PreparingRebalance: waiting for members to join.",
            "NumGroupsCompletingRebalance": "Groups in state CompletingRebalance: waiting for the leader's assignment.",
            "NumGroupsStable": "Groups in state Stable: all members have their assignment.",
            "NumGroupsDead": "Groups in state Dead: being removed.",
            "NumGroupsEmpty": "Groups in state Empty: without members.",
        },
    ),
    _metric(
        Kind.COUNTER,
        "kafka.utils:type=Throttler,name=cleaner-io",
        "Bytes read and written by compaction.",
    )._replace(name="kafka_utils_throttler_cleaner_io_total"),
    # --- metrics without a counterpart in Kafka
    _own(Kind.COUNTER, "barnabas_loop_stalls_total", "Stalls of the event loop of 50 ms or more."),
    _own(
        Kind.COUNTER, "barnabas_loop_stalled_ms_total", "Total duration of event loop stalls of 50 ms or more, in ms."
    ),
    _own(Kind.GAUGE, "barnabas_loop_longest_stall_ms", "Longest event loop stall since the start, in ms."),
    _own(
        Kind.COUNTER,
        "barnabas_loop_segments_made_total",
        "Segments created on the event loop because their log rolled before an executor had prepared them.",
    ),
    _own(
        Kind.COUNTER, "barnabas_requests_failed_total", "Requests that failed as a whole, by an exception.", "request"
    ),
    _own(Kind.GAUGE, "barnabas_parked_connections", "Connections parked until receive memory is free."),
    _own(
        Kind.GAUGE,
        "barnabas_metrics_left_out",
        "Topics, partitions and clients not listed because of the limit barnabas.metrics.max.entities.",
        "entity",
    ),
    *CLIENTS,
    _own(Kind.GAUGE, "barnabas_registry_connected", "1 if the registry (ZooKeeper) can be reached, else 0."),
    _own(Kind.COUNTER, "process_cpu_seconds_total", "User and system CPU time of the process, in seconds."),
    _own(Kind.GAUGE, "process_resident_memory_bytes", "Resident memory of the process, in bytes."),
    _own(Kind.GAUGE, "process_open_fds", "Open file descriptors of the process."),
    _own(Kind.GAUGE, "process_max_fds", "Maximum number of open file descriptors of the process."),
    _own(Kind.GAUGE, "process_start_time_seconds", "Start time of the process, in seconds since 1970 (Unix time)."),
)

BY_NAME: dict[str, Family] = {family.name: family for family in METRICS}

_ONE_LOOP = "no such queues or threads exist: one event loop does this work"

ABSENT: tuple[Absent, ...] = (
    Absent(
        "every `...Rate`, `MeanRate`, `OneMinuteRate` and `-rate`",
        "Prometheus calculates rates from counters: `rate(...)`",
    ),
    Absent(
        "kafka.server:type=BrokerTopicMetrics: FailedFetchRequestsPerSec, ProduceMessageConversionsPerSec, "
        "FetchMessageConversionsPerSec, NoKeyCompactedTopicRecordsPerSec, InvalidMagicNumberRecordsPerSec, "
        "InvalidOffsetOrSequenceRecordsPerSec, ReassignmentBytesInPerSec, ReassignmentBytesOutPerSec",
        "not counted yet; kafka_network_requestmetrics_errors_total counts errors by code",
    ),
    Absent(
        "kafka.server:type=ReplicaFetcherManager: MinFetchRate",
        "use `min(rate(kafka_server_fetcherstats_requests_total[1m]))`",
    ),
    Absent(
        "kafka.server:type=ReplicaAlterLogDirsManager",
        "not counted yet",
    ),
    Absent(
        "kafka.server:type=DelayedProduceMetrics: by partition",
        "kafka_cluster_partition_atminisr and ...underminisr show the partitions that wait for replicas",
    ),
    Absent(
        "kafka.server:type=SessionExpireListener: SessionState, ZooKeeperAuthFailuresPerSec, "
        "ZooKeeperReadOnlyConnectsPerSec, ZooKeeperSaslAuthenticationsPerSec; ZooKeeperClientMetrics",
        "barnabas_registry_connected shows the state of the connection; the rest is not counted",
    ),
    Absent("kafka.server:type=KafkaServer: ClusterId", "label of kafka_server_app_info"),
    Absent(
        "kafka.server:type=KafkaServer: yammer-metrics-count; type=kafka-metrics-count",
        "no such metrics registry exists; `curl .../metrics` lists all metrics",
    ),
    Absent("linux-disk-read-bytes, linux-disk-write-bytes", "node_exporter reports the disk use of the machine"),
    Absent(
        "the selector's other figures (select, io-ratio, request-size, ...), connections by client software, "
        "transaction-coordinator-metrics",
        "not counted yet",
    ),
    Absent(
        "kafka.network:type=RequestChannel, Processor, Acceptor; ControlPlane*; ExpiredConnectionsKilledCount",
        _ONE_LOOP,
    ),
    Absent(
        "kafka.network:type=RequestMetrics: MessageConversionsTimeMs, TemporaryMemoryBytes",
        "not counted",
    ),
    Absent(
        "kafka.controller:type=ControllerStats: ControllerShutdownRateAndTimeMs",
        "not an event of the controller in Barnabas",
    ),
    Absent("kafka.controller: ReplicasToDeleteCount, ...IneligibleToDeleteCount", "not counted separately from topics"),
    Absent("kafka.log:type=LogCleaner: max-buffer-utilization-percent, max-compaction-delay-secs", "not counted yet"),
    Absent("kafka.coordinator.transaction:type=TransactionMarkerChannelManager", "no such queues exist"),
    Absent("kafka:type=kafka.Log4jController", "use `barnabas configs --entity-type broker-loggers` or the Admin API"),
    Absent("java.lang, java.nio, jdk.management", "there is no JVM; see `process_...` for the process"),
)
