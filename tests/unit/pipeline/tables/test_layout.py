"""What divides a table's files, as people write it."""

import pytest

from barnabas.pipeline.tables.layout import Division, parse_divisions
from barnabas.pipeline.tables.table import TableError


def test_columns_and_transforms_are_read():
    text = "day(time), bucket(16, user name),truncate( 3 , country ), Year(_timestamp),page"
    divisions = parse_divisions(text)
    assert divisions == (
        Division("time", "day"),
        Division("user name", "bucket", 16),
        Division("country", "truncate", 3),
        Division("_timestamp", "year"),
        Division("page"),
    )
    assert [each.name for each in divisions] == [
        "time_day",
        "user name_bucket",
        "country_trunc",
        "_timestamp_year",
        "page",
    ]
    assert parse_divisions(", ".join(map(str, divisions))) == divisions
    assert parse_divisions("") == ()


@pytest.mark.parametrize(
    "text", ["week(time)", "day(time", "bucket(user)", "bucket(0, user)", "day(3, time)", "day()", "time)", "(time)"]
)
def test_what_is_neither_is_refused(text):
    with pytest.raises(TableError, match=r"write a column, year\(COLUMN\)"):
        parse_divisions(text)
