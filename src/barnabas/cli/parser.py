"""Read a command's options and show its help, by argparse.

A command is a function whose parameters are annotated by `Option`: from these come its parser, its page in docs/cli.md
and what a shell completes.

Source: Kafka 2.7's shell tools, for the names of options.
"""

import argparse
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from types import NoneType, UnionType
from typing import Any, Final, NoReturn, Union, get_args, get_origin, get_type_hints

from barnabas.cli.options import Option
from barnabas.core.errors import BarnabasError

_WIDEST: Final = 110
_NARROWEST: Final = 50
_WIDEST_NAME: Final = 34
HELP_OPTIONS: Final = ("-h", "--help")
_HELP: Final = "Show this message."


class CliUsageError(BarnabasError):
    """Options that cannot be; the text says which."""


@dataclass(slots=True, frozen=True)
class Parameter:
    """A parameter of a command's function.

    Attributes:
        name: As the function calls it.
        kind: bool, str, int, float, Path, or of a list what is in it.
        default: `inspect.Parameter.empty` where it must be given.
    """

    name: str
    kind: Callable[[str], object]
    is_list: bool
    option: Option
    default: object

    @property
    def is_required(self) -> bool:
        return self.default is inspect.Parameter.empty

    @property
    def shown_name(self) -> str:
        """How it is typed."""
        value = f"[{self.option.metavar}]" if self.option.nargs == "?" else self.option.metavar or ""
        return f"{', '.join(self.option.names)} {value}".strip()

    def shown_help(self, default: str = "Default: {}.") -> str:
        """What it is for, and what it is when it is not given."""
        text = self.option.help
        if self.is_required:
            return f"{text} Required."
        is_told = self.default in (None, False, "") or "default" in text
        return text if is_told else f"{text} {default.format(self.default)}"


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
        name: With what stands before it, but for `barnabas`.
        text: Paragraphs, each on one line; those after one that ends in a colon are examples.
        function: The command.
        arguments: What stands behind its name.

    Returns:
        Values by parameter; None when help was wanted.

    Raises:
        CliUsageError: An option is unknown, missing, or has a value that can't be.
    """
    known = parameters(function)
    words = _ordered(known, arguments)
    try:
        return vars(_parser(name, text, known).parse_args(words))
    except SystemExit:
        return None


def show_commands(name: str, text: str, commands: Mapping[str, str], options: Mapping[str, str] | None = None) -> None:
    """Print the help of a command that has others below it, each with a line."""
    made = _Parser(f"barnabas {name}COMMAND [OPTIONS]", text)
    for title, rows in (("Commands", commands), ("Options", {**(options or {}), ", ".join(HELP_OPTIONS): _HELP})):
        group = made.add_argument_group(title)
        for row, line in rows.items():
            group.add_argument(row, help=line).metavar = row
    made.epilog = f"barnabas {name}COMMAND --help shows a command's options."
    made.print_help()


class _Formatter(argparse.HelpFormatter):
    """Wraps by the terminal's width, but for examples: they are there to be copied."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=_WIDEST_NAME + 4, width=_width())

    def add_usage(self, usage: str | None, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, prefix or "Usage: ")

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        prose, title, examples = text.partition("\n\nExample")
        paragraphs = ["\n".join(self._split_lines(paragraph, width)) for paragraph in prose.strip().split("\n\n")]
        if title:
            paragraphs.append("\n  ".join(map(str.strip, f"Example{examples}".split("\n\n"))))
        return "\n\n".join(paragraphs)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrap(text, width, break_on_hyphens=False)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        return str(action.metavar)


class _Parser(argparse.ArgumentParser):
    """Raises mistakes instead of ending the process."""

    def __init__(self, usage: str, description: str) -> None:
        super().__init__(
            usage=usage, description=description, formatter_class=_Formatter, add_help=False, allow_abbrev=False
        )

    def print_help(self, file: object = None) -> None:
        # argparse's own hides that the output can't be written.
        print(self.format_help(), end="")

    def error(self, message: str) -> NoReturn:
        raise CliUsageError(message)


def _parser(name: str, text: str, known: Sequence[Parameter]) -> _Parser:
    arguments = [each for each in known if not each.option.names]
    shown = [each.shown_name if each.is_required else f"[{each.shown_name}]" for each in arguments]
    made = _Parser(" ".join(["barnabas", name, *shown, "[OPTIONS]"]), text)
    groups = made.add_argument_group("Arguments"), made.add_argument_group("Options")
    for each in known:
        _add(groups[bool(each.option.names)], each)
    groups[1].add_argument(*HELP_OPTIONS, action="help", help=_HELP).metavar = ", ".join(HELP_OPTIONS)
    return made


def _add(group: argparse._ArgumentGroup, each: Parameter) -> None:
    option = each.option
    settings: dict[str, Any] = {"help": each.shown_help().replace("%", "%%")}
    if not each.is_required:
        settings["default"] = each.default
    if each.kind is bool:
        settings |= {"action": "store_true"}
    else:
        settings |= {"type": _converter(each), "nargs": option.nargs}
        if option.nargs == "?":
            settings["const"] = ""
    if not option.names:
        settings["nargs"] = {(True, True): "+", (True, False): "*", (False, False): "?"}.get(
            (each.is_list, each.is_required)
        )
        action = group.add_argument(each.name, **settings)
    else:
        if each.is_list:
            settings["action"] = "extend" if option.nargs else "append"
        action = group.add_argument(*option.names, dest=each.name, required=each.is_required, **settings)
    action.metavar = each.shown_name


def _converter(each: Parameter) -> Callable[[str], object]:
    kind, least, most = each.kind, each.option.min, each.option.max
    if kind not in (int, float):
        return kind

    def read(text: str) -> object:
        try:
            number = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text} is no {'whole ' if kind is int else ''}number") from None
        assert isinstance(number, int | float)
        if least is not None and number < least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least}")
        if most is not None and number > most:
            raise argparse.ArgumentTypeError(f"{text} is more than {most}")
        return number

    return read


def _ordered(known: Sequence[Parameter], arguments: Sequence[str]) -> list[str]:
    """Put arguments behind the options, and an option's one value, which may begin with a dash, together with it.

    Raises:
        CliUsageError: There is no such option, or no arguments are taken.
    """
    options = {name: each for each in known for name in each.option.names}
    ordered: list[str] = []
    others: list[str] = []
    waiting = list(reversed(arguments))
    while waiting:
        word = waiting.pop()
        name = word.partition("=")[0]
        if word == "--":
            others += reversed(waiting)
            break
        if name in options:
            nargs = options[name].option.nargs
            if word == name and nargs is None and options[name].kind is not bool and waiting:
                word = f"{name}={waiting.pop()}"
            ordered.append(word)
            while nargs and waiting and not waiting[-1].startswith("-"):
                ordered.append(waiting.pop())
        elif len(word) > 1 and word.startswith("-") and word not in HELP_OPTIONS:
            raise CliUsageError(f"No such option: {name}{did_you_mean(name, options)}")
        else:
            (ordered if word in HELP_OPTIONS else others).append(word)
    if others and all(each.option.names for each in known):
        # As in `groups list`: other commands have words for this.
        meant = f"; did you mean --{others[0]}?" if f"--{others[0]}" in options else ""
        raise CliUsageError(f"unrecognized arguments: {' '.join(others)}{meant}")
    return [*ordered, "--", *others] if others else ordered


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question that names what is nearest to a word; nothing where nothing is near."""
    from difflib import get_close_matches

    near = get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _width() -> int:
    """Columns to fill: the terminal's, as far as they can be read well."""
    try:
        columns = int(os.environ.get("COLUMNS", "")) or os.get_terminal_size(sys.stdout.fileno()).columns
    except (ValueError, OSError):
        columns = _WIDEST
    return max(_NARROWEST, min(columns, _WIDEST))
