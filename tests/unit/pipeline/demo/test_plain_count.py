"""The plain count, and that it agrees with what the pipeline reads."""

from pathlib import Path

import pytest

from barnabas.pipeline.demo.plain_count import (
    Counts,
    count_file,
    count_views,
    read_counts,
    totals_per_page,
    write_counts,
)
from barnabas.pipeline.sources.access_log import parse_line, read_lines
from barnabas.pipeline.sources.social import SitePlan, write_access_log

LINE = '192.0.2.7 - - [17/May/2015:{} +0000] "GET {} HTTP/1.1" 200 1 "-" "-"'


def test_views_are_counted_per_minute_and_page():
    lines = [
        LINE.format("10:05:03", "/a"),
        LINE.format("10:05:59", "/a"),
        LINE.format("10:06:00", "/a"),
        "?",
        "",
        '"-"',
    ]
    assert count_views(lines) == {("2015-05-17T10:05:00Z", "/a"): 2, ("2015-05-17T10:06:00Z", "/a"): 1}
    assert totals_per_page(count_views(lines)) == {"/a": 3}


def test_result_file_reads_back(tmp_path: Path):
    counts = Counts({("2015-05-17T10:05:00Z", '/"a",b'): 2, ("2015-05-17T10:04:00Z", "/ä"): 1})
    path = tmp_path / "views.csv"
    write_counts(path, counts)
    assert path.read_text(encoding="utf-8").splitlines()[:2] == ["minute,page,views", "2015-05-17T10:04:00Z,/ä,1"]
    assert read_counts(path) == counts


def test_row_that_stands_twice_counts_twice(tmp_path: Path):
    path = tmp_path / "views.csv"
    path.write_text("minute,page,views\nm,/a,2\nm,/a,2\n")
    assert read_counts(path) == {("m", "/a"): 4}


def test_other_file_is_refused(tmp_path: Path):
    path = tmp_path / "views.csv"
    path.write_text("page,views\n")
    with pytest.raises(ValueError, match="does not start with minute,page,views"):
        read_counts(path)


def test_sample_is_counted_as_the_pipeline_reads_it(tmp_path: Path):
    log = tmp_path / "access.log"
    write_access_log(SitePlan(duration_s=600), log)
    assert_pipeline_reads_what_plain_python_counts(log)


def test_real_log_is_counted_as_the_pipeline_reads_it(real_access_log: Path):
    assert_pipeline_reads_what_plain_python_counts(real_access_log)
    assert count_file(real_access_log).total() == 10_000


def assert_pipeline_reads_what_plain_python_counts(log: Path):
    views = [view for number, text in read_lines(log) if (view := parse_line(number, text)) is not None]
    counted = count_file(log)
    assert counted.total() == len(views)
    by_page = totals_per_page(counted)
    assert set(by_page) == {view.page for view in views}
