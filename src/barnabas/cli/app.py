"""The commands as one typer application.

A command loads its own module only: of the others the application knows the names.

Source: Kafka 2.7's shell tools, for the names of options.
"""

import os
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from types import ModuleType
from typing import Final

import typer

from barnabas.cli.commands import COMMANDS
from barnabas.cli.plain_options import read_options
from barnabas.core.build import version_line
from barnabas.core.errors import BarnabasError

# All of typer's usage errors derive from it. Click defines it beside BadParameter, which typer gives on from the click
# that it brings (as it does now) or imports (as it did).
_ClickException: type[Exception] = import_module(typer.BadParameter.__module__).ClickException

_CONTEXT = {"help_option_names": ["-h", "--help"]}

# Set by a shell that wants to complete a command line: any command's options may be asked for.
_COMPLETION: Final = "_BARNABAS_COMPLETE"

# Where the commands are: module and function. `cli/main.py` runs broker and pipeline without loading any of this.
FUNCTIONS: Final = {
    "topics": ("topics", "topics"),
    "produce": ("produce", "produce"),
    "consume": ("consume", "consume"),
    "groups": ("groups", "groups"),
    "configs": ("configs", "configs"),
    "delete-records": ("delete_records", "delete_records"),
    "log-dirs": ("log_dirs", "log_dirs"),
    "elect-leaders": ("elect_leaders", "elect_leaders"),
    "reassign": ("reassign", "reassign"),
    "adopt": ("adopt", "adopt"),
    "release": ("release", "release"),
}
# Modules with commands of their own below them.
GROUPS: Final = ("transactions", "perf", "log")
# Those with options that take several values, or may take one, which typer's can't.
_SPREADING: Final = ("groups", "perf")


class CliUsageError(BarnabasError):
    """Options that cannot be; the text says which."""


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(version_line())
        raise typer.Exit


def _root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _listed() -> None:
    """Stands where a command is only listed."""


def application(wanted: Collection[str]) -> typer.Typer:
    """The application; commands that are not wanted are in its help and do nothing."""
    app = typer.Typer(
        name="barnabas",
        help="A Kafka-compatible broker, and tools for any Kafka cluster.",
        no_args_is_help=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings=_CONTEXT,
    )
    app.callback(invoke_without_command=True)(_root)
    for name, text in COMMANDS.items():
        if name in wanted and name in GROUPS:
            app.add_typer(_module(name).app, name=name, help=text, context_settings=_CONTEXT)
        elif name in wanted and name in FUNCTIONS:
            module_name, function_name = FUNCTIONS[name]
            module = _module(module_name)
            app.command(name, help=module.HELP)(getattr(module, function_name))
        else:
            app.command(name, help=text, add_help_option=False)(_listed)
    return app


def _function(name: str, arguments: Sequence[str]) -> tuple[Callable[..., object] | None, Sequence[str]]:
    """What a command runs, and what is left for it to read; None where typer has to find it."""
    if name in FUNCTIONS:
        module_name, function_name = FUNCTIONS[name]
        return getattr(_module(module_name), function_name), arguments
    if name in GROUPS and arguments:
        return getattr(_module(name), "SUBCOMMANDS", {}).get(arguments[0]), arguments[1:]
    return None, arguments


def _module(name: str) -> ModuleType:
    return import_module(f"barnabas.cli.{name}")


def run_app(arguments: Sequence[str]) -> int:
    """Run a command; its exit code.

    Raises:
        CliUsageError: The options cannot be.
        BarnabasError: What the command met.
        BrokenPipeError: Nobody reads the output any more.
    """
    name = next((word for word in arguments if not word.startswith("-")), "")
    if name in _SPREADING and arguments[:1] == [name]:
        arguments = _module(name).spread_lists(arguments)
    if arguments[:1] == [name]:
        function, rest = _function(name, arguments[1:])
        options = None if function is None else read_options(function, rest)
        if function is not None and options is not None:
            function(**options)
            return 0
    command = typer.main.get_command(application(COMMANDS if _COMPLETION in os.environ else [name]))
    try:
        result = command.main(args=list(arguments), prog_name="barnabas", standalone_mode=False)
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
