"""Tables of the pipeline and its demo at 80 columns."""

import io
import re
from collections import Counter

import pytest
from rich.console import Console

from barnabas.pipeline.demo.show import print_top_pages
from barnabas.pipeline.terminal import print_table

COLUMNS = ["day", "page_views", "visitor_count", "crawler_views", "error_count", "bounce_rate", "search_terms"]
ROW = ["2026-03-06", 123_456, 1_234, 98_765, 321, 0.4321, "kafka broker python"]
LONG_PAGE = "/articles/2026/" + "a-long-name-" * 4


def printed(width, show):
    out = io.StringIO()
    show(Console(file=out, width=width))
    return out.getvalue()


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_no_word_of_a_table_is_cut_however_narrow_the_terminal(width):
    shown = printed(width, lambda console: print_table(console, "Days", COLUMNS, [ROW, ROW]))
    words = re.findall(r"[^\s│┃┏┓┗┛━─┡┩┴└┘┬┳┼╇╈┤├]+", shown)
    for word in ["Days", *COLUMNS, "2026-03-06", "123,456", "0.4321", "kafka", "broker", "python"]:
        assert word in words
    assert max(map(len, shown.splitlines())) <= width


def test_the_demos_pages_lose_their_bar_before_a_name_is_cut():
    counts = Counter({("10:00", LONG_PAGE): 30, ("10:00", "/b"): 10})
    narrow, wide = (printed(width, lambda console: print_top_pages(console, counts, 2, "Pages")) for width in (90, 140))
    assert LONG_PAGE in narrow
    assert "█" not in narrow
    assert f"{'█' * 24}" in wide
