"""`barnabas registry`: the state of a cluster, in its embedded registry or in ZooKeeper."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from errno import EBUSY
from pathlib import Path
from stat import S_IFREG, S_ISREG
from tempfile import mkstemp
from typing import Annotated, Final, TypeVar

from barnabas.cli.migration_options import run_quietly
from barnabas.cli.options import AsJson, Option, flag, paragraphs
from barnabas.cli.output import note, print_data, print_json, say
from barnabas.cli.registry_serve import SERVE_HELP, serve
from barnabas.core.errors import BarnabasError
from barnabas.migration.open_registry import open_registry
from barnabas.migration.transfer import decode_document, document_of, encode_document, operations, write
from barnabas.migration.tree_copy import TreeCopy, read_tree
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
    """Show, change, export, import and serve the state of a cluster.

--log-dir names the data directory of a stopped broker with an embedded registry (the first of its log.dirs),
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
    """Print the data of a node.

Example:

  barnabas registry get /config/users/alice --log-dir barnabas-data
"""
)
SET_HELP = paragraphs(
    """Write the data of a node; create it and its parents if they do not exist.

The data is not validated. A running broker notices a changed topic, but changed settings only after a notification is
written too: use `barnabas configs` for settings.

Example:

  barnabas registry set /config/users/alice '{"version":1,"config":{"producer_byte_rate":"1048576"}}' --zookeeper
  localhost:2181
"""
)
DELETE_HELP = paragraphs(
    """Delete a node; with --recursive, also all nodes below it.

Example:

  barnabas registry delete /config/clients/app --zookeeper localhost:2181
"""
)
WATCH_HELP = paragraphs(
    """Print each change of a node and its children as a line, until Ctrl-C.

Example:

  barnabas registry watch /config/changes --zookeeper localhost:2181
"""
)
EXPORT_HELP = paragraphs(
    """Export all persistent state to a JSON file.

Exports topics, users, quotas, settings, access rules and the cluster id. Ephemeral nodes are left out, and so are
notifications, which only running brokers need. The file may contain credentials, so only its owner can read it.

Example:

  barnabas registry export state.json --log-dir barnabas-data
"""
)
IMPORT_HELP = paragraphs(
    """Import a file of `barnabas registry export` into another registry.

Existing nodes with the same data are not changed, different ones are replaced only with --overwrite, and all others
stay. The import is refused if the registry belongs to another cluster or a broker is running. The source directory
keeps its registry.sqlite: move it away before you start the broker with zookeeper.connect.

Example:

  barnabas registry import state.json --zookeeper localhost:2181/kafka
"""
)

_Path = Annotated[str, Option(metavar="PATH", help="Path of the node, such as /brokers/topics.")]
_LogDir = Annotated[Path | None, Option("--log-dir", metavar="DIRECTORY", help="Data directory of a stopped broker.")]
_ZooKeeper = Annotated[
    str | None, Option("--zookeeper", metavar="HOST:PORT/CHROOT", help="ZooKeeper address, as in zookeeper.connect.")
]
_Version = Annotated[
    int, Option("--version", metavar="N", help="Only if the node has this version; -1 for any version.")
]


def ls(
    path: _Path = paths.ROOT,
    log_dir: _LogDir = None,
    zookeeper: _ZooKeeper = None,
    recursive: Annotated[bool, flag("--recursive", "List all nodes below, with their full paths.")] = False,
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
            note(f"{path} has no data (null).")

    _run(work, path, log_dir, zookeeper)


def set_(
    path: _Path,
    data: Annotated[str, Option(metavar="DATA", help="Data of the node.")],
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
    recursive: Annotated[bool, flag("--recursive", "Also delete all nodes below.")] = False,
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
    file: Annotated[Path | None, Option(metavar="FILE", help="File to write; without it, standard output.")] = None,
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
        _write_private(file, text)
    except OSError as error:
        raise BarnabasError(f"{file}: {error.strerror}") from None
    note(f"Exported {len(document.nodes)} nodes to {file}.")


def import_(
    file: Annotated[
        Path, Option(metavar="FILE", help="File written by `barnabas registry export`; - for standard input.")
    ],
    log_dir: _LogDir = None,
    zookeeper: _ZooKeeper = None,
    overwrite: Annotated[bool, flag("--overwrite", "Replace the data of nodes that differ.")] = False,
) -> None:
    if str(file) == "-" and sys.stdin is None:
        raise BarnabasError("standard input is closed: connect it to a file or a pipe")
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except OSError as error:
        raise BarnabasError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BarnabasError(f"{file}: must be JSON") from None
    document = decode_document(text)

    async def work(registry: Registry) -> int:
        there = await read_tree(registry, _named(log_dir, zookeeper))
        ops = operations(document, there, is_zookeeper=log_dir is None, overwrites=overwrite)
        await write(registry, ops, is_zookeeper=log_dir is None)
        return len(ops)

    count = _run(work, paths.ROOT, log_dir, zookeeper, creates=True)
    note(f"{count} writes: {_named(log_dir, zookeeper)} now has all {len(document.nodes)} nodes.")


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
        raise BarnabasError(f"{path} is not a valid path: write it as /brokers/topics")
    if (log_dir is None) == (zookeeper is None):
        raise BarnabasError("exactly one is required: --zookeeper HOST:PORT/CHROOT, or --log-dir of a stopped broker")

    async def run() -> T:
        async with open_registry(log_dir, zookeeper, creates=creates) as registry:
            try:
                return await work(registry)
            except NoNodeError as error:
                raise BarnabasError(f"{error.path} does not exist") from None
            except BadVersionError as error:
                raise BarnabasError(f"{error.path} has another version") from None

    return run_quietly(run())


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read. An existing file is replaced: others may be able to read it."""
    # Follows /dev/stdout to its pipe, which has no path.
    mode = path.stat().st_mode if path.exists() else S_IFREG
    if not S_ISREG(mode):
        path.write_text(text, encoding="utf-8")
        return
    target = path.resolve()
    try:
        # Readable by its owner only, from the start.
        descriptor, name = mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError:
        if not target.exists():
            raise
        # The user may write the file, but not its directory.
        _write_in_place(target, text)
        return
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, target)
    except BaseException as error:
        os.unlink(name)
        if not isinstance(error, OSError) or error.errno != EBUSY:
            raise
        # The file is a mount, as in a container.
        _write_in_place(target, text)


def _write_in_place(target: Path, text: str) -> None:
    with target.open("r+", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o600)
        file.truncate()
        file.write(text)


def _named(log_dir: Path | None, zookeeper: str | None) -> str:
    return str(log_dir) if zookeeper is None else zookeeper


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="backslashreplace")


async def _below(registry: Registry, path: str) -> list[str]:
    """Return all nodes below one, parents first."""
    found: list[str] = []
    waiting = [path]
    while waiting:
        parent = waiting.pop(0)
        below = [paths.child(parent, name) for name in await registry.children(parent)]
        found += below
        waiting += below
    return sorted(found)


async def _watch(registry: Registry, path: str, as_json: bool) -> None:
    """Print each change when it is found; changes in quick succession are printed as one."""
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
                say(f"{path} does not exist")
            else:
                say(f"{path} version {stat.version}: {_text(data)} [{' '.join(names)}]")
        event = await events.get()
        if event.type is EventType.NONE:
            note("Note that the connection was lost.")
