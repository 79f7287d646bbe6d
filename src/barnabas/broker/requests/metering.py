"""Counts requests on their client's quotas, and computes the throttle time.

| what                 | counted                                  | when                                               |
| -------------------- | ---------------------------------------- | -------------------------------------------------- |
| `producer_byte_rate` | the size of a Produce request            | when it is answered, after the append              |
| `consumer_byte_rate` | the size of a consumer's fetch answer    | before it is sent; subtracted if it is not sent    |
| `request_percentage` | the broker's time for a request          | when its answer is encoded; of a Fetch: when it is |
|                      |                                          | made                                               |

The time is that of the event loop (receiving the end of the request, decoding, handling, encoding, and the connection's
receiving and sending since its last request) and of executors. Brokers' own requests (if authorized) and Produce
requests without an answer are not throttled for their time; it is counted separately.

If several quotas throttle a client, only the longest throttle time applies.

Source: semantics, quotas; Kafka 2.7.2, KafkaApis (handleProduceRequest, handleFetchRequest), ClientRequestQuotaManager.
"""

from typing import Protocol

from barnabas.broker.quotas.bucket import Bucket
from barnabas.broker.quotas.manager import PERCENT_PER_NS, Client
from barnabas.broker.requests.context import ConnectionInfo
from barnabas.broker.requests.services import Services
from barnabas.broker.requests.table import FETCH_KEY, PRODUCE_KEY
from barnabas.wire.protocol.messages.fetch import FetchRequest
from barnabas.wire.protocol.messages.produce import ProduceRequest
from barnabas.wire.quotas.limits import QuotaKind
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType

# LeaderAndIsr, StopReplica, UpdateMetadata, ControlledShutdown, WriteTxnMarkers.
_CLUSTER_ACTIONS = frozenset((4, 5, 6, 7, 27))
_MAYBE_EXEMPT = _CLUSTER_ACTIONS | {FETCH_KEY}
_NO_BUCKETS: list[Bucket | None] = [None, None, None, None]
_NS_PER_MS = 1_000_000
# Saves the lookup of the members in their enums.
_PRODUCE, _FETCH, _REQUEST = QuotaKind.PRODUCE, QuotaKind.FETCH, QuotaKind.REQUEST


class Api(Protocol):
    """An API by its key; `Route`."""

    api_key: int


class Metered(Protocol):
    """A request that is counted; see `Exchange`."""

    services: Services
    connection: ConnectionInfo
    client: Client
    frame_bytes: int
    throttled_by: Bucket | None
    is_metered: bool
    throttle_time_ms: int

    @property
    def route(self) -> Api: ...

    @property
    def request(self) -> object: ...

    def take_used_ns(self, now_ns: int) -> int:
        """Return the broker's time for the request, plus its connection's network time since the last counted one."""
        ...


def meter(exchange: Metered, now_ns: int) -> bool:
    """Count a request before it is answered; return whether its client is throttled for it."""
    # hot path: benchmarks/users (every request, if any client has a quota)
    exchange.is_metered = True
    quotas, client = exchange.services.quotas, exchange.client
    now_ms = now_ns // _NS_PER_MS
    is_enabled = quotas.is_enabled
    # As `client.bucket`, without the call if nothing has changed.
    buckets = client.buckets if client.generation == quotas.generation else _NO_BUCKETS
    api_key = exchange.route.api_key
    produce_ms = request_ms = 0
    if api_key == PRODUCE_KEY and is_enabled[0]:
        produce_ms = (buckets[0] or client.bucket(_PRODUCE, now_ms)).record(now_ms, exchange.frame_bytes)
    if is_enabled[2]:
        # As `quotas.percent_of`, without the call.
        percent = exchange.take_used_ns(now_ns) * PERCENT_PER_NS * quotas.thread_count
        request = exchange.request
        if isinstance(request, ProduceRequest):
            is_exempt = not request.acks
        else:
            is_exempt = api_key in _MAYBE_EXEMPT and is_of_broker(
                exchange.services, exchange.connection, api_key, request
            )
        if is_exempt:
            quotas.exempt.record(now_ms, percent)
        else:
            request_ms = (buckets[2] or client.bucket(_REQUEST, now_ms)).record(now_ms, percent)
    if produce_ms or request_ms or exchange.throttle_time_ms:
        return _throttle(exchange, now_ms, produce_ms, request_ms)
    return False


def _throttle(exchange: Metered, now_ms: int, produce_ms: int, request_ms: int) -> bool:
    """Apply the longest throttle time; return whether one of these two quotas sets it.

    Args:
        produce_ms, request_ms: The throttle times of the two quotas.
    """
    throttle_ms, throttled_by = exchange.throttle_time_ms, exchange.throttled_by
    is_throttled_longer = False
    if produce_ms > throttle_ms:
        throttle_ms, throttled_by, is_throttled_longer = produce_ms, exchange.client.bucket(_PRODUCE, now_ms), True
    if request_ms and request_ms >= throttle_ms:
        throttle_ms, throttled_by, is_throttled_longer = request_ms, exchange.client.bucket(_REQUEST, now_ms), True
    quotas = exchange.services.quotas
    quotas.throttled_until_ns = max(quotas.throttled_until_ns, (now_ms + throttle_ms) * _NS_PER_MS)
    if throttled_by is not None:
        throttled_by.note_throttle(now_ms, throttle_ms)
    exchange.throttle_time_ms, exchange.throttled_by = throttle_ms, throttled_by
    return is_throttled_longer


def may_fetch(exchange: Metered, answer_bytes: int, now_ns: int) -> bool:
    """Count the answer to a consumer's fetch; return False if the client is throttled and gets no records."""
    services = exchange.services
    now_ms = now_ns // _NS_PER_MS
    bucket = None
    if services.quotas.is_enabled[_FETCH]:
        bucket = exchange.client.bucket(_FETCH, now_ms)
        excess_ms = bucket.record(now_ms, answer_bytes)
        if excess_ms:
            exchange.throttle_time_ms, exchange.throttled_by = excess_ms, bucket
    meter(exchange, now_ns)
    if not exchange.throttle_time_ms:
        return True
    if bucket is not None:
        # The answer is not sent.
        bucket.take_back(now_ms, answer_bytes)
    return False


def is_of_broker(services: Services, connection: ConnectionInfo, api_key: int, request: object) -> bool:
    """Return whether a request is a broker's own: the request quota does not throttle it.

    Args:
        request: The decoded request. None: not decoded yet; a Fetch then counts as a consumer's.
    """
    if api_key == FETCH_KEY:
        if not isinstance(request, FetchRequest) or request.replica_id < 0:
            return False
        if services.authorizer.allows_everything:
            # The other partitions of a session were checked when it was opened: a scan at each fetch costs too much.
            session = services.fetch_sessions.get(request.session_id)
            if session is not None and not request.topics:
                return session.is_privileged
            named = ((topic.topic, each.partition) for topic in request.topics for each in topic.partitions)
            return services.cluster.image.is_follower(request.replica_id, named)
    return api_key in _MAYBE_EXEMPT and may_control(services, connection)


def may_control(services: Services, connection: ConnectionInfo) -> bool:
    """Return whether a connection may send a broker's own requests (ClusterAction)."""
    rights = services.authorizer.rights(connection.principal, connection.host, ResourceType.CLUSTER, CLUSTER)
    return rights >> Operation.CLUSTER_ACTION & 1 == 1
