"""Slow down who guesses passwords: by address and by user, each wrong one doubles the wait. Pure.

Users are known by a digest: what was typed there may be a password.
"""

from hashlib import blake2b
from typing import Final, NamedTuple

_FREE: Final = 5
_LONGEST_WAIT_S: Final = 60.0
_FORGOTTEN_AFTER_S: Final = 900.0
MOST_KEPT: Final = 10_000


class _Wrong(NamedTuple):
    number: int
    last_s: float


class Guesses:
    """Wrong passwords of late; the ones told last stand last."""

    def __init__(self) -> None:
        self._wrong: dict[bytes, _Wrong] = {}

    def wait_s(self, address: str, user: str, now_s: float) -> float:
        """Return how long the next try has to wait; 0: it need not."""
        waits = [0.0]
        for key in _keys(address, user):
            wrong = self._wrong.get(key)
            if wrong is not None and wrong.number >= _FREE and now_s - wrong.last_s < _FORGOTTEN_AFTER_S:
                wait_s = min(2.0 ** min(wrong.number - _FREE, 10), _LONGEST_WAIT_S)
                waits.append(wrong.last_s + wait_s - now_s)
        return max(waits)

    def was_wrong(self, address: str, user: str, now_s: float) -> None:
        """Count one."""
        for key in _keys(address, user):
            before = self._wrong.pop(key, None)
            is_new = before is None or now_s - before.last_s >= _FORGOTTEN_AFTER_S
            self._wrong[key] = _Wrong(1 if is_new or before is None else before.number + 1, now_s)
        while len(self._wrong) > MOST_KEPT:
            del self._wrong[next(iter(self._wrong))]

    def was_right(self, address: str, user: str) -> None:
        """Take back the last one that was counted, and a user's others; an address may guess other users'."""
        at, of = _keys(address, user)
        self._wrong.pop(of, None)
        if (wrong := self._wrong.get(at)) is not None:
            self._wrong[at] = wrong._replace(number=max(wrong.number - 1, 0))


def _keys(address: str, user: str) -> tuple[bytes, bytes]:
    digest = blake2b(user.encode(errors="replace"), digest_size=16).digest()
    return b"a" + address.encode(errors="replace")[:64], b"u" + digest
