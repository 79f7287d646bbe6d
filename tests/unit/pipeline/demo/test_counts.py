"""Counts of the views in a log and in a table."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from barnabas.pipeline.demo.show import count_table, read_log
from barnabas.pipeline.sources.social import SitePlan, write_access_log
from tests.access_log_counts import count_file

LINE = '192.0.2.7 - - [17/May/2015:{} +0000] "GET {} HTTP/1.1" 200 1 "-" "-"'


def test_a_log_is_counted_by_minute_and_page(tmp_path: Path):
    log = tmp_path / "access.log"
    lines = [LINE.format(*each) for each in (("10:05:03", "/a"), ("10:05:59", "/a"), ("10:06:00", "/ä"))]
    log.write_text("\n".join([*lines, "?", "", '"-"']), encoding="utf-8")
    found = read_log(log)
    assert (found.line_count, found.first_other) == (6, (4, "?"))
    assert found.counts == {("2015-05-17T10:05:00Z", "/a"): 2, ("2015-05-17T10:06:00Z", "/ä"): 1}


def test_a_table_is_counted_as_the_log_and_an_event_that_is_there_twice_once(tmp_path: Path):
    times = [datetime(2015, 5, 17, 10, 5, second, tzinfo=UTC) for second in (3, 59, 59)]
    rows = pa.table({"page": ["/a"] * 3, "time": times, "agent": ["-"] * 3, "id": ["1", "2", "2"]})
    write_deltalake(tmp_path / "views", rows)
    assert count_table(tmp_path / "views") == {("2015-05-17T10:05:00Z", "/a"): 2}


def test_the_made_up_log_is_counted_as_by_the_other_parser(tmp_path: Path):
    log = tmp_path / "access.log"
    write_access_log(SitePlan(duration_s=600), log)
    assert read_log(log).counts == count_file(log)


def test_the_real_log_is_counted_as_by_the_other_parser(real_access_log: Path):
    assert read_log(real_access_log).counts == count_file(real_access_log)
    assert read_log(real_access_log).counts.total() == 10_000
