"""The entry point: runs a command, and turns every error into one line and an exit code.

Exit codes: 0 for success (also Ctrl-C, SIGTERM and SIGHUP in commands that run until stopped), 1 for everything else.
"""

import os
import sys
from collections.abc import Sequence
from typing import Final

from barnabas.cli.commands import COMMANDS, SUBCOMMANDS
from barnabas.core.process import open_standard_streams

_OPTIONS: Final = {
    "-V, --version": "Print the version.",
    "--install-completion": "Install shell completion of commands and options.",
    "--show-completion": "Print the script that --install-completion installs.",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        The process's exit code.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if sys.platform == "win32":
        return fail("barnabas", "Windows is not supported; use Linux (or WSL), or macOS")
    while arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    if " ".join(arguments[:2]) in COMMANDS:
        arguments[:2] = [" ".join(arguments[:2])]
    program = _program(arguments)
    open_standard_streams()
    try:
        if sys.stdout is None and arguments[:1] != ["broker"]:
            return fail(program, "standard output is closed: connect it to a file, a pipe or a terminal")
        code = _dispatch(program, arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return 1
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does; this is not an error.
        _give_up_output()
        return 0
    except OSError as error:
        _give_up_output()
        reason = error.strerror or str(error)
        return fail(program, f"{error.filename}: {reason}" if error.filename else reason)


def _dispatch(program: str, arguments: list[str]) -> int:
    if (line := os.environ.get("_BARNABAS_COMPLETE")) is not None:
        from barnabas.cli.completion import print_candidates

        print_candidates(line)
        return 0
    if arguments[:1] == ["broker"]:
        # The modules of the other commands are not loaded.
        from barnabas.broker.server.main import main as run_broker

        return run_broker(arguments[1:])
    if arguments[:1] == ["pipeline"]:
        # A process of its own: the pipeline has its own requirements, handles signals and sets the exit code.
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, "-P", "-m", "barnabas.pipeline", *arguments[1:]])
    for argument in arguments:
        if not argument.isprintable() and any("\ud800" <= character <= "\udfff" for character in argument):
            return fail(program, f"{os.fsencode(argument)!r} is not valid text in this system's encoding")
    if arguments[:1] in (["version"], ["-V"], ["--version"]):
        from barnabas.core.build import version_line

        print(version_line())
        return 0
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        from barnabas.cli.kafka_tools import instead_of
        from barnabas.core.command_line import did_you_mean

        suggestion = (
            instead_of(arguments[0])
            or did_you_mean(arguments[0], COMMANDS)
            or f"; the commands are {', '.join(COMMANDS)}"
        )
        return fail("barnabas", f"command {arguments[0]} does not exist{suggestion}")
    return _run(program, arguments)


def fail(program: str, message: str) -> int:
    """Print an error as one line; return the exit code."""
    from barnabas.core.peer_text import on_one_line

    print(on_one_line(f"{program}: {' '.join(message.split())}"), file=sys.stderr)
    return 1


def _give_up_output() -> None:
    """Discard the buffer of a broken standard output, so that the flush at exit can't fail."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(program: str, arguments: list[str]) -> int:
    from barnabas.core.command_line import CliUsageError
    from barnabas.core.errors import BarnabasError

    try:
        return _run_command(arguments)
    except CliUsageError as error:
        return fail(program, f"{error} ({program} --help shows all options)")
    except BarnabasError as error:
        from barnabas.cli.hints import explain

        return fail(program, explain(error))


def _run_command(arguments: Sequence[str]) -> int:
    """Run a command, or show help.

    Raises:
        CliUsageError: The options are invalid.
        BarnabasError: The command failed.
    """
    from barnabas.cli.commands import find_command, module_of
    from barnabas.cli.parser import read_options
    from barnabas.core.command_line import HELP_OPTIONS, CliUsageError, did_you_mean, show_commands

    name, *rest = arguments or ["--help"]
    if name.startswith("-"):
        return _run_option(name, rest)
    below = ""
    if name in SUBCOMMANDS:
        below, *rest = rest or ["--help"]
        if below.startswith("-") and not {*HELP_OPTIONS}.isdisjoint([below, *rest]):
            module = module_of(name)
            lines = {each: text.partition("\n")[0] for each, (_, text) in module.SUBCOMMANDS.items()}
            show_commands(f"{name} ", module.HELP, lines)
            return 0
        if below not in SUBCOMMANDS[name]:
            what = f"option: {below}" if below.startswith("-") else f"command '{below}'"
            raise CliUsageError(f"No such {what}{did_you_mean(below, SUBCOMMANDS[name])}")
    function, text = find_command(name, below)
    options = read_options(f"{name} {below}".rstrip(), text, function, rest)
    return 0 if options is None else function(**options) or 0


def _run_option(name: str, rest: Sequence[str]) -> int:
    """Handle the options without a command. Raises BarnabasError."""
    from barnabas.core.command_line import HELP_OPTIONS, CliUsageError, show_commands

    if not {*HELP_OPTIONS}.isdisjoint([name, *rest]):
        show_commands("", "A Kafka-compatible broker, and tools for any Kafka cluster.", COMMANDS, _OPTIONS)
    elif name in _OPTIONS:
        from barnabas.cli.completion import install_completion, show_completion

        (install_completion if name == "--install-completion" else show_completion)(rest[0] if rest else "")
    else:
        raise CliUsageError(f"No such option: {name}")
    return 0


def _program(arguments: Sequence[str]) -> str:
    words = ["barnabas", *(word for word in arguments[:1] if word in COMMANDS)]
    below = SUBCOMMANDS.get(words[-1], ())
    words += [word for word in arguments[1:2] if word in below]
    return " ".join(words)


if __name__ == "__main__":
    sys.exit(main())
