"""Records the use of each client per second for the last hour, in bounded memory. Pure.

    sums of each user and client id (`manager.Client`) ─ collect, once a second ─► rings of 3,600 seconds

Invariants:
- At most `most_kept` pairs of user and client id have their own rings: those with the most use. The use of all others
  is in one shared ring, so the sum of all rings is the broker's traffic. At most `_MOST_CANDIDATES` of the others are
  known by name.
- Seconds are wall-clock time, so the history continues after a restart. While the clock is set back by up to a minute,
  use is added to the last known second. If it is further back, it was ahead before: later seconds are removed.
"""

from array import array
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple, Protocol

from barnabas.wire.quotas.limits import QuotaKind

SECOND_COUNT: Final = 3_600
# Rings of all kinds for this many clients take at most 6 MB.
MOST_KEPT: Final = 100
_LARGEST: Final = 2**32 - 1
_NS_PER_US: Final = 1_000
# Maximum number of clients without rings that are remembered; when it is reached, they are compared at once.
_MOST_CANDIDATES: Final = 5_000
# How often clients without rings are compared with those that have rings.
_COMPARE_EVERY_S: Final = 60
_LONGEST_STEP_BACK_S: Final = 60

# Weights to compare clients by, in bytes: one second of the broker's time counts as 100 MB.
_WEIGHTS: Final = (1, 1, 100, 100_000)

Sums = tuple[int, int, int, int]


class Name(NamedTuple):
    """The user and client id whose requests are counted together; "" if the client sent no client id."""

    user: str
    client_id: str


class Counted(Protocol):
    """A user with a client id, such as `manager.Client`: sums since it was first seen, which never decrease."""

    user: str
    client_id: str
    produced_bytes: int
    fetched_bytes: int
    request_ns: int
    mutation_count: int


class Rings:
    """One client's last hour: a ring of seconds for each kind that it has used.

    Attributes:
        weight: The weighted sum of all use, by which clients are compared.
    """

    __slots__ = ("by_kind", "weight")

    def __init__(self) -> None:
        self.by_kind: dict[QuotaKind, array[int]] = {}
        self.weight = 0

    def add(self, second: int, kind: QuotaKind, value: int) -> None:
        """Count use in one second. A value too large for the ring is capped."""
        ring = self.by_kind.get(kind)
        if ring is None:
            ring = self.by_kind[kind] = array("I", bytes(4 * SECOND_COUNT))
        index = second % SECOND_COUNT
        before = ring[index]
        ring[index] = min(before + value, _LARGEST)
        self.weight += (ring[index] - before) * _WEIGHTS[kind]

    def clear(self, second: int) -> None:
        """Clear a second's entry."""
        index = second % SECOND_COUNT
        for kind, ring in self.by_kind.items():
            if ring[index]:
                self.weight -= ring[index] * _WEIGHTS[kind]
                ring[index] = 0

    def add_all(self, other: "Rings") -> None:
        """Add the counts of another set of rings."""
        for kind, ring in other.by_kind.items():
            for index, value in enumerate(ring):
                if value:
                    self.add(index, kind, value)


class Recorded(NamedTuple):
    """One ring in a report.

    Attributes:
        client: The client; None for all clients without rings.
        values: One value per second, oldest first: bytes, microseconds of the broker's time, or partitions.
    """

    client: Name | None
    kind: QuotaKind
    values: "array[int]"


class History:
    """The traffic of one broker's clients.

    Attributes:
        second: The last collected second since the epoch; -1 before the first.
        last_use: The last second with any use; -1 if there was none.
    """

    def __init__(self, *, most_kept: int = MOST_KEPT) -> None:
        self.second = self.last_use = -1
        self._most_kept = most_kept
        # The sums of each client at the last collection.
        self._seen: dict[Counted, Sums] = {}
        # The use of clients without rings since the last comparison.
        self._candidates: dict[Name, int] = {}
        self._last_comparison = 0
        self._kept: dict[Name, Rings] = {}
        self._others = Rings()

    @property
    def kept_count(self) -> int:
        """The number of clients that have rings of their own."""
        return len(self._kept)

    def collect(self, now_ms: int, clients: Collection[Counted]) -> None:
        """Run `collecting` to the end without pausing."""
        for _ in self.collecting(now_ms, clients, len(clients) + 1):
            pass

    def collecting(self, now_ms: int, clients: Collection[Counted], at_once: int) -> Iterator[None]:
        """Record the use since the last call as use of the previous second. Call it once a second.

        Iterate to the end: each step checks some clients, and other work may run in between.

        Args:
            clients: All known clients; must not change during the iteration. A missing client's recorded use is kept.
            at_once: The number of clients to check per step.
        """
        second = now_ms // 1_000 - 1
        if self.second - _LONGEST_STEP_BACK_S <= second < self.second:
            second = self.second
        self._go_on_to(second)
        before, seen = self._seen, {}
        for number, client in enumerate(clients, 1):
            if number % at_once == 0:
                yield
            sums = (
                client.produced_bytes,
                client.fetched_bytes,
                client.request_ns // _NS_PER_US,
                client.mutation_count,
            )
            known = before.get(client)
            if known == sums:
                seen[client] = known
                continue
            seen[client] = sums
            used = sums if known is None else tuple(now - then for now, then in zip(sums, known, strict=True))
            if any(used):
                self.last_use = second
                self._add(Name(client.user, client.client_id), second, used)
        self._seen = seen
        if abs(second - self._last_comparison) >= _COMPARE_EVERY_S:
            yield
            self._last_comparison = second
            self._compare()

    def recorded(self, last_s: int = SECOND_COUNT) -> list[Recorded]:
        """Return copies of all rings for the last `last_s` seconds, up to `second`."""
        told = []
        for client, rings in [*self._kept.items(), (None, self._others)]:
            for kind, ring in rings.by_kind.items():
                first = (self.second + 1) % SECOND_COUNT
                in_order = ring[first:] + ring[:first]
                told.append(Recorded(client, kind, in_order[SECOND_COUNT - last_s :]))
        return told

    def rates(self, last_s: int) -> dict[Name | None, tuple[float, ...]]:
        """Return the average use per second and kind over the last seconds, for clients with any use."""
        rates = {}
        indexes = [(self.second - age) % SECOND_COUNT for age in range(last_s)]
        for client, rings in [*self._kept.items(), (None, self._others)]:
            by_kind = [0.0] * len(QuotaKind)
            for kind, ring in rings.by_kind.items():
                by_kind[kind] = sum(ring[index] for index in indexes) / last_s
            if any(by_kind):
                rates[client] = tuple(by_kind)
        return rates

    def restore(self, second: int, recorded: Iterable[Recorded]) -> None:
        """Load the records of another history up to a second. Call it only before the first collection.

        Args:
            recorded: Rings of SECOND_COUNT values each.
        """
        self.second = second
        for client, kind, values in recorded:
            rings = self._others
            if client is not None and (client in self._kept or len(self._kept) < self._most_kept):
                rings = self._keep(client)
            for age, value in enumerate(reversed(values)):
                if value:
                    rings.add(second - age, kind, value)

    # --- once a second

    def _go_on_to(self, second: int) -> None:
        """Clear the seconds between the last one and this one, which are from an hour earlier, or later than now."""
        first, last = sorted((self.second, second))
        for passed in range(max(first + 1, last - SECOND_COUNT + 1), last + 1):
            self._others.clear(passed)
            for rings in self._kept.values():
                rings.clear(passed)
        self.second = second
        self.last_use = min(self.last_use, second)

    def _add(self, client: Name, second: int, used: Iterable[int]) -> None:
        rings = self._others
        if client in self._kept or len(self._kept) < self._most_kept:
            rings = self._keep(client)
        for kind, value in zip(QuotaKind, used, strict=True):
            if value:
                rings.add(second, kind, value)
                if rings is self._others:
                    self._candidates[client] = self._candidates.get(client, 0) + value * _WEIGHTS[kind]
        if len(self._candidates) >= _MOST_CANDIDATES:
            self._compare()

    def _keep(self, client: Name) -> Rings:
        rings = self._kept.get(client)
        if rings is None:
            rings = self._kept[client] = Rings()
        return rings

    def _compare(self) -> None:
        """Assign rings to the clients with the most use, replacing the least used rings; drop rings without any use."""
        for client in [client for client, rings in self._kept.items() if not rings.weight]:
            del self._kept[client]
        by_size = sorted(self._kept, key=lambda client: self._kept[client].weight)
        for client in sorted(self._candidates, key=self._candidates.__getitem__, reverse=True):
            if len(self._kept) >= self._most_kept:
                # Twice as much: similar clients must not replace each other, since a replaced ring joins the others.
                if not by_size or self._candidates[client] < 2 * self._kept[by_size[0]].weight:
                    break
                self._others.add_all(self._kept.pop(by_size.pop(0)))
            self._keep(client)
        self._candidates.clear()
