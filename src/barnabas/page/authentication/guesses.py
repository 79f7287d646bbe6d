"""Slows down password guessing: each wrong password doubles the wait of its user and of its address. Pure.

A login in progress counts as wrong until it ends, so parallel guesses count. A successful login ends the wait of its
user, and subtracts this user's wrong passwords from the count of the address; wrong passwords for other users remain.

User names are stored as digests, because users may type a password in that field.
"""

from collections import Counter
from hashlib import blake2b
from typing import Final, NamedTuple

from barnabas.page.authentication.shares import share_of

_FREE: Final = 5
_LONGEST_WAIT_S: Final = 60.0
_FORGOTTEN_AFTER_S: Final = 900.0
MOST_KEPT: Final = 10_000


class _Wrong(NamedTuple):
    number: int
    last_s: float


class Guesses:
    """Recent wrong passwords by address, by user, and by user at an address, in order of the last attempt."""

    def __init__(self) -> None:
        self._wrong: dict[bytes, _Wrong] = {}
        self._under_way: Counter[bytes] = Counter()

    def wait_s(self, address: str, user: str, now_s: float) -> float:
        """Return the wait in seconds before the next login; 0: no wait."""
        waits = [0.0]
        for key in _keys(address, user)[:2]:
            number, last_s = self._recent(key, now_s)
            under_way = self._under_way[key]
            if number + under_way >= _FREE:
                wait_s = min(2.0 ** min(number + under_way - _FREE, 10), _LONGEST_WAIT_S)
                waits.append((now_s if under_way else last_s) + wait_s - now_s)
        return max(waits)

    def begin(self, address: str, user: str) -> None:
        """Record the start of a login attempt."""
        self._under_way.update(_keys(address, user)[:2])

    def end(self, address: str, user: str, now_s: float, *, is_right: bool) -> None:
        """Record the result of a login attempt."""
        at, of, of_at = _keys(address, user)
        for key in (at, of):
            self._under_way[key] -= 1
            if not self._under_way[key]:
                del self._under_way[key]
        if is_right:
            self._wrong.pop(of, None)
            own = self._wrong.pop(of_at, None)
            if own is not None and (wrong := self._wrong.get(at)) is not None:
                self._wrong[at] = wrong._replace(number=max(wrong.number - own.number, 0))
            return
        for key in (at, of, of_at):
            number = self._recent(key, now_s).number + 1
            self._wrong.pop(key, None)
            self._wrong[key] = _Wrong(number, now_s)
        while len(self._wrong) > MOST_KEPT:
            del self._wrong[next(iter(self._wrong))]

    def _recent(self, key: bytes, now_s: float) -> _Wrong:
        """Return the unexpired count of a key."""
        wrong = self._wrong.get(key)
        return _Wrong(0, now_s) if wrong is None or now_s - wrong.last_s >= _FORGOTTEN_AFTER_S else wrong


def _keys(address: str, user: str) -> tuple[bytes, bytes, bytes]:
    """Return the keys of an address, of a user, and of the user at the address."""
    at = b"a" + share_of(address).encode(errors="replace")[:64]
    of = b"u" + blake2b(user.encode(errors="replace"), digest_size=16).digest()
    return at, of, of + at
