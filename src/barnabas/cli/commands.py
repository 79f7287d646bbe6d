"""The names and one-line descriptions of the commands, and the names of their subcommands.

A name of two words extends a command that has no subcommands.
"""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Final

COMMANDS: Final = {
    "broker": "Run a broker.",
    "cluster": "Run several brokers of one cluster on this machine, or show the state of any cluster.",
    "topics": "Create, list, describe, alter and delete topics.",
    "produce": "Send lines of text to a topic.",
    "consume": "Print the records of a topic.",
    "groups": "List, describe and delete consumer groups, and reset their offsets.",
    "groups translate": "Translate a group's offsets to a mirrored cluster.",
    "groups migrate": "Guide a group's move from ZooKeeper offsets to Kafka offsets, or back.",
    "mirror": "Mirror topics of other clusters into one, each record once.",
    "configs": "Show and change settings of topics and brokers.",
    "acls": "Show and change access rules.",
    "delete-records": "Delete the records of partitions below given offsets.",
    "log-dirs": "Show disk usage by topic, partition and broker.",
    "elect-leaders": "Trigger leader election.",
    "reassign": "Move replicas to other brokers and log directories.",
    "explain": "Explain lag, rebalances, refused requests, slow requests, offline partitions, full disks and aborts.",
    "page": "Show clusters in a browser: problems and their causes, topics, groups.",
    "quotas": "Set quotas; show throttling, usage and what-if results.",
    "transactions": "Show transactions; find and abort hanging ones.",
    "users": "Show and change SCRAM users.",
    "perf": "Measure produce and consume throughput.",
    "log": "Dump, verify and summarise log files.",
    "adopt": "Adopt the data directories of a Kafka broker.",
    "pipeline": "Process topics with Spark: jobs, tables, a report.",
    "registry": "Show, change, export, import and serve the cluster's state.",
    "release": "Return adopted data directories to Kafka.",
}

SUBCOMMANDS: Final = {
    "cluster": ("start", "status"),
    "quotas": ("list", "set", "delete", "explain", "top", "simulate"),
    "transactions": ("list", "describe", "hanging", "abort"),
    "users": ("list", "describe", "add", "delete"),
    "perf": ("produce", "consume"),
    "log": ("dump", "verify", "stats"),
    "registry": ("ls", "get", "set", "delete", "watch", "export", "import", "serve"),
}


def module_of(name: str) -> ModuleType:
    """Return the module of a command, which has the command's name."""
    return import_module(f"barnabas.cli.{name.replace(' ', '_').replace('-', '_')}")


def find_command(name: str, below: str = "") -> tuple[Callable[..., int | None], str]:
    """Return a command's function and help.

    Args:
        name: A key of `COMMANDS`.
        below: One of its `SUBCOMMANDS`, if it has any.
    """
    module = module_of(name)
    if below:
        function, text = module.SUBCOMMANDS[below]
        return function, text
    return getattr(module, module.__name__.rpartition(".")[2]), module.HELP
