"""The text of log lines, whatever the peers say that they are about."""

import logging

import pytest

from barnabas.broker.server.log_lines import MOST_OF_A_LINE, MOST_OF_A_TRACEBACK, MOST_OF_AN_ARGUMENT, LineFormatter

EVIL = "a\n2026-01-01 00:00:00,000 ERROR forged\x1b[2J\u202e"
ESCAPED = r"a\n2026-01-01 00:00:00,000 ERROR forged\x1b[2J\u202e"


class Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(LineFormatter())
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))


@pytest.fixture
def lines() -> Lines:
    return Lines()


@pytest.fixture
def log(lines: Lines) -> logging.Logger:
    made = logging.Logger("barnabas.test")
    made.addHandler(lines)
    return made


def shown(text: str) -> str:
    """A line without its time."""
    return text[len("2026-01-01 00:00:00,000 ") :]


def test_our_own_lines_stay_as_they_are(log: logging.Logger, lines: Lines) -> None:
    log.warning("%s took %5.1f of %d (%r, %-4s|)", "topic-ä", 2.5, 7, ["x"], "a")
    assert shown(lines.texts[0]) == "WARNING topic-ä took   2.5 of 7 (['x'], a   |)  [barnabas.test]"


@pytest.mark.parametrize("argument", [EVIL, ValueError(EVIL), type("Named", (), {"__str__": lambda _: EVIL})()])
def test_an_argument_is_escaped_whatever_it_is(log: logging.Logger, lines: Lines, argument: object) -> None:
    log.error("%s failed", argument)
    log.error("%(what)s failed", {"what": argument})
    assert [shown(text) for text in lines.texts] == [f"ERROR   {ESCAPED} failed  [barnabas.test]"] * 2


def test_a_long_argument_does_not_hide_those_behind_it(log: logging.Logger, lines: Lines) -> None:
    log.info("%s from %s", "x" * 100_000, "10.0.0.7")
    assert shown(lines.texts[0]) == (
        f"INFO    {'x' * MOST_OF_AN_ARGUMENT}... (100,000 characters) from 10.0.0.7  [barnabas.test]"
    )


def test_a_call_site_that_puts_a_name_into_its_message_begins_no_line_either(log: logging.Logger, lines: Lines) -> None:
    log.error(f"{EVIL} failed")
    assert shown(lines.texts[0]) == (
        "ERROR   a\n    2026-01-01 00:00:00,000 ERROR forged\\x1b[2J\\u202e failed  [barnabas.test]"
    )
    log.error("\x01" * 100_000)
    assert len(lines.texts[1]) < 3 * MOST_OF_A_LINE


def test_a_traceback_is_readable_and_begins_no_line(log: logging.Logger, lines: Lines) -> None:
    try:
        raise ValueError(EVIL)
    except ValueError:
        log.exception("it failed")
    first, *others = lines.texts[0].split("\n")
    assert shown(first) == "ERROR   it failed  [barnabas.test]"
    assert others[0] == "    Traceback (most recent call last):"
    assert "        raise ValueError(EVIL)" in others
    assert others[-2:] == ["    ValueError: a", r"    2026-01-01 00:00:00,000 ERROR forged\x1b[2J\u202e"]
    assert all(line.startswith("    ") for line in others)


@pytest.mark.parametrize("text", ["x" * 1_000_000, "x\n" * 500_000, "\x01" * 1_000_000])
def test_a_traceback_is_cut_in_the_middle(log: logging.Logger, lines: Lines, text: str) -> None:
    try:
        raise ValueError(text)
    except ValueError:
        log.exception("it failed")
    assert "characters are left out" in lines.texts[0]
    assert "raise ValueError(text)" in lines.texts[0]
    assert len(lines.texts[0]) < 4 * MOST_OF_A_TRACEBACK
