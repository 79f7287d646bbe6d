"""The table of watches: which connection watches which node. Pure.

A watch fires once. A connection has at most one watch of each kind on a node, even if it sets the watch several times.
Data watches are set by getData and exists, child watches by getChildren.

The memory of the watches is counted, because paths may be very long and the number of watches is not limited.

Source: ZooKeeper programmer's guide, watches; ZooKeeper 3.5.9, WatchManager and DataTree.setWatches.
"""

import sys
from typing import Final, Generic, TypeVar

from barnabas.wire.registry.store import EventType, WatchEvent

Watcher = TypeVar("Watcher")

# The estimated memory of a watch, without its path.
_WATCH_BYTES: Final = 400


class Watches(Generic[Watcher]):
    """The watches of all connections.

    Attributes:
        kept_bytes: Their estimated memory.
    """

    __slots__ = ("_bytes", "_children", "_data", "_of", "kept_bytes")

    def __init__(self) -> None:
        # By path: the watchers, in the order in which they were added.
        self._data: dict[str, dict[Watcher, None]] = {}
        self._children: dict[str, dict[Watcher, None]] = {}
        # By watcher: paths of data watches, then of child watches.
        self._of: dict[Watcher, tuple[set[str], set[str]]] = {}
        self._bytes: dict[Watcher, int] = {}
        self.kept_bytes = 0

    def counts(self) -> tuple[int, int, int]:
        """Count the watchers, the paths that they watch, and the watches."""
        watches = sum(len(data) + len(children) for data, children in self._of.values())
        return len(self._of), len(self._data.keys() | self._children.keys()), watches

    def add_data(self, path: str, watcher: Watcher) -> None:
        self._data.setdefault(path, {})[watcher] = None
        self._note(watcher, self._paths(watcher)[0], path)

    def add_children(self, path: str, watcher: Watcher) -> None:
        self._children.setdefault(path, {})[watcher] = None
        self._note(watcher, self._paths(watcher)[1], path)

    def dismiss_largest(self) -> Watcher:
        """Return the watcher with the most memory, and stop counting its watches, which the caller will remove."""
        watcher = max(self._bytes, key=self._bytes.__getitem__)
        self.kept_bytes -= self._bytes.pop(watcher)
        return watcher

    def has(self, path: str, watcher: Watcher, data: bool, children: bool) -> bool:
        """Return whether a watcher has a data or child watch on a node."""
        paths = self._of.get(watcher)
        return paths is not None and ((data and path in paths[0]) or (children and path in paths[1]))

    def remove(self, path: str, watcher: Watcher, data: bool, children: bool) -> None:
        """Remove a watcher's watches on a node."""
        if data:
            _take(self._data, path, watcher)
        if children:
            _take(self._children, path, watcher)
        self._drop(path, watcher, data, children)

    def remove_some(self, watcher: Watcher, most: int) -> bool:
        """Remove up to `most` watches of a watcher; return whether it has more."""
        paths = self._of.get(watcher)
        if paths is None:
            return False
        for table, own in ((self._data, paths[0]), (self._children, paths[1])):
            while own and most:
                path = own.pop()
                _take(table, path, watcher)
                self._count(watcher, -_bytes_of(path))
                most -= 1
        if paths[0] or paths[1]:
            return True
        self._forget(watcher)
        return False

    def trigger(self, event: WatchEvent) -> list[Watcher]:
        """Remove the watches that an event fires, and return their watchers."""
        is_deleted = event.type is EventType.DELETED
        data = event.type is not EventType.CHILD
        children = is_deleted or not data
        told: dict[Watcher, None] = {}
        if data:
            told |= self._data.pop(event.path, {})
        if children:
            told |= self._children.pop(event.path, {})
        for watcher in told:
            self._drop(event.path, watcher, data, children)
        return list(told)

    def _paths(self, watcher: Watcher) -> tuple[set[str], set[str]]:
        return self._of.setdefault(watcher, (set(), set()))

    def _note(self, watcher: Watcher, paths: set[str], path: str) -> None:
        if path not in paths:
            paths.add(path)
            self._bytes.setdefault(watcher, 0)
            self._count(watcher, _bytes_of(path))

    def _count(self, watcher: Watcher, more_bytes: int) -> None:
        if watcher in self._bytes:
            self._bytes[watcher] += more_bytes
            self.kept_bytes += more_bytes

    def _drop(self, path: str, watcher: Watcher, data: bool, children: bool) -> None:
        paths = self._of.get(watcher)
        if paths is None:
            return
        for own, is_meant in ((paths[0], data), (paths[1], children)):
            if is_meant and path in own:
                own.discard(path)
                self._count(watcher, -_bytes_of(path))
        if not paths[0] and not paths[1]:
            self._forget(watcher)

    def _forget(self, watcher: Watcher) -> None:
        del self._of[watcher]
        self.kept_bytes -= self._bytes.pop(watcher, 0)


def _bytes_of(path: str) -> int:
    return _WATCH_BYTES + sys.getsizeof(path)


def _take(table: dict[str, dict[Watcher, None]], path: str, watcher: Watcher) -> None:
    watchers = table.get(path)
    if watchers is not None:
        watchers.pop(watcher, None)
        if not watchers:
            del table[path]
