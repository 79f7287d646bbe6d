"""Options are read as they were typed, mistakes are named, and help is plain text of the terminal's width."""

from pathlib import Path
from typing import Annotated

import pytest

from barnabas.cli.options import Option, flag
from barnabas.cli.parser import read_options
from barnabas.core.command_line import CliUsageError

TEXT = """Do something.

A paragraph of several words that has to be wrapped somewhere.

Examples:

  tool --execute --name a

  tool --execute --name a --count 3 --shift -2 --topic b"""

DEFAULTS = {"execute": False, "count": None, "shift": 0, "topic": None, "props": None, "state": None}


def command(
    name: Annotated[str, Option("--name", "-n", metavar="NAME", help="Who it is for.")],
    execute: Annotated[bool, flag("--execute", "Do 100 % of it.")] = False,
    count: Annotated[int | None, Option("--count", metavar="N", help="How many.", min=1, max=10)] = None,
    shift: Annotated[int, Option("--shift", metavar="N", help="How far.")] = 0,
    topic: Annotated[list[str] | None, Option("--topic", metavar="NAME", help="What.")] = None,
    props: Annotated[list[str] | None, Option("--props", nargs="+", metavar="NAME=VALUE", help="How.")] = None,
    state: Annotated[str | None, Option("--state", nargs="?", metavar="STATE", help="Where.")] = None,
) -> None:
    """What the tests below give options to."""


def with_arguments(
    files: Annotated[list[Path] | None, Option(metavar="FILE...", help="What to read.")] = None,
    ratio: Annotated[float, Option("--ratio", metavar="N", help="How much of it.")] = 0.5,
) -> None:
    """Takes any number of files."""


def with_path(
    path: Annotated[str, Option(metavar="PATH", help="Where.")],
    data: Annotated[Path, Option(metavar="FILE", help="What.")] = Path("a"),
) -> None:
    """Takes one or two arguments."""


def read(function, text):
    return read_options("some", TEXT, function, [word.strip("'") for word in text.split()])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--name a", {}),
        ("-n a", {}),
        ("--name=a=b", {"name": "a=b"}),
        # What follows an option is its value, whatever it begins with.
        ("--name --execute", {"name": "--execute"}),
        ("--name --help", {"name": "--help"}),
        ("--execute --name a --execute", {"execute": True}),
        ("--name a --count 10 --shift -3", {"count": 10, "shift": -3}),
        ("--name a --count=01 --shift=+3", {"count": 1, "shift": 3}),
        ("--name a --topic x --topic=y --topic '' -t -z", {"topic": ["x", "y", "", "-z"]}),
        ("--props a=1 b=2 --name a --props c=3", {"props": ["a=1", "b=2", "c=3"]}),
        ("--state --name a", {"state": ""}),
        ("--name a --state b", {"state": "b"}),
        ("--name a --state=b", {"state": "b"}),
    ],
)
def test_options_are_read(text, expected):
    assert read(command, text) == {"name": "a"} | DEFAULTS | expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the following arguments are required: --name"),
        ("--fly", "No such option: --fly$"),
        ("--name a --name b", "--name/-n is given more than once"),
        ("-n a --name=a", "--name/-n is given more than once"),
        ("--name a --state --state b", "--state is given more than once"),
        ("--name", "argument --name/-n: expected one argument"),
        ("--execute", "the following arguments are required: --name"),
        ("--nam a", r"No such option: --nam; did you mean --name\?"),
        ("--nam=a", r"No such option: --nam; did you mean --name\?"),
        ("--name a b", "unrecognized arguments: b"),
        ("--name a execute", r"unrecognized arguments: execute; did you mean --execute\?"),
        ("--name a -- --execute", "unrecognized arguments: --execute"),
        ("--name a --execute=true", "argument --execute: ignored explicit argument 'true'"),
        ("--name a --count 0", "argument --count: 0 must be at least 1"),
        ("--name a --count 11", "argument --count: 11 must be at most 10"),
        ("--name a --count 1.0", "argument --count: 1.0 must be a whole number"),
        ("--name a --count", "argument --count: expected one argument"),
        ("--name a --props", "argument --props: expected at least one argument"),
    ],
)
def test_a_mistake_is_named(text, reason):
    with pytest.raises(CliUsageError, match=reason):
        read(command, text)


@pytest.mark.parametrize(
    "text", ["--help", "-h", "--execute --help", "--name a -h", "--fly --help", "--count x -n a -n b c -h"]
)
def test_help_is_shown_instead(text, capsys):
    assert read(command, text) is None
    assert capsys.readouterr().out.startswith("Usage: barnabas some [OPTIONS]\n")


def with_cluster(
    server: Annotated[str, Option("--bootstrap-server", metavar="HOST:PORT", help="Where.")] = "127.0.0.1:9092",
    file: Annotated[Path | None, Option("--command-config", metavar="FILE", help="How.")] = None,
    parent: Annotated[int, Option("--parent", metavar="PID", help="Whose.", is_internal=True)] = 0,
) -> None:
    """Connects to a cluster."""


@pytest.mark.parametrize(
    ("text", "server", "file"),
    [
        ("", "west:1", Path("west")),
        ("-b east:2", "east:2", Path("west")),
        ("--command-config east", "west:1", Path("east")),
    ],
)
def test_an_environment_variable_is_the_default_of_its_option(monkeypatch, text, server, file):
    monkeypatch.setenv("BARNABAS_BOOTSTRAP_SERVER", "west:1")
    monkeypatch.setenv("BARNABAS_COMMAND_CONFIG", "west")
    assert read(with_cluster, text) == {"server": server, "file": file, "parent": 0}


def test_an_empty_environment_variable_counts_as_unset(monkeypatch):
    monkeypatch.setenv("BARNABAS_BOOTSTRAP_SERVER", "")
    monkeypatch.setenv("BARNABAS_COMMAND_CONFIG", "")
    assert read(with_cluster, "") == {"server": "127.0.0.1:9092", "file": None, "parent": 0}


def test_help_names_environment_variables_and_hides_internal_options(monkeypatch, capsys):
    monkeypatch.setenv("BARNABAS_BOOTSTRAP_SERVER", "west:1")
    read(with_cluster, "--help")
    shown = " ".join(capsys.readouterr().out.split())
    assert "-b, --bootstrap-server HOST:PORT Where. Default: 127.0.0.1:9092." in shown
    assert "BARNABAS_BOOTSTRAP_SERVER" in shown
    assert "BARNABAS_COMMAND_CONFIG" in shown
    assert "--parent" not in shown
    assert read(with_cluster, "--parent 7")["parent"] == 7


@pytest.mark.parametrize("name", ["--broker-list", "--zookeeper"])
def test_old_names_of_the_bootstrap_server_lead_to_it(name):
    with pytest.raises(CliUsageError, match=f"No such option: {name}; use --bootstrap-server$"):
        read(with_cluster, f"{name} a:1")
    with pytest.raises(CliUsageError, match=f"No such option: {name}$"):
        read(command, f"--name a {name} a:1")


def test_arguments_may_stand_among_options():
    assert read(with_arguments, "a --ratio 2 b") == {"files": [Path("a"), Path("b")], "ratio": 2.0}
    assert read(with_arguments, "-- -a") == {"files": [Path("-a")], "ratio": 0.5}
    assert not read(with_arguments, "--ratio -1")["files"]
    with pytest.raises(CliUsageError, match="argument --ratio: x must be a number"):
        read(with_arguments, "a --ratio x")


def test_arguments_are_counted():
    assert read(with_path, "b") == {"path": "b", "data": Path("a")}
    assert read(with_path, "b c") == {"path": "b", "data": Path("c")}
    with pytest.raises(CliUsageError, match="required: PATH"):
        read(with_path, "")
    with pytest.raises(CliUsageError, match="unrecognized arguments: d"):
        read(with_path, "b c d")


def some(
    name: Annotated[str, Option("--name", "-n", metavar="NAME", help="Who it is for.")],
    file: Annotated[str | None, Option(metavar="FILE", help="What it is told.")] = None,
    execute: Annotated[bool, flag("--execute", "Do 100 % of it.")] = False,
    count: Annotated[int, Option("--count", metavar="N", help="How many times it is done, one after the other.")] = 3,
    long: Annotated[
        str | None, Option("--a-very-long-name-of-an-option", nargs="?", metavar="VALUE", help="What.")
    ] = None,
) -> None:
    """What the help below is of."""


def test_a_commands_help(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert read(some, "--help") is None
    assert capsys.readouterr().out.splitlines() == [
        "Usage: barnabas some [FILE] [OPTIONS]",
        "",
        "Do something.",
        "",
        "A paragraph of several words that has to be wrapped",
        "somewhere.",
        "",
        # What is there to be copied is never wrapped.
        "Examples:",
        "  tool --execute --name a",
        "  tool --execute --name a --count 3 --shift -2 --topic b",
        "",
        "Arguments:",
        "  FILE                                What it is told.",
        "",
        "Options:",
        "  --name, -n NAME                     Who it is for.",
        "                                      Required.",
        "  --execute                           Do 100 % of it.",
        "  --count N                           How many times it is",
        "                                      done, one after the",
        "                                      other. Default: 3.",
        "  --a-very-long-name-of-an-option [VALUE]",
        "                                      What.",
        "  -h, --help                          Show this message.",
    ]


@pytest.mark.parametrize("columns", ["1", "80", "100000", "many"])
def test_every_width_is_one_that_can_be_read(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    assert read_options("some", TEXT.replace("words", "words " * 50), command, ["--help"]) is None
    assert 40 <= max(map(len, capsys.readouterr().out.splitlines()[2:])) <= 150
