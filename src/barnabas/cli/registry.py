"""`barnabas registry`: the tree in which a cluster keeps its state, embedded or in a ZooKeeper."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Final, TypeVar

from barnabas.cli.migration.open_registry import opened
from barnabas.cli.migration.transfer import decode_document, document_of, encode_document, operations, write
from barnabas.cli.migration.tree_copy import TreeCopy, read_tree
from barnabas.cli.migration_options import run_quietly
from barnabas.cli.options import AsJson, Option, flag, paragraphs
from barnabas.cli.output import note, print_data, print_json, say
from barnabas.cli.registry_serve import SERVE_HELP, serve
from barnabas.core.errors import BarnabasError
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import create_with_parents
from barnabas.wire.registry.store import (
    ANY_VERSION,
    BadVersionError,
    DeleteOp,
    EventType,
    NodeExistsError,
    NoNodeError,
    Registry,
    WatchEvent,
)

T = TypeVar("T")

HELP = paragraphs(
    """Show, change, move and serve the tree in which a cluster keeps its state.

--log-dir names the data directory of a broker that is stopped and keeps the state itself (the first of its log.dirs),
--zookeeper a ZooKeeper. Paths are Kafka's: /brokers/topics, /config/users...
"""
)
LS_HELP = paragraphs(
    """List the children of a node.

Example:

  barnabas registry ls /brokers/topics --zookeeper localhost:2181/kafka
"""
)
GET_HELP = paragraphs(
    """Print what a node holds.

Example:

  barnabas registry get /config/users/alice --log-dir barnabas-data
"""
)
SET_HELP = paragraphs(
    """Write a node, and create it with what is missing above it if need be.

Nobody checks what is written. A running broker sees a changed topic, and settings once a notification is written, too:
use `barnabas configs` for them.

Example:

  barnabas registry set /config/users/alice '{"version":1,"config":{"producer_byte_rate":"1048576"}}' --zookeeper
  localhost:2181
"""
)
DELETE_HELP = paragraphs(
    """Delete a node; with --recursive also everything below it.

Example:

  barnabas registry delete /config/clients/app --zookeeper localhost:2181
"""
)
WATCH_HELP = paragraphs(
    """Print what becomes of a node and its children, a line for each change, until Ctrl-C.

Example:

  barnabas registry watch /config/changes --zookeeper localhost:2181
"""
)
EXPORT_HELP = paragraphs(
    """Write everything that outlives a session into a file, as JSON.

Topics, users, quotas, settings, access rules, the cluster's id. What lives with a session stays behind, and so do
notifications, which brokers need only while they run. The file may hold credentials: it is readable by its owner alone.

Example:

  barnabas registry export state.json --log-dir barnabas-data
"""
)
IMPORT_HELP = paragraphs(
    """Put what `barnabas registry export` wrote into another tree.

What is there already and says the same is left alone; what differs is replaced only with --overwrite; what is only
there stays. A tree of another cluster is refused, and one with a broker that runs. The directory that the state came
from keeps its registry.sqlite: put it away before the broker is started with zookeeper.connect.

Example:

  barnabas registry import state.json --zookeeper localhost:2181/kafka
"""
)

_Path = Annotated[str, Option(metavar="PATH", help="The node, such as /brokers/topics.")]
_LogDir = Annotated[
    Path | None, Option("--log-dir", metavar="DIRECTORY", help="The data directory of a broker that is stopped.")
]
_ZooKeeper = Annotated[
    str | None, Option("--zookeeper", metavar="HOST:PORT/CHROOT", help="A ZooKeeper, as in zookeeper.connect.")
]
_Version = Annotated[
    int, Option("--version", metavar="N", help="Only if the node has this version; -1: whatever it has.")
]


def ls(
    path: _Path = paths.ROOT,
    log_dir: _LogDir = None,
    zookeeper: _ZooKeeper = None,
    recursive: Annotated[bool, flag("--recursive", "All nodes below it, with their whole paths.")] = False,
) -> None:
    async def work(registry: Registry) -> None:
        names = await registry.children(path)
        if not recursive:
            for name in names:
                say(name)
            return
        for below in await _below(registry, path):
            say(below)

    _run(work, path, log_dir, zookeeper)


def get(
    path: _Path,
    log_dir: _LogDir = None,
    zookeeper: _ZooKeeper = None,
    as_json: AsJson = False,
) -> None:
    async def work(registry: Registry) -> None:
        data, stat = await registry.get(path)
        if as_json:
            print_json({"path": path, "data": _text(data), **stat._asdict()})
        elif data is not None:
            print_data(f"{_text(data)}\n")
        else:
            note(f"{path} holds nothing (null).")

    _run(work, path, log_dir, zookeeper)


def set_(
    path: _Path,
    data: Annotated[str, Option(metavar="DATA", help="What it is to hold.")],
    log_dir: _LogDir = None,
    zookeeper: _ZooKeeper = None,
    version: _Version = ANY_VERSION,
) -> None:
    async def work(registry: Registry) -> None:
        if await registry.exists(path) is None and version == ANY_VERSION:
            try:
                await create_with_parents(registry, path, data.encode())
            except NodeExistsError:
                await registry.set(path, data.encode())
            return
        await registry.set(path, data.encode(), version)

    _run(work, path, log_dir, zookeeper)


def delete(
    path: _Path,
    log_dir: _LogDir = None,
    zookeeper: _ZooKeeper = None,
    version: _Version = ANY_VERSION,
    recursive: Annotated[bool, flag("--recursive", "Also everything below it.")] = False,
) -> None:
    async def work(registry: Registry) -> None:
        if recursive:
            await write(
                registry, [DeleteOp(each) for each in reversed(await _below(registry, path))], is_zookeeper=True
            )
        await registry.delete(path, version)

    _run(work, path, log_dir, zookeeper)


def watch(path: _Path, zookeeper: _ZooKeeper = None, as_json: AsJson = False) -> None:
    async def work(registry: Registry) -> None:
        await _watch(registry, path, as_json)

    _run(work, path, None, zookeeper)


def export(
    file: Annotated[Path | None, Option(metavar="FILE", help="Where to; without it, standard output.")] = None,
    log_dir: _LogDir = None,
    zookeeper: _ZooKeeper = None,
) -> None:
    async def work(registry: Registry) -> TreeCopy:
        return await read_tree(registry, _named(log_dir, zookeeper))

    document = document_of(_run(work, paths.ROOT, log_dir, zookeeper))
    text = encode_document(document)
    if file is None:
        print_data(text)
        return
    try:
        # Before anything is in it.
        file.touch(mode=0o600)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BarnabasError(f"{file}: {error.strerror}") from None
    note(f"{len(document.nodes)} nodes are in {file}.")


def import_(
    file: Annotated[Path, Option(metavar="FILE", help="What `barnabas registry export` wrote; -: standard input.")],
    log_dir: _LogDir = None,
    zookeeper: _ZooKeeper = None,
    overwrite: Annotated[bool, flag("--overwrite", "Replace what differs.")] = False,
) -> None:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except OSError as error:
        raise BarnabasError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BarnabasError(f"{file}: this is no JSON") from None
    document = decode_document(text)

    async def work(registry: Registry) -> int:
        there = await read_tree(registry, _named(log_dir, zookeeper))
        ops = operations(document, there, is_zookeeper=log_dir is None, overwrites=overwrite)
        await write(registry, ops, is_zookeeper=log_dir is None)
        return len(ops)

    count = _run(work, paths.ROOT, log_dir, zookeeper, creates=True)
    note(f"{count} writes: {_named(log_dir, zookeeper)} holds all {len(document.nodes)} nodes.")


SUBCOMMANDS: Final = {
    "ls": (ls, LS_HELP),
    "get": (get, GET_HELP),
    "set": (set_, SET_HELP),
    "delete": (delete, DELETE_HELP),
    "watch": (watch, WATCH_HELP),
    "export": (export, EXPORT_HELP),
    "import": (import_, IMPORT_HELP),
    "serve": (serve, SERVE_HELP),
}


def _run(
    work: Callable[[Registry], Awaitable[T]],
    path: str,
    log_dir: Path | None,
    zookeeper: str | None,
    *,
    creates: bool = False,
) -> T:
    if not paths.is_valid(path):
        raise BarnabasError(f"{path} is no path: write it as /brokers/topics")
    if (log_dir is None) == (zookeeper is None):
        raise BarnabasError("say where: --zookeeper HOST:PORT/CHROOT, or --log-dir of a broker that is stopped")

    async def run() -> T:
        async with opened(log_dir, zookeeper, creates=creates) as registry:
            try:
                return await work(registry)
            except NoNodeError as error:
                raise BarnabasError(f"there is no {error.path}") from None
            except BadVersionError as error:
                raise BarnabasError(f"{error.path} has another version") from None

    return run_quietly(run())


def _named(log_dir: Path | None, zookeeper: str | None) -> str:
    return str(log_dir) if zookeeper is None else zookeeper


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="backslashreplace")


async def _below(registry: Registry, path: str) -> list[str]:
    """All nodes below one, parents first."""
    found: list[str] = []
    waiting = [path]
    while waiting:
        parent = waiting.pop(0)
        below = [paths.child(parent, name) for name in await registry.children(parent)]
        found += below
        waiting += below
    return sorted(found)


async def _watch(registry: Registry, path: str, as_json: bool) -> None:
    """Print each change as it is found; several that come together are told as one."""
    events: asyncio.Queue[WatchEvent] = asyncio.Queue()
    told: tuple[object, ...] = ()
    while True:
        stat = await registry.exists(path, events.put_nowait)
        data, names = None, list[str]()
        if stat is not None:
            try:
                data, stat = await registry.get(path)
                names = await registry.children(path, events.put_nowait)
            except NoNodeError:
                continue
        seen = (stat is not None, data, names)
        if seen != told:
            told = seen
            if as_json:
                print_json({"path": path, "exists": seen[0], "data": _text(data), "children": names})
            elif stat is None:
                say(f"{path} is not there", flush=True)
            else:
                say(f"{path} version {stat.version}: {_text(data)} [{' '.join(names)}]", flush=True)
            sys.stdout.flush()
        event = await events.get()
        if event.type is EventType.NONE:
            note("The connection was lost.")
