"""Where each command's function is, and how it is run when its command line is plainly right.

A command loads its own module only, and typer only for what `plain_options` leaves to it: help and mistakes.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Final

from barnabas.cli.commands import SUBCOMMANDS
from barnabas.cli.plain_options import read_options
from barnabas.core.errors import BarnabasError

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
# Modules whose SUBCOMMANDS are functions and their help, by name; the others of commands.SUBCOMMANDS are typer's.
GROUPS: Final = ("transactions",)
# Those with options that take several values, or may take one, which typer's can't.
_SPREADING: Final = ("groups", "perf")


class CliUsageError(BarnabasError):
    """Options that cannot be; the text says which."""


def module_of(name: str) -> ModuleType:
    """The module of a command. Imports it."""
    return import_module(f"barnabas.cli.{FUNCTIONS.get(name, (name,))[0]}")


def spread(arguments: Sequence[str]) -> list[str]:
    """A command line in which every option has one value or none."""
    if arguments and arguments[0] in _SPREADING:
        spread_lists: Callable[[Sequence[str]], list[str]] = module_of(arguments[0]).spread_lists
        return spread_lists(arguments)
    return list(arguments)


def run_plainly(arguments: Sequence[str]) -> bool:
    """Run a command if its command line is plainly right; False where typer has to read it.

    Raises:
        BarnabasError: What the command met.
        BrokenPipeError: Nobody reads the output any more.
    """
    name, *rest = arguments or [""]
    if name in FUNCTIONS:
        function: Callable[..., object] = getattr(module_of(name), FUNCTIONS[name][1])
    elif name in GROUPS and rest and rest[0] in SUBCOMMANDS[name]:
        function = module_of(name).SUBCOMMANDS[rest.pop(0)][0]
    else:
        return False
    options = read_options(function, rest)
    if options is None:
        return False
    function(**options)
    return True
