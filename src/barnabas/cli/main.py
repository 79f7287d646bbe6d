"""The entry point: finds the command, and turns every error into one line and an exit code.

Exit codes: 0 done (Ctrl-C and SIGTERM count as that where there is an end to wait for), 1 anything else.
"""

import os
import sys
from collections.abc import Sequence

COMMANDS = {
    "broker": "Run a broker.",
    "topics": "Create, list, describe and delete topics.",
    "produce": "Send lines of text to a topic.",
    "consume": "Print the records of a topic.",
    "groups": "List and describe consumer groups, and reset their offsets.",
    "perf": "Measure how fast records are produced and consumed.",
    "log": "Look into the files of logs: dump, verify, stats.",
    "adopt": "Take over the directories of a Kafka broker.",
    "release": "Give the directories back to Kafka.",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        The process's exit code.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if sys.platform == "win32":
        return fail("barnabas", "Windows is not supported; use Linux (or WSL), or macOS")
    if arguments[:1] == ["broker"]:
        from barnabas.cli.broker import run_broker

        return run_broker(arguments[1:])
    if arguments[:1] == ["--version"]:
        from barnabas import __version__

        print(f"barnabas {__version__}")
        return 0
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        return fail("barnabas", f"no such command: {arguments[0]}; {_suggestion(arguments[0])}")
    return _run(arguments)


def fail(program: str, message: str) -> int:
    """Say what is wrong, in one line; the exit code."""
    print(f"{program}: {' '.join(message.split())}", file=sys.stderr)
    return 1


def _suggestion(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(COMMANDS)}"


def _run(arguments: list[str]) -> int:
    from barnabas.cli.app import CliUsageError, run_app
    from barnabas.cli.hints import explain
    from barnabas.core.errors import BarnabasError

    program = _program(arguments)
    try:
        code = run_app(arguments)
        sys.stdout.flush()
        return code
    except CliUsageError as error:
        return fail(program, f"{error} ({program} --help shows all options)")
    except BarnabasError as error:
        return fail(program, explain(error))
    except KeyboardInterrupt:
        return 1
    except BrokenPipeError:
        # Whoever read our output has seen enough. What is still buffered must not be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return fail(program, f"{error.filename}: {error.strerror}" if error.filename else str(error))


def _program(arguments: Sequence[str]) -> str:
    words = ["barnabas", *(word for word in arguments[:1] if word in COMMANDS)]
    if words[1:] == ["perf"]:
        words += [word for word in arguments[1:2] if word in ("produce", "consume")]
    return " ".join(words)


if __name__ == "__main__":
    sys.exit(main())
