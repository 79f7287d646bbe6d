"""Finds whether a node changed since the adoption here, in ZooKeeper, or in both. Pure.

Three states are compared: at the adoption, here now, and in the target tree now. The target's state at the adoption is
known only if it is the tree that was adopted. For any other tree (a new or restored chroot, or any tree if none was
adopted) it is unknown, so missing nodes do not count as deleted there:

    tree            lacks the node      has the node
    the adopted     deleted there       compared with its data at the adoption
    another         new to the tree     changed by both if the data differs
    any, if none    new to the tree     as above, but unchanged guesses of the adoption yield to the tree
    was adopted

Source: zookeeper.md, all tables.
"""

from collections.abc import Callable, Mapping
from enum import Enum

from barnabas.migration.tree_copy import Adopted, Nodes, TreeCopy, is_same

IsSame = Callable[[bytes | None, bytes | None], bool]


class Changed(Enum):
    """The side on which a node was changed."""

    NEITHER = "neither"
    HERE = "here"
    THERE = "there"
    BOTH = "both"


class ThreeStates:
    """The migrated nodes, in all three states.

    Attributes:
        began: The registry's nodes at the adoption; empty if the directory was never Kafka's.
        ours: The registry's nodes now.
        theirs: The target tree's nodes now.
        is_adopted_tree: The target is the tree that was adopted.
    """

    __slots__ = ("_base", "_is_guess", "began", "is_adopted_tree", "ours", "theirs")

    def __init__(self, adopted: Adopted | None, ours: Nodes, target: TreeCopy, theirs: Nodes) -> None:
        self.began: Nodes = {} if adopted is None else adopted.nodes
        self.ours = ours
        self.theirs = theirs
        self.is_adopted_tree = adopted is not None and adopted.is_from(target)
        self._is_guess = adopted is not None and adopted.source is None
        added = adopted.added if adopted is not None else frozenset[str]()
        self._base: Nodes = {path: data for path, data in self.began.items() if path not in added}

    def changed(self, path: str, says_same: IsSame = is_same) -> Changed:
        """Return the side on which a node was changed.

        Args:
            path: The node.
            says_same: Compares the data of two existing nodes.
        """
        ours, theirs = self.ours.get(path), self.theirs.get(path)
        is_ours, is_theirs = path in self.ours, path in self.theirs
        if is_ours == is_theirs and says_same(ours, theirs):
            return Changed.NEITHER
        if self.is_adopted_tree:
            here, there = (_differ(self._base, nodes, path, says_same) for nodes in (self.ours, self.theirs))
        elif not is_theirs:
            here, there = True, False
        elif not is_ours:
            here, there = path in self.began, _differ(self.began, self.theirs, path, says_same)
        else:
            is_left_alone = self._is_guess and not _differ(self.began, self.ours, path, says_same)
            # A node without data is only a parent of others.
            here, there = ours is not None and not is_left_alone, theirs is not None
        return _BY[here, there]


_BY = {
    (False, False): Changed.NEITHER,
    (True, False): Changed.HERE,
    (False, True): Changed.THERE,
    (True, True): Changed.BOTH,
}


def _differ(
    before: Mapping[str, bytes | None], after: Mapping[str, bytes | None], path: str, says_same: IsSame
) -> bool:
    if path not in before or path not in after:
        return (path in before) != (path in after)
    return not says_same(before[path], after[path])
