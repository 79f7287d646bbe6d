"""Appends with acks=all that wait for replication.

Source: semantics, replication; Kafka 2.7.2, DelayedProduce.
"""

from barnabas.broker.log.append_result import AppendResult
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.core.timers import Timer


class WaitingForAcks:
    """An append that waits for the high watermark."""

    __slots__ = ("offset", "pending", "result", "timer")

    def __init__(self, offset: int, result: AppendResult) -> None:
        self.offset = offset
        self.result = result
        self.pending: Pending[AppendResult] = Pending()
        self.timer: Timer | None = None

    def end(self, result: AppendResult) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.pending.complete(result)

    def expire(self) -> None:
        self.timer = None
        self.pending.complete(self.result.failed(ErrorCode.REQUEST_TIMED_OUT))
