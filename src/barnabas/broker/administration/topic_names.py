"""The names of all topics, to find collisions with a new name.

Two names collide if they differ only in `.` and `_`: their metrics would have the same name.

Source: semantics, topics and partitions (names).
"""

from collections.abc import Collection


class TopicNames:
    """The names of all topics, kept between requests, so that each request checks only the names added or removed."""

    __slots__ = ("_alike", "_known")

    def __init__(self) -> None:
        self._known: set[str] = set()
        # Names with `.` or `_`, by the name in which every `.` is replaced by `_`; other names cannot collide.
        self._alike: dict[str, set[str]] = {}

    def take_over(self, names: Collection[str]) -> set[str]:
        """Set the existing topics, and return them as a set that the caller owns."""
        now = set(names)
        for name in self._known - now:
            alike = self._alike.get(_flat(name))
            if alike is not None:
                alike.discard(name)
                if not alike:
                    del self._alike[_flat(name)]
        for name in now - self._known:
            self._note(name)
        self._known = now
        return set(now)

    def add(self, name: str) -> None:
        """Add the name of a topic that is being created."""
        self._known.add(name)
        self._note(name)

    def alike(self, name: str) -> Collection[str]:
        """Return the topics whose names collide with this one."""
        return sorted(self._alike.get(_flat(name), ()))

    def _note(self, name: str) -> None:
        if "." in name or "_" in name:
            self._alike.setdefault(_flat(name), set()).add(name)


def _flat(name: str) -> str:
    return name.replace(".", "_")
