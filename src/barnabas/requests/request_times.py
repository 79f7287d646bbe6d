"""How long requests took, stage by stage, and how many failed: what Kafka's request metrics are made from.

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

Plain integers, read by a collector: no locks and no objects on the way of a request.

Source: metrics facts, `kafka.network:type=RequestMetrics`.
"""

from collections.abc import Sequence
from typing import Protocol


class RequestTimes:
    """The sums of one API.

    Attributes:
        count: Requests that were answered, or done with where the protocol knows no answer.
        failure_count: How many of them failed as a whole: an exception stood in the answer's place.
        request_queue_ns, local_ns, remote_ns, response_queue_ns, response_send_ns: Sums over all of them.
        throttle_ms: The same for what quotas held.
        slowest_ns: The longest total.
    """

    __slots__ = (
        "count",
        "failure_count",
        "local_ns",
        "name",
        "remote_ns",
        "request_queue_ns",
        "response_queue_ns",
        "response_send_ns",
        "slowest_ns",
        "throttle_ms",
    )

    def __init__(self, name: str) -> None:
        """Args:
        name: The API's, without "Request".
        """
        self.name = name
        self.count = self.failure_count = 0
        self.request_queue_ns = self.local_ns = self.remote_ns = 0
        self.response_queue_ns = self.response_send_ns = 0
        self.throttle_ms = self.slowest_ns = 0


class Timed(Protocol):
    """A request whose answer is complete.

    Attributes:
        times: Of its API.
        received_ns, admitted_ns, handled_ns, completed_ns: When each stage ended, by one clock that never goes back;
            `handled_ns` is 0 where the answer did not have to be waited for.
    """

    times: RequestTimes
    received_ns: int
    admitted_ns: int
    handled_ns: int
    completed_ns: int


def add_sent(requests: Sequence[Timed], sent_ns: int) -> None:
    """Count requests whose answers have left together.

    Args:
        requests: In their order; at least one.
        sent_ns: When the socket had taken all of it.
    """
    # hot path: benchmarks/load (every answer). `is`: a reading that two stages share is one object; were it two equal
    # ones, the difference that is added would be 0.
    sending_ns = requests[-1].completed_ns
    for request in requests:
        times = request.times
        received_ns, admitted_ns = request.received_ns, request.admitted_ns
        handled_ns, completed_ns = request.handled_ns, request.completed_ns
        times.count += 1
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
        if sent_ns - received_ns > times.slowest_ns:
            times.slowest_ns = sent_ns - received_ns
