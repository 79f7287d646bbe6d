"""The entry point of `barnabas pipeline`: finds the command, and turns every error into one line and an exit code.

Exit codes: 0 done, 1 failed (a retry may succeed), 2 invalid request, 130 stopped by a signal.
"""

import argparse
import logging
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from barnabas.core.build import install_hint
from barnabas.core.command_line import HELP_OPTIONS, CliUsageError, CommandParser, did_you_mean, show_commands
from barnabas.core.parent import die_with_parent
from barnabas.core.peer_text import on_lines, on_one_line
from barnabas.pipeline.commands.options import settle_format
from barnabas.pipeline.demo.children import ChildFailedError, remedy_of

# Each command is a module of the same name (or `_MODULES`). Only its module is imported, to avoid others' libraries.
COMMANDS: Final = {
    "demo": "run a broker, a replayed log, Spark jobs and a report",
    "list": "list the jobs, or show the details of one",
    "run": "run jobs",
    "status": "show the state and lag of runs",
    "limits": "show the limits of enforcement; lift limits manually",
    "rewind": "reset a stopped run to an earlier position",
    "report": "write the results of the jobs to an HTML page",
    "compact": "merge small files of tables",
    "replay": "send a log to topics",
    "generate": "generate events of a social site",
    "collect": "send metrics of this host, brokers and runs to topics",
}
_MODULES: Final = {"list": "list_jobs", "run": "run_jobs"}
FAILED, REFUSED, STOPPED = 1, 2, 130
# Removed commands, each with its replacement.
_REMOVED = {
    "mirror": "mirror was removed: run `barnabas mirror` with the same --source, --target, --topics, --prefix and "
    "--name; it resumes where this command stopped (docs/clients/mirror.md)"
}
DESCRIPTION: Final = "Process topics with Spark: jobs, tables, a report."


def main(argv: list[str] | None = None) -> int:
    """Run one command; return the exit code."""
    # Py4J logs to the root logger that an exited JVM does not respond. Without a handler, Python would print this.
    logging.getLogger().addHandler(logging.NullHandler())
    words = sys.argv[1:] if argv is None else argv
    if words and words[0] in _REMOVED:
        return _fail(_REMOVED[words[0]], REFUSED)
    try:
        arguments = _read(words)
        if arguments is None:
            return 0
        if getattr(arguments, "parent", 0):
            die_with_parent(arguments.parent)
        settle_format(arguments)
        code = arguments.run_command(arguments)
        sys.stdout.flush()
        return int(code)
    except CliUsageError as error:
        return _fail(f"{error} (--help shows all options)", REFUSED)
    except KeyboardInterrupt:
        return STOPPED
    except BrokenPipeError:
        return FAILED
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("barnabas"):
            raise
        extra = "delta" if error.name and error.name.startswith("delta") else "pipeline"
        return _fail(f"{error.name} is not installed: {install_hint(extra)}", REFUSED)
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
        remedy = remedy_of(reason)
        return _fail(f"{reason}; {remedy}" if remedy else reason, FAILED)
    except ChildFailedError as error:
        print(
            "\nIts last output:",
            *(on_one_line(f"  {line}") for line in error.last_lines),
            sep="\n",
            file=sys.stderr,
        )
        return _fail(str(error), FAILED)
    except Exception as error:
        code = _code_of(error)
        if code is None:
            raise
        return _fail(str(error), code)


def parser(name: str) -> CommandParser:
    """Return the parser of a command's options."""
    command = import_module(f"barnabas.pipeline.commands.{_MODULES.get(name, name)}")
    text = " ".join((command.__doc__ or "").partition(": ")[2].split())
    made = CommandParser(f"barnabas pipeline {name}", text[:1].upper() + text[1:])
    command.add_options(made)
    made.set_defaults(run_command=command.run)
    return made.complete()


def _read(arguments: Sequence[str]) -> argparse.Namespace | None:
    """Return a command's options, or None after printing the list of commands. Raises CliUsageError."""
    name, *rest = arguments or ["--help"]
    if name in COMMANDS:
        return parser(name).parse_args(rest)
    if name in HELP_OPTIONS or (name.startswith("-") and not {*HELP_OPTIONS}.isdisjoint(rest)):
        show_commands("pipeline ", DESCRIPTION, COMMANDS)
        return None
    what = f"option: {name}" if name.startswith("-") else f"command '{name}'"
    raise CliUsageError(f"No such {what}{did_you_mean(name, COMMANDS)}")


def _code_of(error: Exception) -> int | None:
    """Return the exit code of one of Barnabas' own errors; None for any other error: a bug, reported with its trace."""
    from barnabas.core.errors import ConfigError
    from barnabas.pipeline.catalogue import NoSuchJobError
    from barnabas.pipeline.runner.data_loss import DataLossError
    from barnabas.pipeline.runner.plan import PlanError
    from barnabas.pipeline.sources.feeder import OtherLogError
    from barnabas.pipeline.spark.catalogs import CatalogError
    from barnabas.pipeline.spark.java import JavaNotFoundError

    refused = (CatalogError, ConfigError, DataLossError, JavaNotFoundError, NoSuchJobError, OtherLogError, PlanError)
    if isinstance(error, refused):
        return REFUSED
    return FAILED if type(error).__module__.startswith("barnabas.") else None


def _fail(reason: str, code: int) -> int:
    print(on_lines(f"barnabas pipeline: {reason}"), file=sys.stderr)
    return code
