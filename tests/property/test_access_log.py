"""Both ways to read an access log agree on every line, however it was damaged: what is a view, its page, its minute."""

import gzip
import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from barnabas.pipeline.events.encode import encode_json
from barnabas.pipeline.sources.access_log import LONGEST_LINE, parse_line, read_lines
from barnabas.pipeline.sources.access_log_events import access_log_lines
from barnabas.pipeline.sources.log_lines import RawLine
from tests.access_log_counts import count_file, count_views

# What an event may take in a topic with Kafka's default max.message.bytes.
MOST_EVENT_BYTES = 1_000_000

ADDRESSES = ("192.0.2.7", "2001:db8::1", "[::1]", "host.example", "-", "")
USERS = ("-", "frank", "John Smith", "a [b", "a [b] c", "", "[x]")
TIMES = (
    "17/May/2015:10:05:03 +0000",
    "29/Feb/2016:23:59:59 -2359",
    "29/Feb/2015:00:00:00 +0000",
    "01/Jan/1970:00:00:00 +0001",
    "31/Dec/2999:23:59:59 -0001",
    "31/Dec/0000:00:00:00 +0000",
    "17/may/2015:10:05:03 +0000",
    "7/May/2015:10:05:03 +0000",
    "17/May/2015:10:05:60 +0000",
    "17/May/2015:10:05:03 +0060",
    "17/May/2015:10:05:03 +2400",
    "17/May/2015:10:05:03",
    "١٧/May/2015:10:05:03 +0000",
)
REQUESTS = (
    "GET / HTTP/1.1",
    "GET /a?b=c",
    r"POST /\"quoted\" HTTP/2",
    r"GET /a\\ HTTP/1.0",
    r"GET /a\ HTTP/1.0",
    "GET  /two-blanks HTTP/1.1",
    "GET /a b HTTP/1.1",
    "GET /ä/日本 HTTP/1.1",
    "GET /nbsp\u00a0\u2028\x85 HTTP/1.1",
    "GET /a HTTP/",
    "GET /a HTTP/1.1 ",
    "GÉT / HTTP/1.1",
    r"\x16\x03\x01",
    "-",
    "",
)
STATUSES = ("200", "304", "20", "2000", "٢٠٠", "-")
SIZES = ("1", "-", "203023", "9" * 18, "9" * 19, "9" * 5_000, "12a", "")
ENDS = ("", ' "-" "-"', r' "http://site.example/" "Mozilla/5.0 \"odd\""', ' "cut', " ", "x", "\tx")
PIECES = (
    b"\xff",
    b"\x00",
    b"\t",
    b"\r",
    b"\\",
    b'"',
    b" ",
    b"[",
    b"]",
    b'] "',
    b" [",
    b"\xc2\x85",
    b"\xe2\x80\xa8",
    b"\x1f",
)

whole_lines = st.builds(
    '{} - {} [{}] "{}" {} {}{}'.format,
    *map(st.sampled_from, (ADDRESSES, USERS, TIMES, REQUESTS, STATUSES, SIZES, ENDS)),
).map(str.encode)
# Of the choices above the first is a view's: most lines are nearly one.
nearly_views = st.builds(
    '{} - {} [{}] "{}" {} {}{}'.format,
    *(
        st.one_of(st.just(choices[0]), st.sampled_from(choices))
        for choices in (ADDRESSES, USERS, TIMES, REQUESTS, STATUSES, SIZES, ENDS)
    ),
).map(str.encode)


@st.composite
def mutated_lines(draw: st.DrawFn) -> bytes:
    """A line, then a few times: cut it, take two pieces out or double or swap them, put something in, blow it up."""
    line = draw(nearly_views | whole_lines)
    for _ in range(draw(st.integers(0, 3))):
        first, second, third = sorted(draw(st.integers(0, len(line))) for _ in range(3))
        before, one, two, after = line[:first], line[first:second], line[second:third], line[third:]
        piece = draw(st.sampled_from(PIECES) | st.binary(max_size=3))
        line = draw(
            st.sampled_from(
                (
                    before,
                    after,
                    before + after,
                    before + two + one + after,
                    before + one + one + after,
                    before + piece + one + two + after,
                    before + one + piece + after,
                )
            )
        )
    return line.replace(b"\n", b"")


@settings(deadline=None)
@given(mutated_lines())
@example(b'192.0.2.7 - - [17/May/2015:10:05:03 +0000] "GET /cut')
@example(b'192.0.2.7 - - [17/May/2015:10:05:03 +0000] "GET /cut HTTP/1.1')
@example(b'192.0.2.7 - - [17/May/2015:10:05:03 +0000] "GET /cut HTTP/1.1" 2')
@example(b'192.0.2.7 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "http://cut')
@example(b'192.0.2.7 - - [1/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1')
def test_both_parsers_agree_on_a_line(line: bytes):
    assert_agree(line.decode("utf-8", "backslashreplace"))


@pytest.mark.parametrize("place", [b"192.0.2.7", b"frank", b"17", b"GET", b"/a", b"1.1", b"200", b"77", b"agent"])
@pytest.mark.parametrize("size_bytes", [LONGEST_LINE - 200, 5 * LONGEST_LINE])
@pytest.mark.parametrize("filling", [b"1", b"\x01", b'\\"', "日".encode()])
def test_both_parsers_agree_on_huge_fields(place: bytes, size_bytes: int, filling: bytes, tmp_path: Path):
    line = b'192.0.2.7 - frank [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 77 "-" "agent"'
    log = tmp_path / "access.log"
    log.write_bytes(line.replace(place, place + filling * (size_bytes // len(filling)), 1) + b"\n" + line)
    assert_agree_on(log)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.just(b"") | mutated_lines(), st.sampled_from((b"\n", b"\r\n", b"\r\r\n", b"\r"))), max_size=20
    ),
    st.booleans(),
)
def test_both_ways_to_read_a_file_agree(lines: list[tuple[bytes, bytes]], has_last_end: bool):
    data = b"".join(line + end for line, end in lines)
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "access.log"
        log.write_bytes(data if has_last_end else data[:-1])
        assert_agree_on(log)


@settings(deadline=None)
@given(
    st.lists(mutated_lines(), min_size=1, max_size=20), st.integers(0), st.sampled_from((b"", b"\x00", b"x", b"\x1f"))
)
def test_both_ways_to_read_a_gzip_file_that_is_cut_short_agree(lines: list[bytes], cut: int, added: bytes):
    data = gzip.compress(b"\n".join(lines))
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "access.log.gz"
        log.write_bytes(data[: 2 + cut % (len(data) - 1)] + added)
        assert_agree_on(log)


def assert_agree(text: str) -> None:
    view = parse_line(1, text)
    # The job counts by the event's time, cut to its minute.
    seen = set() if view is None else {view.page}
    counts = count_views([text])
    assert {page for _, page in counts} == seen
    if view is not None:
        assert next(iter(counts))[0] == f"{datetime.fromtimestamp(view.time_s, UTC):%Y-%m-%dT%H:%M:00Z}"


def assert_agree_on(log: Path) -> None:
    """Compare line by line and as a whole; a file that the one way can't read, the other can't either."""
    try:
        lines = list(read_lines(log))
    except OSError:
        with pytest.raises(OSError, match="damaged or cut short"):
            count_file(log)
        return
    pages: Counter[str] = Counter()
    for number, text in lines:
        assert_agree(text)
        view = parse_line(number, text)
        (line,) = access_log_lines([RawLine("log", number, text)])
        assert (line.refused is None) == (view is not None)
        for event_type, fields in line.events:
            assert len(encode_json(event_type, fields)) < MOST_EVENT_BYTES
        if view is not None:
            pages[view.page] += 1
    counts = count_file(log)
    by_page: Counter[str] = Counter()
    for (_, page), views in counts.items():
        by_page[page] += views
    assert by_page == pages
