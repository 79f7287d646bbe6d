"""Maps an API key and version to the functions that decode, handle and encode it.

The one table (`barnabas.broker.requests.handlers.HANDLERS`) is also the source of the ApiVersions answer: exactly the
handled versions are offered. As in Kafka, transactions are not offered below inter.broker.protocol.version 0.11.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.request_times import RequestTimes
from barnabas.core.config.versions import KafkaVersion
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.wire import Budget, Message, WireBuffer
from barnabas.wire.quotas.limits import QuotaKind
from barnabas.wire.records.batch import MAGIC


@dataclass(slots=True, frozen=True)
class Handler:
    """The handler of one API: request class, supported versions, and functions.

    Attributes:
        handle: Takes the context and the request; returns the response, a `Pending` of it, or None if the protocol has
            no answer (Produce with acks=0). Typed loosely: each handler knows its own message.
        refuse: Takes the context, the request and an error code; returns the answer to a request that failed as a
            whole, with the error in every field where a client of that version expects one.
        goes_on: Whether a large request is completed after its client has disconnected, because it changes something.
        response_class: The class that encodes the answers, if not the API's own class; it encodes those, too.
        is_private: ApiVersions does not list it.
        first_strict_version: Earlier versions may create or delete more partitions than the quota allows, and their
            client is throttled; 0: the API creates and deletes no partitions.
    """

    request_class: type[Message]
    min_version: int
    max_version: int
    handle: Callable[[RequestContext, Any], object]
    refuse: Callable[[RequestContext, Any, ErrorCode], object]
    goes_on: bool = False
    response_class: type[Message] | None = None
    is_private: bool = False
    first_strict_version: int = 0

    @property
    def api_key(self) -> int:
        return self.request_class.API_KEY


class Route:
    """One API in one version, resolved once at start."""

    __slots__ = (
        "api_key",
        "api_name",
        "api_version",
        "count_errors",
        "decode",
        "encode",
        "goes_on",
        "handle",
        "has_tagged_header",
        "has_throttle_time",
        "is_limited",
        "name",
        "refuse",
        "slow_ns",
        "times",
        "waits_for",
    )

    def __init__(
        self,
        name: str,
        api_key: int,
        api_version: int,
        decode: Callable[[memoryview, int, Budget], tuple[object, int]],
        encode: Callable[[Any, WireBuffer], None],
        handle: Callable[[RequestContext, Any], object],
        refuse: Callable[[RequestContext, Any, ErrorCode], object],
        has_tagged_header: bool,
        has_throttle_time: bool,
        is_limited: bool,
        goes_on: bool,
        waits_for: QuotaKind | None = None,
    ) -> None:
        """Args:
        has_tagged_header: Whether the answer's header carries a tagged section.
        has_throttle_time: Whether the answer has a field for the throttle time (in this version or another).
        is_limited: Whether the limit on array elements applies (all but Produce).
        goes_on: As in the handler.
        waits_for: The quota to check before the request is handled: a client that has not waited for it waits now.
        """
        self.name = name
        # Kafka's name of the API.
        self.api_name = name.removesuffix("Request")
        self.api_key = api_key
        self.api_version = api_version
        self.decode = decode
        self.encode = encode
        self.handle = handle
        self.refuse = refuse
        self.has_tagged_header = has_tagged_header
        self.has_throttle_time = has_throttle_time
        self.is_limited = is_limited
        self.goes_on = goes_on
        self.waits_for = waits_for
        # Longer requests are recorded as slow; by default none is.
        self.slow_ns = NEVER_SLOW_NS
        # The counts of its requests, and the function that counts error codes; None: metrics are disabled.
        self.times: RequestTimes | None = None
        self.count_errors: Callable[[Any, defaultdict[int, int]], object] | None = None


class RouteTable:
    """All routes of a broker, keyed by API key and version.

    Attributes:
        by_key: Returns the route of `API key << 16 | version`; None: not supported. It is the dictionary's own method,
            because every request calls it.
        times: Request times of each API, without followers' fetches; empty if metrics are disabled.
        follower_times: Request times of followers' fetches.
    """

    def __init__(
        self,
        handlers: Iterable[Handler],
        response_class: Callable[[int], type[Message]],
        first_flexible: Callable[[int], int],
        unsupported_api_versions: Callable[[RequestContext, Any], object],
    ) -> None:
        """Args:
        response_class: The class of the answers of an API key.
        first_flexible: The first flexible version of an API key; above all versions if none is flexible.
        unsupported_api_versions: Answers ApiVersions in a version that is not supported.
        """
        self.handlers = tuple(handlers)
        self._response_class = response_class
        self._first_flexible = first_flexible
        self._routes: dict[int, Route] = {}
        self.by_key: Callable[[int], Route | None] = self._routes.get
        self.times: dict[int, RequestTimes] = {}
        self.follower_times: RequestTimes | None = None
        for handler in self.handlers:
            for version in range(handler.min_version, handler.max_version + 1):
                self._routes[handler.api_key << 16 | version] = self._route(handler, version, handler.handle)
        own = next(each for each in self.handlers if each.api_key == API_VERSIONS_KEY)
        # Clients read this answer in version 0, whatever version they sent; the request is not decoded.
        self.unsupported_api_versions = self._route(own, 0, unsupported_api_versions)

    def keep_slow_requests(self) -> None:
        """Begin to record requests that take longer than usual for their API."""
        for route in self._routes.values():
            route.slow_ns = SLOW_NS.get(route.api_key, USUALLY_SLOW_NS)

    def count_requests(self) -> None:
        """Begin to count requests and to measure their stages, because metrics are enabled."""
        # Imported here, because a broker without metrics does not need it.
        from barnabas.broker.requests.error_counts import error_counter

        for handler in self.handlers:
            name = handler.request_class.SCHEMA_NAME.removesuffix("Request")
            times = self.times[handler.api_key] = RequestTimes(name, handler.max_version)
            response = handler.response_class or self._response_class(handler.api_key)
            count_errors = error_counter(response)
            for route in self.of(handler.api_key):
                route.times, route.count_errors = times, count_errors
            if handler.api_key == FETCH_KEY:
                times.name = CONSUMER_FETCHES
                self._route_followers(handler, count_errors)
        own = self.unsupported_api_versions
        own.times = self.times[API_VERSIONS_KEY]
        own.count_errors = error_counter(self._response_class(own.api_key))

    def _route_followers(
        self, fetches: Handler, count_errors: Callable[[Any, defaultdict[int, int]], object] | None
    ) -> None:
        """Create separate routes for followers' fetches, so that counting costs consumers' fetches nothing."""
        self.follower_times = RequestTimes(FOLLOWER_FETCHES, fetches.max_version)
        for route in self.of(fetches.api_key):
            for_followers = self._route(fetches, route.api_version, fetches.handle)
            for_followers.times, for_followers.count_errors = self.follower_times, count_errors
            route.handle = _followers_apart(route.handle, for_followers)

    @property
    def offered(self) -> list[tuple[int, int, int]]:
        """Return API key, lowest and highest version of all public APIs, by key."""
        return sorted(
            (each.api_key, each.min_version, each.max_version) for each in self.handlers if not each.is_private
        )

    def offered_at(self, inter_broker_protocol: KafkaVersion) -> list[tuple[int, int, int]]:
        """Return the same as `offered`, without the APIs that need message format 2 between brokers if it is older."""
        has_transactions = inter_broker_protocol.magic >= MAGIC
        return [each for each in self.offered if has_transactions or each[0] not in TRANSACTION_KEYS]

    def of(self, api_key: int) -> list[Route]:
        """Return the routes of all supported versions of an API; empty if the API is not supported."""
        return [route for key, route in self._routes.items() if key >> 16 == api_key]

    def _route(self, handler: Handler, version: int, handle: Callable[[RequestContext, Any], object]) -> Route:
        decode = handler.request_class.DECODERS[version]
        response = handler.response_class or self._response_class(handler.api_key)
        encode = response.ENCODERS[version]
        if decode is None or encode is None:
            raise ValueError(f"{handler.request_class.SCHEMA_NAME} has no version {version}")
        return Route(
            handler.request_class.SCHEMA_NAME,
            handler.api_key,
            version,
            decode,
            encode,
            handle,
            handler.refuse,
            # ApiVersions is answered before versions are agreed on: its header never changes.
            version >= self._first_flexible(handler.api_key) and handler.api_key != API_VERSIONS_KEY,
            "throttle_time_ms" in response.FIELDS,
            handler.api_key != PRODUCE_KEY,
            handler.goes_on,
            _waits_for(handler, version),
        )


def _waits_for(handler: Handler, version: int) -> QuotaKind | None:
    if handler.api_key == PRODUCE_KEY:
        return QuotaKind.PRODUCE
    return QuotaKind.CONTROLLER_MUTATION if version < handler.first_strict_version else None


NEVER_SLOW_NS: Final = 1 << 62
USUALLY_SLOW_NS: Final = 1_000_000_000
SLOW_NS: Final = {
    **dict.fromkeys((0, 8, 12, 22, 24, 25, 26, 28), 500_000_000),  # Produce, OffsetCommit, Heartbeat, transactions
    **dict.fromkeys((11, 14), NEVER_SLOW_NS),  # JoinGroup and SyncGroup wait for other members; see rebalances
    **dict.fromkeys((4, 5, 6, 7, 19, 20, 37, 43, 45), 5_000_000_000),  # changes of many partitions at once
}
"""By API key, the time above which a request is slow."""
PRODUCE_KEY: Final = 0
FETCH_KEY: Final = 1
API_VERSIONS_KEY: Final = 18
# Kafka's names for each of the two; "Fetch" is for both.
CONSUMER_FETCHES: Final = "FetchConsumer"
FOLLOWER_FETCHES: Final = "FetchFollower"
CONTROL_KEYS: Final = (4, 5, 6)
"""LeaderAndIsr, StopReplica and UpdateMetadata: a controller's requests about partitions."""
TRANSACTION_KEYS: Final = (24, 25, 26, 27, 28)
"""AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, WriteTxnMarkers and TxnOffsetCommit; not InitProducerId."""


def _followers_apart(
    handle: Callable[[RequestContext, Any], object], for_followers: Route
) -> Callable[[RequestContext, Any], object]:
    """Return a handler of fetches that counts followers' fetches on their own route."""

    def handle_fetch(ctx: Any, request: Any) -> object:
        if request.replica_id >= 0:
            ctx.route = for_followers
        return handle(ctx, request)

    return handle_fetch
