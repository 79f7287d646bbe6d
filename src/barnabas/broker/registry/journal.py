"""The file of the embedded registry: a SQLite database, owned by one process.

    znode(path, data, czxid, mzxid, pzxid, ctime, mtime, version, created_count, aversion, acls, owner)
                        one row for each node; acls: null (open to all) or JSON [[permissions, scheme, id]];
                        owner: 0, or the session of an ephemeral node
    session(id, password, timeout_ms)
                        one row for each session of another process
    meta(key, value)    format, zxid

Format 1 lacks `aversion` and `acls`, format 2 lacks owners and sessions: both are converted to format 3 on opening.

Invariants:

- Ephemeral nodes of the owning process are never written: they must end with the process, even if it is killed.
- On opening, ephemeral nodes without a session are deleted.
- The transaction counter is written with every commit, so a zxid (and with it a broker epoch) is never used twice.
- A commit is one transaction in write-ahead mode with a full sync: one fsync, and atomic even after a kill.
- The process has an exclusive lock from opening to closing: a second owner is refused.

All functions block, and run in the registry's executor. `open` imports SQLite, because the import takes milliseconds
that would block the event loop.

Source: design page, registry; SQLite documentation, write-ahead log without shared memory.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.broker.registry.tree import KeptSession, Stage, Tree, Znode
from barnabas.core.errors import StartupError, StorageError
from barnabas.wire.registry.acl import Acl, Acls

if TYPE_CHECKING:
    import sqlite3

_FORMAT = 3
_SCHEMA = """
CREATE TABLE znode (
    path TEXT PRIMARY KEY, data BLOB, czxid INTEGER, mzxid INTEGER, pzxid INTEGER, ctime INTEGER, mtime INTEGER,
    version INTEGER, created_count INTEGER, aversion INTEGER, acls TEXT, owner INTEGER DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE session (id INTEGER PRIMARY KEY, password BLOB, timeout_ms INTEGER);
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;
"""
_FROM_FORMAT = {
    1: ("ALTER TABLE znode ADD COLUMN aversion INTEGER DEFAULT 0", "ALTER TABLE znode ADD COLUMN acls TEXT"),
    2: (
        "ALTER TABLE znode ADD COLUMN owner INTEGER DEFAULT 0",
        "CREATE TABLE session (id INTEGER PRIMARY KEY, password BLOB, timeout_ms INTEGER)",
    ),
}
_PUT_FORMAT = "UPDATE meta SET value = ? WHERE key = 'format'"
_PUT = "INSERT OR REPLACE INTO znode VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM znode WHERE path = ?"
_PUT_SESSION = "INSERT OR REPLACE INTO session VALUES (?, ?, ?)"
_DELETE_SESSION = "DELETE FROM session WHERE id = ?"
_PUT_ZXID = "INSERT OR REPLACE INTO meta VALUES ('zxid', ?)"


class Journal:
    """An open database."""

    __slots__ = ("_connection",)

    def __init__(self, connection: "sqlite3.Connection") -> None:
        self._connection = connection

    @classmethod
    def open(cls, path: Path, keeps_sessions: bool) -> "tuple[Journal, Tree]":
        """Open or create the database and read the tree.

        Args:
            keeps_sessions: Keep sessions. Otherwise they end, because their clients cannot connect.

        Raises:
            StartupError: Another process owns the file, it is not a registry, or the disk failed.
        """
        import sqlite3

        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _check_regular(path)
            if not path.exists():
                # The file contains users' keys. SQLite's additional files get the same mode.
                path.touch(mode=0o600)
            connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise StartupError(f"cannot open the registry {path}: {error}") from error
        try:
            return cls(connection), _load(connection, path, keeps_sessions)
        except sqlite3.Error as error:
            connection.close()
            if "locked" in str(error):
                raise StartupError(
                    f"the registry {path} is in use by another process; stop that broker first"
                ) from error
            raise StartupError(f"cannot open the registry {path}: {error}") from error
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            connection.close()
            raise StartupError(f"the registry {path} is damaged: {error}") from error
        except BaseException:
            connection.close()
            raise

    def commit(self, stage: Stage, own_session_id: int) -> None:
        """Make the staged changes durable, all or none.

        Args:
            own_session_id: The session whose ephemeral nodes are omitted.

        Raises:
            StorageError: The disk failed; no change was stored.
        """
        import sqlite3

        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            gone, rows = [], []
            for path, node in stage.changes.items():
                if node is None or node.ephemeral_owner == own_session_id:
                    gone.append((path,))
                else:
                    acls, owner = _acls_text(node.acls), node.ephemeral_owner
                    rows.append((path, *node[:7], node.created_count, node.aversion, acls, owner))
            connection.executemany(_DELETE, gone)
            connection.executemany(_PUT, rows)
            for session_id, session in stage.sessions.items():
                if session is None:
                    connection.execute(_DELETE_SESSION, (session_id,))
                else:
                    connection.execute(_PUT_SESSION, (session_id, *session))
            connection.execute(_PUT_ZXID, (stage.zxid,))
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise StorageError(f"the registry could not be written: {error}") from error

    def close(self) -> None:
        """Close the file, and checkpoint the write-ahead log into it."""
        self._connection.close()


def _check_regular(path: Path) -> None:
    """Refuse a path that is a link, pipe or directory, before SQLite opens it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        file = path.with_name(path.name + suffix)
        if file.is_symlink() or (file.exists() and not file.is_file()):
            raise StartupError(f"cannot open the registry {path}: {file.name} is no regular file")


def _load(connection: "sqlite3.Connection", path: Path, keeps_sessions: bool) -> Tree:
    # Set before the first access: then the write-ahead log needs no shared memory, and other processes are locked out.
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None:
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
        connection.execute("INSERT INTO meta VALUES ('format', ?), ('zxid', 0)", (_FORMAT,))
    meta = dict(connection.execute("SELECT key, value FROM meta"))
    while meta.get("format") in _FROM_FORMAT:
        for statement in _FROM_FORMAT[meta["format"]]:
            connection.execute(statement)
        meta["format"] += 1
        connection.execute(_PUT_FORMAT, (meta["format"],))
    if meta.get("format") != _FORMAT:
        raise StartupError(f"the registry {path} has format {meta.get('format')}, this version reads {_FORMAT}")
    # Only what exists: SQLite writes the file even if it deletes nothing.
    orphans = "FROM znode WHERE owner AND owner NOT IN (SELECT id FROM session)"
    if not keeps_sessions and connection.execute("SELECT 1 FROM session LIMIT 1").fetchone() is not None:
        connection.execute("DELETE FROM session")
    if connection.execute(f"SELECT 1 {orphans} LIMIT 1").fetchone() is not None:
        connection.execute(f"DELETE {orphans}")
    connection.execute("COMMIT")
    rows = connection.execute(
        "SELECT path, data, czxid, mzxid, pzxid, ctime, mtime, version, created_count, aversion, owner, acls FROM znode"
    )
    nodes = {}
    for name, data, *numbers, acls in rows:
        # SQLite does not enforce column types.
        if not (
            isinstance(name, str) and isinstance(data, bytes | None) and all(type(each) is int for each in numbers)
        ):
            raise ValueError(f"the row of {name!r}")
        node = Znode(data, *numbers[:7])
        nodes[name] = node._replace(
            aversion=numbers[7], ephemeral_owner=numbers[8], acls=() if acls is None else _acls(acls)
        )
    sessions = {}
    for session_id, password, timeout_ms in connection.execute("SELECT id, password, timeout_ms FROM session"):
        if not isinstance(password, bytes) or type(timeout_ms) is not int:
            raise ValueError(f"session {session_id}")
        sessions[session_id] = KeptSession(password, timeout_ms)
    if type(meta["zxid"]) is not int:
        raise ValueError(f"zxid {meta['zxid']!r}")
    return Tree(nodes, meta["zxid"], sessions)


def _acls_text(acls: Acls) -> str | None:
    return json.dumps(acls, separators=(",", ":")) if acls else None


def _acls(text: str) -> Acls:
    return tuple(Acl(*each) for each in json.loads(text))
