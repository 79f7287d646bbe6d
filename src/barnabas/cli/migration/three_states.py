"""Who changed a node of the tree since its directory was adopted: this broker, somebody else, or both. Pure.

Three states are compared: as it was at the adoption, as it is here now, and as it is in the tree that is written. What
that tree held at the adoption is known only where it is the one that was adopted; of any other one (a fresh chroot, a
restored one, any one at all when there was none to adopt) nothing is known, so what it lacks was never deleted there:

    tree            it lacks the node   it has the node
    the adopted     deleted there       compared with what it held then
    another         new to it           where the two say different things, both changed it
    any, if none    new to it           as above, but what was guessed at the adoption and left alone gives way
    was adopted

Source: zookeeper.md, all tables.
"""

from collections.abc import Callable, Mapping
from enum import Enum

from barnabas.cli.migration.tree_copy import Adopted, Nodes, TreeCopy, is_same

IsSame = Callable[[bytes | None, bytes | None], bool]


class Changed(Enum):
    """By whom a node was changed."""

    NEITHER = "neither"
    HERE = "here"
    THERE = "there"
    BOTH = "both"


class ThreeStates:
    """The nodes that go along, in all three states.

    Attributes:
        began: What this broker's registry held when the directory was adopted; empty if it was never Kafka's.
        ours: What it holds now.
        theirs: What the tree that is written holds now.
        is_adopted_tree: That tree is the one that was adopted.
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
        """By whom a node was changed.

        Args:
            path: The node.
            says_same: Compares the data of two nodes that are there.
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
            # A node without data only holds others.
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
