"""Option parsing and help of commands, by argparse.

A command is a function whose parameters are annotated with `Option`. Its parser, its section in docs/cli.md and its
shell completion are made from them.

Source: Kafka 2.7's shell tools, for the names of options.
"""

import inspect
from argparse import SUPPRESS, ArgumentTypeError
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from barnabas.cli.options import Option
from barnabas.core.command_line import CommandParser


@dataclass(slots=True, frozen=True)
class Parameter:
    """A parameter of a command's function.

    Attributes:
        name: The parameter's name.
        kind: bool, str, int, float or Path; of a list, the type of its items.
        default: `inspect.Parameter.empty` if required.
    """

    name: str
    kind: Callable[[str], object]
    is_list: bool
    option: Option
    default: object

    @property
    def is_required(self) -> bool:
        return self.default is inspect.Parameter.empty

    def shown_help(self) -> str:
        """Return the help, with the default."""
        text = self.option.help
        if self.is_required:
            return f"{text} Required."
        is_told = self.default in (None, False, "") or "default" in text
        return text if is_told else f"{text} Default: {self.default}."


def parameters(function: Callable[..., object]) -> list[Parameter]:
    """Return the parameters of a command's function."""
    hints = get_type_hints(function, include_extras=True)
    found = []
    for name, each in inspect.signature(function).parameters.items():
        kind, option = get_args(hints[name])
        if get_origin(kind) in (Union, UnionType):
            (kind,) = (part for part in get_args(kind) if part is not NoneType)
        is_list = get_origin(kind) is list
        found.append(Parameter(name, get_args(kind)[0] if is_list else kind, is_list, option, each.default))
    return found


def read_options(
    name: str, text: str, function: Callable[..., object], arguments: Sequence[str]
) -> dict[str, object] | None:
    """Return the arguments to call a command with, or show its help.

    Args:
        name: The command without `barnabas`.
        text: Paragraphs, each on one line; those after one that ends in a colon are examples.
        function: The command.
        arguments: The words after the command's name.

    Returns:
        Values by parameter; None if help was shown.

    Raises:
        CliUsageError: An option is unknown, missing, repeated or invalid.
    """
    try:
        return vars(command_parser(name, text, function).parse_args(arguments))
    except SystemExit:
        return None


def command_parser(name: str, text: str, function: Callable[..., object]) -> CommandParser:
    """Return the parser of a command's options.

    Args:
        name: The command without `barnabas`.
        text: Paragraphs, each on one line; those after one that ends in a colon are examples.
    """
    made = CommandParser(f"barnabas {name}", text)
    for each in parameters(function):
        _add(made, each)
    return made.complete()


def _add(made: CommandParser, each: Parameter) -> None:
    option = each.option
    settings: dict[str, Any] = {"help": each.shown_help().replace("%", "%%"), "metavar": option.metavar}
    if not each.is_required:
        settings["default"] = each.default
    if each.kind is bool:
        del settings["metavar"]
        settings["action"] = "store_true"
    else:
        settings |= {"type": _converter(each), "nargs": option.nargs}
        if option.nargs == "?":
            settings["const"] = ""
    if option.is_internal:
        settings["help"] = SUPPRESS
    if option.names:
        if each.is_list:
            settings["action"] = "extend" if option.nargs else "append"
        made.add_argument(*option.names, dest=each.name, required=each.is_required, **settings)
    else:
        settings["nargs"] = {(True, True): "+", (True, False): "*", (False, False): "?"}.get(
            (each.is_list, each.is_required)
        )
        made.add_argument(each.name, **settings)


def _converter(each: Parameter) -> Callable[[str], object]:
    kind, least, most = each.kind, each.option.min, each.option.max
    if kind not in (int, float):
        return kind

    def read(text: str) -> object:
        try:
            number = kind(text)
        except ValueError:
            raise ArgumentTypeError(f"{text} must be a {'whole ' if kind is int else ''}number") from None
        assert isinstance(number, int | float)
        if least is not None and number < least:
            raise ArgumentTypeError(f"{text} must be at least {least}")
        if most is not None and number > most:
            raise ArgumentTypeError(f"{text} must be at most {most}")
        return number

    return read
