"""Times of requests by stage, and their errors, for Kafka's request metrics.

| stage          | from                                     | to                                                  |
| -------------- | ---------------------------------------- | --------------------------------------------------- |
| request queue  | its bytes were received                  | its turn has come                                   |
| local          | that                                     | its answer is complete, or the handler waits for it |
| remote         | that                                     | what it waited for is there, and the answer complete |
| response queue | that                                     | those answers are complete that leave with it       |
| response send  | that                                     | the socket has taken all of it                      |
| throttle       | the hold that a quota asked for; in no other stage, and not in the total                       |

An answer is complete when it is encoded, as Kafka's is when its handler hands it over. Frames that arrived together
share one reading of the clock, and so do answers that leave together: three readings for a request that comes alone.

Nothing of this is counted unless somebody looks at figures (`RouteTable.count_requests`): then `Route.times` is there.

Plain integers, read by a collector: no locks and no objects on the way of a request. The stages are counted in
histograms as well: of the first requests of an API all, then a sample, each eleventh (a number that no pattern of
connections is likely to have). A stage that took no time is not counted there.

Source: metrics facts, `kafka.network:type=RequestMetrics`.
"""

from collections import defaultdict
from collections.abc import Sequence
from operator import add
from typing import Protocol, TypeVar

from barnabas.core.histogram import SHIFT, index_of, new_buckets

# So many requests of an API are all counted in histograms: quantiles of what comes seldom need each.
ALL_COUNTED = 10_000
_SAMPLED = 11


class RequestTimes:
    """The sums of one API.

    Attributes:
        count: Requests that were answered, or done with where the protocol knows no answer.
        failure_count: How many of them failed as a whole, by an exception.
        request_queue_ns, local_ns, remote_ns, response_queue_ns, response_send_ns: Sums over all of them.
        throttle_ms: The sum of throttle times.
        size_bytes: The same for the requests' sizes.
        versions: Number of requests in each version.
        errors: How often each error code (0: none) was in an answer.
        request_queue, local, remote, response_queue, response_send, total: Histograms of nanoseconds.
        sizes: One of the requests' sizes in bytes.
        sample_count: How many requests these are of.
        throttle: Histogram of throttle times in milliseconds.
    """

    __slots__ = (
        "count",
        "errors",
        "failure_count",
        "local",
        "local_ns",
        "name",
        "remote",
        "remote_ns",
        "request_queue",
        "request_queue_ns",
        "response_queue",
        "response_queue_ns",
        "response_send",
        "response_send_ns",
        "sample_count",
        "size_bytes",
        "sizes",
        "throttle",
        "throttle_ms",
        "total",
        "versions",
    )

    def __init__(self, name: str, max_version: int) -> None:
        """Args:
        name: The API's, without "Request".
        """
        self.name = name
        self.count = self.failure_count = 0
        self.request_queue_ns = self.local_ns = self.remote_ns = 0
        self.response_queue_ns = self.response_send_ns = 0
        self.throttle_ms = self.size_bytes = self.sample_count = 0
        self.versions = [0] * (max_version + 1)
        self.errors: defaultdict[int, int] = defaultdict(int)
        self.request_queue, self.local, self.remote = new_buckets(), new_buckets(), new_buckets()
        self.response_queue, self.response_send, self.total = new_buckets(), new_buckets(), new_buckets()
        self.throttle, self.sizes = new_buckets(), new_buckets()

    def note_throttle(self, throttle_ms: int) -> None:
        """Count the throttle time of a request."""
        self.throttle_ms += throttle_ms
        self.throttle[index_of(throttle_ms)] += 1

    @property
    def total_ns(self) -> int:
        """The sum of all stages of all requests."""
        return self.request_queue_ns + self.local_ns + self.remote_ns + self.response_queue_ns + self.response_send_ns


def sum_of(name: str, parts: Sequence[RequestTimes]) -> RequestTimes:
    """Return the sum of several request times with the same versions, such as those of one API."""
    total = RequestTimes(name, len(parts[0].versions) - 1)
    for part in parts:
        total.count += part.count
        total.failure_count += part.failure_count
        total.request_queue_ns += part.request_queue_ns
        total.local_ns += part.local_ns
        total.remote_ns += part.remote_ns
        total.response_queue_ns += part.response_queue_ns
        total.response_send_ns += part.response_send_ns
        total.throttle_ms += part.throttle_ms
        total.size_bytes += part.size_bytes
        total.sample_count += part.sample_count
        total.versions = list(map(add, total.versions, part.versions))
        for code, count in part.errors.items():
            total.errors[code] += count
        total.request_queue = list(map(add, total.request_queue, part.request_queue))
        total.local = list(map(add, total.local, part.local))
        total.remote = list(map(add, total.remote, part.remote))
        total.response_queue = list(map(add, total.response_queue, part.response_queue))
        total.response_send = list(map(add, total.response_send, part.response_send))
        total.total = list(map(add, total.total, part.total))
        total.throttle = list(map(add, total.throttle, part.throttle))
        total.sizes = list(map(add, total.sizes, part.sizes))
    return total


class Versioned(Protocol):
    """An API in one version; `Route`."""

    api_version: int

    @property
    def times(self) -> RequestTimes | None: ...


class Timed(Protocol):
    """A request with a complete answer.

    Attributes:
        route: Its API's version.
        frame_bytes: Its size.
        received_ns, admitted_ns, handled_ns, completed_ns: When each stage ended, by one clock that never goes back;
            `handled_ns` is 0 where the answer did not have to be waited for.
    """

    @property
    def route(self) -> Versioned: ...

    frame_bytes: int
    received_ns: int
    admitted_ns: int
    handled_ns: int
    completed_ns: int


AnyTimed = TypeVar("AnyTimed", bound=Timed)


def add_sent(requests: list[AnyTimed], sent_ns: int) -> None:
    """Count requests whose answers were sent together, and clear the list.

    Args:
        requests: In order; each has times to count.
        sent_ns: When the socket had taken all of it.
    """
    # hot path: benchmarks/load (every answer, where somebody looks). `is`: a reading that two stages share is one
    # object; were it two equal ones, the difference that is added would be 0.
    if not requests:
        return
    sending_ns = requests[-1].completed_ns
    for request in requests:
        route = request.route
        times = route.times
        assert times is not None
        received_ns, admitted_ns = request.received_ns, request.admitted_ns
        handled_ns, completed_ns = request.handled_ns, request.completed_ns
        times.count = count = times.count + 1
        if admitted_ns is not received_ns:
            times.request_queue_ns += admitted_ns - received_ns
        if handled_ns:
            times.local_ns += handled_ns - admitted_ns
            times.remote_ns += completed_ns - handled_ns
        else:
            times.local_ns += completed_ns - admitted_ns
        if sending_ns is not completed_ns:
            times.response_queue_ns += sending_ns - completed_ns
        times.response_send_ns += sent_ns - sending_ns
        times.versions[route.api_version] += 1
        times.size_bytes += request.frame_bytes
        if not count % _SAMPLED or count <= ALL_COUNTED:
            _count(times, request, sending_ns, sent_ns)
    requests.clear()


def _count(times: RequestTimes, request: Timed, sending_ns: int, sent_ns: int) -> None:
    # hot path: benchmarks/load (a sample of answers, where somebody looks at figures). As `index_of`, without calls.
    times.sample_count += 1
    received_ns, admitted_ns = request.received_ns, request.admitted_ns
    handled_ns, completed_ns = request.handled_ns, request.completed_ns
    times.sizes[index_of(request.frame_bytes)] += 1
    if admitted_ns is not received_ns:
        times.request_queue[index_of(admitted_ns - received_ns)] += 1
    if handled_ns:
        times.remote[index_of(completed_ns - handled_ns)] += 1
        value = handled_ns - admitted_ns + SHIFT
    else:
        value = completed_ns - admitted_ns + SHIFT
    bits = value.bit_length()
    times.local[(bits << 3) + ((value >> (bits - 4)) & 7)] += 1
    if sending_ns is not completed_ns:
        times.response_queue[index_of(sending_ns - completed_ns)] += 1
    value = sent_ns - sending_ns + SHIFT
    bits = value.bit_length()
    times.response_send[(bits << 3) + ((value >> (bits - 4)) & 7)] += 1
    value = sent_ns - received_ns + SHIFT
    bits = value.bit_length()
    times.total[(bits << 3) + ((value >> (bits - 4)) & 7)] += 1
