"""The options of a command, read without typer, which with pydantic is the half of a command's start.

A command line that is plainly right needs none of it: known options, numbers within their bounds, nothing missing. Any
other one (a mistake, an option of a rarer type) is left to typer, which says what is wrong with it.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Union, get_args, get_origin, get_type_hints

from barnabas.cli.options import Option

Value = str | int | bool | list[str] | None

_NUMBER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_KINDS = (str, int, bool, list[str])
HELP = ("--help", "-h")


@dataclass(slots=True, frozen=True)
class PlainOption:
    """An option that can be read here.

    Attributes:
        parameter: The function's parameter.
        kind: A type of `_KINDS`.
        option: How it is typed, and what it is for.
        default: `inspect.Parameter.empty` where it must be given.
    """

    parameter: str
    kind: object
    option: Option
    default: object

    @property
    def is_required(self) -> bool:
        return self.default is inspect.Parameter.empty


class Unread(Enum):
    """Why a command line has no values: help is wanted, or it is for typer to read."""

    HELP = 1
    TYPER = 2


def read_options(function: Callable[..., object], arguments: Sequence[str]) -> dict[str, object] | Unread:
    """The arguments to call a command with.

    Args:
        function: A command, its parameters annotated by `Option`.
        arguments: What stands behind its name.

    Returns:
        Values by parameter, or why there are none.
    """
    plain = plain_options(function)
    if plain is None:
        return Unread.TYPER
    options = {name: each for each in plain for name in each.option.names}
    given: dict[str, Value] = {}
    words = iter(arguments)
    for word in words:
        if word in HELP:
            return Unread.HELP
        text, equals, inline = word.partition("=")
        option = options.get(text)
        value = None if option is None else _value(option, inline if equals else None, words)
        if option is None or value is None:
            return Unread.TYPER
        before = given.get(option.parameter)
        given[option.parameter] = [*before, *value] if isinstance(before, list) and isinstance(value, list) else value
    if any(each.is_required and each.parameter not in given for each in plain):
        return Unread.TYPER
    return {each.parameter: given.get(each.parameter, each.default) for each in plain}


def _value(option: PlainOption, inline: str | None, words: Iterator[str]) -> Value:
    if option.kind is bool:
        return True if inline is None else None
    text = next(words, None) if inline is None else inline
    if text is None or option.kind is str:
        return text
    if option.kind == list[str]:
        return [text]
    if not _NUMBER.fullmatch(text):
        return None
    number, least, most = int(text), option.option.min, option.option.max
    is_inside = (least is None or number >= least) and (most is None or number <= most)
    return number if is_inside else None


def plain_options(function: Callable[..., object]) -> list[PlainOption] | None:
    """A command's options; None when one of them is none of the plain ones."""
    hints = get_type_hints(function, include_extras=True)
    options = []
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints[name]
        if get_origin(hint) is not Annotated:
            return None
        kind, note, *_ = get_args(hint)
        if get_origin(kind) in (Union, UnionType):
            kinds = [part for part in get_args(kind) if part is not NoneType]
            kind = kinds[0] if len(kinds) == 1 else None
        if kind not in _KINDS or not isinstance(note, Option):
            return None
        options.append(PlainOption(name, kind, note, parameter.default))
    return options
