"""A PostgreSQL server of a test's own: Debian's programs, a directory that goes with it, a free port of 127.0.0.1."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import psycopg
import pytest

from tests.patience import PATIENCE_S
from tools.kafka.server import free_port

# The server does not run as root.
_USER = "postgres" if os.geteuid() == 0 else None
PASSWORD = "a secret / of 100 %"


class PostgresqlServer:
    """A server with one user, `test`, and one database of that name; use it as a context.

    Args:
        settings: Of the server, beside its own.
    """

    def __init__(self, **settings: str) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="barnabas-postgresql-"))
        self.port = free_port()
        self._settings = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        if _USER is not None:
            shutil.chown(self.directory, _USER)
        password_file = self.directory / "password"
        password_file.write_text(PASSWORD)
        password_file.chmod(0o644)
        arguments = [
            "-D",
            "data",
            "-U",
            "test",
            "-A",
            "scram-sha-256",
            "--pwfile",
            "password",
            "--no-sync",
            "-E",
            "UTF8",
        ]
        subprocess.run(
            [_program("initdb"), *arguments], cwd=self.directory, user=_USER, check=True, stdout=subprocess.DEVNULL
        )
        self.start()
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE test")
        return self

    def __exit__(self, *_: object) -> None:
        self.crash()
        shutil.rmtree(self.directory)

    def start(self) -> None:
        """Start it, after a crash as well, and wait until it takes connections."""
        options = ["-c", "fsync=off", "-c", "max_connections=50", "-h", "127.0.0.1", *self._settings]
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [_program("postgres"), "-D", "data", "-p", str(self.port), "-k", str(self.directory), *options],
                cwd=self.directory,
                user=_USER,
                stderr=log,
            )
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                psycopg.connect(self._address("postgres")).close()
                return
            except psycopg.OperationalError:
                assert self._process.poll() is None, (self.directory / "log").read_text()
                assert time.monotonic() < deadline, "the server does not take connections"
                time.sleep(0.05)

    def crash(self) -> None:
        """End it, and all of its processes, as a crash does: nothing is written down any more."""
        if self._process is not None:
            # "Immediate shutdown"; a killed server would leave its children, and a segment of shared memory.
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(PATIENCE_S)
            self._process = None

    def table_url(self, name: str) -> str:
        """Give the location of a table, with the password."""
        return f"{self._address('test')}?table={name}"

    def database_url(self) -> str:
        """Give the location of the database, with the password."""
        return self._address("test")

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement as a stranger's client does, and give its rows."""
        with psycopg.connect(self._address("test")) as connection:
            cursor = connection.execute(statement.encode())
            # A statement without rows has no description; one of rows without columns has an empty one.
            return [] if cursor.description is None else cursor.fetchall()

    def connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(self._address("test"))

    def _address(self, database: str) -> str:
        return f"postgresql://test:a%20secret%20%2F%20of%20100%20%25@127.0.0.1:{self.port}/{database}"


def _program(name: str) -> str:
    on_path = shutil.which(name)
    found = [on_path] if on_path else sorted(map(str, Path("/usr/lib/postgresql").glob(f"*/bin/{name}")))
    if not found:
        pytest.fail(f"PostgreSQL's {name} is missing: scripts/packages installs it")
    return found[-1]


@pytest.fixture(scope="module")
def postgresql() -> Iterator[PostgresqlServer]:
    """Give a server that the tests of a module share; each has tables of its own."""
    with PostgresqlServer() as server:
        yield server
