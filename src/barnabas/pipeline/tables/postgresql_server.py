"""Where a table of PostgreSQL is, and connections to its server."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from barnabas.pipeline.tables.table import TableError

_CONNECT_TIMEOUT_S = 10


class Server:
    """A table's address: a URL of libpq with `table=schema.name` among its parameters."""

    def __init__(self, url: str) -> None:
        """Take a URL apart; nobody is connected to yet.

        Raises:
            TableError: it names no table.
        """
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query))
        schema, _, self.table = options.pop("table", "").rpartition(".")
        if parts.scheme not in ("postgresql", "postgres") or not self.table:
            raise TableError("a table of PostgreSQL is named postgresql://user@host:port/database?table=schema.name")
        self.schema = schema or "public"
        try:
            given = conninfo_to_dict(urlunsplit(parts._replace(query=urlencode(options, quote_via=quote))))
        except psycopg.Error as error:
            raise TableError(f"the URL of a table of PostgreSQL is not understood: {error}") from None
        self._parameters: dict[str, Any] = {
            "connect_timeout": _CONNECT_TIMEOUT_S,
            "application_name": "barnabas",
            **given,
        }
        user = f"{parts.username}@" if parts.username else ""
        # Without the password, for people.
        self.location = (
            f"postgresql://{user}{parts.netloc.rpartition('@')[2]}{parts.path}"
            f"?table={quote(self.schema)}.{quote(self.table)}"
        )

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """Connect, commit at the end, and tell the server's errors in a line."""
        try:
            with psycopg.connect(
                make_conninfo(
                    **{"connect_timeout": _CONNECT_TIMEOUT_S, "application_name": "barnabas", **self._parameters}
                )
            ) as connection:
                yield connection
        except psycopg.OperationalError as error:
            raise TableError(
                f"{self.location}: the server is not there, or went away: {one_line(error)}; a commit that was on "
                "its way is there whole or not at all: begin again from the table's progress"
            ) from None
        except psycopg.Error as error:
            raise TableError(f"{self.location}: {one_line(error)}") from None

    def resolved(self, connection: psycopg.Connection[tuple[Any, ...]]) -> dict[str, Any]:
        """Return all parameters of a connection: executors have no environment and no ~/.pgpass of the driver."""
        info = connection.info
        found = {"host": info.host, "port": info.port, "dbname": info.dbname, "user": info.user}
        return {**self._parameters, **found, **({"password": info.password} if info.password else {})}


def one_line(error: psycopg.Error) -> str:
    return " ".join(str(error).split())
