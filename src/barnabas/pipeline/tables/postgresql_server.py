"""The location of a PostgreSQL table, and connections to its server."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, LiteralString
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from barnabas.pipeline.tables.table import RowsRefusedError, TableError, TableUnavailableError

# Classes of SQLSTATE caused by the rows: values, constraints, a view's condition, limits, a trigger's exception.
_REFUSALS = ("22", "23", "44", "54", "P0")
_CONNECT_TIMEOUT_S = 10

Cursor = psycopg.Cursor[tuple[Any, ...]]


class Server:
    """The server and name of a table, from a libpq URL with the parameter `table=schema.name`."""

    def __init__(self, url: str) -> None:
        """Parse a URL, without connecting; raise TableError if it is invalid or has no table."""
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query))
        schema, _, self.table = options.pop("table", "").rpartition(".")
        if parts.scheme not in ("postgresql", "postgres") or not self.table:
            raise TableError(
                "a PostgreSQL table must have the form postgresql://user@host:port/database?table=schema.name"
            )
        self.schema = schema or "public"
        try:
            given = conninfo_to_dict(urlunsplit(parts._replace(query=urlencode(options, quote_via=quote))))
        except psycopg.Error as error:
            raise TableError(f"the URL of a PostgreSQL table is invalid: {error}") from None
        self._parameters: dict[str, Any] = {
            "connect_timeout": _CONNECT_TIMEOUT_S,
            "application_name": "barnabas",
            **given,
        }
        user = f"{parts.username}@" if parts.username else ""
        # For messages: without the password.
        self.location = (
            f"postgresql://{user}{parts.netloc.rpartition('@')[2]}{parts.path}"
            f"?table={quote(self.schema)}.{quote(self.table)}"
        )

    @contextmanager
    def cursor(self) -> Iterator[Cursor]:
        """Connect, and commit at the end of the block.

        Raises:
            RowsRefusedError: the server rejects a row.
            TableUnavailableError: the server can't be reached, stops, or rolls back because of another transaction.
            TableError: the server rejects a statement.
        """
        try:
            with psycopg.connect(make_conninfo(**self._parameters)) as connection:
                yield connection.cursor()
        except psycopg.Error as error:
            if is_refusal(error):
                raise RowsRefusedError(reason_of(error)) from None
            if isinstance(error, psycopg.OperationalError):
                raise TableUnavailableError(f"{self.location}: the server failed: {one_line(error)}") from None
            raise TableError(f"{self.location}: {one_line(error)}") from None

    @cached_property
    def conninfo(self) -> str:
        """All connection parameters, for executors, which lack the driver's environment and ~/.pgpass."""
        with self.cursor() as cursor:
            info = cursor.connection.info
            found = {"host": info.host, "port": info.port, "dbname": info.dbname, "user": info.user}
            password = {"password": info.password} if info.password else {}
        return make_conninfo(**{**self._parameters, **found, **password})


def execute(cursor: Cursor, statement: LiteralString, *parts: object) -> Cursor:
    """Execute a statement; parts that are not SQL become literals. A `%` in a name is not a placeholder."""
    return cursor.execute(
        sql.SQL(statement).format(*(each if isinstance(each, sql.Composable) else sql.Literal(each) for each in parts))
    )


def identifiers(names: Iterable[str]) -> sql.Composed:
    """Return names as a list of SQL identifiers."""
    return sql.SQL(", ").join(map(sql.Identifier, names))


def is_refusal(error: psycopg.Error) -> bool:
    """Return whether the server rejects the rows, rather than the statement or the connection."""
    return (error.sqlstate or "").startswith(_REFUSALS)


def reason_of(error: psycopg.Error) -> str:
    """Return the server's message in one line, without its details, which may quote the row."""
    return " ".join((error.diag.message_primary or str(error)).split())


def one_line(error: psycopg.Error) -> str:
    return " ".join(str(error).split())
