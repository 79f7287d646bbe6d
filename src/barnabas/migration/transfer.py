"""Export and import of a registry's persistent nodes as one JSON document.

    {"format":"barnabas-registry","version":1,
     "nodes":{"/brokers/topics/t":"{\\"version\\":2,...}","/brokers/ids":null,"/x":{"base64":"/w=="}},
     "sequence":3}

`sequence` is the version of /brokers/seqid, from which new broker ids are generated.

Invariants:

- Ephemeral nodes and notifications, which every broker reads again at its start, are left out.
- Nodes below /barnabas, which only an embedded registry has, are not written to a ZooKeeper.
- A tree of another cluster or with a live broker is never written; different nodes are replaced only on request.
- An interrupted import can be repeated.

Source: zookeeper.md, all tables.
"""

import base64
import json
from dataclasses import dataclass, field

from barnabas.core.errors import BarnabasError
from barnabas.migration.tree_copy import Nodes, TreeCopy, is_carried, is_same, with_parents
from barnabas.wire.registry import paths
from barnabas.wire.registry.packets import in_packets
from barnabas.wire.registry.store import CreateOp, Op, Registry, SetOp
from barnabas.wire.registry.znodes.cluster import decode_cluster_id

_FORMAT = "barnabas-registry"
_MOST_NAMED = 5


class TransferError(BarnabasError):
    """A document is invalid or can't be imported; the message is one line with the reason."""


@dataclass(slots=True)
class Document:
    """The persistent contents of a registry.

    Attributes:
        nodes: Path to data.
        sequence: The version of /brokers/seqid.
    """

    nodes: Nodes = field(default_factory=dict)
    sequence: int = 0


def document_of(tree: TreeCopy) -> Document:
    """Return the persistent nodes of a tree."""
    nodes = {path: data for path, data in tree.nodes.items() if is_carried(path) or _is_own(path)}
    return Document(nodes, tree.versions.get(paths.BROKER_SEQUENCE, 0))


def encode_document(document: Document) -> str:
    """Return the JSON text, with one node on each line."""
    nodes = ",\n".join(
        f"  {json.dumps(path)}: {json.dumps(_encoded(data))}" for path, data in sorted(document.nodes.items())
    )
    head = f'{{"format": "{_FORMAT}", "version": 1, "sequence": {document.sequence}, "nodes": {{'
    return f"{head}\n{nodes}\n}}}}\n"


def decode_document(text: str) -> Document:
    """Decode the text of `encode_document`.

    Raises:
        TransferError: The text has another form.
    """
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TransferError(f"the file must be JSON: {error}") from None
    if not isinstance(payload, dict) or payload.get("format") != _FORMAT:
        raise TransferError("the file was not written by `barnabas registry export`")
    if payload.get("version") != 1:
        raise TransferError("the file was written by a newer version of Barnabas")
    nodes, sequence = payload.get("nodes"), payload.get("sequence", 0)
    if not isinstance(nodes, dict) or type(sequence) is not int or not 0 <= sequence < 1 << 31:
        raise TransferError("its nodes or sequence are invalid")
    found: Nodes = {}
    for path, value in nodes.items():
        if not paths.is_valid(path):
            raise TransferError(f"{path!r} is not a valid path")
        found[path] = _decoded(path, value)
    return Document(found, sequence)


def operations(document: Document, there: TreeCopy, *, is_zookeeper: bool, overwrites: bool) -> list[Op]:
    """Return the operations that import a document into a tree.

    Args:
        document: The document.
        there: The present tree.
        is_zookeeper: The tree is not an embedded registry.
        overwrites: Replace different data with the document's.

    Raises:
        TransferError: The import is refused.
    """
    if there.live_brokers:
        raise TransferError(f"broker {there.live_brokers[0]} is alive in {there.source}: stop it first")
    ours, theirs = (decode_cluster_id(nodes.get(paths.CLUSTER_ID)) for nodes in (document.nodes, there.nodes))
    if ours is not None and theirs is not None and ours != theirs:
        raise TransferError(f"{there.source} belongs to cluster {theirs}, but the file to cluster {ours}")
    wanted = {path: data for path, data in document.nodes.items() if not (is_zookeeper and _is_own(path))}
    wanted = {path: data for path, data in with_parents(wanted).items() if path != paths.ROOT}
    differing = [path for path, data in wanted.items() if path in there.nodes and not is_same(there.nodes[path], data)]
    if differing and not overwrites:
        more = f" and {len(differing) - _MOST_NAMED} more" if len(differing) > _MOST_NAMED else ""
        raise TransferError(
            f"{there.source} has other data in {', '.join(differing[:_MOST_NAMED])}{more}: --overwrite replaces it"
        )
    ops: list[Op] = [CreateOp(path, data) for path, data in wanted.items() if path not in there.nodes]
    ops += [SetOp(path, wanted[path], there.versions[path]) for path in differing]
    missing = document.sequence - there.versions.get(paths.BROKER_SEQUENCE, 0)
    ops += [SetOp(paths.BROKER_SEQUENCE, document.nodes.get(paths.BROKER_SEQUENCE))] * missing
    return ops


async def write(registry: Registry, ops: list[Op], *, is_zookeeper: bool) -> None:
    """Carry out operations: all at once, or in packets that ZooKeeper accepts.

    Raises:
        RegistryError: Another client changed the tree meanwhile.
    """
    for some in in_packets(ops) if is_zookeeper else [ops]:
        await registry.multi(some)


def _is_own(path: str) -> bool:
    return path == paths.BARNABAS or path.startswith(paths.BARNABAS + "/")


def _encoded(data: bytes | None) -> object:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data or b"").decode()}


def _decoded(path: str, value: object) -> bytes | None:
    if value is None:
        return None
    try:
        if isinstance(value, str):
            return value.encode()
        if isinstance(value, dict):
            return base64.b64decode(value["base64"], validate=True)
    except (KeyError, TypeError, ValueError):
        pass
    raise TransferError(f"{path} has invalid data")
