"""The commands as one typer application, for what `dispatch` leaves to it: mistakes, and options of rarer types.

Of commands that are not wanted it knows the names alone.

Source: Kafka 2.7's shell tools, for the names of options.
"""

import os
from collections.abc import Collection, Sequence
from importlib import import_module

import typer

from barnabas.cli.commands import COMMANDS, SUBCOMMANDS
from barnabas.cli.dispatch import COMPLETION, FUNCTIONS, GROUPS, CliUsageError, module_of, spread
from barnabas.cli.output import say
from barnabas.cli.typer_options import for_typer
from barnabas.core.build import version_line

# All of typer's usage errors derive from it. Click defines it beside BadParameter, which typer gives on from the click
# that it brings (as it does now) or imports (as it did).
_ClickException: type[Exception] = import_module(typer.BadParameter.__module__).ClickException

_CONTEXT = {"help_option_names": ["-h", "--help"]}


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        say(version_line())
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
        if name in wanted and name in SUBCOMMANDS:
            app.add_typer(_group(name), name=name, help=text, context_settings=_CONTEXT)
        elif name in wanted and name in FUNCTIONS:
            module = module_of(name)
            app.command(name, help=module.HELP)(for_typer(getattr(module, FUNCTIONS[name][1])))
        else:
            app.command(name, help=text, add_help_option=False)(_listed)
    return app


def _group(name: str) -> typer.Typer:
    """The commands below one."""
    module = module_of(name)
    if name not in GROUPS:
        made: typer.Typer = module.app
        return made
    group = typer.Typer(rich_markup_mode="rich")
    group.callback(invoke_without_command=True)(_show_help)
    for below, (function, text) in module.SUBCOMMANDS.items():
        group.command(below, help=text)(for_typer(function))
    return group


def _show_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run_app(arguments: Sequence[str]) -> int:
    """Run a command; its exit code.

    Raises:
        CliUsageError: The options cannot be.
        BarnabasError: What the command met.
        BrokenPipeError: Nobody reads the output any more.
    """
    name = next((word for word in arguments if not word.startswith("-")), "")
    command = typer.main.get_command(application(COMMANDS if COMPLETION in os.environ else [name]))
    try:
        result = command.main(args=spread(arguments), prog_name="barnabas", standalone_mode=False)
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
