"""The entry point: finds the command, and turns every error into one line and an exit code.

Exit codes: 0 done (Ctrl-C and SIGTERM count as that where there is an end to wait for), 1 anything else.
"""

import os
import sys
from collections.abc import Sequence

from barnabas.cli.commands import COMMANDS, SUBCOMMANDS
from barnabas.core.standard_streams import open_standard_streams


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        The process's exit code.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if sys.platform == "win32":
        return fail("barnabas", "Windows is not supported; use Linux (or WSL), or macOS")
    if " ".join(arguments[:2]) in COMMANDS:
        arguments[:2] = [" ".join(arguments[:2])]
    program = _program(arguments)
    open_standard_streams()
    try:
        if sys.stdout is None and arguments[:1] != ["broker"]:
            return fail(program, "standard output is closed: there is nowhere to print to")
        code = _dispatch(program, arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return 1
    except BrokenPipeError:
        # The reader has closed our output, as `head` does: nothing is wrong.
        _give_up_output()
        return 0
    except OSError as error:
        _give_up_output()
        reason = error.strerror or str(error)
        return fail(program, f"{error.filename}: {reason}" if error.filename else reason)


def _dispatch(program: str, arguments: list[str]) -> int:
    if arguments[:1] == ["broker"]:
        from barnabas.cli.broker import run_broker

        return run_broker(arguments[1:])
    if arguments[:1] == ["pipeline"]:
        from barnabas.cli.pipeline import run_pipeline

        run_pipeline(arguments[1:])
    for argument in arguments:
        if not argument.isprintable() and any("\ud800" <= character <= "\udfff" for character in argument):
            return fail(program, f"{os.fsencode(argument)!r} is no text in this system's encoding")
    if arguments[:1] == ["--version"]:
        from barnabas.core.build import version_line

        print(version_line())
        return 0
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        return fail("barnabas", f"no such command: {arguments[0]}; {_suggestion(arguments[0])}")
    return _run(program, arguments)


def fail(program: str, message: str) -> int:
    """Say what is wrong, in one line; the exit code."""
    from barnabas.core.peer_text import on_one_line

    print(on_one_line(f"{program}: {' '.join(message.split())}"), file=sys.stderr)
    return 1


def _suggestion(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(COMMANDS)}"


def _give_up_output() -> None:
    """Let what is left in the buffer of a broken standard output go nowhere, so that the flush at exit can't fail."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(program: str, arguments: list[str]) -> int:
    from barnabas.cli.dispatch import CliUsageError, run_plainly, spread
    from barnabas.core.errors import BarnabasError

    try:
        if run_plainly(spread(arguments)):
            return 0
        from barnabas.cli.app import run_app

        return run_app(arguments)
    except CliUsageError as error:
        return fail(program, f"{error} ({program} --help shows all options)")
    except BarnabasError as error:
        from barnabas.cli.hints import explain

        return fail(program, explain(error))


def _program(arguments: Sequence[str]) -> str:
    words = ["barnabas", *(word for word in arguments[:1] if word in COMMANDS)]
    below = SUBCOMMANDS.get(words[-1], ())
    words += [word for word in arguments[1:2] if word in below]
    return " ".join(words)


if __name__ == "__main__":
    sys.exit(main())
