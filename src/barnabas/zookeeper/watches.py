"""Who watches what. Pure.

A watch tells its watcher once, and one watcher has one watch of a kind on a node however often it sets it. Watches
on data are those of getData and exists, watches on children those of getChildren.

Source: ZooKeeper programmer's guide, watches; ZooKeeper 3.5.9, WatchManager and DataTree.setWatches.
"""

from typing import Generic, TypeVar

from barnabas.registry.store import EventType, WatchEvent

Watcher = TypeVar("Watcher")


class Watches(Generic[Watcher]):
    """The watches of all connections."""

    __slots__ = ("_children", "_data", "_of")

    def __init__(self) -> None:
        # In the order in which they were set.
        self._data: dict[str, dict[Watcher, None]] = {}
        self._children: dict[str, dict[Watcher, None]] = {}
        # Paths of data, then of children.
        self._of: dict[Watcher, tuple[set[str], set[str]]] = {}

    def counts(self) -> tuple[int, int, int]:
        """How many watchers there are, paths that they watch, and watches."""
        watches = sum(len(data) + len(children) for data, children in self._of.values())
        return len(self._of), len(self._data.keys() | self._children.keys()), watches

    def add_data(self, path: str, watcher: Watcher) -> None:
        self._data.setdefault(path, {})[watcher] = None
        self._paths(watcher)[0].add(path)

    def add_children(self, path: str, watcher: Watcher) -> None:
        self._children.setdefault(path, {})[watcher] = None
        self._paths(watcher)[1].add(path)

    def has(self, path: str, watcher: Watcher, data: bool, children: bool) -> bool:
        """Whether somebody watches a node, in one of these ways."""
        paths = self._of.get(watcher)
        return paths is not None and ((data and path in paths[0]) or (children and path in paths[1]))

    def remove(self, path: str, watcher: Watcher, data: bool, children: bool) -> None:
        """Forget somebody's watches on a node."""
        if data:
            _take(self._data, path, watcher)
        if children:
            _take(self._children, path, watcher)
        self._drop(path, watcher, data, children)

    def remove_some(self, watcher: Watcher, most: int) -> bool:
        """Forget so many watches of somebody; whether there are more."""
        paths = self._of.get(watcher)
        if paths is None:
            return False
        for table, own in ((self._data, paths[0]), (self._children, paths[1])):
            while own and most:
                _take(table, own.pop(), watcher)
                most -= 1
        if paths[0] or paths[1]:
            return True
        del self._of[watcher]
        return False

    def trigger(self, event: WatchEvent) -> list[Watcher]:
        """Whom something that happened is to be told; it is the last that they hear of these watches."""
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

    def _drop(self, path: str, watcher: Watcher, data: bool, children: bool) -> None:
        paths = self._of.get(watcher)
        if paths is None:
            return
        if data:
            paths[0].discard(path)
        if children:
            paths[1].discard(path)
        if not paths[0] and not paths[1]:
            del self._of[watcher]


def _take(table: dict[str, dict[Watcher, None]], path: str, watcher: Watcher) -> None:
    watchers = table.get(path)
    if watchers is not None:
        watchers.pop(watcher, None)
        if not watchers:
            del table[path]
