"""Options that several commands share, and their parsing."""

import argparse
import re
from collections.abc import Iterable
from math import inf
from pathlib import Path
from typing import Any

from barnabas.clients import positions
from barnabas.clients.librdkafka import librdkafka_options
from barnabas.clients.security import ClientSecurity, client_security, trimmed
from barnabas.core.config.properties import read_properties
from barnabas.pipeline.runner.cluster import COMMITTED, ISOLATION, ISOLATION_LEVELS, KafkaOptions
from barnabas.pipeline.runner.plan import Bound, PlanError
from barnabas.pipeline.runner.session import SessionOptions
from barnabas.pipeline.spark.catalogs import catalog_settings, is_name

DEFAULT_DIRECTORY = "pipeline-data"
FORMATS = ("delta", "iceberg", "parquet", "postgresql")


class Options:
    """Adds options to a parser, in a group if `title` is not empty.

    The type of a value is the type of its default. The help ends with the default, unless the default is empty, zero or
    None, or the help already contains it.
    """

    def __init__(self, parser: argparse._ActionsContainer, title: str = "") -> None:
        self.add = (parser.add_argument_group(title) if title else parser).add_argument

    def value(self, name: str, metavar: str, help: str, default: object = None, **more: Any) -> None:
        """Add an option with a value; `unit` is the default's unit in the help, other arguments are argparse's."""
        unit = more.pop("unit", "")
        if default and "%(default)" not in help:
            help = f"{help}; default: %(default)s{unit}" if help else f"Default: %(default)s{unit}"
        kind = str if default is None else _number if isinstance(default, float) else type(default)
        self.add(name, default=default, help=help, **{"type": kind, "metavar": metavar or None, **more})

    def values(self, name: str, metavar: str, help: str) -> None:
        """Add an option that may be given several times."""
        self.add(name, action="append", default=[], metavar=metavar, help=help)

    def choice(self, name: str, choices: Iterable[str], help: str, default: str | None = None) -> None:
        """Add an option with a choice of values."""
        self.value(name, "", help, default, choices=tuple(choices))

    def flag(self, name: str, help: str) -> None:
        """Add an option without a value."""
        self.add(name, action="store_true", help=help)


def _number(text: str) -> float:
    """Read a number for argparse; raise ArgumentTypeError if it is negative, infinite or not a number."""
    try:
        if 0 <= (number := float(text)) < inf:
            return number
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text} must be a number from 0")


def partition_count(text: str) -> int:
    """Read a number of partitions for argparse; raise ArgumentTypeError if no topic can have it."""
    if not text.isdecimal() or not 1 <= int(text) <= 100_000:
        raise argparse.ArgumentTypeError(f"{text} must be a whole number from 1 to 100000")
    return int(text)


def add_cluster_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the connection to the cluster."""
    options = Options(parser, "cluster")
    options.value("--bootstrap-server", "HOST:PORT,...", "", "127.0.0.1:9092")
    options.value(
        "--command-config", "FILE", "properties file with Kafka client options, as of Kafka's tools", type=Path
    )
    options.values(
        "--kafka-option",
        "NAME=VALUE",
        "Kafka client option (client.id, security.protocol, sasl.jaas.config, ...); overrides the file",
    )


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the locations of tables and checkpoints."""
    options = Options(parser, "tables")
    options.value(
        "--tables",
        "PLACE",
        "location of tables: a directory, local or at hdfs://, s3a://, gs:// or abfss://; "
        "postgresql://USER@HOST/DATABASE; for "
        "Iceberg also CATALOG.NAMESPACE",
        f"{DEFAULT_DIRECTORY}/tables",
    )
    options.choice("--format", FORMATS, "format of tables (delta; postgresql in PostgreSQL)")
    options.value(
        "--checkpoint",
        "DIR",
        "directory for the state of runs, local or at such an address",
        f"{DEFAULT_DIRECTORY}/checkpoints",
    )


def add_parent_option(parser: argparse.ArgumentParser) -> None:
    """Add the hidden option for a parent process: the command exits when that process exits."""
    parser.add_argument("--parent", type=int, default=0, help=argparse.SUPPRESS)


def settle_format(arguments: argparse.Namespace) -> None:
    """Set the default format of tables by their location; raise PlanError if the location does not allow the format."""
    if "format" not in arguments:
        return
    is_postgresql = arguments.tables.startswith("postgresql://")
    if arguments.format is None:
        arguments.format = "postgresql" if is_postgresql else "delta"
    elif is_postgresql != (arguments.format == "postgresql"):
        raise PlanError(
            f"--format {arguments.format}: tables at postgresql://USER@HOST/DATABASE, and only these, have the format "
            "postgresql"
        )


def add_spark_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for Spark."""
    options = Options(parser, "Spark")
    options.value("--master", "URL", "Spark master: local[N], spark://HOST:PORT, yarn, k8s://... (local[CORES])")
    options.values(
        "--conf",
        "KEY=VALUE",
        "Spark setting; spark.jars, spark.jars.packages and spark.sql.extensions are added to the required ones",
    )
    options.flag("--verbose", "show the log of Spark's JVM")
    options.value("--scratch", "DIR", "directory for Spark's temporary files (a new one)", type=Path)


def session_options(arguments: argparse.Namespace) -> SessionOptions:
    """Return the session options from a command's options for Spark and tables."""
    table_format = getattr(arguments, "format", None)
    settings = pairs(arguments.conf, "--conf")
    if table_format == "iceberg":
        settings |= catalog_settings(arguments.tables, settings)
    return SessionOptions(
        table_format,
        arguments.master,
        settings,
        arguments.scratch,
        arguments.verbose,
        getattr(arguments, "tables", ""),
        getattr(arguments, "checkpoint", ""),
        is_continuous=not getattr(arguments, "once", True),
    )


def tables_root(arguments: argparse.Namespace) -> str:
    """Return the location of the tables, a local path as an absolute path."""
    return resolve_location(arguments.tables, arguments.format)


def resolve_location(place: str, table_format: str) -> str:
    """Return the location of one or more tables, a local path as an absolute path."""
    return place if table_format == "iceberg" and is_name(place) else absolute(place)


def absolute(place: str) -> str:
    """Return a local path as an absolute path; return other locations unchanged."""
    return place if "://" in place else str(Path(place).absolute())


def kafka_options(arguments: argparse.Namespace, client_id: str) -> KafkaOptions:
    """Return the cluster of a command; `client_id` is the default of `client.id`.

    Raises:
        PlanError, ConfigError: an option is invalid, or the file can't be read.
    """
    options = {"client.id": client_id}
    if arguments.command_config is not None:
        options |= read_properties(str(arguments.command_config))[0]
    options = trimmed(options | pairs(arguments.kafka_option, "--kafka-option"))
    level = options.get(ISOLATION, COMMITTED)
    if level not in ISOLATION_LEVELS:
        raise PlanError(f"{ISOLATION}={level} is invalid: use {' or '.join(ISOLATION_LEVELS)}")
    return KafkaOptions(arguments.bootstrap_server, options)


def feeder_security(arguments: argparse.Namespace) -> ClientSecurity | None:
    """Return the security settings of a command that does not use Spark; raise ConfigError if an option is invalid."""
    security = client_security(kafka_options(arguments, "").options)
    if security is not None:
        # Fail now if a key store can't be read, instead of waiting for a broker.
        security.context()
    return security


def sender_options(arguments: argparse.Namespace) -> dict[str, str]:
    """Return librdkafka's settings for a command that sends records; raise ConfigError if one is not supported."""
    kafka = kafka_options(arguments, "barnabas-feeder")
    options = librdkafka_options(kafka.bootstrap_servers, kafka.options)
    return {**options, "client.id": kafka.options["client.id"]}


def pairs(texts: list[str], option: str) -> dict[str, str]:
    """Parse NAME=VALUE options; raise PlanError if one has another form."""
    result = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise PlanError(f"{option} {text}: must have the form NAME=VALUE")
        result[name] = value
    return result


def run_names(name: str, job: str, has_other_jobs: bool = False) -> tuple[str, str]:
    """Return a run's name, and the one that it would have with other jobs in its command, or without them.

    `name` is that of the option `--as`; without it the run has its job's name, and no other one.
    """
    if not name:
        return job, ""
    if has_other_jobs:
        return f"{name}/{job}", name
    base = name.removesuffix(f"/{job}")
    return name, base if base != name else f"{name}/{job}"


def names(text: str) -> tuple[str, ...]:
    """Parse names separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def parse_duration(text: str) -> int:
    """Parse a duration (seconds, or a number with s, m, h or d) to milliseconds; raise PlanError if it is invalid."""
    match = re.fullmatch(r"([0-9]{1,9})([smhd]?)", text)
    if match is None or int(match[1]) == 0:
        raise PlanError(f"{text!r} is not a duration: write 90s, 15m, 1h or 7d")
    return int(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}[match[2]] * 1_000


def parse_bound(text: str | None) -> Bound | None:
    """Parse earliest, latest, a time, or offsets as JSON; raise PlanError if it is none of these."""
    return None if text is None else positions.parse_bound(text)
