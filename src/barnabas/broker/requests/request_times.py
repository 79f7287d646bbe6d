"""Times of requests by stage, and their errors, for Kafka's request metrics.

| stage          | from                              | to                                               |
| -------------- | --------------------------------- | ------------------------------------------------ |
| request queue  | its bytes were received           | its handling begins                              |
| local          | its handling begins               | its answer is complete, or the handler waits     |
| remote         | the handler waits                 | its answer is complete                           |
| response queue | its answer is complete            | all answers that are sent with it are complete   |
| response send  | these answers are complete        | the socket has taken all of their bytes          |
| throttle       | the throttle time set by a quota; in no other stage, and not in the total            |

An answer is complete when it is encoded; in Kafka, when its handler passes it on. Frames that arrive together share one
clock reading, and so do answers that are sent together: a request on its own costs three readings.

Nothing is counted unless metrics are enabled (`RouteTable.count_requests`), which sets `Route.times`.

The sums are plain integers, read by a collector: a request needs no locks and no objects. The stages are also counted
in histograms: all of the first requests of an API, then each eleventh (connections are unlikely to have this pattern).
Histograms omit stages that took no time.

Source: metrics facts, `kafka.network:type=RequestMetrics`.
"""

from collections import defaultdict
from collections.abc import Sequence
from operator import add
from typing import Protocol, TypeVar

from barnabas.core.histogram import SHIFT, index_of, new_buckets

# The first requests of an API are all counted in histograms: quantiles of rare requests need each of them.
ALL_COUNTED = 10_000
_SAMPLED = 11


class RequestTimes:
    """The sums of one API.

    Attributes:
        count: Requests that were answered, or completed if the protocol has no answer.
        failure_count: Number of these that failed as a whole, by an exception.
        request_queue_ns, local_ns, remote_ns, response_queue_ns, response_send_ns: Sums over all of them.
        throttle_ms: The sum of throttle times.
        size_bytes: The sum of the requests' sizes.
        versions: Number of requests in each version.
        errors: Number of occurrences of each error code (0: none) in answers.
        request_queue, local, remote, response_queue, response_send, total: Histograms of nanoseconds.
        sizes: Histogram of the requests' sizes in bytes.
        sample_count: Number of requests in these histograms.
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
        name: The API's name, without "Request".
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
        received_ns, admitted_ns, handled_ns, completed_ns: When each stage ended, by one monotonic clock; `handled_ns`
            is 0 if the answer was never pending.
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
        sent_ns: When the socket had taken all answers.
    """
    # hot path: benchmarks/load (every answer, if metrics are enabled). `is`: a reading that two stages share is one
    # object; for two equal objects, the added difference would be 0.
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
    # hot path: benchmarks/load (a sample of answers, if metrics are enabled). As `index_of`, without calls.
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
