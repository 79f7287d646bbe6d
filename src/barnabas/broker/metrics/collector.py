"""Collects the metrics of all parts of the broker into a snapshot.

It iterates over partitions and groups step by step, as the handlers of large requests do (`broker/requests/slices.py`),
so that clients do not wait for it even with 10,000 partitions. Other modules count events; this module only reads the
counts.

Cardinality: at most barnabas.metrics.max.entities topics and as many partitions are listed, in the order in which the
broker began to host them. Sums cover all of them, and `barnabas_metrics_left_out` is the number of unlisted ones.

# differs from Kafka (listed-entities): Kafka lists all topics and partitions.

Source: metrics facts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from barnabas.broker.controller.controller import Controller
from barnabas.broker.controller.state import NO_LEADER
from barnabas.broker.groups.group import Phase
from barnabas.broker.interbroker.channels import CONTROL_LANE, FETCHER_LANE, ISR_LANE, MARKER_LANE, BrokerChannels
from barnabas.broker.log.directories.directory import LogDirectory
from barnabas.broker.log.manager import LogManager
from barnabas.broker.metrics.recent_distributions import RecentDistributions
from barnabas.broker.metrics.registry_sessions import RegistrySessions
from barnabas.broker.metrics.snapshot import Distribution, Labels, Snapshot
from barnabas.broker.net.memory import ReceiveMemory
from barnabas.broker.quotas.bucket import Bucket
from barnabas.broker.replicas.fetching.fetch_state import UNKNOWN_LAG
from barnabas.broker.replicas.fetching.fetcher import Fetcher
from barnabas.broker.replicas.fetching.manager import Fetchers
from barnabas.broker.replicas.partition import Partition
from barnabas.broker.replicas.topic_counts import TopicCounts
from barnabas.broker.requests.request_times import RequestTimes, sum_of
from barnabas.broker.requests.services import Services
from barnabas.broker.requests.slices import MORE, Step, Steps
from barnabas.broker.requests.table import CONSUMER_FETCHES, FETCH_KEY, FOLLOWER_FETCHES, RouteTable
from barnabas.core.error_code import ErrorCode
from barnabas.core.histogram import Durations
from barnabas.core.types import TopicPartition
from barnabas.wire.quotas.limits import QuotaKind

if TYPE_CHECKING:
    from barnabas.broker.security.logins import LoginCounts

_NS_PER_MS = 1_000_000
_SUMS_PER_STEP = 20
# Names of each kind, and of its rate, in Kafka's beans.
_RESOURCES = {
    QuotaKind.PRODUCE: "Produce",
    QuotaKind.FETCH: "Fetch",
    QuotaKind.REQUEST: "Request",
    QuotaKind.CONTROLLER_MUTATION: "ControllerMutation",
}
_RATES = {
    QuotaKind.PRODUCE: "byte_rate",
    QuotaKind.FETCH: "byte_rate",
    QuotaKind.REQUEST: "request_time",
    QuotaKind.CONTROLLER_MUTATION: "mutation_rate",
}
_TOPIC = "kafka_server_brokertopicmetrics_"
_REPLICAS = "kafka_server_replicamanager_"
_FETCHERS = "kafka_server_replicafetchermanager_"
_FETCHER = "kafka_server_fetcherstats_"
_REQUESTS = "kafka_network_requestmetrics_"
_CONTROLLER = "kafka_controller_kafkacontroller_"
_GROUPS = "kafka_coordinator_group_groupmetadatamanager_"
_FLUSHES = "kafka_log_logflushstats_logflushrateandtimems"
_EVENTS = "kafka_controller_controllerstats_"
_EVENT_QUEUE = "kafka_controller_controllereventmanager_"
_CONTROL = "kafka_controller_controllerchannelmanager_"
# By lane: Kafka's metrics group for its connections.
_LANES = {
    CONTROL_LANE: "kafka_server_controller_channel_metrics_",
    ISR_LANE: "kafka_server_brokertocontrollerchannel_metrics_",
    MARKER_LANE: "kafka_server_txn_marker_channel_metrics_",
    FETCHER_LANE: "kafka_server_replica_fetcher_metrics_",
}
_SOCKETS = "kafka_server_socket_server_metrics_"
_QUOTA = "kafka_server_quota_"
_CLIENT = "barnabas_client_"
_COORDINATOR = "kafka_server_group_coordinator_metrics_"

# Counts of dead threads, always 0: there are no such threads here, but dashboards query these metrics.
_ZEROS = (
    "kafka_log_logcleaner_deadthreadcount",
    f"{_FETCHERS}deadthreadcount",
)


class LoopFigures(Protocol):
    """Figures about the event loop, from the watchdog."""

    stall_count: int
    stalled_ms: int
    noted_count: int

    @property
    def longest_stall_ms(self) -> int: ...


@dataclass(slots=True)
class Sources:
    """The objects from which metrics are collected.

    Attributes:
        channels: The channels to other brokers.
        state: Returns the broker's state, as Kafka's number.
        connections: Returns each listener's name, its number of open connections, and the number accepted so far.
        logins: Returns the counts of logins, by listener.
        registry: Counts of state changes of the registry session.
        build: Version of the running build.
    """

    services: Services
    routes: RouteTable
    logs: LogManager
    fetchers: Fetchers
    controller: Controller
    channels: Sequence[BrokerChannels]
    memory: ReceiveMemory
    loop: LoopFigures
    state: Callable[[], int]
    connections: Callable[[], list[tuple[str, int, int]]]
    logins: Callable[[], "Mapping[str, LoginCounts]"]
    registry: RegistrySessions
    build: str


def snapshot_steps(sources: Sources, recent: RecentDistributions) -> Steps[Snapshot]:
    """Collect a snapshot step by step, and yield it at the end."""
    snapshot = Snapshot()
    _put_broker(sources, recent, snapshot)
    _put_requests(sources, recent, snapshot)
    yield MORE
    _put_logs(sources, recent, snapshot)
    yield MORE
    yield from _put_topics(sources, snapshot)
    yield from _put_partitions(sources, snapshot)
    yield from _put_fetchers(sources, snapshot)
    yield from _put_groups(sources, snapshot)
    yield from _put_controller(sources, snapshot)
    _put_channels(sources, snapshot)
    yield MORE
    yield from _put_clients(sources, snapshot)
    yield snapshot


def distributions(sources: Sources) -> dict[tuple[str, Labels], Distribution]:
    """Return copies of all distributions: for APIs in use, flushes, and the controller."""
    found: dict[tuple[str, Labels], Distribution] = {}
    for times in _times(sources.routes):
        labels = (times.name,)
        for name, distribution in _of_stages(times):
            found[_REQUESTS + name, labels] = distribution
    controller = sources.controller
    durations: dict[tuple[str, Labels], Durations] = {
        (_FLUSHES, ()): sources.logs.flushes,
        (f"{_EVENT_QUEUE}eventqueuetimems", ()): controller.waiting_times,
    }
    for kind, handled in controller.meters.handled.items():
        durations[f"{_EVENTS}{kind.meter.lower()}rateandtimems", ()] = handled
    for channel in controller.channels:
        durations[f"{_CONTROL}requestrateandqueuetimems", (str(channel.broker_id),)] = channel.times
    for place, each in durations.items():
        buckets = each.buckets[:]
        count = sum(buckets)
        found[place] = Distribution(buckets, count, count, each.sum_ns / _NS_PER_MS, _NS_PER_MS)
    return found


def _times(routes: RouteTable) -> Iterator[RequestTimes]:
    """Yield the times of all APIs in use; for Fetch, separate times for consumers, for followers, and for both."""
    for times in routes.times.values():
        if times.count:
            yield times
    followers = routes.follower_times
    if followers is None:
        return
    if followers.count:
        yield followers
    fetches = sum_of("Fetch", [routes.times[FETCH_KEY], followers])
    if fetches.count:
        yield fetches


def _of_stages(times: RequestTimes) -> Iterator[tuple[str, Distribution]]:
    in_ns = (
        ("totaltimems", times.total, times.total_ns),
        ("requestqueuetimems", times.request_queue, times.request_queue_ns),
        ("localtimems", times.local, times.local_ns),
        ("remotetimems", times.remote, times.remote_ns),
        ("responsequeuetimems", times.response_queue, times.response_queue_ns),
        ("responsesendtimems", times.response_send, times.response_send_ns),
    )
    for name, buckets, total_ns in in_ns:
        yield name, Distribution(buckets[:], times.sample_count, times.count, total_ns / _NS_PER_MS, _NS_PER_MS)
    yield "throttletimems", Distribution(times.throttle[:], times.count, times.count, times.throttle_ms, 1)
    yield "requestbytes", Distribution(times.sizes[:], times.sample_count, times.count, times.size_bytes, 1)


def _put_requests(sources: Sources, recent: RecentDistributions, snapshot: Snapshot) -> None:
    for (name, labels), distribution in distributions(sources).items():
        snapshot.put_distribution(name, distribution, recent.before(name, labels), *labels)
    for times in _times(sources.routes):
        for version, count in enumerate(times.versions):
            if count:
                snapshot.put(f"{_REQUESTS}requests_total", count, times.name, str(version))
        for code, count in sorted(times.errors.items()):
            snapshot.put(f"{_REQUESTS}errors_total", count, times.name, _error_name(code))
        if times.name not in (CONSUMER_FETCHES, FOLLOWER_FETCHES):
            # Only the total for Fetch, so that a sum over requests counts no failure twice.
            snapshot.put("barnabas_requests_failed_total", times.failure_count, times.name)


def _error_name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        # An answer intercepted by a test kit may have an unknown code.
        return str(code)


def _put_broker(sources: Sources, recent: RecentDistributions, snapshot: Snapshot) -> None:
    services, put = sources.services, snapshot.put
    cluster = services.cluster
    put("kafka_server_kafkaserver_brokerstate", sources.state())
    put("kafka_server_app_info", 1, sources.build, cluster.image.cluster_id, str(services.config.broker_id))
    idle_share = recent.idle_share()
    put("kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent", idle_share)
    put("kafka_network_socketserver_networkprocessoravgidle_percent", idle_share)
    memory = sources.memory
    put("kafka_network_socketserver_memorypoolused", memory.used_bytes)
    put("kafka_network_socketserver_memorypoolavailable", max(memory.limit_bytes - memory.used_bytes, 0))
    put("barnabas_parked_connections", memory.parked_count)
    for listener, count, accepted_count in sources.connections():
        put(f"{_SOCKETS}connection_count", count, listener)
        put(f"{_SOCKETS}connection_creation_total", accepted_count, listener)
        put(f"{_SOCKETS}connection_close_total", accepted_count - count, listener)
    for listener, counts in sources.logins().items():
        _put_logins(snapshot, listener, counts)
    sources.registry.put(snapshot)
    sessions = services.fetch_sessions
    put("kafka_server_fetchsessioncache_numincrementalfetchsessions", len(sessions))
    put("kafka_server_fetchsessioncache_numincrementalfetchpartitionscached", sessions.partition_count)
    put("kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total", sessions.eviction_count)
    _put_waiting(snapshot, "Fetch", len(services.fetches))
    for reader, count in zip(("consumer", "follower"), services.expired_fetches, strict=True):
        put("kafka_server_delayedfetchmetrics_expires_total", count, reader)
    for name in _ZEROS:
        put(name, 0)
    loop = sources.loop
    put("barnabas_loop_stalls_total", loop.stall_count)
    put("barnabas_loop_stalled_ms_total", loop.stalled_ms)
    put("barnabas_loop_longest_stall_ms", loop.longest_stall_ms)
    put("barnabas_loop_segments_made_total", loop.noted_count)


def _put_logins(snapshot: Snapshot, listener: str, counts: "LoginCounts") -> None:
    put = snapshot.put
    put(f"{_SOCKETS}successful_authentication_total", counts.success_count, listener)
    put(f"{_SOCKETS}failed_authentication_total", counts.failure_count, listener)
    put(f"{_SOCKETS}successful_reauthentication_total", counts.reauthentication_success_count, listener)
    put(f"{_SOCKETS}failed_reauthentication_total", counts.reauthentication_failure_count, listener)
    put(f"{_SOCKETS}successful_authentication_no_reauth_total", counts.no_reauthentication_count, listener)
    put(f"{_SOCKETS}expired_connections_killed_total", counts.expired_connection_count, listener)


def _put_waiting(snapshot: Snapshot, what: str, count: int) -> None:
    snapshot.put("kafka_server_delayedoperationpurgatory_purgatorysize", count, what)
    snapshot.put("kafka_server_delayedoperationpurgatory_numdelayedoperations", count, what)


def _put_logs(sources: Sources, recent: RecentDistributions, snapshot: Snapshot) -> None:
    put, directories = snapshot.put, sources.logs.directories
    offline = [each for each in directories.all if each not in directories.online]
    put("kafka_log_logmanager_offlinelogdirectorycount", len(offline))
    for directory in directories.all:
        put("kafka_log_logmanager_logdirectoryoffline", int(directory in offline), _path(directory))
    cleaner = sources.logs.cleaner
    if cleaner is None:
        return
    now_ms = sources.services.clock.monotonic_ms()
    recopied = 100 * cleaner.written_bytes / cleaner.read_bytes if cleaner.read_bytes else 0
    put("kafka_log_logcleaner_cleaner_recopy_percent", recopied)
    put("kafka_log_logcleaner_max_clean_time_secs", cleaner.last_round_ms / 1_000)
    put("kafka_log_logcleanermanager_max_dirty_percent", 100 * cleaner.dirtiest_ratio)
    put("kafka_log_logcleanermanager_time_since_last_run_ms", now_ms - cleaner.last_look_ms)
    put("kafka_utils_throttler_cleaner_io_total", cleaner.noted_bytes)
    uncleanable = cleaner.uncleanable_by_directory()
    for directory in directories.all:
        count, size_bytes = uncleanable.get(directory.path, (0, 0))
        put("kafka_log_logcleanermanager_uncleanable_partitions_count", count, _path(directory))
        put("kafka_log_logcleanermanager_uncleanable_bytes", size_bytes, _path(directory))


def _path(directory: LogDirectory) -> str:
    return str(directory.path.absolute())


def _put_topics(sources: Sources, snapshot: Snapshot) -> Iterator[Step]:
    table = sources.services.replicas.topics
    sums = TopicCounts()
    for number, counts in enumerate(table.parts()):
        sums.add(counts)
        if number % _SUMS_PER_STEP == 0:
            yield MORE
    _put_counts(snapshot, sums)
    snapshot.put(f"{_TOPIC}invalidmessagecrcrecords_total", sums.invalid_crc)
    snapshot.put(f"{_TOPIC}replicationbytesout_total", sums.replication_bytes_out)
    most = sources.services.config.barnabas_metrics_max_entities
    topics = list(table.by_topic.items())
    snapshot.put("barnabas_metrics_left_out", max(len(topics) - most, 0), "topics")
    for topic, counts in topics[:most]:
        _put_counts(snapshot, counts, topic)
        yield MORE


def _put_counts(snapshot: Snapshot, counts: TopicCounts, *topic: str) -> None:
    put = snapshot.put
    put(f"{_TOPIC}bytesin_total", counts.bytes_in, *topic)
    put(f"{_TOPIC}bytesout_total", counts.bytes_out, *topic)
    put(f"{_TOPIC}messagesin_total", counts.messages_in, *topic)
    put(f"{_TOPIC}totalproducerequests_total", counts.produce_requests, *topic)
    put(f"{_TOPIC}totalfetchrequests_total", counts.fetch_requests, *topic)
    put(f"{_TOPIC}failedproducerequests_total", counts.failed_produce_requests, *topic)
    put(f"{_TOPIC}bytesrejected_total", counts.bytes_rejected, *topic)


def _put_partitions(sources: Sources, snapshot: Snapshot) -> Iterator[Step]:
    services, put = sources.services, snapshot.put
    most = services.config.barnabas_metrics_max_entities
    partitions = list(services.replicas.partitions)
    led_count = under_replicated = under_minimum = at_minimum = reassigning_count = waiting_count = 0
    for number, partition in enumerate(partitions):
        is_led, in_sync = partition.is_leader, len(partition.in_sync_replicas)
        replica_count = len(partition.replicas) - partition.adding_count if is_led else 0
        lacks = is_led and in_sync < replica_count
        is_under = is_led and in_sync < partition.min_insync_replicas
        is_at = is_led and in_sync == partition.min_insync_replicas
        led_count += is_led
        under_replicated += lacks
        under_minimum += is_under
        at_minimum += is_at
        reassigning_count += is_led and partition.is_reassigning
        waiting_count += len(partition.waiting_acks or ())
        if number < most:
            labels = partition.topic_partition.topic, str(partition.topic_partition.partition)
            _put_log(snapshot, partition, labels)
            put("kafka_cluster_partition_underreplicated", int(lacks), *labels)
            put("kafka_cluster_partition_underminisr", int(is_under), *labels)
            put("kafka_cluster_partition_atminisr", int(is_at), *labels)
            put("kafka_cluster_partition_insyncreplicascount", in_sync if is_led else 0, *labels)
            put("kafka_cluster_partition_replicascount", replica_count, *labels)
        yield MORE
    leader_replicas = services.replicas.leader_replicas
    put(f"{_REPLICAS}isrexpands_total", leader_replicas.expand_count)
    put(f"{_REPLICAS}isrshrinks_total", leader_replicas.shrink_count)
    changes = leader_replicas.changes
    put(f"{_REPLICAS}failedisrupdates_total", 0 if changes is None else changes.failed_count)
    _put_waiting(snapshot, "Produce", waiting_count)
    _put_waiting(snapshot, "DeleteRecords", leader_replicas.waiting_deletion_count)
    put("kafka_server_delayedproducemetrics_expires_total", leader_replicas.late_append_count)
    put("kafka_server_delayeddeleterecordsmetrics_expires_total", leader_replicas.late_deletion_count)
    put(f"{_REPLICAS}leadercount", led_count)
    put(f"{_REPLICAS}partitioncount", len(partitions))
    put(f"{_REPLICAS}offlinereplicacount", services.replicas.offline_count)
    put(f"{_REPLICAS}underreplicatedpartitions", under_replicated)
    put(f"{_REPLICAS}underminisrpartitioncount", under_minimum)
    put(f"{_REPLICAS}atminisrpartitioncount", at_minimum)
    put(f"{_REPLICAS}reassigningpartitions", reassigning_count)
    put("barnabas_metrics_left_out", max(len(partitions) - most, 0), "partitions")


def _put_fetchers(sources: Sources, snapshot: Snapshot) -> Iterator[Step]:
    fetchers, put = sources.fetchers, snapshot.put
    put(f"{_TOPIC}replicationbytesin_total", fetchers.byte_count)
    put(f"{_FETCHERS}failedpartitionscount", fetchers.failed_count)
    for fetcher in fetchers.fetchers.values():
        put(f"{_FETCHER}requests_total", fetcher.request_count, _client_id(fetcher))
        put(f"{_FETCHER}bytes_total", fetcher.byte_count, _client_id(fetcher))
    most = sources.services.config.barnabas_metrics_max_entities
    max_lag = 0
    for number, (fetcher, progress) in enumerate(list(fetchers.progress())):
        max_lag = max(max_lag, progress.lag)
        if number < most and progress.lag != UNKNOWN_LAG:
            labels = _client_id(fetcher), progress.key.topic, str(progress.key.partition)
            put("kafka_server_fetcherlagmetrics_consumerlag", progress.lag, *labels)
        yield MORE
    put(f"{_FETCHERS}maxlag", max_lag)
    now_ms = sources.services.clock.monotonic_ms()
    put("kafka_server_leaderreplication_byte_rate", sources.services.leader_quota.rate_per_s(now_ms))
    put("kafka_server_followerreplication_byte_rate", fetchers.quota.rate_per_s(now_ms))
    put("kafka_server_alterlogdirsreplication_byte_rate", sources.logs.moved_bytes_per_s)


def _client_id(fetcher: Fetcher) -> str:
    return f"ReplicaFetcherThread-{fetcher.number}-{fetcher.leader}"


def _put_log(snapshot: Snapshot, partition: Partition, labels: Labels) -> None:
    log, put = partition.log, snapshot.put
    put("kafka_log_log_size", log.size_bytes, *labels)
    put("kafka_log_log_logstartoffset", log.log_start_offset, *labels)
    put("kafka_log_log_logendoffset", log.log_end_offset, *labels)
    put("kafka_log_log_numlogsegments", len(log.segments), *labels)
    lag = max(partition.high_watermark - partition.last_stable_offset, 0)
    put("kafka_cluster_partition_laststableoffsetlag", lag, *labels)


def _put_groups(sources: Sources, snapshot: Snapshot) -> Iterator[Step]:
    groups, put = sources.services.groups, snapshot.put
    counts = dict.fromkeys(Phase, 0)
    offset_count = member_count = 0
    all_groups = list(groups.groups)
    for group in all_groups:
        counts[group.phase] += 1
        offset_count += len(group.offsets)
        member_count += len(group.members)
        yield MORE
    put(f"{_GROUPS}numgroups", len(all_groups))
    put(f"{_GROUPS}numoffsets", offset_count)
    for phase, count in counts.items():
        put(f"{_GROUPS}numgroups{phase.value.lower()}", count)
    put(f"{_COORDINATOR}offset_commit_total", groups.commit_count)
    put(f"{_COORDINATOR}offset_expiration_total", groups.expired_count)
    put(f"{_COORDINATOR}offset_deletion_total", groups.deleted_count)
    put(f"{_COORDINATOR}group_completed_rebalance_total", groups.rebalance_count)
    _put_waiting(snapshot, "Rebalance", counts[Phase.PREPARING_REBALANCE])
    _put_waiting(snapshot, "Heartbeat", member_count)


def _put_controller(sources: Sources, snapshot: Snapshot) -> Iterator[Step]:
    controller, put = sources.controller, snapshot.put
    put(f"{_EVENT_QUEUE}eventqueuesize", controller.waiting_count)
    put(f"{_CONTROLLER}controllerstate", controller.meters.state)
    channels = list(controller.channels)
    put(f"{_CONTROL}totalqueuesize", sum(each.waiting_count for each in channels))
    for each in channels:
        put(f"{_CONTROL}queuesize", each.waiting_count, str(each.broker_id))
    state = controller.state
    put(f"{_CONTROLLER}activecontrollercount", int(state is not None))
    offline = imbalanced = partition_count = topic_count = deleting = 0
    if state is not None:
        topic_count, deleting = len(state.topics), len(state.deleting)
        for topic, assignment in list(state.topics.items()):
            for index, replicas in assignment.replicas.items():
                partition = TopicPartition(topic, index)
                found = state.leaders.get(partition)
                partition_count += found is not None
                if topic not in state.deletion_started:
                    offline += found is None or not state.is_online(found.node.leader, partition)
                if found is not None and replicas and topic not in state.deleting:
                    is_added = replicas[0] in assignment.adding.get(index, ()) and replicas[0] not in found.node.isr
                    imbalanced += found.node.leader not in (NO_LEADER, replicas[0]) and not is_added
            yield MORE
    put(f"{_EVENTS}uncleanleaderelections_total", controller.meters.unclean_election_count)
    put(f"{_CONTROLLER}globaltopiccount", topic_count)
    put(f"{_CONTROLLER}globalpartitioncount", partition_count)
    put(f"{_CONTROLLER}offlinepartitionscount", offline)
    put(f"{_CONTROLLER}preferredreplicaimbalancecount", imbalanced)
    put(f"{_CONTROLLER}topicstodeletecount", deleting)


def _put_channels(sources: Sources, snapshot: Snapshot) -> None:
    """Add metrics of the connections to other brokers, including closed connections."""
    put = snapshot.put
    for channels in sources.channels:
        for figures in channels.figures.values():
            lane, fetcher, number = figures.lane.partition(FETCHER_LANE)
            prefix, labels = _LANES[fetcher or lane], (str(figures.broker_id), number)
            put(f"{prefix}connection_count", int(figures.is_connected), *labels)
            put(f"{prefix}connection_creation_total", figures.connection_count, *labels)
            put(f"{prefix}connection_close_total", figures.connection_count - figures.is_connected, *labels)
            put(f"{prefix}request_total", figures.request_count, *labels)
            put(f"{prefix}response_total", figures.answer_count, *labels)
            put(f"{prefix}outgoing_byte_total", figures.sent_bytes, *labels)
            put(f"{prefix}incoming_byte_total", figures.received_bytes, *labels)


def _put_clients(sources: Sources, snapshot: Snapshot) -> Iterator[Step]:
    services, put = sources.services, snapshot.put
    quotas, most = services.quotas, services.config.barnabas_metrics_max_entities
    now_ms = services.clock.monotonic_ms()
    put(f"{_QUOTA}exempt_request_time", quotas.exempt.rate_per_s(now_ms))
    for kind, resource in _RESOURCES.items():
        put(f"{_QUOTA}queue_size", quotas.throttled_connection_counts[kind], resource)
        # Copied, because buckets may be added or removed between two slices.
        for bucket in list(islice(quotas.buckets(kind), most)):
            _put_bucket(snapshot, bucket, resource, now_ms)
            yield MORE
    put("barnabas_metrics_left_out", max(len(quotas.clients) - most, 0), "clients")
    for client in list(islice(quotas.clients.values(), most)):
        labels = client.user, client.client_id
        put(f"{_CLIENT}produced_bytes_total", client.produced_bytes, *labels)
        put(f"{_CLIENT}fetched_bytes_total", client.fetched_bytes, *labels)
        put(f"{_CLIENT}request_ms_total", client.request_ns / _NS_PER_MS, *labels)
        put(f"{_CLIENT}throttled_ms_total", client.throttled_ms, *labels)
        yield MORE


def _put_bucket(snapshot: Snapshot, bucket: Bucket, resource: str, now_ms: int) -> None:
    labels = resource, *bucket.resolution.tags
    snapshot.put(_QUOTA + _RATES[bucket.kind], bucket.rate_per_s(now_ms), *labels)
    average_ms = bucket.throttle_average_ms(now_ms)
    # 0 without recent throttling; Kafka returns NaN, which graphs do not show.
    snapshot.put(f"{_QUOTA}throttle_time", 0 if average_ms is None else average_ms, *labels)
    tokens = bucket.tokens(now_ms)
    if tokens is not None:
        snapshot.put(f"{_QUOTA}tokens", tokens, *labels)
