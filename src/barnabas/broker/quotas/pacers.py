"""Counts the clients that limit themselves, per bucket that they share. Pure.

Several runs of one user and client id share a limit, and a broker cannot tell their connections apart by their use. So
each run announces itself in its requests regularly; a run that has not done so for a while is not counted.

Source: docs/quotas.md, sharing a limit.
"""

from collections.abc import Hashable
from typing import NamedTuple

from barnabas.wire.quotas.levels import Limits, Tags
from barnabas.wire.quotas.limits import QuotaKind

_MOST_REMEMBERED = 1_000
# Per user and client id, so that false announcements do not displace other clients' entries.
_MOST_OF_ONE = 50


class _Pacer(NamedTuple):
    user: str
    client_id: str
    until_ms: int

    def is_of(self, user: str, client_id: str) -> bool:
        return (self.user, self.client_id) == (user, client_id)


class Pacers:
    """The self-limiting clients of a broker, by kind and connection, in the order of their last announcement."""

    __slots__ = ("_by_place",)

    def __init__(self) -> None:
        self._by_place: dict[tuple[QuotaKind, Hashable], _Pacer] = {}

    def note(
        self, kind: QuotaKind, user: str, client_id: str, connection: Hashable, now_ms: int, lasting_ms: int
    ) -> None:
        """Record that a connection's client limits itself.

        Args:
            connection: Identifies the connection. A client's new connection counts as well until its old one expires.
            lasting_ms: How long the announcement is valid; 0 ends it.
        """
        is_new = self._by_place.pop((kind, connection), None) is None
        if lasting_ms <= 0:
            return
        if is_new:
            self._make_room(kind, user, client_id)
        if len(self._by_place) >= _MOST_REMEMBERED:
            self._forget_gone(now_ms)
        if len(self._by_place) >= _MOST_REMEMBERED:
            del self._by_place[next(iter(self._by_place))]
        self._by_place[kind, connection] = _Pacer(user, client_id, now_ms + lasting_ms)

    def count(self, kind: QuotaKind, limits: Limits, tags: Tags, now_ms: int) -> int:
        """Count the clients that share the measured use of these tags."""
        return sum(
            limits.tags(each.user, each.client_id) == tags
            for (of_kind, _), each in self._by_place.items()
            if of_kind is kind and each.until_ms > now_ms
        )

    def _make_room(self, kind: QuotaKind, user: str, client_id: str) -> None:
        """Forget the oldest entry of one user and client id if they are at their maximum."""
        own = [place for place, each in self._by_place.items() if place[0] is kind and each.is_of(user, client_id)]
        if len(own) >= _MOST_OF_ONE:
            del self._by_place[own[0]]

    def _forget_gone(self, now_ms: int) -> None:
        self._by_place = {place: each for place, each in self._by_place.items() if each.until_ms > now_ms}
