"""The kinds of quotas, and their valid values.

| kind                | setting                    | type   | unit                                                   |
| ------------------- | -------------------------- | ------ | ------------------------------------------------------ |
| PRODUCE             | `producer_byte_rate`       | long   | bytes of produce requests per second                   |
| FETCH               | `consumer_byte_rate`       | long   | bytes of fetch responses per second                    |
| REQUEST             | `request_percentage`       | double | percent of the time of a thread of Kafka's; see below  |
| CONTROLLER_MUTATION | `controller_mutation_rate` | double | partitions created and deleted per second              |

docs/quotas.md explains what 100 percent mean here, where one loop replaces Kafka's threads.

Source: semantics, quotas; Kafka 2.7.2, org.apache.kafka.common.config.internals.QuotaConfigs.
"""

import re
from enum import IntEnum

MOST_LIMIT = 2**63 - 1
"""The largest limit that there can be: Kafka's own word for none."""

_LONG = re.compile(r"[+-]?[0-9]{1,40}")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,4})?")


class QuotaKind(IntEnum):
    """The kind of a quota."""

    PRODUCE = 0
    FETCH = 1
    REQUEST = 2
    CONTROLLER_MUTATION = 3

    @property
    def key(self) -> str:
        """Return the name of its setting."""
        return _KEYS[self]

    @property
    def is_long(self) -> bool:
        """Return whether its values are whole numbers."""
        return self < QuotaKind.REQUEST

    def parse(self, text: str) -> float:
        """Parse a value from the registry.

        Raises:
            ValueError: There can be no such limit; says why.
        """
        text = text.strip()
        if not (_LONG if self.is_long else _DOUBLE).fullmatch(text):
            raise ValueError(f"{self.key} must be a {'whole number' if self.is_long else 'number'}, got {text[:40]!r}")
        limit = float(text)
        self.check(limit)
        return limit

    def check(self, limit: float) -> None:
        """Check that a value is valid.

        Raises:
            ValueError: There can't; says why.
        """
        # differs from Kafka (impossible-quota): it takes any number, and by a limit of 0 or less it holds nobody.
        # As a float, because limits are floats: the nearest one to MOST_LIMIT is one more.
        if not 0 < limit <= float(MOST_LIMIT):
            raise ValueError(f"{self.key} must be more than 0 and at most {MOST_LIMIT}: {limit:g}")

    def text(self, limit: float) -> str:
        """Return the form of a value in the registry."""
        return str(min(int(limit), MOST_LIMIT)) if self.is_long else repr(float(limit))


_KEYS = {
    QuotaKind.PRODUCE: "producer_byte_rate",
    QuotaKind.FETCH: "consumer_byte_rate",
    QuotaKind.REQUEST: "request_percentage",
    QuotaKind.CONTROLLER_MUTATION: "controller_mutation_rate",
}
KINDS_BY_KEY = {key: kind for kind, key in _KEYS.items()}
"""The kinds by the names of their settings."""
