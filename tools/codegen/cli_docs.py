"""Generates `docs/cli.md` from the commands: all `--help` texts on one page.

Run as `python -m tools.codegen.cli_docs`; part of `scripts/generate`.

Source: src/barnabas/cli.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from barnabas.broker.server.main import parser
from barnabas.cli.commands import COMMANDS, SUBCOMMANDS, find_command, module_of
from barnabas.cli.parser import command_parser
from barnabas.core.command_line import HELP_OPTIONS, CommandParser, shown_name
from barnabas.pipeline.commands.main import COMMANDS as PIPELINE_COMMANDS
from barnabas.pipeline.commands.main import DESCRIPTION
from barnabas.pipeline.commands.main import parser as pipeline_parser

KAFKA_TOOLS = Path(__file__).with_name("kafka_tools.md")
DOCUMENT = Path(__file__).resolve().parents[2] / "docs/cli.md"

_HEAD = """# The command line

Generated from the commands by `scripts/generate`.

`barnabas` is one command with subcommands; options have the names of Kafka's own tools where those have them. Results
go to stdout, everything else (progress, notes, errors) to stderr. On a terminal results are tables, or a line for each
cell if the terminal is too narrow for the longest words; in a pipe they are plain columns, and with `--json` JSON for
scripts. An error is one line that says what to do, and exit code 1. `barnabas pipeline` has [more exit
codes](pipeline/running.md#stopping).

`-b` is `--bootstrap-server`, `-t` is `--topic` and `-g` is `--group`, in every command that has the long option. Two
environment variables replace options that you would repeat: `BARNABAS_BOOTSTRAP_SERVER` is the default of
`--bootstrap-server`, `BARNABAS_COMMAND_CONFIG` that of `--command-config`. An option on the command line overrides its
variable, and an empty variable has no effect. `barnabas help COMMAND` shows the same as `barnabas COMMAND --help`. The
name of one of Kafka's shell tools, such as `kafka-console-consumer.sh`, prints the command to use instead.

Two commands need more than a plain install ([README](../README.md#in-your-tests)): `perf` needs the extra `clients`
(`pip install '.[clients]'` in a checkout) and `pipeline` the extra `pipeline`. All commands that take
`--bootstrap-server` work with any Kafka cluster, except `quotas explain`, `quotas top` and `quotas simulate`, which
need Barnabas brokers.

| command | what it does |
| --- | --- |
"""

# Commands with their own parsers.
_OTHERS = ("broker", "pipeline")

# Examples that tests/docs cannot run in an empty directory.
_RUN_ELSEWHERE = {
    "barnabas adopt": "tests/integration/test_moving_runbook.py",
    "barnabas release": "tests/integration/test_moving_runbook.py",
    "barnabas cluster start": "tests/integration/test_cluster_command.py",
    "barnabas groups translate": "tests/integration/test_groups_translate.py",
    "barnabas groups migrate": "tests/integration/test_groups_migrate.py",
    "barnabas mirror": "tests/integration/test_mirror_command.py",
    "barnabas explain": "tests/integration/test_explain.py",
    "barnabas page": "tests/integration/test_page.py",
    "barnabas acls": "tests/compat/test_cli_acls.py",
    **{f"barnabas users {name}": "tests/compat/test_cli_users.py" for name in SUBCOMMANDS["users"]},
    "barnabas configs": "tests/compat/test_cli_configs.py",
    "barnabas perf produce": "tests/integration/test_cli.py",
    "barnabas perf consume": "tests/integration/test_cli.py",
    **dict.fromkeys(
        ("barnabas delete-records", "barnabas log-dirs", "barnabas elect-leaders", "barnabas reassign"),
        "tests/compat/test_cli_partitions.py",
    ),
    **{
        f"barnabas transactions {name}": "tests/compat/test_cli_transactions.py" for name in SUBCOMMANDS["transactions"]
    },
    **{f"barnabas registry {name}": "tests/compat/test_registry_command.py" for name in SUBCOMMANDS["registry"]},
}


def _document() -> str:
    parts = [_HEAD]
    parts += [
        f"| [`barnabas {name}`](#barnabas-{name.replace(' ', '-')}) | {text} |\n" for name, text in COMMANDS.items()
    ]
    parts.append(KAFKA_TOOLS.read_text())
    parts += _broker()
    for name in COMMANDS:
        if name not in SUBCOMMANDS and name not in _OTHERS:
            parts += _command(name)
    for group, names in SUBCOMMANDS.items():
        parts.append(f"\n## barnabas {group}\n\n{COMMANDS[group]}\n{_paragraphs(module_of(group).HELP)}\n")
        for name in names:
            parts += _command(group, name)
    parts += _pipeline()
    return "".join(parts)


def _pipeline() -> Iterator[str]:
    yield f"\n## barnabas pipeline\n\n{DESCRIPTION} It needs `pip install '.[pipeline]'` in a checkout; "
    yield "[pipeline/running.md](pipeline/running.md) has details.\n"
    for name in PIPELINE_COMMANDS:
        made = pipeline_parser(name)
        yield f"\n### barnabas pipeline {name}\n\n{made.description}\n\n"
        yield from _options(made)


def _paragraphs(text: str) -> str:
    """Return all paragraphs of a help text except the first."""
    return _plain("\n\n".join(" ".join(part.split()) for part in text.split("\n\n")[1:]))


def _broker() -> Iterator[str]:
    made = parser()
    yield f"\n## barnabas broker\n\n{made.description} {made.epilog}\n\n"
    yield f"```text\n{made.complete().usage}\n```\n\n"
    yield from _options(made)


def _options(made: CommandParser) -> Iterator[str]:
    yield "| option | meaning |\n| --- | --- |\n"
    for each in made.complete()._actions:
        if each.help != argparse.SUPPRESS and each.option_strings != list(HELP_OPTIONS):
            yield _row(shown_name(each), str(each.help) % vars(each))


def _command(name: str, below: str = "") -> Iterator[str]:
    title = f"barnabas {name} {below}".strip()
    function, text = find_command(name, below)
    yield f"\n{'###' if below else '##'} {title}\n\n"
    paragraphs, _, examples = text.strip().replace("Example:", "Examples:").partition("Examples:")
    yield f"{_plain(paragraphs.strip())}\n\n"
    if examples:
        lines = "\n".join(f"$ {line}" for line in examples.strip().split("\n\n"))
        if title in _RUN_ELSEWHERE:
            yield f"<!-- run by {_RUN_ELSEWHERE[title]} -->\n\n"
        yield f"```console\n{lines}\n```\n\n"
    yield from _options(command_parser(title.removeprefix("barnabas "), text, function))


def _row(option: str, text: str) -> str:
    escaped = option.replace("|", "\\|")
    return f"| `{escaped}` | {_plain(text).replace('|', chr(92) + '|')} |\n"


def _plain(text: str) -> str:
    """Escape asterisks, which mean emphasis in Markdown and a pattern in a help text."""
    return text.replace("*", "\\*")


def main() -> None:
    """Write the page."""
    DOCUMENT.write_text(_document())


if __name__ == "__main__":
    main()
