"""The options of a command, read without typer, which with pydantic is the half of a command's start.

A command line that is plainly right needs none of it: known options, numbers within their bounds, nothing missing. Any
other one (a mistake, `--help`, an option of a rarer type) is left to typer, which says what is wrong with it.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Union, get_args, get_origin, get_type_hints

from barnabas.cli.options import Option

Value = str | int | bool | list[str] | None

_NUMBER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_KINDS = (str, int, bool, list[str])


@dataclass(slots=True, frozen=True)
class _Option:
    """One option: `kind` is a type of `_KINDS`, `default` is `inspect.Parameter.empty` where it must be given."""

    name: str
    kind: object
    least: float | None
    most: float | None
    default: object


def read_options(function: Callable[..., object], arguments: Sequence[str]) -> dict[str, object] | None:
    """The arguments to call a command with.

    Args:
        function: A command, its parameters annotated by `Option`.
        arguments: What stands behind its name.

    Returns:
        Values by parameter; None where this command line is for typer to read.
    """
    options = _options(function)
    if options is None:
        return None
    given: dict[str, Value] = {}
    words = iter(arguments)
    for word in words:
        text, equals, inline = word.partition("=")
        option = options.get(text)
        if option is None:
            return None
        value = _value(option, inline if equals else None, words)
        if value is None:
            return None
        before = given.get(option.name)
        given[option.name] = [*before, *value] if isinstance(before, list) and isinstance(value, list) else value
    values: dict[str, object] = {}
    for option in options.values():
        if option.name not in given and option.default is inspect.Parameter.empty:
            return None
        values[option.name] = given.get(option.name, option.default)
    return values


def _value(option: _Option, inline: str | None, words: Iterator[str]) -> Value:
    if option.kind is bool:
        return True if inline is None else None
    text = next(words, None) if inline is None else inline
    if text is None or option.kind is str:
        return text
    if option.kind == list[str]:
        return [text]
    if not _NUMBER.fullmatch(text):
        return None
    number = int(text)
    is_inside = (option.least is None or number >= option.least) and (option.most is None or number <= option.most)
    return number if is_inside else None


def _options(function: Callable[..., object]) -> dict[str, _Option] | None:
    """A command's options by what is typed; None when one of them is none of the plain ones."""
    hints = get_type_hints(function, include_extras=True)
    options: dict[str, _Option] = {}
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
        for declared in note.names:
            options[declared] = _Option(name, kind, note.min, note.max, parameter.default)
    return options
