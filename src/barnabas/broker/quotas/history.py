"""Records the use of each client in each second of the last hour, in bounded memory. Pure.

    sums of each user and client id (`manager.Client`) ─ collect, once a second ─► rings of 3,600 seconds

Invariants:
- At most `most_kept` users and client ids have rings: those with the most use. The use of all others is in one shared
  ring, so the sum over all rings is the traffic of the broker. At most `_MOST_CANDIDATES` of the others are known by
  name.
- A second is one of wall time: the history continues after a restart. A clock that is set back adds to the last known
  second.
"""

from array import array
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple, Protocol

from barnabas.wire.quotas.limits import QuotaKind

SECOND_COUNT: Final = 3_600
# Rings of all kinds for so many take 6 MB at the most.
MOST_KEPT: Final = 100
_LARGEST: Final = 2**32 - 1
_NS_PER_US: Final = 1_000
# So many of those without rings are remembered until they are compared, which is sooner where there are more.
_MOST_CANDIDATES: Final = 5_000
# How often those without rings are compared with those that have one.
_COMPARE_EVERY_S: Final = 60

# What makes one client larger than another, in bytes: a second of the broker's time is as much as 100 MB.
_WEIGHTS: Final = (1, 1, 100, 100_000)

Sums = tuple[int, int, int, int]


class Name(NamedTuple):
    """The user and client id whose requests are counted together; "" if the client sent no client id."""

    user: str
    client_id: str


class Counted(Protocol):
    """A user with a client id, as `manager.Client` is one: sums that only grow, since it was first seen."""

    user: str
    client_id: str
    produced_bytes: int
    fetched_bytes: int
    request_ns: int
    mutation_count: int


class Rings:
    """One client's last hour: a ring of seconds for each kind that it ever used.

    Attributes:
        weight: The sum of all use, by which clients are compared.
    """

    __slots__ = ("by_kind", "weight")

    def __init__(self) -> None:
        self.by_kind: dict[QuotaKind, array[int]] = {}
        self.weight = 0

    def add(self, second: int, kind: QuotaKind, value: int) -> None:
        """Count a use in one second; values too large for a ring are capped."""
        ring = self.by_kind.get(kind)
        if ring is None:
            ring = self.by_kind[kind] = array("I", bytes(4 * SECOND_COUNT))
        index = second % SECOND_COUNT
        before = ring[index]
        ring[index] = min(before + value, _LARGEST)
        self.weight += (ring[index] - before) * _WEIGHTS[kind]

    def clear(self, second: int) -> None:
        """Clear the counts of an hour before this second."""
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
        client: Its client; None for all clients without a ring.
        values: For each second, the oldest first: bytes, microseconds of the broker's time, or partitions.
    """

    client: Name | None
    kind: QuotaKind
    values: "array[int]"


class History:
    """The traffic of one broker's clients.

    Attributes:
        second: The last one that was collected, in seconds since the epoch; -1 before the first.
        last_use: The last second with any use; -1 if there was none.
    """

    def __init__(self, *, most_kept: int = MOST_KEPT) -> None:
        self.second = self.last_use = -1
        self._most_kept = most_kept
        # What each had counted when it was looked at last.
        self._seen: dict[Counted, Sums] = {}
        # What those without rings used since they were last compared.
        self._candidates: dict[Name, int] = {}
        self._next_comparison = 0
        self._kept: dict[Name, Rings] = {}
        self._others = Rings()

    @property
    def kept_count(self) -> int:
        """The number of clients that have rings of their own."""
        return len(self._kept)

    def collect(self, now_ms: int, clients: Collection[Counted]) -> None:
        """`collecting`, at one stroke."""
        for _ in self.collecting(now_ms, clients, len(clients) + 1):
            pass

    def collecting(self, now_ms: int, clients: Collection[Counted], at_once: int) -> Iterator[None]:
        """Record the use since the last call as that of the second before this one; call it once a second.

        Args:
            clients: All that are known; who is not among them any more is forgotten, but for what it used. Nobody
                comes or goes there until the end.
            at_once: So many are looked at before others get their turn; whoever began goes on to the end.
        """
        second = max(now_ms // 1_000 - 1, self.second)
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
        if second >= self._next_comparison:
            yield
            self._next_comparison = second + _COMPARE_EVERY_S
            self._compare()

    def recorded(self, last_s: int = SECOND_COUNT) -> list[Recorded]:
        """Return the last seconds of all, up to `second`; copies."""
        told = []
        for client, rings in [*self._kept.items(), (None, self._others)]:
            for kind, ring in rings.by_kind.items():
                first = (self.second + 1) % SECOND_COUNT
                in_order = ring[first:] + ring[:first]
                told.append(Recorded(client, kind, in_order[SECOND_COUNT - last_s :]))
        return told

    def rates(self, last_s: int) -> dict[Name | None, tuple[float, ...]]:
        """Return the average use per second over the last seconds, by kind, for clients that used anything."""
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
        """Load the records of another history up to a second; only before anything was collected.

        Args:
            recorded: With as many values as there are seconds in an hour, each.
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
        first = max(self.second + 1, second - SECOND_COUNT + 1)
        for passed in range(first, second + 1):
            self._others.clear(passed)
            for rings in self._kept.values():
                rings.clear(passed)
        self.second = second

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
        """Give rings to clients with more use than the least of those with rings; take rings from idle clients."""
        for client in [client for client, rings in self._kept.items() if not rings.weight]:
            del self._kept[client]
        by_size = sorted(self._kept, key=lambda client: self._kept[client].weight)
        for client in sorted(self._candidates, key=self._candidates.__getitem__, reverse=True):
            if len(self._kept) >= self._most_kept:
                # Twice as much: two of a size must not take turns, as what was so far goes to the others.
                if not by_size or self._candidates[client] < 2 * self._kept[by_size[0]].weight:
                    break
                self._others.add_all(self._kept.pop(by_size.pop(0)))
            self._keep(client)
        self._candidates.clear()
