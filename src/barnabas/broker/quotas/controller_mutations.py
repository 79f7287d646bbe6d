"""Use of the controller mutation quota (partitions created and deleted) by one request.

Source: KIP-599; semantics, quotas; Kafka 2.7.2, ControllerMutationQuota (Strict, Permissive, Unbounded).
"""

from collections.abc import Callable

from barnabas.broker.quotas.bucket import Bucket
from barnabas.broker.quotas.manager import Client


class ControllerMutationQuota:
    """Counts partitions for one request, topic by topic.

    Attributes:
        bucket: The bucket that counts them.
    """

    __slots__ = ("_client", "_is_strict", "_noted_ms", "_now_ms", "_throttle_ms", "bucket")

    def __init__(
        self, bucket: Bucket | None, is_strict: bool, now_ms: Callable[[], int], client: Client | None = None
    ) -> None:
        """Args:
        bucket: The bucket that counts them; None: no limit.
        is_strict: Whether to refuse topics above the limit, as later request versions do, instead of throttling.
        now_ms: Returns the time by the bucket's clock.
        client: The client whose sums include them.
        """
        self.bucket = bucket
        self._client = client
        self._is_strict = is_strict
        self._now_ms = now_ms
        self._throttle_ms = self._noted_ms = 0

    @property
    def is_exceeded(self) -> bool:
        """Return whether a topic of the request was refused: then all later ones are refused, too."""
        return self._is_strict and self._throttle_ms > 0

    def take(self, partition_count: int) -> bool:
        """Count partitions to be created or deleted; return whether that is allowed."""
        bucket = self.bucket
        if bucket is None:
            self._count(partition_count)
            return True
        now_ms = self._now_ms()
        if not self._is_strict:
            throttle_ms = bucket.record(now_ms, partition_count)
            if throttle_ms > 0:
                self._throttle_ms, self._noted_ms = throttle_ms, now_ms
            self._count(partition_count)
            return True
        throttle_ms = bucket.excess_ms(now_ms)
        if throttle_ms > 0:
            self._throttle_ms, self._noted_ms = throttle_ms, now_ms
            return False
        # The request that overdraws the bucket is still allowed.
        bucket.record(now_ms, partition_count)
        self._count(partition_count)
        return True

    def _count(self, partition_count: int) -> None:
        if self._client is not None:
            self._client.mutation_count += partition_count

    @property
    def throttle_ms(self) -> int:
        """Return for how long to throttle the client, as of now: the request may have waited since."""
        return max(0, self._throttle_ms - (self._now_ms() - self._noted_ms)) if self._throttle_ms else 0
