import pytest

from barnabas.pipeline.tables.formats import FORMATS, check_location
from barnabas.pipeline.tables.table import TableError


def test_an_unknown_format_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(TableError, match="'csv' does not exist: use one of " + ", ".join(FORMATS)):
        check_location("csv", "tables")
