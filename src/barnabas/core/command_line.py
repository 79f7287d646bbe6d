"""Read command lines and print their help: the parser of every `barnabas` command, on top of argparse.

Rules for all commands: an option with one value is given once; options and arguments may be mixed; `--help` wins over
every other mistake; `SHORT_NAMES` and `ENVIRONMENT` apply to each command that declares the long option.

Source: Kafka 2.7's shell tools, for the names of options.
"""

import argparse
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn

from barnabas.core.errors import BarnabasError

_WIDEST: Final = 110
_NARROWEST: Final = 50
_WIDEST_NAME: Final = 34
HELP_OPTIONS: Final = ("-h", "--help")
_HELP: Final = "Show this message."
SHORT_NAMES: Final = {"--bootstrap-server": "-b", "--topic": "-t", "--group": "-g"}
ENVIRONMENT: Final = {
    "--bootstrap-server": "BARNABAS_BOOTSTRAP_SERVER",
    "--command-config": "BARNABAS_COMMAND_CONFIG",
}
# Options of Kafka's older tools.
_REPLACED: Final = {"--broker-list": "--bootstrap-server", "--zookeeper": "--bootstrap-server"}
# A lower-case word that is prose, not a name such as `local[2]` or `client.id`.
_PROSE: Final = re.compile(r"[a-z][a-z']*(?=[ ,;:.]? |[.]?$)")


class CliUsageError(BarnabasError):
    """The options are invalid; the text says which."""


class CommandParser(argparse.ArgumentParser):
    """Raises CliUsageError for a mistake instead of ending the process."""

    def __init__(self, prog: str, description: str, epilog: str | None = None) -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            formatter_class=_Formatter,
            add_help=False,
            allow_abbrev=False,
        )
        self._positionals.title, self._optionals.title = "Arguments", "Options"

    def complete(self) -> "CommandParser":
        """Add what every command has: --help, short names, environment variables and sentences for help texts."""
        if HELP_OPTIONS[0] in self._option_string_actions:
            return self
        for action in self._actions:
            self._complete(action)
        # Unlike argparse's own action, `_in_order` finds it before any mistake.
        self.add_argument(*HELP_OPTIONS, action="store_true", dest=argparse.SUPPRESS, help=_HELP)
        words = [shown if each.required else f"[{shown}]" for each, shown in self._arguments()]
        self.usage = " ".join([self.prog, *words, "[OPTIONS]"])
        return self

    def _complete(self, action: argparse.Action) -> None:
        if action.help is None or action.help == argparse.SUPPRESS:
            return
        text = action.help % vars(action)
        if not text.endswith("."):
            text = f"{text[:1].upper() + text[1:] if _PROSE.match(text) else text}."
        for name in tuple(action.option_strings):
            short = SHORT_NAMES.get(name)
            if short is not None and short not in self._option_string_actions:
                action.option_strings = [short, *action.option_strings]
                self._option_string_actions[short] = action
            if name in ENVIRONMENT:
                text += f" Environment variable: {ENVIRONMENT[name]}."
                if value := os.environ.get(ENVIRONMENT[name]):
                    action.default, action.required = value, False
        action.help = text.replace("%", "%%")

    def _arguments(self) -> list[tuple[argparse.Action, str]]:
        return [(each, shown_name(each)) for each in self._actions if not each.option_strings]

    def format_help(self) -> str:
        return super(CommandParser, self.complete()).format_help()

    def print_help(self, file: object = None) -> None:
        # argparse's own method hides write errors.
        print(self.format_help(), end="")

    def error(self, message: str) -> NoReturn:
        raise CliUsageError(message)

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: None = None
    ) -> argparse.Namespace:
        """Return the values of a command line; print help and exit if the arguments ask for it.

        Raises:
            CliUsageError: An option is unknown, missing, repeated or invalid.
        """
        self.complete()
        words = self._in_order(sys.argv[1:] if args is None else args)
        if words is None:
            self.print_help()
            self.exit()
        return super().parse_args(words, namespace)

    def _in_order(self, arguments: Sequence[str]) -> list[str] | None:
        """Put arguments after the options, and join an option with its one value, which may begin with a dash.

        Returns:
            The words in order; None if they ask for help.

        Raises:
            CliUsageError: An option is unknown or repeated, or the command takes no arguments.
        """
        options = self._option_string_actions
        ordered: list[str] = []
        others: list[str] = []
        given: set[str] = set()
        mistakes: list[str] = []
        waiting = list(reversed(arguments))
        while waiting:
            word = waiting.pop()
            name = word.partition("=")[0]
            action = options.get(name)
            if word == "--":
                others += reversed(waiting)
                break
            if word in HELP_OPTIONS:
                return None
            if action is not None:
                if isinstance(action, argparse._StoreAction) and action.dest in given:
                    mistakes.append(f"{'/'.join(action.option_strings)} is given more than once, but takes one value")
                given.add(action.dest)
                if word == name and action.nargs is None and waiting:
                    word = f"{name}={waiting.pop()}"
                ordered.append(word)
                while action.nargs and waiting and not waiting[-1].startswith("-"):
                    ordered.append(waiting.pop())
            elif len(word) > 1 and word.startswith("-"):
                mistakes.append(f"No such option: {name}{_instead(name, options)}")
            else:
                others.append(word)
        if others and not self._arguments():
            # As in `groups list`: other commands have subcommands for this.
            meant = f"; did you mean --{others[0]}?" if f"--{others[0]}" in options else ""
            mistakes.append(f"unrecognized arguments: {' '.join(others)}{meant}")
        if mistakes:
            raise CliUsageError(mistakes[0])
        return [*ordered, "--", *others] if others else ordered


class _Formatter(argparse.HelpFormatter):
    """Wraps text at the terminal's width, except for examples, which users copy."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=_WIDEST_NAME + 4, width=_width())

    def add_usage(self, usage: str | None, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, prefix or "Usage: ")

    def start_section(self, heading: str | None) -> None:
        super().start_section(heading and heading[:1].upper() + heading[1:])

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        prose, title, examples = text.partition("\n\nExample")
        paragraphs = ["\n".join(self._split_lines(paragraph, width)) for paragraph in prose.strip().split("\n\n")]
        if title:
            paragraphs.append("\n  ".join(map(str.strip, f"Example{examples}".split("\n\n"))))
        return "\n\n".join(paragraphs)

    def _split_lines(self, text: str, width: int) -> list[str]:
        # Imported late: a broker's start does not need it.
        from textwrap import wrap

        return wrap(text, width, break_on_hyphens=False)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        return shown_name(action)


def shown_name(action: argparse.Action) -> str:
    """Return how an option or argument is typed."""
    if not action.option_strings:
        name = str(action.metavar or action.dest.upper())
        return f"{name}..." if action.nargs in ("+", "*") and not name.endswith("...") else name
    names = ", ".join(action.option_strings)
    value = str(action.metavar or "|".join(map(str, action.choices or ())) or action.dest.upper())
    return names if action.nargs == 0 else f"{names} [{value}]" if action.nargs == "?" else f"{names} {value}"


def show_commands(name: str, text: str, commands: Mapping[str, str], options: Mapping[str, str] | None = None) -> None:
    """Print the help of a command with subcommands, a line for each.

    Args:
        name: The command without `barnabas`, and a space; empty for `barnabas` itself.
    """
    made = CommandParser(f"barnabas {name}".strip(), text)
    for row, line in commands.items():
        made.add_argument(row, metavar=row, help=line)
    for row, line in (options or {}).items():
        made.add_argument(*row.split(", "), action="store_true", help=line)
    made._positionals.title = "Commands"
    made.epilog = f"barnabas {name}COMMAND --help shows a command's options."
    made.complete().usage = f"barnabas {name}COMMAND [OPTIONS]"
    made.print_help()


def _instead(name: str, options: Mapping[str, object]) -> str:
    replacement = _REPLACED.get(name)
    return f"; use {replacement}" if replacement and replacement in options else did_you_mean(name, options)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question that names the known word nearest to a word; empty if no word is near."""
    from difflib import get_close_matches

    near = get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _width() -> int:
    """Return the columns to fill: the terminal's width, within limits for easy reading."""
    try:
        columns = int(os.environ.get("COLUMNS", "")) or os.get_terminal_size(sys.stdout.fileno()).columns
    except (ValueError, OSError):
        columns = _WIDEST
    return max(_NARROWEST, min(columns, _WIDEST))
