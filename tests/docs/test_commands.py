"""The commands in the documents are commands that we have, with options that they take."""

import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import barnabas.cli.commands
from tests.commands import run

ROOT = Path(__file__).parents[2]
COMMANDS = tuple(name for name in barnabas.cli.commands.COMMANDS if name != "pipeline")
DOCUMENTS = (
    "README.md",
    *(
        f"docs/{name}.md"
        for name in ("cli", "explain", "page", "operations", "testing", "pipeline", "moving", "replacing")
    ),
)


@cache
def help_text(*command: str) -> str:
    words = [*command, "--help"]
    # A broker's ends its process.
    alone = [sys.executable, "-m", "barnabas.cli.main", *words]
    result = subprocess.run(alone, capture_output=True, text=True, check=False) if words[0] == "broker" else run(*words)
    assert result.returncode == 0, result.stderr
    return result.stdout


def commands(document: str) -> list[list[str]]:
    """Every `barnabas ...` line of a document's code, split as a shell would."""
    found = []
    for line in (ROOT / document).read_text().splitlines():
        code = re.search(
            rf"(?:^|[|&;`] *|^\s+)(?:\.venv/bin/)?barnabas ((?:{'|'.join(COMMANDS)})\b[^`|]*)",
            line,
        )
        if code is not None and (line.startswith("    ") or "`" in line):
            found.append(shlex.split(code[1].split(" #")[0]))
    return found


@pytest.mark.parametrize("document", DOCUMENTS)
def test_options_exist(document: str) -> None:
    for name, *arguments in commands(document):
        words = [name]
        has_more = name in barnabas.cli.commands.SUBCOMMANDS or " ".join([name, *arguments[:1]]) in COMMANDS
        if has_more and arguments and not arguments[0].startswith("-"):
            words.append(arguments[0])
        for option in arguments:
            if option.startswith("--"):
                assert option.split("=")[0] in help_text(*words), f"{' '.join(words)} takes no {option}"


def test_the_readme_shows_commands() -> None:
    assert {name for name, *_ in commands("README.md")} >= {"broker", "topics", "produce", "consume"}


@pytest.mark.parametrize(
    "command",
    [
        "broker",
        "topics",
        "produce",
        "consume",
        "cluster status",
        "groups",
        "groups translate",
        "groups migrate",
        "mirror",
        "configs",
        "acls",
        "explain",
        "page",
        "delete-records",
        "log-dirs",
        "elect-leaders",
        "reassign",
        "transactions list",
        "transactions describe",
        "transactions hanging",
        "transactions abort",
        "perf produce",
        "perf consume",
        "log dump",
        "log verify",
        "log stats",
        "adopt",
        *(f"registry {name}" for name in ("ls", "get", "set", "delete", "watch", "export", "import")),
        "release",
    ],
)
def test_every_command_is_documented(command: str) -> None:
    assert help_text(*command.split())
    assert f"barnabas {command}" in (ROOT / "docs/cli.md").read_text()
