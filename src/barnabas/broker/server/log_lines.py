"""Formats log lines so that no peer can inject lines, control a terminal, or write long texts.

All log lines are formatted here, so call sites need no escaping. A line's arguments, such as errors, may contain a
peer's text: each argument is put on one line and cut at `MOST_OF_AN_ARGUMENT`. A message of several lines is then the
broker's own, or a traceback, whose exception may contain a peer's text. All lines but the first are indented, so none
of them looks like the beginning of a log line, which is a time.
"""

import logging
from collections.abc import Mapping
from typing import Final

from barnabas.core.peer_text import on_one_line

MOST_OF_AN_ARGUMENT: Final = 1_000
MOST_OF_A_LINE: Final = 4_000
MOST_OF_A_TRACEBACK: Final = 16_000
_INDENT: Final = "\n    "


# differs from Kafka (log-of-names): Kafka writes clients' texts unchanged.
class _Argument:
    """An argument of a log line, for `%s` and `%r`."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def __str__(self) -> str:
        return on_one_line(str(self._value), MOST_OF_AN_ARGUMENT)

    def __repr__(self) -> str:
        return on_one_line(repr(self._value), MOST_OF_AN_ARGUMENT)


class LineFormatter(logging.Formatter):
    """Formats log records; escapes and truncates texts that peers may control."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s  [%(name)s]")

    def format(self, record: logging.LogRecord) -> str:
        record.message = _lines(_message(record), MOST_OF_A_LINE)
        record.asctime = self.formatTime(record)
        text = self.formatMessage(record)
        if record.exc_info:
            text += _INDENT + _lines(self.formatException(record.exc_info), MOST_OF_A_TRACEBACK)
        if record.stack_info:
            text += _INDENT + _lines(record.stack_info, MOST_OF_A_TRACEBACK)
        return text


def _message(record: logging.LogRecord) -> str:
    text = str(record.msg)
    if not record.args:
        return text
    if isinstance(record.args, Mapping):
        return text % {name: _argument(value) for name, value in record.args.items()}
    return text % tuple(map(_argument, record.args))


def _argument(value: object) -> object:
    return value if isinstance(value, int | float) else _Argument(value)


def _lines(text: str, most_characters: int) -> str:
    """Indent all lines but the first; cut the middle of long texts."""
    if len(text) <= most_characters and text.isprintable():
        return text
    if len(text) > most_characters:
        half = most_characters // 2
        text = f"{text[:half]}\n... {len(text) - 2 * half:,} characters are left out ...\n{text[-half:]}"
    return _INDENT.join(on_one_line(line, MOST_OF_A_LINE) for line in text.split("\n") if line)
