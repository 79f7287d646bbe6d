"""Reading access logs: what is a view, and which time it has."""

import gzip
from pathlib import Path

import pytest

from barnabas.pipeline.sources.access_log import LONGEST_LINE, View, parse_line, read_lines

COMBINED = (
    '192.0.2.7 - - [17/May/2015:10:05:03 +0000] "GET /a?b=c HTTP/1.1" 200 203023 '
    '"http://site.example/" "Mozilla/5.0 (X11)"'
)


def test_combined_line_is_a_view():
    assert parse_line(7, COMBINED) == View(
        7, 1_431_857_103, "192.0.2.7", "GET", "/a?b=c", 200, 203023, "http://site.example/", "Mozilla/5.0 (X11)"
    )


def test_common_line_has_no_referrer_and_agent():
    view = parse_line(1, '192.0.2.7 - frank [17/May/2015:10:05:03 +0000] "GET / HTTP/1.0" 304 -')
    assert view is not None
    assert (view.size_bytes, view.referrer, view.agent) == (None, None, None)


def test_time_zone_is_taken_off():
    utc = parse_line(1, COMBINED)
    east = parse_line(1, COMBINED.replace("10:05:03 +0000", "12:35:03 +0230"))
    west = parse_line(1, COMBINED.replace("17/May/2015:10:05:03 +0000", "16/May/2015:22:05:03 -1200"))
    assert utc is not None
    assert east is not None
    assert west is not None
    assert utc.time_s == east.time_s == west.time_s


def test_user_may_hold_blanks_and_agent_quotes():
    line = COMBINED.replace("- - [", "- John Smith [").replace("(X11)", r"\"odd\"")
    view = parse_line(1, line)
    assert view is not None
    assert view.agent == r"Mozilla/5.0 \"odd\""


@pytest.mark.parametrize(
    "line",
    [
        "",
        "not a log line",
        COMBINED.replace("May", "Mai"),
        COMBINED.replace("17/May", "31/Feb"),
        COMBINED.replace("10:05:03", "10:65:03"),
        COMBINED.replace("GET /a?b=c HTTP/1.1", "-"),
        COMBINED.replace("GET /a?b=c HTTP/1.1", r"\x16\x03\x01"),
        COMBINED.replace(" 200 ", " ok "),
    ],
)
def test_other_lines_are_no_views(line: str):
    assert parse_line(1, line) is None


def test_lines_are_numbered_from_one_and_every_line_counts(tmp_path: Path):
    log = tmp_path / "access.log"
    log.write_bytes(b"a\n\nb\xff\x85\r\nlast without end")
    assert list(read_lines(log)) == [(1, "a"), (2, ""), (3, "b\\xff\\x85"), (4, "last without end")]


def test_gzip_is_known_by_its_content(tmp_path: Path):
    log = tmp_path / "access.log"
    log.write_bytes(gzip.compress(b"a\nb\n"))
    assert [text for _, text in read_lines(log)] == ["a", "b"]


def test_a_line_that_is_cut_short_is_a_view_when_its_seven_fields_are_whole():
    end_of_bytes = COMBINED.index("203023") + len("203023")
    for length in range(len(COMBINED)):
        view = parse_line(1, COMBINED[:length])
        # Digits of the bytes that are missing can't be seen.
        assert (view is not None) == (length > end_of_bytes - len("203023")), COMBINED[:length]


def test_a_long_line_is_read_in_bounds(tmp_path: Path):
    log = tmp_path / "access.log"
    log.write_bytes(b"x" * 1_000_000 + b"\n" + COMBINED.encode() + b"\n")
    lines = list(read_lines(log))
    assert [(number, len(text)) for number, text in lines] == [(1, LONGEST_LINE + 1), (2, len(COMBINED))]
    assert parse_line(*lines[1]) is not None


def test_a_gzip_file_that_is_cut_short_says_so(tmp_path: Path):
    log = tmp_path / "access.log.gz"
    log.write_bytes(gzip.compress(b"a\n" * 1_000)[:-9])
    with pytest.raises(OSError, match=r"access\.log\.gz is damaged or cut short: it can't be unpacked after line \d+"):
        list(read_lines(log))
