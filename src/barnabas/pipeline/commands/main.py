"""The entry point of `barnabas pipeline`: finds the command, and turns every error into one line and an exit code.

Exit codes: 0 done, 1 failed (trying again may help), 2 can't be done as asked, 130 stopped.
"""

import argparse
import logging
import sys
from importlib import import_module

from barnabas.core.build import install_hint
from barnabas.core.errors import BarnabasError
from barnabas.core.parent import die_with_parent
from barnabas.core.peer_text import on_lines, on_one_line
from barnabas.pipeline.commands.options import settle_format
from barnabas.pipeline.demo.children import ChildFailedError
from barnabas.pipeline.demo.remedies import remedy_of

_COMMANDS = (
    "demo",
    "list_jobs",
    "run_jobs",
    "status",
    "limits",
    "rewind",
    "report",
    "compact",
    "replay",
    "generate",
    "collect",
)
FAILED, REFUSED, STOPPED = 1, 2, 130
# Removed commands, each with its replacement.
_REMOVED = {
    "mirror": "mirror was removed: run `barnabas mirror` with the same --source, --target, --topics, --prefix and "
    "--name; it resumes where this command stopped (docs/clients/mirror.md)"
}


def main(argv: list[str] | None = None) -> int:
    """Run one command; gives the exit code."""
    # Spark's bridge logs to the root logger, which would print it, that a JVM which has just ended does not answer.
    logging.getLogger().addHandler(logging.NullHandler())
    words = sys.argv[1:] if argv is None else argv
    if words and words[0] in _REMOVED:
        return _fail(_REMOVED[words[0]], REFUSED)
    try:
        arguments = parser().parse_args(words)
        if getattr(arguments, "parent", 0):
            die_with_parent(arguments.parent)
        settle_format(arguments)
        code = arguments.run_command(arguments)
        sys.stdout.flush()
        return int(code)
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
            "\nThe last that it said:",
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


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    made = argparse.ArgumentParser(
        prog="barnabas pipeline", description="Activity streams on Spark: from topics into topics, tables and a report."
    )
    commands = made.add_subparsers(required=True, metavar="COMMAND")
    for module_name in _COMMANDS:
        module = import_module(f"barnabas.pipeline.commands.{module_name}")
        command = commands.add_parser(
            module.NAME, help=module.HELP, description=(module.__doc__ or "").partition(": ")[2]
        )
        module.add_options(command)
        command.set_defaults(run_command=module.run)
    return made


def _code_of(error: Exception) -> int | None:
    """Return the exit code of an error that is told in its own words; None for a bug, whose trace is wanted."""
    from barnabas.pipeline.catalogue import NoSuchJobError
    from barnabas.pipeline.demo.directory import DemoDirectoryError
    from barnabas.pipeline.enforcement.follower import EnforcementError
    from barnabas.pipeline.runner.cluster import ClusterUnavailableError, NoSuchTopicError
    from barnabas.pipeline.runner.losses import DataLossError
    from barnabas.pipeline.runner.plan import PlanError
    from barnabas.pipeline.runner.query import QueryStoppedError
    from barnabas.pipeline.runner.supervisor import RunFailedError
    from barnabas.pipeline.sources.feeder import OtherLogError
    from barnabas.pipeline.sources.topics import TopicUnavailableError
    from barnabas.pipeline.spark.failures import SparkFailedError
    from barnabas.pipeline.spark.java import JavaNotFoundError
    from barnabas.pipeline.spark.session import CheckpointInUseError
    from barnabas.pipeline.tables.table import TableError, TableUnavailableError

    refused = (NoSuchJobError, PlanError, JavaNotFoundError, DataLossError, OtherLogError)
    if isinstance(error, refused):
        return REFUSED
    passing = (
        BarnabasError,
        CheckpointInUseError,
        ClusterUnavailableError,
        DemoDirectoryError,
        EnforcementError,
        NoSuchTopicError,
        QueryStoppedError,
        RunFailedError,
        SparkFailedError,
        TableError,
        TableUnavailableError,
        TopicUnavailableError,
    )
    return FAILED if isinstance(error, passing) else None


def _fail(reason: str, code: int) -> int:
    print(on_lines(f"barnabas pipeline: {reason}"), file=sys.stderr)
    return code
