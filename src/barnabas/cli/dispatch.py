"""Where each command's function is, and how it is run when its command line is plainly right.

A command loads its own module only, and typer only for what `plain_options` leaves to it: mistakes.
"""

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Final

from barnabas.cli.plain_options import HELP, Unread, read_options
from barnabas.core.errors import BarnabasError

# Where the commands are: module and function. `cli/main.py` runs broker and pipeline without loading any of this.
FUNCTIONS: Final = {
    "topics": ("topics", "topics"),
    "produce": ("produce", "produce"),
    "consume": ("consume", "consume"),
    "groups": ("groups", "groups"),
    "groups translate": ("groups_translate", "groups_translate"),
    "groups migrate": ("groups_migrate", "groups_migrate"),
    "mirror": ("mirror", "mirror"),
    "configs": ("configs", "configs"),
    "acls": ("acls", "acls"),
    "delete-records": ("delete_records", "delete_records"),
    "log-dirs": ("log_dirs", "log_dirs"),
    "elect-leaders": ("elect_leaders", "elect_leaders"),
    "reassign": ("reassign", "reassign"),
    "adopt": ("adopt", "adopt"),
    "release": ("release", "release"),
}
# Modules whose SUBCOMMANDS are functions and their help, by name; the others of commands.SUBCOMMANDS are typer's.
GROUPS: Final = ("transactions", "quotas", "registry", "users")
# Set by a shell that wants a command line completed, which is typer's business.
COMPLETION: Final = "_BARNABAS_COMPLETE"
# Those with options that take several values, or may take one, which typer's can't.
_SPREADING: Final = ("groups", "mirror", "perf")


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
    """Run a command if its command line is plainly right, or show help; False where typer has to read it.

    Raises:
        BarnabasError: What the command met.
        BrokenPipeError: Nobody reads the output any more.
    """
    if COMPLETION in os.environ:
        return False
    name, *rest = arguments or ["--help"]
    if name in HELP:
        from barnabas.cli.help import show_all

        show_all()
        return True
    if name in FUNCTIONS:
        module = module_of(name)
        return _run(name, getattr(module, FUNCTIONS[name][1]), module.HELP, rest)
    if name not in GROUPS:
        return False
    below, *rest = rest or ["--help"]
    module = module_of(name)
    if below in HELP:
        from barnabas.cli.help import show_group

        show_group(name, module.HELP, {each: text.partition("\n")[0] for each, (_, text) in module.SUBCOMMANDS.items()})
        return True
    if below not in module.SUBCOMMANDS:
        return False
    function, text = module.SUBCOMMANDS[below]
    return _run(f"{name} {below}", function, text, rest)


def _run(name: str, function: Callable[..., object], text: str, arguments: Sequence[str]) -> bool:
    options = read_options(function, arguments)
    if options is Unread.HELP:
        from barnabas.cli.help import show_command

        show_command(name, text, function)
    elif not isinstance(options, Unread):
        function(**options)
    return options is not Unread.TYPER
