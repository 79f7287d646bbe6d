"""The commands as one typer application.

Source: Kafka 2.7's shell tools, for the names of options.
"""

from collections.abc import Sequence
from importlib import import_module

import typer

from barnabas.cli import adopt, consume, groups, log, perf, produce, release, topics
from barnabas.cli.commands import COMMANDS
from barnabas.core.build import version_line
from barnabas.core.errors import BarnabasError

# All of typer's usage errors derive from it. Click defines it beside BadParameter, which typer gives on from the click
# that it brings (as it does now) or imports (as it did).
_ClickException: type[Exception] = import_module(typer.BadParameter.__module__).ClickException

_CONTEXT = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    name="barnabas",
    help="A Kafka-compatible broker, and tools for any Kafka cluster.",
    no_args_is_help=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings=_CONTEXT,
)


class CliUsageError(BarnabasError):
    """Options that cannot be; the text says which."""


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(version_line())
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("broker", help=COMMANDS["broker"], add_help_option=False)
def _broker() -> None:
    """Only listed here: `cli/main.py` runs it without loading any of this."""


@app.command("pipeline", help=COMMANDS["pipeline"], add_help_option=False)
def _pipeline() -> None:
    """Only listed here: it is a process of its own."""


app.command("topics", help=topics.HELP)(topics.topics)
app.command("produce", help=produce.HELP)(produce.produce)
app.command("consume", help=consume.HELP)(consume.consume)
app.command("groups", help=groups.HELP)(groups.groups)
app.add_typer(perf.app, name="perf", help=COMMANDS["perf"], context_settings=_CONTEXT)
app.add_typer(log.app, name="log", help=COMMANDS["log"], context_settings=_CONTEXT)
app.command("adopt", help=adopt.HELP)(adopt.adopt)
app.command("release", help=release.HELP)(release.release)


def run_app(arguments: Sequence[str]) -> int:
    """Run a command; its exit code.

    Raises:
        CliUsageError: The options cannot be.
        BarnabasError: What the command met.
        BrokenPipeError: Nobody reads the output any more.
    """
    command = typer.main.get_command(app)
    try:
        result = command.main(args=perf.spread_lists(arguments), prog_name="barnabas", standalone_mode=False)
    except _ClickException as error:
        format_message = getattr(error, "format_message", error.__str__)
        raise CliUsageError(str(format_message()).rstrip(".")) from None
    except typer.Abort:
        return 1
    except SystemExit as end:
        # What typer makes of an output that is closed; `main` has one answer to that for all commands.
        if isinstance(end.__context__, BrokenPipeError):
            raise end.__context__ from None
        raise
    return result if isinstance(result, int) else 0
