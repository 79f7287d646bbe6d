"""Tables fit into a terminal without a broken word."""

import pytest

from barnabas.core.tables import column_widths, record_lines

COLUMNS = ["group", "what it reads"]
ROWS = [["reporting", "views clicks and searches"], ["日本", "-"]]


@pytest.mark.parametrize(
    ("available", "expected"), [(100, [9, 25]), (34, [9, 25]), (33, [9, 24]), (17, [9, 8]), (16, None), (0, None)]
)
def test_columns_shrink_to_their_longest_words_and_no_further(available, expected):
    assert column_widths(COLUMNS, ROWS, available) == expected


def test_a_table_without_rows_is_as_wide_as_its_head():
    assert column_widths(COLUMNS, [], 100) == [5, 13]
    assert column_widths(["", "a"], [["", ""]], 100) == [0, 1]


def test_records_have_a_line_for_each_cell():
    assert record_lines(COLUMNS, ROWS) == [
        "group          reporting",
        "what it reads  views clicks and searches",
        "",
        "group          日本",
        "what it reads  -",
    ]
