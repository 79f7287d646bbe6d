"""The log handler that gives each call site its due."""

import io
import logging

import pytest

from barnabas.broker.server.log_limit import (
    BYTES_PER_PERIOD,
    BYTES_PER_PERIOD_IN_ALL,
    LINES_PER_PERIOD,
    PERIOD_MS,
    LimitedHandler,
)


@pytest.fixture
def stream():
    return io.StringIO()


@pytest.fixture
def logger(clock, stream):
    made = logging.Logger("test")
    made.addHandler(LimitedHandler(stream, clock))
    return made


def flood(logger, count):
    for number in range(count):
        logger.error("failed again (%d)", number)


def test_what_one_place_writes_too_often_is_counted(logger, clock, stream):
    flood(logger, LINES_PER_PERIOD + 1_234)
    lines = stream.getvalue().splitlines()
    assert lines[LINES_PER_PERIOD - 1] == f"failed again ({LINES_PER_PERIOD - 1})"
    assert lines[LINES_PER_PERIOD:] == ["more lines like this one are left out for 10 s: failed again (%d)"]


def test_other_places_are_heard_meanwhile(logger, stream):
    flood(logger, LINES_PER_PERIOD + 1)
    logger.error("something else")
    assert stream.getvalue().splitlines()[-1] == "something else"


def test_the_count_is_told_with_the_next_line_once_the_period_is_over(logger, clock, stream):
    flood(logger, LINES_PER_PERIOD + 1_234)
    clock.advance(PERIOD_MS)
    logger.error("something else")
    assert stream.getvalue().splitlines()[LINES_PER_PERIOD + 1 :] == [
        "1,234 lines (about 22,088 bytes) like this one were left out: failed again (%d)",
        "something else",
    ]
    flood(logger, 1)
    assert stream.getvalue().splitlines()[-1] == "failed again (0)"


def test_the_count_is_told_at_the_end(logger, stream):
    flood(logger, LINES_PER_PERIOD + 2)
    (handler,) = logger.handlers
    handler.close()
    assert (
        stream.getvalue().splitlines()[-1] == "2 lines (about 35 bytes) like this one were left out: failed again (%d)"
    )


def test_a_flood_that_goes_on_stays_small(logger, clock, stream):
    for _ in range(10):
        flood(logger, 10_000)
        clock.advance(PERIOD_MS)
    assert len(stream.getvalue().splitlines()) < 10 * (LINES_PER_PERIOD + 3)


def test_bytes_are_counted_beside_lines(logger, clock, stream):
    for _ in range(LINES_PER_PERIOD):
        logger.error("%s was denied", "é" * 1_000)
    written = stream.getvalue()
    assert BYTES_PER_PERIOD - 2_100 < len(written.encode()) < BYTES_PER_PERIOD + 100
    clock.advance(PERIOD_MS)
    logger.error("something else")
    left_out = LINES_PER_PERIOD - written.count("é was denied\n")
    assert stream.getvalue().splitlines()[-2] == (
        f"{left_out} lines (about {left_out * 2_012:,} bytes) like this one were left out: %s was denied"
    )


def flood_from_places(logger, count, text):
    """The same line from so many places in the code."""
    for number in range(count):
        code = compile("\n" * number + "for _ in range(60): logger.error(text)", f"place-{number}", "exec")
        exec(code, {"logger": logger, "text": text})


def test_all_places_together_have_a_limit_too(logger, clock, stream):
    flood_from_places(logger, 20, "x" * 1_000)
    size = len(stream.getvalue())
    assert BYTES_PER_PERIOD_IN_ALL < size < BYTES_PER_PERIOD_IN_ALL + 20 * 1_500
    clock.advance(PERIOD_MS)
    flood_from_places(logger, 1, "y" * 1_000)
    assert stream.getvalue().count("y") > 60 * 1_000


def test_a_flood_from_elsewhere_does_not_hide_the_first_line_of_a_place(logger, stream):
    flood_from_places(logger, 20, "x" * 1_000)
    logger.error("the disk failed")
    assert stream.getvalue().splitlines()[-1] == "the disk failed"
