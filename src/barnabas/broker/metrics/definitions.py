"""All metrics: names here and in Kafka's JMX, meanings and units; and the metrics of Kafka that do not exist, with
reasons.

A name follows from Kafka's by the rules of the Kafka example of Prometheus' jmx_exporter, so that existing dashboards
work. docs/metrics.md explains the rules, and is generated from this table.

# differs from Kafka (metrics-by-http): it has JMX beans.

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
        bean: Kafka's name, with `#attribute` where a bean has several; empty where Kafka has none.
        labels: Their names, in the order of the values in a snapshot.
        help: What it means, with the unit.
    """

    name: str
    kind: Kind
    help: str
    bean: str = ""
    labels: tuple[str, ...] = ()


class Absent(NamedTuple):
    """Beans of Kafka that are not here."""

    beans: str
    reason: str


_QUOTA_TYPES = ("Produce", "Fetch", "Request", "ControllerMutation")


def name_of(bean: str, kind: Kind) -> str:
    """Return a bean's name here.

    A gauge `kafka.server:type=T,name=N` is `kafka_server_t_n`; `NPerSec` ends in `_total`, `NPercent` in `_percent`; an
    attribute takes the place of the name where a bean has none, and one that only grows ends in `_total`; all beans of
    clients are `kafka_server_quota_...`.
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
    "BytesInPerSec": "Bytes that producers and the broker itself appended; of all topics, and of each.",
    "BytesOutPerSec": "Bytes of records that consumers were given; of all topics, and of each.",
    "MessagesInPerSec": "Records that were appended; of all topics, and of each.",
    "TotalProduceRequestsPerSec": "Appends that were asked for, one for each partition of a request.",
    "TotalFetchRequestsPerSec": "Reads that were asked for, one for each partition of a request.",
    "FailedProduceRequestsPerSec": "Appends that failed, but for what is the client's mistake or another broker's.",
    "BytesRejectedPerSec": "Bytes that were refused because a batch was larger than max.message.bytes.",
}

_CLIENT = ("resource", "user", "clientId")
# There once somebody with a quota was counted; the others are there from the start.
QUOTAS: tuple[Family, ...] = (
    _metric(
        Kind.GAUGE,
        "kafka.server:type=Produce#byte-rate",
        "Bytes per second that a client produces (Produce) or is given (Fetch), over the quota's window.",
        *_CLIENT,
    ),
    _metric(
        Kind.GAUGE,
        "kafka.server:type=Request#request-time",
        "How much of the broker's time a client takes, over the quota's window: percent, see docs/quotas.md.",
        *_CLIENT,
    ),
    _metric(
        Kind.GAUGE,
        "kafka.server:type=ControllerMutation#mutation-rate",
        "Partitions per second that a client creates and deletes, over the quota's window.",
        *_CLIENT,
    ),
    _metric(
        Kind.GAUGE,
        "kafka.server:type=ControllerMutation#tokens",
        "How many partitions a client may create or delete at once now.",
        *_CLIENT,
    ),
    _metric(
        Kind.GAUGE,
        "kafka.server:type=Produce#throttle-time",
        "For how long a client was told to wait by this quota of late, in milliseconds: the mean of a minute.",
        *_CLIENT,
    ),
)
_CLIENTS = "barnabas_client_"
CLIENTS: tuple[Family, ...] = tuple(
    _own(Kind.COUNTER, _CLIENTS + name, text, "user", "clientId")
    for name, text in {
        "produced_bytes_total": "Bytes of a client's produce requests, with a quota or without.",
        "fetched_bytes_total": "Bytes of the fetch answers that a client was given.",
        "request_ms_total": "Time that the broker worked for a client, in milliseconds.",
        "throttled_ms_total": "For how long a client was told to wait in all, in milliseconds.",
    }.items()
)

# There for each listener on which clients log in.
LOGINS: tuple[Family, ...] = tuple(
    _counters(
        _SOCKETS,
        {
            "successful-authentication-total": "Logins by SASL that went well.",
            "failed-authentication-total": "Logins by SASL that failed.",
            "successful-reauthentication-total": "Logins in a connection that had logged in before.",
            "failed-reauthentication-total": "Those of them that failed.",
            "successful-authentication-no-reauth-total": "Logins of clients that do not know how to log in again.",
            "expired-connections-killed-count": "Connections that were closed because their session was over.",
        },
        "listener",
    )
)

# There where this broker follows others.
FOLLOWED: tuple[Family, ...] = (
    *_counters(
        "kafka.server:type=FetcherStats,name=",
        {
            "RequestsPerSec": "Fetches that were sent to a leader.",
            "BytesPerSec": "Bytes of records that they brought.",
        },
        "clientId",
    ),
    _metric(
        Kind.GAUGE,
        "kafka.server:type=FetcherLagMetrics,name=ConsumerLag",
        "Records between the leader's high watermark and what is copied; after the first answer.",
        *("clientId", "topic", "partition"),
    ),
)

_THROTTLES = {
    "LeaderReplication": "Bytes per second that followers of throttled partitions were given, over the quota's window.",
    "FollowerReplication": "Bytes per second that were fetched of throttled partitions, over the quota's window.",
    "AlterLogDirsReplication": "Bytes per second that were copied between log directories, over the quota's window.",
}

# There where this broker has spoken to others in that way.
CHANNELS: tuple[Family, ...] = tuple(
    _metric(kind, f"kafka.server:type={bean}#{attribute}", text.format(requests), *labels)
    for bean, requests, *labels in (
        ("controller-channel-metrics", "the controller's requests", "brokerId"),
        ("BrokerToControllerChannel-metrics", "requests to change in-sync replicas", "brokerId"),
        ("txn-marker-channel-metrics", "requests that end transactions", "brokerId"),
        ("replica-fetcher-metrics", "a fetcher's requests", "brokerId", "fetcherId"),
    )
    for kind, attribute, text in (
        (Kind.GAUGE, "connection-count", "1 while there is a connection to a broker for {}."),
        (Kind.COUNTER, "connection-creation-total", "Connections to a broker for {}."),
        (Kind.COUNTER, "connection-close-total", "Those connections to a broker for {} that have ended."),
        (Kind.COUNTER, "request-total", "How many of {} a broker was sent."),
        (Kind.COUNTER, "response-total", "How many of {} a broker has answered."),
        (Kind.COUNTER, "outgoing-byte-total", "Bytes of {} that a broker was sent."),
        (Kind.COUNTER, "incoming-byte-total", "Bytes of a broker's answers to {}."),
    )
)

_EVENTS = {
    "ControllerChange": "an election of the controller",
    "LeaderElection": "brokers that come and go",
    "TopicChange": "topics and partitions that were created",
    "TopicDeletion": "topics to be deleted",
    "PartitionReassignment": "partitions that move to other brokers",
    "AutoLeaderBalance": "the look for leaders that are not the preferred ones",
    "ManualLeaderBalance": "elections that were asked for",
    "ControlledShutdown": "a broker that is about to stop",
    "IsrChange": "in-sync replicas that change",
    "LeaderAndIsrResponseReceived": "what brokers answer to LeaderAndIsr",
    "LogDirChange": "log directories that failed",
    "UncleanLeaderElectionEnable": "unclean.leader.election.enable of all topics",
    "TopicUncleanLeaderElectionEnable": "that of one topic",
    "ListPartitionReassignment": "a request for the partitions that are being reassigned",
    "UpdateFeatures": "features to be finalized",
}

METRICS: tuple[Family, ...] = (
    *_counters(_TOPICS, _OF_TOPICS, "topic"),
    *_counters(
        _TOPICS,
        {
            "InvalidMessageCrcRecordsPerSec": "Batches whose checksum or header was wrong.",
            "ReplicationBytesInPerSec": "Bytes of records that came from leaders.",
            "ReplicationBytesOutPerSec": "Bytes of records that followers were given.",
        },
    ),
    *_gauges(
        _REPLICAS,
        {
            "LeaderCount": "Partitions that this broker leads.",
            "PartitionCount": "Partitions that this broker hosts.",
            "OfflineReplicaCount": "Partitions in log directories that failed.",
            "UnderReplicatedPartitions": "Led partitions with fewer in-sync replicas than replicas.",
            "UnderMinIsrPartitionCount": "Led partitions with fewer in-sync replicas than min.insync.replicas.",
            "AtMinIsrPartitionCount": "Led partitions with just as many in-sync replicas as min.insync.replicas.",
            "ReassigningPartitions": "Led partitions that are being reassigned.",
        },
    ),
    *_counters(
        _REPLICAS,
        {
            "IsrExpandsPerSec": "Replicas that came into sync with a partition that is led here.",
            "IsrShrinksPerSec": "Replicas that fell out of sync.",
            "FailedIsrUpdatesPerSec": "Changes of in-sync replicas that were refused.",
        },
    ),
    *_gauges(
        "kafka.server:type=ReplicaFetcherManager,name=",
        {
            "MaxLag": "Records between a leader's high watermark and what is copied, of the partition furthest behind.",
            "FailedPartitionsCount": "Partitions that are copied no longer, as that failed for good.",
            "DeadThreadCount": "0: fetchers are no threads.",
        },
    ),
    *FOLLOWED,
    *(_metric(Kind.GAUGE, f"kafka.server:type={name}#byte-rate", text) for name, text in _THROTTLES.items()),
    *CHANNELS,
    *_gauges(
        "kafka.server:type=DelayedOperationPurgatory,name=",
        {
            "PurgatorySize": "Requests that wait for something to happen, by what they wait for.",
            "NumDelayedOperations": "The same: here nothing is kept that does not wait any more.",
        },
        "delayedOperation",
    ),
    _metric(
        Kind.COUNTER,
        "kafka.server:type=DelayedFetchMetrics,name=ExpiresPerSec",
        "Fetches that were answered because their max.wait.ms was over.",
        "fetcherType",
    ),
    _metric(
        Kind.COUNTER,
        "kafka.server:type=DelayedProduceMetrics,name=ExpiresPerSec",
        "Appends with acks=all that waited for in-sync replicas until their time was up.",
    ),
    _metric(
        Kind.COUNTER,
        "kafka.server:type=DelayedDeleteRecordsMetrics,name=ExpiresPerSec",
        "Deletions of records that waited for replicas until their time was up.",
    ),
    *_gauges(
        _SESSIONS,
        {
            "NumIncrementalFetchSessions": "Fetch sessions.",
            "NumIncrementalFetchPartitionsCached": "Partitions in all fetch sessions.",
        },
    ),
    *_counters(_SESSIONS, {"IncrementalFetchSessionEvictionsPerSec": "Fetch sessions that gave way to others."}),
    _metric(
        Kind.GAUGE,
        "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent",
        "The share of the last minute in which the event loop computed nothing, 0 to 1.",
    ),
    *_gauges(
        "kafka.server:type=KafkaServer,name=",
        {
            "BrokerState": "What the broker does: 1 starting, 2 recovering, 3 running, 6 letting others lead, "
            "7 shutting down."
        },
    ),
    *_gauges(_SOCKETS, {"connection-count": "Connections that are open."}, "listener"),
    *LOGINS,
    *_counters(
        _SOCKETS,
        {
            "connection-creation-total": "Connections that were accepted.",
            "connection-close-total": "Connections that were closed.",
        },
        "listener",
    ),
    *_counters(
        _GROUP_SUMS,
        {
            "offset-commit-count": "Offsets that were committed.",
            "offset-expiration-count": "Committed offsets that expired.",
            "offset-deletion-count": "Committed offsets that were deleted by request.",
            "group-completed-rebalance-count": "Rebalances that were completed.",
        },
    ),
    Family(
        "kafka_server_app_info",
        Kind.GAUGE,
        "Always 1: which build runs, of which cluster, under which id.",
        "kafka.server:type=app-info",
        ("version", "clusterId", "brokerId"),
    ),
    *QUOTAS,
    _metric(Kind.GAUGE, "kafka.server:type=Produce#queue-size", "Connections that a quota throttles now.", "resource"),
    _metric(
        Kind.GAUGE,
        "kafka.server:type=Request#exempt-request-time",
        "How much of the broker's time went into what no quota counts, in percent of a minute.",
    ),
    *_counters(
        "kafka.server:type=SessionExpireListener,name=",
        {
            "ZooKeeperDisconnectsPerSec": "How often the connection to the registry broke.",
            "ZooKeeperExpiresPerSec": "How often the session with the registry expired.",
            "ZooKeeperSyncConnectsPerSec": "How often the registry could be reached again.",
        },
    ),
    # --- kafka.network
    _metric(Kind.COUNTER, _REQUESTS + "RequestsPerSec", "Requests that were answered.", "request", "version"),
    _metric(
        Kind.COUNTER,
        _REQUESTS + "ErrorsPerSec",
        "Error codes in answers, NONE included, one for each place of an answer that has one.",
        *("request", "error"),
    ),
    *_summaries(
        _REQUESTS,
        {
            "TotalTimeMs": "From the request's last byte to the answer's last byte, in milliseconds.",
            "RequestQueueTimeMs": "Until the request's turn came, in milliseconds.",
            "LocalTimeMs": "Until its answer was complete, or its handler began to wait, in milliseconds.",
            "RemoteTimeMs": "Waiting for what the answer needs: records, other members, the disk; in milliseconds.",
            "ThrottleTimeMs": "For how long quotas throttled the client, in milliseconds; not in the total.",
            "ResponseQueueTimeMs": "Until the answers that leave together were complete, in milliseconds.",
            "ResponseSendTimeMs": "Until the socket had taken all of the answer, in milliseconds.",
            "RequestBytes": "Sizes of requests, in bytes.",
        },
        "request",
    ),
    *_gauges(
        _SERVER,
        {
            "NetworkProcessorAvgIdlePercent": "As RequestHandlerAvgIdlePercent: one loop does the work of both pools.",
            "MemoryPoolUsed": "Bytes of receive memory in use, beyond the first 16 KiB of each connection.",
            "MemoryPoolAvailable": "Bytes of receive memory that are free; see queued.max.request.bytes.",
        },
    ),
    # --- kafka.controller
    *_gauges(
        _CONTROLLER,
        {
            "ActiveControllerCount": "1 on the controller, 0 elsewhere.",
            "OfflinePartitionsCount": "Partitions without a leader, as the controller knows.",
            "PreferredReplicaImbalanceCount": "Partitions that another replica leads than their first one.",
            "GlobalTopicCount": "Topics of the cluster, as the controller knows.",
            "GlobalPartitionCount": "Partitions of the cluster, as the controller knows.",
            "TopicsToDeleteCount": "Topics that are being deleted.",
            "ControllerState": "What it handles: 0 nothing, 1 an election, 2 brokers, 3 new topics, 4 deletions, ...",
        },
    ),
    *_summaries(
        "kafka.controller:type=ControllerStats,name=",
        {
            f"{event}RateAndTimeMs": f"How long the controller took for {what}, in ms."
            for event, what in _EVENTS.items()
        },
    ),
    _metric(
        Kind.COUNTER,
        "kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec",
        "Leaders elected by this controller that were not in sync.",
    ),
    _metric(
        Kind.GAUGE,
        "kafka.controller:type=ControllerEventManager,name=EventQueueSize",
        "Events that wait for the controller.",
    ),
    *_summaries(
        "kafka.controller:type=ControllerEventManager,name=",
        {"EventQueueTimeMs": "How long they waited, in milliseconds."},
    ),
    *_gauges(_CONTROL, {"TotalQueueSize": "The controller's requests that wait for their turn, to all brokers."}),
    *_gauges(_CONTROL, {"QueueSize": "The same by broker."}, "brokerId"),
    *_summaries(
        _CONTROL,
        {"RequestRateAndQueueTimeMs": "How long the controller's requests waited for their turn, in milliseconds."},
        "brokerId",
    ),
    # --- kafka.log, kafka.cluster
    *_gauges(
        _LOG,
        {
            "Size": "Bytes in a log's segments.",
            "LogStartOffset": "The first offset that can be read.",
            "LogEndOffset": "The offset that the next record gets.",
            "NumLogSegments": "Segments of a log.",
        },
        *("topic", "partition"),
    ),
    *_gauges("kafka.log:type=LogManager,name=", {"OfflineLogDirectoryCount": "Directories of log.dirs that failed."}),
    *_gauges(
        "kafka.log:type=LogManager,name=",
        {"LogDirectoryOffline": "1 where a directory of log.dirs failed."},
        "logDirectory",
    ),
    *_summaries(
        "kafka.log:type=LogFlushStats,name=",
        {"LogFlushRateAndTimeMs": "How long it took to bring a log to disk (fsync), in milliseconds."},
    ),
    *_gauges(
        _CLEANER,
        {
            "cleaner-recopy-percent": "What the last round of compaction left of what it cleaned, in percent.",
            "max-clean-time-secs": "How long the last round of compaction took, in seconds.",
            "DeadThreadCount": "Threads of the cleaner that died; 0: a log that can't be cleaned costs none.",
        },
    ),
    *_gauges(
        _CLEANER_MANAGER,
        {
            "max-dirty-percent": "How dirty the dirtiest compacted log is, in percent.",
            "time-since-last-run-ms": "Since the cleaner looked for work, in milliseconds.",
        },
    ),
    *_gauges(
        _CLEANER_MANAGER,
        {
            "uncleanable-partitions-count": "Logs that could not be compacted and are left alone.",
            "uncleanable-bytes": "Bytes in those.",
        },
        "logDirectory",
    ),
    *_gauges(
        _PARTITION,
        {
            "UnderReplicated": "1 where a led partition has fewer in-sync replicas than replicas.",
            "UnderMinIsr": "1 where it has fewer than min.insync.replicas.",
            "AtMinIsr": "1 where it has just as many.",
            "InSyncReplicasCount": "In-sync replicas; 0 where another broker leads.",
            "ReplicasCount": "Replicas; 0 where another broker leads.",
            "LastStableOffsetLag": "Records between the last stable offset and the high watermark: open transactions.",
        },
        *("topic", "partition"),
    ),
    # --- kafka.coordinator, kafka.utils
    *_gauges(
        _GROUPS,
        {
            "NumGroups": "Groups that are coordinated here.",
            "NumOffsets": "Committed offsets of all groups.",
            "NumGroupsPreparingRebalance": "Groups whose members are being waited for.",
            "NumGroupsCompletingRebalance": "Groups whose leader is being waited for.",
            "NumGroupsStable": "Groups whose members have their partitions.",
            "NumGroupsDead": "Groups that are being removed.",
            "NumGroupsEmpty": "Groups without members.",
        },
    ),
    _metric(
        Kind.COUNTER,
        "kafka.utils:type=Throttler,name=cleaner-io",
        "Bytes that compaction read and wrote.",
    )._replace(name="kafka_utils_throttler_cleaner_io_total"),
    # --- Kafka has none of these
    _own(Kind.COUNTER, "barnabas_loop_stalls_total", "Times when the event loop was blocked for 50 ms or more."),
    _own(Kind.COUNTER, "barnabas_loop_stalled_ms_total", "How long those were together, in milliseconds."),
    _own(Kind.GAUGE, "barnabas_loop_longest_stall_ms", "The longest one since the start, in milliseconds."),
    _own(
        Kind.COUNTER,
        "barnabas_loop_segments_made_total",
        "Segments that had to be made on the event loop, as their log rolled before they were prepared elsewhere.",
    ),
    _own(Kind.COUNTER, "barnabas_requests_failed_total", "Requests that failed as a whole.", "request"),
    _own(Kind.GAUGE, "barnabas_parked_connections", "Connections that wait for receive memory."),
    _own(
        Kind.GAUGE,
        "barnabas_metrics_left_out",
        "Topics, partitions and clients that are not listed, as they are more than barnabas.metrics.max.entities.",
        "entity",
    ),
    *CLIENTS,
    _own(Kind.GAUGE, "barnabas_registry_connected", "1 while the registry (ZooKeeper's tree) can be reached."),
    _own(Kind.COUNTER, "process_cpu_seconds_total", "User and system time of the process, in seconds."),
    _own(Kind.GAUGE, "process_resident_memory_bytes", "Resident memory of the process, in bytes."),
    _own(Kind.GAUGE, "process_open_fds", "Open file descriptors of the process."),
    _own(Kind.GAUGE, "process_max_fds", "How many it may have."),
    _own(Kind.GAUGE, "process_start_time_seconds", "When the process began, in seconds since 1970."),
)

BY_NAME: dict[str, Family] = {family.name: family for family in METRICS}

_ONE_LOOP = "there are no such queues or threads: one event loop does this work"

ABSENT: tuple[Absent, ...] = (
    Absent("every `...Rate`, `MeanRate`, `OneMinuteRate` and `-rate`", "Prometheus makes rates of counts: `rate(...)`"),
    Absent(
        "kafka.server:type=BrokerTopicMetrics: FailedFetchRequestsPerSec, ProduceMessageConversionsPerSec, "
        "FetchMessageConversionsPerSec, NoKeyCompactedTopicRecordsPerSec, InvalidMagicNumberRecordsPerSec, "
        "InvalidOffsetOrSequenceRecordsPerSec, ReassignmentBytesInPerSec, ReassignmentBytesOutPerSec",
        "not counted yet; kafka_network_requestmetrics_errors_total tells errors by their code",
    ),
    Absent(
        "kafka.server:type=ReplicaFetcherManager: MinFetchRate",
        "min(rate(kafka_server_fetcherstats_requests_total[1m]))",
    ),
    Absent(
        "kafka.server:type=ReplicaAlterLogDirsManager",
        "not counted yet",
    ),
    Absent(
        "kafka.server:type=DelayedProduceMetrics: by partition",
        "kafka_cluster_partition_atminisr and ...underminisr tell which partitions wait for replicas",
    ),
    Absent(
        "kafka.server:type=SessionExpireListener: SessionState, ZooKeeperAuthFailuresPerSec, "
        "ZooKeeperReadOnlyConnectsPerSec, ZooKeeperSaslAuthenticationsPerSec; ZooKeeperClientMetrics",
        "barnabas_registry_connected says whether there is a connection; the rest is not counted",
    ),
    Absent("kafka.server:type=KafkaServer: ClusterId", "a label of kafka_server_app_info"),
    Absent(
        "kafka.server:type=KafkaServer: yammer-metrics-count; type=kafka-metrics-count",
        "there is no such registry: `curl .../metrics` shows what there is",
    ),
    Absent("linux-disk-read-bytes, linux-disk-write-bytes", "node_exporter tells what the machine does"),
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
        "it is no event of the controller here",
    ),
    Absent("kafka.controller: ReplicasToDeleteCount, ...IneligibleToDeleteCount", "not told apart from topics"),
    Absent("kafka.log:type=LogCleaner: max-buffer-utilization-percent, max-compaction-delay-secs", "not counted yet"),
    Absent("kafka.coordinator.transaction:type=TransactionMarkerChannelManager", "there are no such queues"),
    Absent("kafka:type=kafka.Log4jController", "`barnabas configs --entity-type broker-loggers`, or the admin API"),
    Absent("java.lang, java.nio, jdk.management", "there is no JVM; see `process_...`"),
)
