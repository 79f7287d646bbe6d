import pytest

from barnabas.migration.findings import Finding, Kind, in_order, ranges
from barnabas.migration.tree_copy import (
    Adopted,
    TreeCopy,
    children,
    decode_adopted,
    encode_adopted,
    is_carried,
    is_same,
    read_tree,
)
from tests.unit.memory_registry import memory_registry


async def test_reading_a_tree_leaves_out_what_lives_with_a_session() -> None:
    registry = await memory_registry()
    for path in ("/brokers", "/brokers/ids", "/zookeeper", "/many"):
        await registry.create(path)
    await registry.create("/brokers/ids/4", b"x", ephemeral=True)
    await registry.create("/controller", b"x", ephemeral=True)
    for number in range(600):
        await registry.create(f"/many/{number}", b"%d" % number)
    await registry.set("/many/5", b"changed")
    copy = await read_tree(registry, "here")
    assert copy.live_brokers == (4,)
    assert copy.nodes.keys() == {"/", "/brokers", "/brokers/ids", "/many", *(f"/many/{n}" for n in range(600))}
    assert (copy.nodes["/many/5"], copy.versions["/many/5"], copy.versions["/many/6"]) == (b"changed", 1, 0)
    assert copy.below("/brokers") == ["ids"]
    await registry.close()


@pytest.mark.parametrize(
    ("path", "is_taken"),
    [
        ("/", False),
        ("/controller", False),
        ("/controller_epoch", True),
        ("/brokers/ids", True),
        ("/brokers/ids/0", False),
        ("/brokers/topics/t/partitions/0/state", True),
        ("/config/changes/config_change_0000000000", False),
        ("/config/users/u", True),
        ("/kafka-acl-changes/acl_changes_0", False),
        ("/kafka-acl/Topic/t", True),
        ("/barnabas/adopted", False),
        ("/barnabas", False),
        ("/zookeeper/config", False),
        ("/consumers/g/offsets/t/0", True),
    ],
)
def test_what_goes_along(path: str, is_taken: bool) -> None:
    assert is_carried(path) == is_taken


def test_what_was_adopted_is_remembered_byte_by_byte() -> None:
    nodes = {"/null": None, "/empty": b"", "/any": bytes(range(256)), "/text": "größer".encode()}
    for adopted in (
        Adopted("zk", "a-1", nodes, frozenset(["/any"])),
        Adopted(None, None, nodes, frozenset(nodes), has_made_up_id=True),
    ):
        assert decode_adopted(encode_adopted(adopted, 1)) == adopted
    assert decode_adopted(None) is None


def test_the_adopted_tree_is_known_again() -> None:
    tree = TreeCopy("zk:2181", tree_id="a-1")
    assert Adopted("zk:2181", "a-1", {}).is_from(tree)
    assert Adopted("elsewhere:2181", "a-1", {}).is_from(tree)
    assert not Adopted("zk:2181", "b-2", {}).is_from(tree)
    assert not Adopted(None, None, {}).is_from(TreeCopy("zk:2181"))
    # Written by the first versions.
    adopted = decode_adopted(b'{"version":1,"source":"zk:2181","timestamp":"1","nodes":{"/a":null}}')
    assert adopted == Adopted("zk:2181", None, {"/a": None})
    assert adopted.is_from(tree)
    assert not adopted.is_from(TreeCopy("zk:2181/fresh"))


async def test_a_tree_made_anew_is_another_tree() -> None:
    registry = await memory_registry()
    assert (await read_tree(registry, "here")).tree_id is None
    await registry.create("/brokers")
    await registry.create("/brokers/topics")
    before = await read_tree(registry, "here")
    await registry.set("/brokers/topics", b"x")
    assert before.tree_id == (await read_tree(registry, "here")).tree_id
    await registry.delete("/brokers/topics")
    await registry.create("/brokers/topics")
    assert before.tree_id not in (None, (await read_tree(registry, "here")).tree_id)
    await registry.close()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (b'{"a":1,"b":2}', b'{ "b": 2, "a": 1 }', True),
        (b'{"a":1}', b'{"a":2}', False),
        (b"17", b"18", False),
        (None, None, True),
        (None, b"", False),
        (b"not json", b"not json either", False),
    ],
)
def test_two_nodes_that_say_the_same(one: bytes | None, other: bytes | None, same: bool) -> None:
    assert is_same(one, other) == is_same(other, one) == same


def test_children_of_the_root_and_of_a_path_that_begins_alike() -> None:
    nodes = ["/a", "/ab", "/a/x", "/a/x/y", "/ab/z"]
    assert children(nodes, "/") == ["a", "ab"]
    assert children(nodes, "/a") == ["x"]


def test_findings_come_worst_first() -> None:
    findings = [Finding(Kind.NOTE, "1", ""), Finding(Kind.BLOCKED, "2", ""), Finding(Kind.NOTE, "3", "")]
    assert [finding.subject for finding in in_order(findings)] == ["2", "1", "3"]


def test_numbers_are_written_as_ranges() -> None:
    assert ranges([7, 1, 0, 2, 9, 10]) == "0-2, 7, 9-10"
