"""Errors of a catalog, as a run reports them; `tests/pipeline/test_table_iceberg_catalogs.py` has real catalogs."""

from pathlib import Path

import pytest
from hive_metastore.ttypes import MetaException
from pyiceberg.exceptions import CommitFailedException, WaitingForLockException
from thrift.transport.TTransport import TTransportException

from barnabas.pipeline.tables.iceberg_catalogs import CatalogEntry
from barnabas.pipeline.tables.table import TableError, TableUnavailableError


def locked() -> CommitFailedException:
    """Return a failed commit as PyIceberg raises it where another writer has the metastore's lock."""
    error = CommitFailedException("Failed to acquire lock")
    error.__cause__ = WaitingForLockException()
    return error


@pytest.mark.parametrize(
    ("error", "reported", "words"),
    [
        (MetaException("no such type"), TableError, "the metastore refuses.*no such type"),
        (TTransportException(1, "refused"), TableUnavailableError, "the metastore does not answer: refused"),
        (WaitingForLockException(), TableUnavailableError, "has a lock on the table"),
        (locked(), TableUnavailableError, "has a lock on the table"),
        (CommitFailedException("the table has changed"), CommitFailedException, "the table has changed"),
        (ValueError("a fault of ours"), ValueError, "a fault of ours"),
    ],
)
def test_errors_of_hive_are_those_of_a_table(
    error: Exception, reported: type[Exception], words: str, tmp_path: Path
) -> None:
    entry = CatalogEntry({}, str(tmp_path / "warehouse" / "site" / "views"))
    with pytest.raises(reported, match=words) as raised, entry.reported():
        raise error
    assert raised.type is reported
