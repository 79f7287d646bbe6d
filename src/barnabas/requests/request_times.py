"""How long requests took, stage by stage, and how many failed: what Kafka's request metrics are made from.

| stage          | from                                     | to                                                  |
| -------------- | ---------------------------------------- | --------------------------------------------------- |
| request queue  | its bytes were received                  | its turn has come                                   |
| local          | that                                     | the handler has answered, or begun to wait          |
| remote         | that                                     | what it waited for is there                         |
| response queue | that                                     | its answer is encoded and queued                    |
| response send  | that                                     | the socket has taken all of it                      |
| throttle       | the hold that a quota asked for; in no other stage, and not in the total                       |

Plain integers, read by a collector: no locks and no objects on the way of a request.

Source: metrics facts, `kafka.network:type=RequestMetrics`.
"""


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

    def add(
        self, received_ns: int, admitted_ns: int, handled_ns: int, settled_ns: int, queued_ns: int, sent_ns: int
    ) -> None:
        """Count one request by the times at which its stages ended; those of one clock that never goes back."""
        # hot path: benchmarks/load (every request)
        self.count += 1
        self.request_queue_ns += admitted_ns - received_ns
        self.local_ns += handled_ns - admitted_ns
        self.remote_ns += settled_ns - handled_ns
        self.response_queue_ns += queued_ns - settled_ns
        self.response_send_ns += sent_ns - queued_ns
        if sent_ns - received_ns > self.slowest_ns:
            self.slowest_ns = sent_ns - received_ns
