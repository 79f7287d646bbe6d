"""The broker's own command line: options, logging, exit codes.

Kept apart from the rest of the command line because it must start in a fraction of a second. `barnabas broker` and
`python -m barnabas.broker.server.main` both end here.

Exit codes: 0 after SIGTERM, SIGHUP or Ctrl-C; 1 if an option is invalid, or the broker cannot start or continue, with a
line on stderr for each problem.
"""

import argparse
import gc
import logging
import os
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

from barnabas.broker.server.log_limit import LimitedHandler
from barnabas.broker.server.log_lines import LineFormatter
from barnabas.core.clock import SystemClock
from barnabas.core.command_line import CliUsageError, CommandParser
from barnabas.core.config import BrokerConfig, read_properties
from barnabas.core.config.broker import single_broker_properties
from barnabas.core.errors import BarnabasError, ConfigError, InvalidSettingsError
from barnabas.core.peer_text import on_one_line
from barnabas.core.process import open_standard_streams

log = logging.getLogger(__name__)

# The option in KAFKA_OPTS by which Kafka's scripts name the file.
_JAAS_FILE = re.compile(r"-Djava\.security\.auth\.login\.config=(\S+)")
LOG_LEVELS = ("debug", "info", "warning", "error")


class _PrintVersion(argparse.Action):
    """Prints the version and exits; unlike argparse's own action it builds the text only when needed."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from barnabas.core.build import version_line

        print(version_line())
        parser.exit()


def parser() -> CommandParser:
    """Return the options of the broker."""
    made = CommandParser(
        "barnabas broker",
        "Run a broker. Without a file: one broker on 127.0.0.1:9092 with its data in ./barnabas-data.",
        "Stop it with Ctrl-C or SIGTERM.",
    )
    made.add_argument("file", nargs="?", metavar="server.properties", help="Kafka's own configuration file")
    made.add_argument(
        "--override",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting that wins over the file; may be repeated",
    )
    made.add_argument(
        "--embedded",
        action="store_true",
        help="keep the cluster's state in this process even though the file sets zookeeper.connect",
    )
    made.add_argument("--host", help="listen on this address instead of the configured one")
    made.add_argument("--port", type=int, help="listen on this port; 0 lets the system choose")
    made.add_argument(
        "--data-dir", metavar="DIRECTORY", help="keep the logs here instead of in the configured log.dirs"
    )
    made.add_argument(
        "--page", action="store_true", help="show the cluster in a browser, by a process beside it: 127.0.0.1:9645"
    )
    made.add_argument(
        "--page-options",
        metavar="OPTIONS",
        help="--page with more options of barnabas page: --page-options='--allow-changes'",
    )
    made.add_argument(
        "--check",
        action="store_true",
        help="list the settings that would stop the start, have no effect or are unknown, and exit with 1 if any stops "
        "it; opens no port and writes nothing",
    )
    made.add_argument("--log-level", choices=LOG_LEVELS, default="info", help="default: info")
    made.add_argument("--ready-fd", type=int, metavar="N", help=argparse.SUPPRESS)
    made.add_argument("--control-fd", type=int, metavar="N", help=argparse.SUPPRESS)
    made.add_argument("--die-with-parent", action="store_true", help="stop at once when the parent process ends")
    made.add_argument("--parent-pid", type=int, metavar="PID", help=argparse.SUPPRESS)
    made.add_argument("-V", "--version", action=_PrintVersion, nargs=0, help="print the version")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run a broker until it is stopped.

    Returns:
        The process's exit code.
    """
    if sys.platform == "win32":
        print("barnabas broker: Windows is not supported; use Linux (or WSL), or macOS", file=sys.stderr)
        return 1
    open_standard_streams()
    # The start makes many objects and no garbage; `lifecycle` enables the collector again.
    gc.disable()
    try:
        options = parser().parse_args(argv)
    except CliUsageError as error:
        print(f"barnabas broker: {on_one_line(str(error))}; --help shows the options", file=sys.stderr)
        return 1
    if options.die_with_parent:
        # Imported here, because it imports ctypes.
        from barnabas.core.parent import die_with_parent

        die_with_parent(options.parent_pid or os.getppid())
    # differs from Kafka (private-files): Kafka creates files with the umask of the user who starts it.
    os.umask(0o077)
    set_up_logging(options.log_level)
    try:
        if options.check:
            return check(options)
        _check_descriptor("--ready-fd", options.ready_fd)
        _check_descriptor("--control-fd", options.control_fd)
        config = load_config(options)
        # Imported here, because it imports the whole broker, which --help does not need.
        from barnabas.broker.server.private_files import exposed_secrets

        for path in exposed_secrets(config, options.file):
            log.warning("every user of this machine can read or change secrets in %s: run chmod o-rwx %s", path, path)
        from barnabas.broker.server.lifecycle import run

        run(config, options.ready_fd, options.control_fd, _page_options(options, config))
    except BarnabasError as error:
        for problem in error.problems if isinstance(error, InvalidSettingsError) else [str(error)]:
            print(f"barnabas broker: {on_one_line(problem)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0
    return 0


def _check_descriptor(option: str, fd: int | None) -> None:
    try:
        if fd is not None:
            os.fstat(fd)
    except OSError:
        raise ConfigError(f"{option} {fd}: is no open descriptor") from None


def _page_options(options: argparse.Namespace, config: BrokerConfig) -> list[str] | None:
    """Return the options of the web console that --page starts; None: not requested. Raises ConfigError: it cannot
    connect.
    """
    if not options.page and options.page_options is None:
        return None
    # Imported here, because a broker without a web console does not need them.
    import shlex

    from barnabas.broker.server.page_process import plan_page

    try:
        found = shlex.split(options.page_options or "")
    except ValueError as error:
        raise ConfigError(f"--page-options {options.page_options}: {error}") from None
    plan_page(config, found)
    return found


def check(options: argparse.Namespace) -> int:
    """Print the problems of the settings; return 1 if a start would fail, else 0. Raises ConfigError."""
    # Imported here, because a start does not need `settings_check`, and --help does not need `lifecycle`.
    from barnabas.broker.server.lifecycle import problems_of_a_start
    from barnabas.broker.server.settings_check import SettingsCheck

    checked = SettingsCheck(*_settings(options), problems_of_a_start)
    print(checked.report(options.file or "these options"))
    return 1 if checked.problems else 0


def load_config(options: argparse.Namespace) -> BrokerConfig:
    """Build the configuration from the file and the options.

    Raises:
        ConfigError: The file or an option is invalid; one line with the allowed values.
    """
    if options.file is None:
        return BrokerConfig.single_broker(_overrides(options))
    return BrokerConfig.from_properties(*_settings(options))


def _settings(options: argparse.Namespace) -> tuple[dict[str, str], dict[str, int], str]:
    """Return the settings of the file and the options, the lines of those from the file, and its name.

    Raises:
        ConfigError: The file cannot be read, or an option is invalid.
    """
    overrides = _overrides(options)
    if options.file is None:
        return single_broker_properties(overrides), {}, ""
    properties, lines = read_properties(options.file)
    if options.embedded:
        properties.pop("zookeeper.connect", None)
    if options.host is not None or options.port is not None:
        # The address of the command line replaces all settings of addresses in the file; --override only its setting.
        for name in ("advertised.listeners", "host.name", "port", "advertised.host.name", "advertised.port"):
            properties.pop(name, None)
    return properties | overrides, {name: line for name, line in lines.items() if name not in overrides}, options.file


def _overrides(options: argparse.Namespace) -> dict[str, str]:
    overrides: dict[str, str] = {}
    for text in options.override:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"--override {text}: must be NAME=VALUE")
        overrides[name.strip()] = value.strip()
    jaas_file = _JAAS_FILE.search(os.environ.get("KAFKA_OPTS", ""))
    if jaas_file is not None:
        overrides.setdefault("barnabas.jaas.config.file", jaas_file[1])
    if options.data_dir is not None:
        overrides["log.dirs"] = options.data_dir
    if options.port is not None and not 0 <= options.port <= 65535:
        raise ConfigError(f"--port {options.port}: must be from 0 to 65535")
    if options.host is not None or options.port is not None:
        host = options.host if options.host is not None else "127.0.0.1"
        port = options.port if options.port is not None else 9092
        bracketed = f"[{host}]" if ":" in host else host
        overrides["listeners"] = f"PLAINTEXT://{bracketed}:{port}"
    if options.embedded:
        overrides.pop("zookeeper.connect", None)
    return overrides


def set_up_logging(level: str) -> None:
    """Log to standard error, one line per record."""
    handler = LimitedHandler(sys.stderr, SystemClock())
    handler.setFormatter(LineFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # A record is built for every line: omit values that the format does not show.
    logging.logThreads = False
    logging.logProcesses = False
    logging.logMultiprocessing = False


if __name__ == "__main__":
    sys.exit(main())
