"""A command line that is plainly right is read as typer reads it; any other is left to typer."""

import inspect
from pathlib import Path
from typing import Annotated

import pytest
import typer

from barnabas.cli.options import Option, flag
from barnabas.cli.plain_options import Unread, read_options
from barnabas.cli.typer_options import for_typer


def command(
    name: Annotated[str, Option("--name", "-n", metavar="NAME", help="Who.")],
    execute: Annotated[bool, flag("--execute", "Do it.")] = False,
    count: Annotated[int | None, Option("--count", metavar="N", help="How many.", min=1, max=10)] = None,
    shift: Annotated[int, Option("--shift", metavar="N", help="How far.")] = 0,
    topic: Annotated[list[str] | None, Option("--topic", metavar="NAME", help="What.")] = None,
) -> None:
    """What the tests below give options to."""


def read_by_typer(arguments):
    seen = {}

    def note(**values):
        seen.update(values)

    note.__signature__ = inspect.signature(command)  # type: ignore[attr-defined]
    note.__annotations__ = command.__annotations__
    app = typer.Typer()
    app.command()(for_typer(note))
    typer.main.get_command(app).main(args=arguments, standalone_mode=False)
    return seen


@pytest.mark.parametrize(
    "text",
    [
        "--name a",
        "-n a",
        "--name=a=b",
        "--name --execute",
        "--name a --name b",
        "--execute --name a --execute",
        "--name a --count 10 --shift -3",
        "--name a --count=01 --shift=+3",
        "--name a --topic x --topic=y --topic ''",
    ],
)
def test_a_right_command_line_is_read_as_typer_reads_it(text):
    arguments = [word.strip("'") for word in text.split()]
    read = read_options(command, arguments)
    assert read == read_by_typer(arguments)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "--fly --help",
        "--name",
        "--execute",
        "--nam a",
        "--name a b",
        "--name a --",
        "--name a --execute=true",
        "--name a --count 0",
        "--name a --count 11",
        "--name a --count 1.0",
        "--name a --count ١",
        "--name a --shift 1_000",
        "--name a --shift",
    ],
)
def test_what_may_be_wrong_is_for_typer(text):
    assert read_options(command, text.split()) is Unread.TYPER


@pytest.mark.parametrize("text", ["--help", "-h", "--execute --help", "--name a -h --fly"])
def test_help_is_wanted(text):
    assert read_options(command, text.split()) is Unread.HELP


def test_help_as_a_value_is_a_value():
    assert read_options(command, ["--name", "--help"]) == read_by_typer(["--name", "--help"])


def test_a_command_with_other_kinds_of_options_is_for_typer():
    def with_file(file: Annotated[Path, Option("--file", metavar="FILE", help="Where.")]) -> None: ...

    def with_argument(file: Annotated[str, typer.Argument()]) -> None: ...

    assert read_options(with_file, ["--file", "a"]) is Unread.TYPER
    assert read_options(with_argument, ["a"]) is Unread.TYPER
