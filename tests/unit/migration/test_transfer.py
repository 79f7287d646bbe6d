"""A registry as a document, and what of it is written where."""

import asyncio
import json

import pytest

from barnabas.migration.transfer import (
    Document,
    TransferError,
    decode_document,
    document_of,
    encode_document,
    operations,
    write,
)
from barnabas.migration.tree_copy import Nodes, TreeCopy, read_tree
from barnabas.wire.registry.packets import in_packets, size_of
from barnabas.wire.registry.store import CreateOp, DeleteOp, Op, SetOp
from barnabas.wire.registry.znodes.cluster import encode_cluster_id
from tests.unit.memory_registry import memory_registry

ID = encode_cluster_id("first")


def moved(
    nodes: Nodes, there: Nodes, *, is_zookeeper: bool = False, overwrites: bool = False, sequence: int = 0
) -> Nodes:
    """What a tree of these nodes holds when a document was put there; twice, which changes nothing."""

    async def story() -> Nodes:
        registry = await memory_registry()
        await registry.multi([CreateOp(path, data) for path, data in there.items()])
        document = decode_document(encode_document(Document(nodes, sequence)))
        for _ in range(2):
            copy = await read_tree(registry, "there")
            ops = operations(document, copy, is_zookeeper=is_zookeeper, overwrites=overwrites)
            await write(registry, ops, is_zookeeper=is_zookeeper)
        assert (
            operations(document, await read_tree(registry, "there"), is_zookeeper=is_zookeeper, overwrites=False) == []
        )
        found = (await read_tree(registry, "there")).nodes
        if sequence:
            assert (await registry.get("/brokers/seqid"))[1].version == sequence
        return {path: data for path, data in found.items() if path != "/"}

    return asyncio.run(story())


def test_a_document_says_everything_that_outlives_a_session() -> None:
    tree = TreeCopy(
        "here", {"/": None, "/a": b"x", "/bytes": b"\xff", "/null": None, "/empty": b"", "/controller": b"c"}
    )
    tree.nodes |= {"/barnabas": None, "/barnabas/x": b"1", "/config/changes/config_change_0000000001": b"{}"}
    tree.versions = {"/brokers/seqid": 3}
    document = decode_document(encode_document(document_of(tree)))
    assert document.sequence == 3
    assert document.nodes == {
        **{"/a": b"x", "/bytes": b"\xff", "/null": None, "/empty": b""},
        **{"/barnabas": None, "/barnabas/x": b"1"},
    }


def test_what_is_missing_is_made_with_its_parents_and_what_is_only_there_stays() -> None:
    found = moved({"/a/b": b"x", "/n": None, "/e": b""}, {"/there": b"y"})
    assert found == {"/a": None, "/a/b": b"x", "/n": None, "/e": b"", "/there": b"y"}


def test_only_an_embedded_registry_gets_what_is_barnabas() -> None:
    nodes: Nodes = {"/a": b"x", "/barnabas": None, "/barnabas/kafka_version": b"{}"}
    assert moved(nodes, {}) == nodes
    assert moved(nodes, {}, is_zookeeper=True) == {"/a": b"x"}


def test_ids_that_brokers_got_are_not_given_again() -> None:
    assert moved({"/brokers": None, "/brokers/seqid": b""}, {}, sequence=5) == {"/brokers": None, "/brokers/seqid": b""}


def test_what_differs_is_replaced_only_where_asked_for() -> None:
    nodes: Nodes = {f"/{name}": b"new" for name in "abcdefg"}
    there: Nodes = dict.fromkeys(nodes, b"old")
    with pytest.raises(TransferError, match="there has other data in /a, /b, /c, /d, /e and 2 more: --overwrite"):
        moved(nodes, there)
    assert moved(nodes, there, overwrites=True) == nodes
    # The order of keys is no difference.
    assert moved({"/a": b'{"x":1,"y":2}'}, {"/a": b'{"y": 2, "x": 1}'}) == {"/a": b'{"y": 2, "x": 1}'}


def test_what_somebody_changed_since_it_was_looked_at_is_not_replaced() -> None:
    there = TreeCopy("there", {"/a": b"old"}, {"/a": 3})
    ops = operations(Document({"/a": b"new"}), there, is_zookeeper=True, overwrites=True)
    assert ops == [SetOp("/a", b"new", 3)]


def test_another_cluster_and_one_that_lives_are_refused() -> None:
    with pytest.raises(TransferError, match="there belongs to cluster second, but the file to cluster first"):
        moved({"/cluster": None, "/cluster/id": ID}, {"/cluster": None, "/cluster/id": encode_cluster_id("second")})
    with pytest.raises(TransferError, match="broker 3 is alive in there"):
        operations(Document(), TreeCopy("there", live_brokers=(3,)), is_zookeeper=True, overwrites=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "not written by `barnabas registry export`"),
        ({"version": 2}, "a newer version"),
        ({"nodes": []}, "nodes or sequence are invalid"),
        ({"sequence": -1}, "nodes or sequence are invalid"),
        ({"sequence": True}, "nodes or sequence are invalid"),
        ({"nodes": {"a": None}}, "'a' is not a valid path"),
        ({"nodes": {"/a": 3}}, "/a has invalid data"),
        ({"nodes": {"/a": {"base64": "ä"}}}, "/a has invalid data"),
        ({"nodes": {"/a": {"base64": 3}}}, "/a has invalid data"),
        ({"nodes": {"/a": {}}}, "/a has invalid data"),
    ],
)
def test_a_document_that_is_none_is_refused(change: dict[str, object], message: str) -> None:
    payload = json.loads(encode_document(Document({"/a": b"x"})))
    with pytest.raises(TransferError, match=message):
        decode_document(json.dumps({**payload, **change}))


@pytest.mark.parametrize("text", ["", "nonsense", "[]", "{", "[" * 100_000])
def test_a_text_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(TransferError):
        decode_document(text)


def test_packets_keep_the_order_and_the_bounds() -> None:
    ops = [CreateOp(f"/{number:03}", bytes(number)) for number in range(100)]
    assert [op for packet in in_packets(ops) for op in packet] == ops
    assert [len(packet) for packet in in_packets(ops, most_ops=30)] == [30, 30, 30, 10]
    most = size_of(ops[-1])
    assert all(len(packet) == 1 or sum(map(size_of, packet)) <= most for packet in in_packets(ops, most_bytes=most))
    # One that is too large by itself comes alone.
    large: list[Op] = [DeleteOp("/a"), SetOp("/b", bytes(500)), DeleteOp("/c")]
    assert [len(packet) for packet in in_packets(large, most_bytes=200)] == [1, 1, 1]
    assert list(in_packets([])) == []
