import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.registry.tree import Stage, Tree
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import CheckOp, CreateOp, DeleteOp, Op, RegistryError, SetOp

PATHS = ["/a", "/b", "/a/x", "/a/y", "/a/x/1"]

operations = st.one_of(
    st.builds(CreateOp, st.sampled_from(PATHS), st.binary(max_size=2), st.booleans(), st.booleans()),
    st.builds(SetOp, st.sampled_from(PATHS), st.binary(max_size=2), st.integers(-1, 2)),
    st.builds(DeleteOp, st.sampled_from(PATHS), st.integers(-1, 2)),
    st.builds(CheckOp, st.sampled_from(PATHS), st.integers(-1, 2)),
)


def dump(tree: Tree, path: str = paths.ROOT) -> dict[str, object]:
    """Everything that can be read of a tree."""
    node = tree.get(path)
    found: dict[str, object] = {path: (node, node.stat() if node else None)}
    for name in tree.children(path):
        found |= dump(tree, paths.child(path, name))
    return found


@given(st.lists(st.lists(operations, min_size=1, max_size=4), max_size=12), st.randoms(use_true_random=False))
def test_grouping_transactions_changes_nothing(transactions: list[list[Op]], rng: random.Random) -> None:
    """Transactions that share commits end in the same tree as those alone; refused ones leave no trace."""
    single, grouped = Tree(), Tree()
    stage = Stage(grouped, 7)
    for ops in transactions:
        alone = Stage(single, 7)
        before = dump(single)
        outcomes: list[object] = []
        for one in (alone, stage):
            try:
                outcomes.append(one.apply(ops, 5))
            except RegistryError as error:
                outcomes.append((type(error), error.path))
        assert outcomes[0] == outcomes[1]
        single.commit(alone)
        if not isinstance(outcomes[0], list):
            assert dump(single) == before
            assert alone.events == []
        if rng.random() < 0.4:
            grouped.commit(stage)
            stage = Stage(grouped, 7)
    grouped.commit(stage)
    assert dump(single) == dump(grouped)
    assert single.zxid == grouped.zxid
    reloaded = {path: node for path in dump(single) if (node := single.get(path)) is not None}
    assert dump(Tree(reloaded, single.zxid)) == dump(single)


def test_a_number_of_a_sequence_is_given_once() -> None:
    tree = Tree()
    stage = Stage(tree, 7)
    sequential = CreateOp("/a-", is_sequence=True)
    made = stage.apply([sequential, sequential], 5)
    stage.apply([DeleteOp(str(each)) for each in made], 5)
    made += stage.apply([sequential], 5)
    tree.commit(stage)
    stage = Stage(tree, 7)
    stage.apply([DeleteOp(str(made[-1]))], 5)
    made += stage.apply([sequential], 5)
    assert made == [f"/a-{number:010}" for number in range(4)]


@pytest.mark.parametrize(
    ("path", "parent", "name", "ancestors"),
    [("/", "/", "", []), ("/a", "/", "a", []), ("/a/b/c", "/a/b", "c", ["/a", "/a/b"])],
)
def test_paths_know_their_parents(path: str, parent: str, name: str, ancestors: list[str]) -> None:
    assert paths.parent(path) == parent
    assert paths.name(path) == name
    assert paths.ancestors(path) == ancestors


@pytest.mark.parametrize(
    ("name", "sanitized"), [("ref user", "ref%20user"), ("a*b", "a%2Ab"), ("a+b~c/d", "a%2Bb%7Ec%2Fd"), ("ü", "%C3%BC")]
)
def test_entity_names_are_url_encoded(name: str, sanitized: str) -> None:
    assert paths.sanitize(name) == sanitized
    assert paths.desanitize(sanitized) == name
