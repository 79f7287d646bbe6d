"""The help of commands, as plain text: nothing is loaded for it that the command itself does not need."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from textwrap import wrap
from typing import Final

from barnabas.cli.commands import COMMANDS
from barnabas.cli.plain_options import PlainOption, plain_options

_WIDEST: Final = 110
_NARROWEST: Final = 50
_WIDEST_NAME: Final = 34
_HELP: Final = ("-h, --help", "Show this message.")


def show_command(name: str, text: str, function: Callable[..., object]) -> None:
    """Print the help of a command.

    Args:
        name: With what stands before it, but for `barnabas`.
        text: Paragraphs, each on one line; those after one that ends in a colon are examples.
        function: What it runs, its parameters annotated by `Option`.
    """
    options = plain_options(function)
    assert options is not None
    print(f"Usage: barnabas {name} [OPTIONS]\n")
    _print_text(text)
    print("Options:")
    _print_rows([*(_row(option) for option in options), _HELP])


def show_group(name: str, text: str, commands: Mapping[str, str]) -> None:
    """Print the help of a command that has others below it, each with a line."""
    print(f"Usage: barnabas {name} COMMAND [OPTIONS]\n")
    _print_text(text)
    print("Commands:")
    _print_rows(commands.items())


def show_all() -> None:
    """Print the names of all commands."""
    print("Usage: barnabas COMMAND [OPTIONS]\n")
    _print_text("A Kafka-compatible broker, and tools for any Kafka cluster.")
    print("Commands:")
    _print_rows(COMMANDS.items())
    print("\nOptions:")
    _print_rows(
        [
            ("--version", "Print the version."),
            ("--install-completion", "Have the shell complete commands and options."),
            ("--show-completion", "Print what --install-completion would install."),
            _HELP,
        ]
    )
    print("\nbarnabas COMMAND --help shows a command's options.")


def _row(plain: PlainOption) -> tuple[str, str]:
    option, text = plain.option, plain.option.help
    if plain.is_required:
        text += " Required."
    elif plain.default not in (None, False, "") and "default" not in text:
        text += f" Default: {plain.default}."
    return f"{', '.join(option.names)} {option.metavar or ''}".rstrip(), text


def _print_text(text: str) -> None:
    are_examples = False
    for paragraph in text.strip().split("\n\n"):
        if are_examples:
            # Never wrapped: it is there to be copied.
            print(f"  {paragraph.strip()}")
            continue
        are_examples = paragraph.rstrip().endswith(":")
        print("\n".join(wrap(paragraph, _width(), break_on_hyphens=False)))
        if not are_examples:
            print()
    if are_examples:
        print()


def _print_rows(rows: Iterable[tuple[str, str]]) -> None:
    """Two columns; a name that is too long stands on a line of its own."""
    listed = list(rows)
    left = min(max(len(name) for name, _ in listed), _WIDEST_NAME)
    indent = " " * (left + 4)
    for name, text in listed:
        lines = wrap(text, _width() - len(indent), break_on_hyphens=False)
        if len(name) > left:
            print(f"  {name}")
            print("\n".join(indent + line for line in lines))
            continue
        print(f"  {name:{left}}  {lines[0]}")
        for line in lines[1:]:
            print(indent + line)


def _width() -> int:
    """Columns to fill: the terminal's, as far as they can be read well."""
    try:
        columns = int(os.environ.get("COLUMNS", "")) or os.get_terminal_size(sys.stdout.fileno()).columns
    except (ValueError, OSError):
        columns = _WIDEST
    return max(_NARROWEST, min(columns, _WIDEST))
