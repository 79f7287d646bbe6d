"""How a cluster is asked about quotas: by Barnabas's own request, or, on Kafka, for the limits of all. Pure.

Kafka closes the connection where it is asked to explain quotas, and complains of that in its log; a broker that dies
closes it, too. So who has never explained any, and refuses some times in a row, is taken for Kafka.
"""

_MOST_REFUSALS = 3
# Rights that are missing are seldom given within seconds, and each refusal stands in the broker's log.
_DENIED_S = 180.0


class Questions:
    """What to ask one cluster now."""

    def __init__(self) -> None:
        self._has_explained = False
        self._refusal_count = 0
        self._denied_until_s: float | None = None

    @property
    def is_kafka(self) -> bool:
        """Whether it is to be asked for the limits of all alone."""
        return self._refusal_count >= _MOST_REFUSALS

    @property
    def has_explained(self) -> bool:
        """Whether it is certain to be Barnabas: where it refuses now, something is wrong."""
        return self._has_explained

    def note_explained(self) -> None:
        """It has told what was asked."""
        self._has_explained = True
        self._refusal_count = 0

    def note_refused(self) -> None:
        """It has closed the connection."""
        if not self._has_explained:
            self._refusal_count += 1

    def note_denied(self, now_s: float) -> None:
        """It says that the limits of all are not for this user to see."""
        if self.is_kafka:
            self._denied_until_s = now_s + _DENIED_S

    def may_see_limits(self, now_s: float) -> bool:
        """Whether to ask for the limits of all: not soon after that was denied."""
        return self._denied_until_s is None or now_s >= self._denied_until_s
