"""Help is plain text of the terminal's width; what is there to be copied is never wrapped."""

from typing import Annotated

import pytest

from barnabas.cli.help import show_command
from barnabas.cli.options import Option, flag
from tests.unit.cli.test_plain_options import command

TEXT = """Do something.

A paragraph of several words that has to be wrapped somewhere.

Examples:

  tool --execute --name a"""


def some(
    name: Annotated[str, Option("--name", "-n", metavar="NAME", help="Who it is for.")],
    execute: Annotated[bool, flag("--execute", "Do it.")] = False,
    count: Annotated[int, Option("--count", metavar="N", help="How many times it is done, one after the other.")] = 3,
    long: Annotated[str | None, Option("--a-very-long-name-of-an-option", metavar="VALUE", help="What.")] = None,
) -> None:
    """What the help below is of."""


def test_a_commands_help(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    show_command("some", TEXT, some)
    assert capsys.readouterr().out.splitlines() == [
        "Usage: barnabas some [OPTIONS]",
        "",
        "Do something.",
        "",
        "A paragraph of several words that has to be wrapped",
        "somewhere.",
        "",
        "Examples:",
        "  tool --execute --name a",
        "",
        "Options:",
        "  --name, -n NAME                     Who it is for.",
        "                                      Required.",
        "  --execute                           Do it.",
        "  --count N                           How many times it is",
        "                                      done, one after the",
        "                                      other. Default: 3.",
        "  --a-very-long-name-of-an-option VALUE",
        "                                      What.",
        "  -h, --help                          Show this message.",
    ]


@pytest.mark.parametrize("columns", ["1", "80", "100000", "many"])
def test_every_width_is_one_that_can_be_read(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    show_command("some", TEXT * 5, command)
    assert 40 <= max(map(len, capsys.readouterr().out.splitlines()[2:])) <= 150
